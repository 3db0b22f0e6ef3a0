// Vectors of the instruction set that this file is compiled for, as GCC and Clang spell them.
#pragma once
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

inline vf load(const float* at) { return *reinterpret_cast<const vf*>(at); }
inline void store(float* at, vf x) { *reinterpret_cast<vf*>(at) = x; }

inline vf larger(vf a, vf b) { return a > b ? a : b; }

inline float total(vf x) {
  float sum[V];
  *reinterpret_cast<vf*>(sum) = x;
#pragma GCC unroll 4
  for (size_t half = V / 2; half; half /= 2)
#pragma GCC unroll 8
    for (size_t i = 0; i < half; ++i) sum[i] += sum[i + half];
  return sum[0];
}

}  // namespace
}  // namespace rekmeans
