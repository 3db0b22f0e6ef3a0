// Scores in 8 bits, for processors with an 8-bit dot product.
#pragma once
#include "vectors.hpp"

namespace rekmeans {
namespace {

#if defined(__AVX512VNNI__) && !defined(REKMEANS_PLAIN)

void quantize_row(const float* g, size_t p, uint8_t* q, float* step, float* error) {
  vf most = {};
  size_t l = 0;
  for (; l + V <= p; l += V) {
    const vf x = load(g + l);
    most = larger(most, select(x < 0.0f, -x, x));
  }
  float top = 0;
  for (size_t i = 0; i < V; ++i) top = most[i] > top ? most[i] : top;
  for (size_t i = l; i < p; ++i) top = magnitude(g[i]) > top ? magnitude(g[i]) : top;
  *step = top / LARGEST_BYTE;
  const float inverse = top > 0 ? LARGEST_BYTE / top : 0;
  // 1.5 * 2^23: adding it leaves the rounded integer in the low bits
  constexpr float SHIFT = 12582912.0f;
  vf squares = {};
  for (l = 0; l + V <= p; l += V) {
    const vf x = load(g + l), shifted = fused(x, broadcast(inverse), broadcast(SHIFT));
    const vf gap = x - (shifted - SHIFT) * *step;
    squares = fused(gap, gap, squares);
    store(q + l, low_bytes(bits(shifted) + 128));
  }
  float sum = 0;
  for (size_t i = 0; i < V; ++i) sum += squares[i];
  for (; l < p; ++l) {
    const float near = (g[l] * inverse + SHIFT) - SHIFT, gap = g[l] - near * *step;
    sum += gap * gap;
    q[l] = uint8_t(int(near) + 128);
  }
  for (; l % 4; ++l) q[l] = 128;
  *error = square_root(sum) * MEASURED_UP;
}

template <int ROWS, int VECTORS>
inline void quantized_tile(const uint8_t* const* rows, const float* step, size_t quads,
                           const int8_t* packed, const float* scale, const int32_t* offset,
                           float* S, size_t kp) {
  __m512i sum[ROWS][VECTORS];
  REKMEANS_UNROLL(16)
  for (int r = 0; r < ROWS; ++r) {
    REKMEANS_UNROLL(4)
    for (int v = 0; v < VECTORS; ++v) sum[r][v] = _mm512_setzero_si512();
  }
  for (size_t l = 0; l < quads; ++l, packed += VECTORS * V * 4) {
    __m512i b[VECTORS];
    REKMEANS_UNROLL(4)
    for (int v = 0; v < VECTORS; ++v) b[v] = _mm512_loadu_si512(packed + v * V * 4);
    REKMEANS_UNROLL(16)
    for (int r = 0; r < ROWS; ++r) {
      int32_t four;
      copy_bytes(&four, rows[r] + 4 * l);
      const __m512i a = _mm512_set1_epi32(four);
      REKMEANS_UNROLL(4)
      for (int v = 0; v < VECTORS; ++v) sum[r][v] = _mm512_dpbusd_epi32(sum[r][v], a, b[v]);
    }
  }
  for (int r = 0; r < ROWS; ++r) {
    REKMEANS_UNROLL(4)
    for (int v = 0; v < VECTORS; ++v) {
      const __m512i exact = _mm512_sub_epi32(sum[r][v], _mm512_loadu_si512(offset + v * V));
      const vf s = vf(_mm512_cvtepi32_ps(exact)) * (load(scale + v * V) * step[r]);
      store(S + r * kp + v * V, s);
    }
  }
}

template <int VECTORS>
inline void quantized_panel(const uint8_t* const* rows, const float* step, size_t count,
                            size_t quads, const int8_t* packed, const float* scale,
                            const int32_t* offset, float* S, size_t kp) {
  constexpr int ROWS = SCORE_TILE_ROWS[VECTORS];
  size_t r = 0;
  for (; r + ROWS <= count; r += ROWS)
    quantized_tile<ROWS, VECTORS>(rows + r, step + r, quads, packed, scale, offset, S + r * kp, kp);
  for (; r < count; ++r)
    quantized_tile<1, VECTORS>(rows + r, step + r, quads, packed, scale, offset, S + r * kp, kp);
}

void quantized_scores(const uint8_t* const* rows, const float* step, size_t count, size_t quads,
                      const int8_t* packed, const float* scale, const int32_t* offset, size_t kp,
                      float* S) {
  for (size_t c = 0; c < kp; c += PANEL) {
    const int8_t* at = packed + c * quads * 4;
    switch ((kp - c < PANEL ? kp - c : PANEL) / V) {
      case 1:
        quantized_panel<1>(rows, step, count, quads, at, scale + c, offset + c, S + c, kp);
        break;
      case 2:
        quantized_panel<2>(rows, step, count, quads, at, scale + c, offset + c, S + c, kp);
        break;
      case 3:
        quantized_panel<3>(rows, step, count, quads, at, scale + c, offset + c, S + c, kp);
        break;
      case 4:
        quantized_panel<4>(rows, step, count, quads, at, scale + c, offset + c, S + c, kp);
        break;
    }
  }
}

#else
constexpr decltype(Simd::quantize_row) quantize_row = nullptr;
constexpr decltype(Simd::quantized_scores) quantized_scores = nullptr;
#endif

}  // namespace
}  // namespace rekmeans
