// Winners among few centroids: lanes are rows, so that nothing is lost to padding.
#pragma once
#include "vectors.hpp"

namespace rekmeans {
namespace {

#if defined(__AVX512F__) && !defined(REKMEANS_PLAIN)

// all += the products of features [start, end) of V rows with K centroids, a lane for each row.
template <int K>
inline void add_features(const float* const* rows, size_t start, size_t end, const float* packed, vf* all) {
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
      for (int c = 0; c < K; ++c) sum[c] = fused(x[i], broadcast(packed[(l + i) * V + size_t(c)]), sum[c]);
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
      for (int c = 0; c < K; ++c) sum[c] = fused(x[i], broadcast(packed[(l + i) * V + size_t(c)]), sum[c]);
    }
  }
  for (int c = 0; c < K; ++c) all[c] += sum[c];
}

template <int K>
inline void best_of(const float* const* rows, size_t count, size_t p, const float* packed, const float* bias,
                    const Winners& winners) {
  for (size_t from = 0; from < count; from += V) {
    vf all[K];
    for (int c = 0; c < K; ++c) all[c] = vf{};
    for (size_t start = 0; start < p; start += SUM_CHUNK)
      add_features<K>(rows + from, start, start + SUM_CHUNK < p ? start + SUM_CHUNK : p, packed, all);
    for (int c = 0; c < K; ++c) all[c] -= bias[c];
    vf best = all[0], second = broadcast(NO_SCORE);
    vi index = {};
    REKMEANS_UNROLL(12)
    for (int c = 1; c < K; ++c) {
      const vi better = all[c] > best;
      second = larger(second, select(better, best, all[c]));
      index = select(better, vi{} + c, index);
      best = select(better, all[c], best);
    }
    const size_t here = count - from < V ? count - from : V;
    for (size_t r = 0; r < here; ++r) {
      winners.best[from + r] = best[r];
      winners.second[from + r] = second[r];
      winners.index[from + r] = index[r];
    }
  }
}

void best_of_few(const float* const* rows, size_t count, size_t p, const float* packed, size_t k, const float* bias,
                 const Winners& winners) {
  switch (k) {
    case 1: return best_of<1>(rows, count, p, packed, bias, winners);
    case 2: return best_of<2>(rows, count, p, packed, bias, winners);
    case 3: return best_of<3>(rows, count, p, packed, bias, winners);
    case 4: return best_of<4>(rows, count, p, packed, bias, winners);
    case 5: return best_of<5>(rows, count, p, packed, bias, winners);
    case 6: return best_of<6>(rows, count, p, packed, bias, winners);
    case 7: return best_of<7>(rows, count, p, packed, bias, winners);
    case 8: return best_of<8>(rows, count, p, packed, bias, winners);
    case 9: return best_of<9>(rows, count, p, packed, bias, winners);
    case 10: return best_of<10>(rows, count, p, packed, bias, winners);
    case 11: return best_of<11>(rows, count, p, packed, bias, winners);
    case 12: return best_of<12>(rows, count, p, packed, bias, winners);
  }
}

#else

constexpr decltype(Simd::best_of_few) best_of_few = nullptr;

#endif

}  // namespace
}  // namespace rekmeans
