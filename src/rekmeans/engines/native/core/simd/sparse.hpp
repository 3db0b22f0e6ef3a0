// Scores of rows that are given by the cells in which they differ from the base.
#pragma once
#include "vectors.hpp"

namespace rekmeans {
namespace {

template <int VECTORS>
inline void sparse_panel(const SparseRow& row, const float* packed, float* S) {
  constexpr size_t WAYS = VECTORS == 1   ? 4
                          : VECTORS == 2 ? 2
                                         : 1;  // independent sums hide the latency of an addition
  vf sum[VECTORS] = {};
  for (size_t from = 0; from < row.count; from += WAYS * SUM_CHUNK / 2) {
    const size_t to =
        from + WAYS * SUM_CHUNK / 2 < row.count ? from + WAYS * SUM_CHUNK / 2 : row.count;
    vf part[WAYS][VECTORS] = {};
    auto add = [&](size_t i, vf* to_) {
      const float *a = packed + row.columns[i] * 2 * VECTORS * V, *b = a + VECTORS * V;
      const vf cos = broadcast(row.cos[i]), sin = broadcast(row.sin[i]);
      REKMEANS_UNROLL(4)
      for (int v = 0; v < VECTORS; ++v)
        to_[v] = fused(sin, load(b + v * V), fused(cos, load(a + v * V), to_[v]));
    };
    size_t i = from;
    for (; i + WAYS <= to; i += WAYS) {
      if (VECTORS == 1 && i + 16 + WAYS <= row.count) {
        REKMEANS_UNROLL(4)
        for (size_t w = 0; w < WAYS; ++w)
          prefetch(packed + row.columns[i + 16 + w] * 2 * VECTORS * V);
      }
      REKMEANS_UNROLL(4)
      for (size_t w = 0; w < WAYS; ++w) add(i + w, part[w]);
    }
    for (; i < to; ++i) add(i, part[0]);
    REKMEANS_UNROLL(4)
    for (size_t w = 0; w < WAYS; ++w) {
      REKMEANS_UNROLL(4)
      for (int v = 0; v < VECTORS; ++v) sum[v] += part[w][v];
    }
  }
  for (int v = 0; v < VECTORS; ++v) store(S + v * V, sum[v]);
}

void sparse_scores(const SparseRow* rows, size_t count, size_t d, const float* packed, size_t kp,
                   float* S) {
  for (size_t c = 0; c < kp; c += PANEL)  // one panel for all rows while it is in the cache
    for (size_t r = 0; r < count; ++r) {
      const float* at = packed + c * 2 * d;
      float* out = S + r * kp + c;
      switch ((kp - c < PANEL ? kp - c : PANEL) / V) {
        case 1: sparse_panel<1>(rows[r], at, out); break;
        case 2: sparse_panel<2>(rows[r], at, out); break;
#if defined(__AVX512F__)
        case 3: sparse_panel<3>(rows[r], at, out); break;
        case 4: sparse_panel<4>(rows[r], at, out); break;
#endif
      }
    }
}

float sparse_dot(const SparseRow& row, size_t d, const float* h) {
  // number of cells after which each lane has added SUM_CHUNK products
  constexpr size_t REACH = SUM_CHUNK / 2 * V;
  const float* low = h + d;
  float sum = 0;
  for (size_t from = 0; from < row.count; from += REACH) {
    const size_t to = from + REACH < row.count ? from + REACH : row.count;
    float lane[V] = {};
    size_t i = from;
    for (; i + V <= to; i += V)
      for (size_t v = 0; v < V; ++v)
        lane[v] = fused(row.sin[i + v], low[row.columns[i + v]],
                        fused(row.cos[i + v], h[row.columns[i + v]], lane[v]));
    for (; i < to; ++i)
      lane[0] += row.cos[i] * h[row.columns[i]] + row.sin[i] * low[row.columns[i]];
    sum += total(load(lane));
  }
  return sum;
}

}  // namespace
}  // namespace rekmeans
