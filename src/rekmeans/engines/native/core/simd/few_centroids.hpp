// Winners among few centroids. Lanes are rows, so that no lane is wasted on padding.
#pragma once
#include "vectors.hpp"

namespace rekmeans {
namespace {

#if defined(__AVX512F__) && !defined(REKMEANS_PLAIN)

// Add the products of features [start, end) of V rows with K centroids to `all`, one lane per row.
template <int K>
inline void add_features(const float* const* rows, size_t start, size_t end, const float* packed,
                         vf* all) {
  vf sum[K];
  for (int c = 0; c < K; ++c) sum[c] = vf{};
  size_t l = start;
  for (; l + V <= end; l += V) {
    vf x[V];
    REKMEANS_UNROLL(16)
    for (size_t r = 0; r < V; ++r) x[r] = load(rows[r] + l);
    REKMEANS_UNROLL(16)
    for (size_t r = 0; r < V; ++r) prefetch(rows[V + r] + l);
    transpose(x);
    REKMEANS_UNROLL(16)
    for (size_t i = 0; i < V; ++i) {
      REKMEANS_UNROLL(12)
      for (int c = 0; c < K; ++c)
        sum[c] = fused(x[i], broadcast(packed[(l + i) * V + size_t(c)]), sum[c]);
    }
  }
  if (l < end) {
    vf x[V];
    const __mmask16 inside = __mmask16((1 << (end - l)) - 1);
    REKMEANS_UNROLL(16)
    for (size_t r = 0; r < V; ++r) x[r] = _mm512_maskz_loadu_ps(inside, rows[r] + l);
    transpose(x);
    for (size_t i = 0; l + i < end; ++i) {
      REKMEANS_UNROLL(12)
      for (int c = 0; c < K; ++c)
        sum[c] = fused(x[i], broadcast(packed[(l + i) * V + size_t(c)]), sum[c]);
    }
  }
  for (int c = 0; c < K; ++c) all[c] += sum[c];
}

// The products of V rows with K centroids, minus the bias of each.
template <int K>
inline void scores_of(const float* const* rows, size_t p, const float* packed, const float* bias,
                      vf* all) {
  for (int c = 0; c < K; ++c) all[c] = vf{};
  for (size_t start = 0; start < p; start += SUM_CHUNK)
    add_features<K>(rows, start, start + SUM_CHUNK < p ? start + SUM_CHUNK : p, packed, all);
  for (int c = 0; c < K; ++c) all[c] -= bias[c];
}

// Find the winners of `count` rows.
template <int K>
inline void best_of(const float* const* rows, size_t count, size_t p, const float* packed,
                    const float* bias, const Winners& winners) {
  for (size_t from = 0; from < count; from += V) {
    vf all[K];
    scores_of<K>(rows + from, p, packed, bias, all);
    vf best = all[0], second = broadcast(NO_SCORE);
    vi index = {};
    REKMEANS_UNROLL(12)
    for (int c = 1; c < K; ++c) {
      const vi better = all[c] > best;
      second = larger(second, select(better, best, all[c]));
      index = select(better, vi{} + c, index);
      best = select(better, all[c], best);
    }
    const __mmask16 here = __mmask16(count - from < V ? (1 << (count - from)) - 1 : 0xFFFF);
    _mm512_mask_storeu_ps(winners.best + from, here, __m512(best));
    _mm512_mask_storeu_ps(winners.second + from, here, __m512(second));
    _mm512_mask_storeu_epi32(winners.index + from, here, __m512i(index));
  }
}

template <int K>
inline void above_of(const float* const* rows, size_t count, size_t p, const float* packed,
                     const float* bias, const float* bars, uint16_t* above) {
  for (size_t from = 0; from < count; from += V) {
    vf all[K];
    scores_of<K>(rows + from, p, packed, bias, all);
    const size_t here = count - from < V ? count - from : V;
    const vf bar = _mm512_maskz_loadu_ps(__mmask16((1 << here) - 1), bars + from);
    vi bits = {};
    REKMEANS_UNROLL(12)
    for (int c = 0; c < K; ++c) bits |= select(all[c] >= bar, vi{} + (1 << c), vi{});
    for (size_t r = 0; r < here; ++r) above[from + r] = uint16_t(bits[r]);
  }
}

// Call call.operator()<K>() for K = k, from 1 to FEW_CENTROIDS.
template <class Call>
inline void with_constant(size_t k, const Call& call) {
  static_assert(FEW_CENTROIDS == 12);
  switch (k) {
    case 1: return call.template operator()<1>();
    case 2: return call.template operator()<2>();
    case 3: return call.template operator()<3>();
    case 4: return call.template operator()<4>();
    case 5: return call.template operator()<5>();
    case 6: return call.template operator()<6>();
    case 7: return call.template operator()<7>();
    case 8: return call.template operator()<8>();
    case 9: return call.template operator()<9>();
    case 10: return call.template operator()<10>();
    case 11: return call.template operator()<11>();
    case 12: return call.template operator()<12>();
  }
}

void best_of_few(const float* const* rows, size_t count, size_t p, const float* packed, size_t k,
                 const float* bias, const Winners& winners) {
  with_constant(k, [&]<int K>() { best_of<K>(rows, count, p, packed, bias, winners); });
}

void few_above(const float* const* rows, size_t count, size_t p, const float* packed, size_t k,
               const float* bias, const float* bars, uint16_t* above) {
  with_constant(k, [&]<int K>() { above_of<K>(rows, count, p, packed, bias, bars, above); });
}

#else

constexpr decltype(Simd::best_of_few) best_of_few = nullptr;
constexpr decltype(Simd::few_above) few_above = nullptr;

#endif

}  // namespace
}  // namespace rekmeans
