// Scores of many rows and centroids: tiles of rows by panels of centroids.
#pragma once
#include "vectors.hpp"

namespace rekmeans {
namespace {

template <int ROWS, int VECTORS>
inline void tile(const float* const* rows, size_t from, size_t to, const float* packed, float* S, size_t kp) {
  vf sum[ROWS][VECTORS];
  REKMEANS_UNROLL(16)
  for (int r = 0; r < ROWS; ++r)
    REKMEANS_UNROLL(4)
    for (int v = 0; v < VECTORS; ++v) sum[r][v] = vf{};
  const float* h = packed + from * VECTORS * V;
  for (size_t l = from; l < to; ++l, h += VECTORS * V) {
    vf b[VECTORS];
    if (VECTORS < 3 && l % 16 == 0)  // few centroids: memory is the limit, so ask for the next tile's rows in time
      REKMEANS_UNROLL(16)
      for (int r = 0; r < ROWS; ++r) prefetch(rows[r + (ROWS > 1 ? ROWS : 0)] + l);
    REKMEANS_UNROLL(4)
    for (int v = 0; v < VECTORS; ++v) b[v] = load(h + v * V);
    REKMEANS_UNROLL(16)
    for (int r = 0; r < ROWS; ++r) {
      const float a = rows[r][l];
      REKMEANS_UNROLL(4)
      for (int v = 0; v < VECTORS; ++v) sum[r][v] += a * b[v];
    }
  }
  REKMEANS_UNROLL(16)
  for (int r = 0; r < ROWS; ++r)
    REKMEANS_UNROLL(4)
    for (int v = 0; v < VECTORS; ++v) {
      float* at = S + r * kp + v * V;
      store(at, from ? load(at) + sum[r][v] : sum[r][v]);
    }
}

// Features [from, to) of one panel, a tile of rows at a time: each row is read in one go.
template <int VECTORS>
inline void panel(const float* const* rows, size_t count, size_t from, size_t to, const float* packed, float* S, size_t kp) {
  constexpr int ROWS = TALL[VECTORS];
  size_t r = 0;
  for (; r + ROWS <= count; r += ROWS)
    for (size_t l = from; l < to; l += CHUNK)
      tile<ROWS, VECTORS>(rows + r, l, l + CHUNK < to ? l + CHUNK : to, packed, S + r * kp, kp);
  for (; r < count; ++r)
    for (size_t l = from; l < to; l += CHUNK)
      tile<1, VECTORS>(rows + r, l, l + CHUNK < to ? l + CHUNK : to, packed, S + r * kp, kp);
}

void scores(const float* const* rows, size_t count, size_t p, const float* packed, size_t kp, float* S) {
  for (size_t c = 0; c < kp; c += PANEL) {
    const size_t span = kp - c < PANEL ? kp - c : PANEL;
    const size_t reach = HELD / span / CHUNK * CHUNK;  // features of the panel that stay in the second-level cache
    for (size_t from = 0; from < p; from += reach) {
      const size_t to = from + reach < p ? from + reach : p;
      const float* at = packed + c * p;
      switch (span / V) {
        case 1: panel<1>(rows, count, from, to, at, S + c, kp); break;
        case 2: panel<2>(rows, count, from, to, at, S + c, kp); break;
#if defined(__AVX512F__)
        case 3: panel<3>(rows, count, from, to, at, S + c, kp); break;
        case 4: panel<4>(rows, count, from, to, at, S + c, kp); break;
#endif
      }
    }
  }
}

}  // namespace
}  // namespace rekmeans
