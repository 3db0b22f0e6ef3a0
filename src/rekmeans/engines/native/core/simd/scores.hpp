// Scores of many rows and centroids, computed for tiles of rows and panels of centroids, and sums
// of one row.
#pragma once
#include "vectors.hpp"

namespace rekmeans {
namespace {

template <int ROWS, int VECTORS>
inline void score_tile(const float* const* rows, size_t from, size_t to, const float* packed,
                       float* S, size_t kp) {
  vf sum[ROWS][VECTORS];
  REKMEANS_UNROLL(16)
  for (int r = 0; r < ROWS; ++r) {
    REKMEANS_UNROLL(4)
    for (int v = 0; v < VECTORS; ++v) sum[r][v] = vf{};
  }
  const float* h = packed + from * VECTORS * V;
  for (size_t l = from; l < to; ++l, h += VECTORS * V) {
    vf b[VECTORS];
    // with few centroids, memory bandwidth is the limit, so prefetch the next tile's rows
    if (VECTORS < 3 && l % 16 == 0) {
      REKMEANS_UNROLL(16)
      for (int r = 0; r < ROWS; ++r) prefetch(rows[r + (ROWS > 1 ? ROWS : 0)] + l);
    }
    REKMEANS_UNROLL(4)
    for (int v = 0; v < VECTORS; ++v) b[v] = load(h + v * V);
    REKMEANS_UNROLL(16)
    for (int r = 0; r < ROWS; ++r) {
      const vf a = broadcast(rows[r][l]);
      REKMEANS_UNROLL(4)
      for (int v = 0; v < VECTORS; ++v) sum[r][v] = fused(a, b[v], sum[r][v]);
    }
  }
  REKMEANS_UNROLL(16)
  for (int r = 0; r < ROWS; ++r) {
    REKMEANS_UNROLL(4)
    for (int v = 0; v < VECTORS; ++v) {
      float* s = S + r * kp + v * V;
      store(s, from ? load(s) + sum[r][v] : sum[r][v]);
    }
  }
}

// Add the products of features [from, to) of one panel, for one tile of rows at a time. Each row is
// read sequentially.
template <int VECTORS>
inline void score_panel(const float* const* rows, size_t count, size_t from, size_t to,
                        const float* packed, float* S, size_t kp) {
  constexpr int ROWS = SCORE_TILE_ROWS[VECTORS];
  size_t r = 0;
  for (; r + ROWS <= count; r += ROWS)
    for (size_t l = from; l < to; l += SUM_CHUNK)
      score_tile<ROWS, VECTORS>(rows + r, l, l + SUM_CHUNK < to ? l + SUM_CHUNK : to, packed,
                                S + r * kp, kp);
  for (; r < count; ++r)
    for (size_t l = from; l < to; l += SUM_CHUNK)
      score_tile<1, VECTORS>(rows + r, l, l + SUM_CHUNK < to ? l + SUM_CHUNK : to, packed,
                             S + r * kp, kp);
}

float dot(const float* a, const float* b, size_t p) {
  float sum = 0;
  for (size_t from = 0; from < p; from += SUM_CHUNK) {
    const size_t to = from + SUM_CHUNK < p ? from + SUM_CHUNK : p;
    vf even = {}, odd = {};
    size_t l = from;
    for (; l + 2 * V <= to; l += 2 * V) {
      even = fused(load(a + l), load(b + l), even);
      odd = fused(load(a + l + V), load(b + l + V), odd);
    }
    if (l + V <= to) even = fused(load(a + l), load(b + l), even), l += V;
    float part = total(even + odd);
    for (; l < to; ++l) part += a[l] * b[l];
    sum += part;
  }
  return sum;
}

int64_t grid_distance(const float* g, const int32_t* h, size_t p) {
  int64_t sum = 0;
  for (size_t l = 0; l < p; ++l) {
    const int32_t gap = int32_t(g[l] * float(GRID)) - h[l];
    sum += int64_t(gap) * gap;
  }
  return sum;
}

void add_row(int64_t* totals, const float* g, size_t p, bool minus) {
  if (minus)
    for (size_t l = 0; l < p; ++l) totals[l] -= int32_t(g[l] * float(GRID));
  else
    for (size_t l = 0; l < p; ++l) totals[l] += int32_t(g[l] * float(GRID));
}

void scores(const float* const* rows, size_t count, size_t p, const float* packed, size_t kp,
            float* S) {
  for (size_t c = 0; c < kp; c += PANEL) {
    const size_t span = kp - c < PANEL ? kp - c : PANEL;
    // number of features for which a panel stays in the second-level cache
    const size_t reach = PANEL_FLOATS / span / SUM_CHUNK * SUM_CHUNK;
    for (size_t from = 0; from < p; from += reach) {
      const size_t to = from + reach < p ? from + reach : p;
      const float* at = packed + c * p;
      switch (span / V) {
        case 1: score_panel<1>(rows, count, from, to, at, S + c, kp); break;
        case 2: score_panel<2>(rows, count, from, to, at, S + c, kp); break;
#if defined(__AVX512F__)
        case 3: score_panel<3>(rows, count, from, to, at, S + c, kp); break;
        case 4: score_panel<4>(rows, count, from, to, at, S + c, kp); break;
#endif
      }
    }
  }
}

}  // namespace
}  // namespace rekmeans
