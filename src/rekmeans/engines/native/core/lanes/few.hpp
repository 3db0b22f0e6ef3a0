// Winners among few centroids: lanes are rows, so that nothing is lost to padding.
#pragma once
#include "vectors.hpp"

namespace rekmeans {
namespace {

#if defined(__AVX512F__)

template <int K>
inline void few(const float* const* rows, size_t count, size_t p, const float* packed, const float* bias, int32_t* where,
                float* best, float* second) {
  for (size_t from = 0; from < count; from += V) {
    vf all[K];
    for (int c = 0; c < K; ++c) all[c] = vf{};
    for (size_t start = 0; start < p; start += CHUNK) {
      vf sum[K];
      for (int c = 0; c < K; ++c) sum[c] = vf{};
      const size_t end = start + CHUNK < p ? start + CHUNK : p;
      size_t l = start;
      for (; l + V <= end; l += V) {
        vf x[V];
        REKMEANS_UNROLL(16)
        for (size_t r = 0; r < V; ++r) x[r] = load(rows[from + r] + l);
        REKMEANS_UNROLL(16)
        for (size_t r = 0; r < V; ++r) prefetch(rows[from + V + r] + l);
        transpose(x);
        REKMEANS_UNROLL(16)
        for (size_t i = 0; i < V; ++i)
          REKMEANS_UNROLL(12)
          for (int c = 0; c < K; ++c) sum[c] += x[i] * packed[(l + i) * V + size_t(c)];
      }
      if (l < end) {
        vf x[V];
        const __mmask16 inside = __mmask16((1 << (end - l)) - 1);
        REKMEANS_UNROLL(16)
        for (size_t r = 0; r < V; ++r) x[r] = _mm512_maskz_loadu_ps(inside, rows[from + r] + l);
        transpose(x);
        for (size_t i = 0; l + i < end; ++i)
          REKMEANS_UNROLL(12)
          for (int c = 0; c < K; ++c) sum[c] += x[i] * packed[(l + i) * V + size_t(c)];
      }
      for (int c = 0; c < K; ++c) all[c] += sum[c];
    }
    for (int c = 0; c < K; ++c) all[c] -= bias[c];
    vf top = all[0], next = vf{} - 3.0e38f;
    vi at = {};
    REKMEANS_UNROLL(12)
    for (int c = 1; c < K; ++c) {
      const vi better = all[c] > top;
      next = larger(next, select(better, top, all[c]));
      at = select(better, vi{} + c, at);
      top = select(better, all[c], top);
    }
    const size_t here = count - from < V ? count - from : V;
    for (size_t r = 0; r < here; ++r) best[from + r] = top[r], second[from + r] = next[r], where[from + r] = at[r];
  }
}

void winners_of_few(const float* const* rows, size_t count, size_t p, const float* packed, size_t k, const float* bias,
                    int32_t* where, float* best, float* second) {
  switch (k) {
    case 1: return few<1>(rows, count, p, packed, bias, where, best, second);
    case 2: return few<2>(rows, count, p, packed, bias, where, best, second);
    case 3: return few<3>(rows, count, p, packed, bias, where, best, second);
    case 4: return few<4>(rows, count, p, packed, bias, where, best, second);
    case 5: return few<5>(rows, count, p, packed, bias, where, best, second);
    case 6: return few<6>(rows, count, p, packed, bias, where, best, second);
    case 7: return few<7>(rows, count, p, packed, bias, where, best, second);
    case 8: return few<8>(rows, count, p, packed, bias, where, best, second);
    case 9: return few<9>(rows, count, p, packed, bias, where, best, second);
    case 10: return few<10>(rows, count, p, packed, bias, where, best, second);
    case 11: return few<11>(rows, count, p, packed, bias, where, best, second);
    case 12: return few<12>(rows, count, p, packed, bias, where, best, second);
  }
}

#else

constexpr void (*winners_of_few)(const float* const*, size_t, size_t, const float*, size_t, const float*, int32_t*, float*,
                                 float*) = nullptr;

#endif

}  // namespace
}  // namespace rekmeans
