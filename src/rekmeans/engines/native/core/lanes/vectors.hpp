// Vectors of the instruction set that this file is compiled for, by operations that GCC and Clang both take.
#pragma once
#include <utility>

#include "../compiler.hpp"
#include "../lanes.hpp"

#if defined(__AVX512F__)
#include <immintrin.h>
#endif

namespace rekmeans {
namespace {

#if defined(__AVX512F__)
constexpr size_t V = 16;
constexpr int WIDE = 4, TALL[] = {0, 16, 12, 8, 6};    // vectors in a panel; rows of a tile for 1..4 vectors
#elif defined(__AVX2__)
constexpr size_t V = 8;
constexpr int WIDE = 2, TALL[] = {0, 12, 6, 0, 0};
#else
constexpr size_t V = 4;
constexpr int WIDE = 2, TALL[] = {0, 12, 6, 0, 0};
#endif
constexpr size_t PANEL = V * WIDE;
constexpr size_t HELD = 1 << 15;  // floats of a panel worked on at a time: 128 KiB
constexpr size_t DV = V / 2;

typedef float vf __attribute__((vector_size(V * 4), aligned(4), may_alias));
typedef int32_t vi __attribute__((vector_size(V * 4), aligned(4), may_alias));
typedef double vd __attribute__((vector_size(V * 4), aligned(8), may_alias));
typedef int64_t vl __attribute__((vector_size(V * 4), aligned(8), may_alias));
typedef uint64_t vu __attribute__((vector_size(V * 4), aligned(8), may_alias));
typedef float vh __attribute__((vector_size(V * 2), aligned(4), may_alias));  // as many floats as a vd has doubles
typedef uint8_t vb __attribute__((vector_size(V), aligned(1), may_alias));    // as many bytes as a vf has floats

inline vf load(const float* at) { return *reinterpret_cast<const vf*>(at); }
inline vd load(const double* at) { return *reinterpret_cast<const vd*>(at); }
inline void store(float* at, vf x) { *reinterpret_cast<vf*>(at) = x; }
inline void store(float* at, vh x) { *reinterpret_cast<vh*>(at) = x; }
inline void store(double* at, vd x) { *reinterpret_cast<vd*>(at) = x; }
inline void store(uint8_t* at, vb x) { *reinterpret_cast<vb*>(at) = x; }

// Lane by lane yes where the mask of a comparison is set, else no.
inline vf select(vi mask, vf yes, vf no) { return mask ? yes : no; }
inline vi select(vi mask, vi yes, vi no) { return mask ? yes : no; }
inline vd select(vl mask, vd yes, vd no) { return mask ? yes : no; }
inline vl select(vl mask, vl yes, vl no) { return mask ? yes : no; }

// Other numbers of the same value, and the same bits read as other numbers.
inline vd widened(const float* at) { return __builtin_convertvector(*reinterpret_cast<const vh*>(at), vd); }
inline vh narrowed(vd x) { return __builtin_convertvector(x, vh); }
inline vl integers(vd x) { return __builtin_convertvector(x, vl); }
inline vb low_bytes(vi x) { return __builtin_convertvector(x, vb); }
inline vi bits(vf x) { return vi(x); }
inline vu bits(vd x) { return vu(x); }
inline vd number(vu x) { return vd(x); }

// Lane i becomes lane SOURCE(i) of a and b side by side: lane i of b is number V + i, or DV + i of doubles.
#if defined(__clang__)
#define REKMEANS_SHUFFLE(MASK, A, B, ...) __builtin_shufflevector(A, B, __VA_ARGS__)
#else
#define REKMEANS_SHUFFLE(MASK, A, B, ...) __builtin_shuffle(A, B, MASK{__VA_ARGS__})
#endif

using Lanes4 = std::make_integer_sequence<int, int(V)>;    // the lanes of 4 bytes of a vector
using Lanes8 = std::make_integer_sequence<int, int(DV)>;   // and those of 8

template <int (*SOURCE)(int), int... LANE>
inline vf shuffled(vf a, vf b, std::integer_sequence<int, LANE...>) {
  return REKMEANS_SHUFFLE(vi, a, b, SOURCE(LANE)...);
}
template <int (*SOURCE)(int), int... LANE>
inline vi shuffled(vi a, vi b, std::integer_sequence<int, LANE...>) {
  return REKMEANS_SHUFFLE(vi, a, b, SOURCE(LANE)...);
}
template <int (*SOURCE)(int), int... LANE>
inline vd shuffled(vd a, vd b, std::integer_sequence<int, LANE...>) {
  return REKMEANS_SHUFFLE(vl, a, b, SOURCE(LANE)...);
}

// Where lanes come from when blocks of SIZE lanes of two vectors of COUNT change places across the diagonal.
template <int COUNT, int SIZE>
constexpr int upper_source(int lane) { return lane & SIZE ? COUNT + lane - SIZE : lane; }
template <int COUNT, int SIZE>
constexpr int lower_source(int lane) { return lane & SIZE ? COUNT + lane : lane + SIZE; }

// Rows become columns: x is as many vectors as one has lanes. Two overloads, as a template argument of a vector's type
// would lose its alignment.
template <int SIZE>
inline void transpose_blocks(vf* x) {
  REKMEANS_UNROLL(16)
  for (int r = 0; r < int(V); ++r)
    if (!(r & SIZE)) {
      const vf a = x[r], b = x[r + SIZE];
      x[r] = shuffled<upper_source<int(V), SIZE>>(a, b, Lanes4());
      x[r + SIZE] = shuffled<lower_source<int(V), SIZE>>(a, b, Lanes4());
    }
  if constexpr (SIZE > 1) transpose_blocks<SIZE / 2>(x);
}
template <int SIZE>
inline void transpose_blocks(vd* x) {
  REKMEANS_UNROLL(8)
  for (int r = 0; r < int(DV); ++r)
    if (!(r & SIZE)) {
      const vd a = x[r], b = x[r + SIZE];
      x[r] = shuffled<upper_source<int(DV), SIZE>>(a, b, Lanes8());
      x[r + SIZE] = shuffled<lower_source<int(DV), SIZE>>(a, b, Lanes8());
    }
  if constexpr (SIZE > 1) transpose_blocks<SIZE / 2>(x);
}
inline void transpose(vf* x) { transpose_blocks<int(V) / 2>(x); }
inline void transpose(vd* x) { transpose_blocks<int(DV) / 2>(x); }

inline vf larger(vf a, vf b) { return select(a > b, a, b); }

inline float total(vf x) {
  float sum[V];
  store(sum, x);
  REKMEANS_UNROLL(4)
  for (size_t half = V / 2; half; half /= 2)
    REKMEANS_UNROLL(8)
    for (size_t i = 0; i < half; ++i) sum[i] += sum[i + half];
  return sum[0];
}

}  // namespace
}  // namespace rekmeans
