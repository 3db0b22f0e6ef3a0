// Distances to points and sums of points in float64, for one tile of TILE_ROWS rows at a time.
// Lanes are rows.
#pragma once
#include "phases.hpp"

namespace rekmeans {
namespace {

#if defined(__AVX512F__)
// vectors of rows processed together; PANEL_K sums for each of them fit into the registers
constexpr size_t ROW_VECTORS = 2;
#else
constexpr size_t ROW_VECTORS = 1;
#endif

inline vd magnitude_of(vd x) { return number(bits(x) & (~uint64_t(0) >> 1)); }

template <class T>
inline uint32_t columns_of(const T* rows, size_t p, size_t count, size_t width, double* out) {
  vl holes[TILE_ROWS / DV] = {};
  size_t l = 0;
  for (; count == TILE_ROWS && l + DV <= width; l += DV) {
    REKMEANS_UNROLL(8)
    for (size_t v = 0; v < TILE_ROWS / DV; ++v) {
      vd x[DV];
      REKMEANS_UNROLL(8)
      for (size_t i = 0; i < DV; ++i) x[i] = load_doubles(rows + (v * DV + i) * p + l);
      REKMEANS_UNROLL(8)
      for (size_t i = 0; i < DV; ++i)
        prefetch(rows + (TILE_ROWS + v * DV + i) * p + l);  // the next tile
      transpose(x);
      REKMEANS_UNROLL(8)
      for (size_t i = 0; i < DV; ++i) {
        holes[v] |= x[i] != x[i];
        store(out + (l + i) * TILE_ROWS + v * DV, x[i]);
      }
    }
  }
  uint32_t missing = 0;
  for (; l < width; ++l)
    for (size_t r = 0; r < TILE_ROWS; ++r) {
      const double x = r < count ? double(rows[r * p + l]) : 0.0;
      out[l * TILE_ROWS + r] = x;
      missing |= uint32_t(x != x) << r;
    }
  int64_t hole[TILE_ROWS], any = 0;
  copy_bytes(&hole, holes);
  for (size_t r = 0; r < TILE_ROWS; ++r) any |= hole[r];
  for (size_t r = 0; any && r < TILE_ROWS; ++r) missing |= uint32_t(hole[r] != 0) << r;
  return missing;
}

uint32_t tile_columns(const RowTile& tile, FeatureRange features, double* out) {
  const FloatTable& F = tile.table;
  const size_t first = tile.row * F.p + features.from;
  return F.float32 ? columns_of(F.float32 + first, F.p, tile.count, features.width, out)
                   : columns_of(F.float64 + first, F.p, tile.count, features.width, out);
}

template <class T>
inline void cells_of(const T* rows, size_t p, size_t count, size_t width, size_t padded,
                     double* out, double* observed) {
  for (size_t r = 0; r < TILE_ROWS; ++r, rows += p) {
    const size_t here = r < count ? width : 0;
    double *to = out + r * padded, *mark = observed ? observed + r * padded : nullptr;
    size_t l = 0;
    for (; l + DV <= here; l += DV) {
      const vd x = load_doubles(rows + l);
      store(to + l, select(x == x, x, vd{}));
      if (mark) store(mark + l, select(x == x, broadcast(1.0), vd{}));
    }
    for (; l < padded; ++l) {
      const double x = l < here ? double(rows[l]) : 0.0;
      to[l] = x == x ? x : 0.0;
      if (mark) mark[l] = x == x ? 1.0 : 0.0;
    }
  }
}

void tile_cells(const RowTile& tile, FeatureRange features, size_t padded, double* out,
                double* observed) {
  const FloatTable& F = tile.table;
  const size_t first = tile.row * F.p + features.from;
  if (F.float32)
    cells_of(F.float32 + first, F.p, tile.count, features.width, padded, out, observed);
  else cells_of(F.float64 + first, F.p, tile.count, features.width, padded, out, observed);
}

template <Norm NORM, bool HAS_MISSING, int K>
inline void add_panel(const double* x, size_t width, const double* packed, double* D) {
  for (size_t v = 0; v < TILE_ROWS; v += ROW_VECTORS * DV) {
    vd sum[K][ROW_VECTORS];
    REKMEANS_UNROLL(8)
    for (int c = 0; c < K; ++c) {
      REKMEANS_UNROLL(2)
      for (size_t i = 0; i < ROW_VECTORS; ++i)
        sum[c][i] = load(D + size_t(c) * TILE_ROWS + v + i * DV);
    }
    const double* b = packed;
    for (size_t l = 0; l < width; ++l, b += K) {
      vd a[ROW_VECTORS];
      REKMEANS_UNROLL(2)
      for (size_t i = 0; i < ROW_VECTORS; ++i) a[i] = load(x + l * TILE_ROWS + v + i * DV);
      REKMEANS_UNROLL(8)
      for (int c = 0; c < K; ++c) {
        REKMEANS_UNROLL(2)
        for (size_t i = 0; i < ROW_VECTORS; ++i) {
          if constexpr (NORM == Norm::product) {
            sum[c][i] = fused(a[i], broadcast(b[c]), sum[c][i]);
          } else {
            vd gap = a[i] - b[c];
            if constexpr (HAS_MISSING) gap = select(a[i] == a[i], gap, vd{});
            if constexpr (NORM == Norm::squared) sum[c][i] = fused(gap, gap, sum[c][i]);
            else sum[c][i] += magnitude_of(gap);
          }
        }
      }
    }
    REKMEANS_UNROLL(8)
    for (int c = 0; c < K; ++c) {
      REKMEANS_UNROLL(2)
      for (size_t i = 0; i < ROW_VECTORS; ++i)
        store(D + size_t(c) * TILE_ROWS + v + i * DV, sum[c][i]);
    }
  }
}

template <Norm NORM, bool HAS_MISSING>
inline void add_panels(const double* x, FeatureRange features, size_t p, const double* packed,
                       size_t k, double* D) {
  for (size_t c = 0; c < k; c += PANEL_K, D += PANEL_K * TILE_ROWS) {
    const size_t span = k - c < PANEL_K ? k - c : PANEL_K;
    const double* panel = packed + c * p + features.from * span;
    switch (span) {
      case 1: add_panel<NORM, HAS_MISSING, 1>(x, features.width, panel, D); break;
      case 2: add_panel<NORM, HAS_MISSING, 2>(x, features.width, panel, D); break;
      case 3: add_panel<NORM, HAS_MISSING, 3>(x, features.width, panel, D); break;
      case 4: add_panel<NORM, HAS_MISSING, 4>(x, features.width, panel, D); break;
      case 5: add_panel<NORM, HAS_MISSING, 5>(x, features.width, panel, D); break;
      case 6: add_panel<NORM, HAS_MISSING, 6>(x, features.width, panel, D); break;
      case 7: add_panel<NORM, HAS_MISSING, 7>(x, features.width, panel, D); break;
      case 8: add_panel<NORM, HAS_MISSING, 8>(x, features.width, panel, D); break;
    }
  }
}

void add_distances(Norm norm, bool has_missing, const double* x, FeatureRange features, size_t p,
                   const double* packed, size_t k, double* D) {
  switch (norm) {
    case Norm::squared:
      return has_missing ? add_panels<Norm::squared, true>(x, features, p, packed, k, D)
                         : add_panels<Norm::squared, false>(x, features, p, packed, k, D);
    case Norm::absolute:
      return has_missing ? add_panels<Norm::absolute, true>(x, features, p, packed, k, D)
                         : add_panels<Norm::absolute, false>(x, features, p, packed, k, D);
    case Norm::product: return add_panels<Norm::product, false>(x, features, p, packed, k, D);
  }
}

void finish_distances(const Measure& measure, size_t k, double* D) {
  const double gamma = measure.gamma;
  if (measure.has_root)
    for (size_t i = 0; i < k * TILE_ROWS; ++i) D[i] = gamma * square_root(D[i]);
  else
    for (size_t i = 0; i < k * TILE_ROWS; ++i) D[i] *= gamma;
}

void nearest(const double* D, size_t k, int32_t* index, double* least) {
  for (size_t v = 0; v < TILE_ROWS; v += DV) {
    vd top = load(D + v);
    vl at = {};
    for (size_t c = 1; c < k; ++c) {
      const vd here = load(D + c * TILE_ROWS + v);
      at = select(here < top, vl{} + int64_t(c), at);
      top = select(here < top, here, top);
    }
    store(least + v, top);
    for (size_t i = 0; i < DV; ++i) index[v + i] = int32_t(at[i]);
  }
}

template <class T>
inline void add_rows_of(const T* rows, size_t p, size_t stride, size_t count, const int32_t* labels,
                        const double* weights, uint32_t missing, double* totals, double* observed) {
  for (size_t r = 0; r < count; ++r) {
    const double v = weights[r];
    if (v == 0) continue;
    const T* f = rows + r * p;
    double* sum = totals + size_t(labels[r]) * stride;
    if (missing >> r & 1) {
      double* weight = observed + size_t(labels[r]) * stride;
      for (size_t l = 0; l < p; ++l) {
        const double x = double(f[l]);
        sum[l] += x == x ? v * x : 0.0;
        weight[l] += x == x ? v : 0.0;
      }
      continue;
    }
    size_t l = 0;
    for (; l + DV <= p; l += DV)
      store(sum + l, fused(broadcast(v), load_doubles(f + l), load(sum + l)));
    for (; l < p; ++l) sum[l] += v * double(f[l]);
  }
}

void add_rows(const RowTile& tile, size_t stride, const int32_t* labels, const double* weights,
              uint32_t missing, double* totals, double* observed) {
  const FloatTable& F = tile.table;
  const size_t first = tile.row * F.p;
  if (F.float32)
    add_rows_of(F.float32 + first, F.p, stride, tile.count, labels, weights, missing, totals,
                observed);
  else
    add_rows_of(F.float64 + first, F.p, stride, tile.count, labels, weights, missing, totals,
                observed);
}

template <int K, int VECTORS>
inline void product_block(const double* weights, const double* Y, size_t padded, double* totals,
                          size_t stride) {
  vd sum[K][VECTORS];
  REKMEANS_UNROLL(4)
  for (int c = 0; c < K; ++c) {
    REKMEANS_UNROLL(2)
    for (int i = 0; i < VECTORS; ++i)
      sum[c][i] = load(totals + size_t(c) * stride + size_t(i) * DV);
  }
  for (size_t r = 0; r < TILE_ROWS; ++r) {
    vd f[VECTORS];
    REKMEANS_UNROLL(2)
    for (int i = 0; i < VECTORS; ++i) f[i] = load(Y + r * padded + size_t(i) * DV);
    REKMEANS_UNROLL(4)
    for (int c = 0; c < K; ++c) {
      REKMEANS_UNROLL(2)
      for (int i = 0; i < VECTORS; ++i)
        sum[c][i] = fused(broadcast(weights[size_t(c) * TILE_ROWS + r]), f[i], sum[c][i]);
    }
  }
  REKMEANS_UNROLL(4)
  for (int c = 0; c < K; ++c) {
    REKMEANS_UNROLL(2)
    for (int i = 0; i < VECTORS; ++i)
      store(totals + size_t(c) * stride + size_t(i) * DV, sum[c][i]);
  }
}

template <int K>
inline void product_rows(const double* weights, const double* Y, size_t padded, double* totals,
                         size_t stride) {
  size_t l = 0;
  for (; l + 2 * DV <= padded; l += 2 * DV)
    product_block<K, 2>(weights, Y + l, padded, totals + l, stride);
  for (; l < padded; l += DV) product_block<K, 1>(weights, Y + l, padded, totals + l, stride);
}

void add_product(const double* weights, size_t k, const double* Y, size_t padded, double* totals,
                 size_t stride) {
  size_t c = 0;
  for (; c + 4 <= k; c += 4)
    product_rows<4>(weights + c * TILE_ROWS, Y, padded, totals + c * stride, stride);
  for (; c < k; ++c)
    product_rows<1>(weights + c * TILE_ROWS, Y, padded, totals + c * stride, stride);
}

}  // namespace
}  // namespace rekmeans
