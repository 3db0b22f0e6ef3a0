// Vectors of the instruction set that this file is compiled for.
//
//   vf, vi   V floats or 32-bit integers       vd, vl, vu   DV doubles or 64-bit integers
//   vh       DV floats                         vb           V bytes
//
//   load, store      from and to memory of any alignment
//   select           yes in the lanes in which the mask of a comparison is set, no in the others
//   LaneMask         a mask of DV lanes: is_number, is_between, all_lanes, zero_unless, lane_bits
//   fused_where      a b + c in the lanes of a LaneMask, c in the others
//   to_double, ...   numbers of another type with the same value
//   bits, number     the same bits, read as another type
//   fused            a b + c, with one rounding if the processor has such an instruction, else two
//   shuffle<SOURCE>  lane i is lane SOURCE(i) of the concatenation of a and b
#pragma once
#include "../compiler.hpp"
#include "../exact/error_bounds.hpp"
#include "simd.hpp"

namespace rekmeans {
namespace {

#if defined(__AVX512F__)
constexpr size_t V = 16;
constexpr int PANEL_VECTORS = 4;                      // vectors in a panel of centroids
constexpr int SCORE_TILE_ROWS[] = {0, 16, 12, 8, 6};  // rows of a tile for 1 to 4 vectors
#else
#if defined(__AVX2__)
constexpr size_t V = 8;
#else
constexpr size_t V = 4;
#endif
constexpr int PANEL_VECTORS = 2;
constexpr int SCORE_TILE_ROWS[] = {0, 12, 6, 0, 0};
#endif
constexpr size_t PANEL = V * PANEL_VECTORS;
// number of floats of a panel that are used at a time: 128 KiB
constexpr size_t PANEL_FLOATS = 1 << 15;
constexpr size_t DV = V / 2;

}  // namespace
}  // namespace rekmeans

#if defined(REKMEANS_PLAIN)
#include "plain_vectors.hpp"
#else
#include "vector_extensions.hpp"
#endif

namespace rekmeans {
namespace {

inline vd load_doubles(const double* from) { return load(from); }
inline vd load_doubles(const float* from) { return to_double(from); }
inline vf broadcast(float x) { return vf{} + x; }
inline vd broadcast(double x) { return vd{} + x; }
inline vf larger(vf a, vf b) { return select(a > b, a, b); }

inline vd magnitude(vd x) { return number(bits(x) & ~(uint64_t(1) << 63)); }

// Reduce all lanes to one by joining halves.
template <size_t N, class T, class Vector, class Join>
inline T join_lanes(Vector x, const Join& join) {
  T lane[N];
  store(lane, x);
  REKMEANS_UNROLL(4)
  for (size_t half = N / 2; half; half /= 2) {
    REKMEANS_UNROLL(8)
    for (size_t i = 0; i < half; ++i) lane[i] = join(lane[i], lane[i + half]);
  }
  return lane[0];
}
inline float total(vf x) {
  return join_lanes<V, float>(x, [](float a, float b) { return a + b; });
}
inline double total(vd x) {
  return join_lanes<DV, double>(x, [](double a, double b) { return a + b; });
}
inline int64_t total(vl x) {
  return join_lanes<DV, int64_t>(x, [](int64_t a, int64_t b) { return a + b; });
}
inline double largest(vd x) {
  return join_lanes<DV, double>(x, [](double a, double b) { return a > b ? a : b; });
}

// The source lanes for exchanging blocks of SIZE lanes of two vectors of COUNT lanes across the
// diagonal.
template <int COUNT, int SIZE>
constexpr int upper_source(int lane) {
  return lane & SIZE ? COUNT + lane - SIZE : lane;
}
template <int COUNT, int SIZE>
constexpr int lower_source(int lane) {
  return lane & SIZE ? COUNT + lane : lane + SIZE;
}

template <int SIZE>
inline void transpose_blocks(vf* x) {
  REKMEANS_UNROLL(16)
  for (int r = 0; r < int(V); ++r)
    if (!(r & SIZE)) {
      const vf a = x[r], b = x[r + SIZE];
      x[r] = shuffle<upper_source<int(V), SIZE>>(a, b);
      x[r + SIZE] = shuffle<lower_source<int(V), SIZE>>(a, b);
    }
  if constexpr (SIZE > 1) transpose_blocks<SIZE / 2>(x);
}
template <int SIZE>
inline void transpose_blocks(vd* x) {
  REKMEANS_UNROLL(8)
  for (int r = 0; r < int(DV); ++r)
    if (!(r & SIZE)) {
      const vd a = x[r], b = x[r + SIZE];
      x[r] = shuffle<upper_source<int(DV), SIZE>>(a, b);
      x[r + SIZE] = shuffle<lower_source<int(DV), SIZE>>(a, b);
    }
  if constexpr (SIZE > 1) transpose_blocks<SIZE / 2>(x);
}

// Transpose x, which has as many vectors as a vector has lanes.
inline void transpose(vf* x) { transpose_blocks<int(V) / 2>(x); }
inline void transpose(vd* x) { transpose_blocks<int(DV) / 2>(x); }

}  // namespace
}  // namespace rekmeans
