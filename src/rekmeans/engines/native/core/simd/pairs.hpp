// Scores in 16 bits. The cos and sin of a column form a pair of integers that one instruction
// multiplies and adds.
#pragma once
#include "vectors.hpp"

namespace rekmeans {
namespace {

#if defined(__AVX512VNNI__) && !defined(REKMEANS_PLAIN)

// Store V pairs.
inline void store_pairs(int16_t* pairs, vf cos, vf sin) {
  const __m512i low = _mm512_cvtps_epi32(__m512(cos)), high = _mm512_cvtps_epi32(__m512(sin));
  const __m512i both = _mm512_mask_blend_epi16(0xAAAAAAAA, low, _mm512_slli_epi32(high, 16));
  _mm512_storeu_si512(pairs, both);
}

void quantize_pairs(const float* cos, const float* sin, size_t count, int16_t* pairs, float* step,
                    float* error) {
  vf most = {}, squares = {};
  auto load_tail = [](const float* from, size_t here) {
    return vf(_mm512_maskz_loadu_ps(__mmask16(here < V ? (1 << here) - 1 : 0xFFFF), from));
  };
  for (size_t i = 0; i < count; i += V) {
    const vf a = load_tail(cos + i, count - i), b = load_tail(sin + i, count - i);
    most = larger(most, larger(larger(a, -a), larger(b, -b)));
    squares = fused(a, a, fused(b, b, squares));
  }
  const float top = _mm512_reduce_max_ps(__m512(most)),
              length = square_root(_mm512_reduce_add_ps(__m512(squares)));
  const float by_length = length * MEASURED_UP / LONGEST_PAIRS,
              by_size = top * MEASURED_UP / LARGEST_OF_PAIR;
  *step = by_length > by_size ? by_length : by_size;
  const float inverse = *step > 0 ? 1 / *step : 0;
  squares = vf{};
  for (size_t i = 0; i < count; i += V) {
    const vf a = load_tail(cos + i, count - i), b = load_tail(sin + i, count - i);
    const vf p = vf(_mm512_roundscale_ps(__m512(a * inverse), 0)),
             q = vf(_mm512_roundscale_ps(__m512(b * inverse), 0));
    const vf gap_a = fused(-p, broadcast(*step), a), gap_b = fused(-q, broadcast(*step), b);
    squares = fused(gap_a, gap_a, fused(gap_b, gap_b, squares));
    if (count - i >= V) {
      store_pairs(pairs + 2 * i, p, q);
    } else {
      int16_t tail[2 * V];
      store_pairs(tail, p, q);
      for (size_t r = 0; r < 2 * (count - i); ++r) pairs[2 * i + r] = tail[r];
    }
  }
  *error = square_root(_mm512_reduce_add_ps(__m512(squares))) * MEASURED_UP;
}

// Intermediate 32-bit sums may wrap around; the final sum fits.
template <int VECTORS>
inline void pair_panel(const SparsePairs& row, const int16_t* packed, const float* scale,
                       float* S) {
  constexpr size_t WAYS = VECTORS == 1   ? 4
                          : VECTORS == 2 ? 2
                                         : 1;  // independent sums hide the latency of an addition
  constexpr size_t STRIDE = 2 * VECTORS * V;
  __m512i sum[WAYS][VECTORS];
  REKMEANS_UNROLL(4)
  for (size_t w = 0; w < WAYS; ++w) {
    REKMEANS_UNROLL(4)
    for (int v = 0; v < VECTORS; ++v) sum[w][v] = _mm512_setzero_si512();
  }
  auto add = [&](size_t i, __m512i* to) {
    const int16_t* h = packed + row.columns[i] * STRIDE;
    const __m512i pair = _mm512_set1_epi32(row.pairs[i]);
    REKMEANS_UNROLL(4)
    for (int v = 0; v < VECTORS; ++v)
      to[v] = _mm512_dpwssd_epi32(to[v], pair, _mm512_loadu_si512(h + size_t(v) * 2 * V));
  };
  size_t i = 0;
  for (; i + WAYS <= row.count; i += WAYS) {
    REKMEANS_UNROLL(4)
    for (size_t w = 0; w < WAYS; ++w) add(i + w, sum[w]);
  }
  for (; i < row.count; ++i) add(i, sum[0]);
  REKMEANS_UNROLL(4)
  for (int v = 0; v < VECTORS; ++v) {
    REKMEANS_UNROLL(4)
    for (size_t w = 1; w < WAYS; ++w) sum[0][v] = _mm512_add_epi32(sum[0][v], sum[w][v]);
    store(S + v * V, vf(_mm512_cvtepi32_ps(sum[0][v])) * (load(scale + v * V) * row.step));
  }
}

constexpr size_t ROWS_AHEAD = 4;  // distance of prefetched rows
// bytes of a row that are prefetched; the hardware prefetches the rest
constexpr size_t PREFETCH_BYTES = 2048;

inline void prefetch_pairs(const SparsePairs& row) {
  const char* from = reinterpret_cast<const char*>(row.columns);
  const size_t bytes = 8 * row.count < PREFETCH_BYTES ? 8 * row.count : PREFETCH_BYTES;
  for (size_t at = 0; at < bytes; at += 64) prefetch(from + at);
}

void sparse_pair_scores(const SparsePairs* rows, size_t count, size_t d, const int16_t* packed,
                        const float* scale, size_t kp, float* S) {
  for (size_t c = 0; c < kp; c += PANEL)  // one panel for all rows while it is in the cache
    for (size_t r = 0; r < count; ++r) {
      if (c == 0 && r + ROWS_AHEAD < count) prefetch_pairs(rows[r + ROWS_AHEAD]);
      const int16_t* at = packed + c * 2 * d;
      float* out = S + r * kp + c;
      switch ((kp - c < PANEL ? kp - c : PANEL) / V) {
        case 1: pair_panel<1>(rows[r], at, scale + c, out); break;
        case 2: pair_panel<2>(rows[r], at, scale + c, out); break;
        case 3: pair_panel<3>(rows[r], at, scale + c, out); break;
        case 4: pair_panel<4>(rows[r], at, scale + c, out); break;
      }
    }
}

#else
constexpr decltype(Simd::quantize_pairs) quantize_pairs = nullptr;
constexpr decltype(Simd::sparse_pair_scores) sparse_pair_scores = nullptr;
#endif

}  // namespace
}  // namespace rekmeans
