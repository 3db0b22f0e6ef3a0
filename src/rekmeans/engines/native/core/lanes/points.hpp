// Distances to points and sums of them in float64, for a tile of TILE rows at a time: lanes are rows.
#pragma once
#include "map.hpp"

namespace rekmeans {
namespace {

#if defined(__AVX512F__)
constexpr size_t ABREAST = 2;  // vectors of rows worked on together; SIDE sums for each of them fit into the registers
#else
constexpr size_t ABREAST = 1;
#endif

inline vd cells(const double* at) { return load(at); }
inline vd cells(const float* at) { return widened(at); }

inline vd magnitude(vd x) { return number(bits(x) & (~uint64_t(0) >> 1)); }

template <class T>
inline uint32_t columns_of(const T* rows, size_t p, size_t count, size_t width, double* out) {
  vl holes[TILE / DV] = {};
  size_t l = 0;
  for (; count == TILE && l + DV <= width; l += DV)
    REKMEANS_UNROLL(8)
    for (size_t v = 0; v < TILE / DV; ++v) {
      vd x[DV];
      REKMEANS_UNROLL(8)
      for (size_t i = 0; i < DV; ++i) x[i] = cells(rows + (v * DV + i) * p + l);
      REKMEANS_UNROLL(8)
      for (size_t i = 0; i < DV; ++i) prefetch(rows + (TILE + v * DV + i) * p + l);  // the next tile, in time
      transpose(x);
      REKMEANS_UNROLL(8)
      for (size_t i = 0; i < DV; ++i) {
        holes[v] |= x[i] != x[i];
        store(out + (l + i) * TILE + v * DV, x[i]);
      }
    }
  uint32_t gaps = 0;
  for (; l < width; ++l)
    for (size_t r = 0; r < TILE; ++r) {
      const double x = r < count ? double(rows[r * p + l]) : 0.0;
      out[l * TILE + r] = x;
      gaps |= uint32_t(x != x) << r;
    }
  int64_t hole[TILE], any = 0;
  __builtin_memcpy(hole, holes, sizeof hole);
  for (size_t r = 0; r < TILE; ++r) any |= hole[r];
  for (size_t r = 0; any && r < TILE; ++r) gaps |= uint32_t(hole[r] != 0) << r;
  return gaps;
}

uint32_t columns(const Points& F, size_t row, size_t count, size_t from, size_t width, double* out) {
  return F.narrow ? columns_of(F.narrow + row * F.p + from, F.p, count, width, out)
                  : columns_of(F.wide + row * F.p + from, F.p, count, width, out);
}

template <class T>
inline void level_of(const T* rows, size_t p, size_t count, size_t width, size_t padded, double* out, double* seen) {
  for (size_t r = 0; r < TILE; ++r, rows += p) {
    const size_t here = r < count ? width : 0;
    double *to = out + r * padded, *mark = seen ? seen + r * padded : nullptr;
    size_t l = 0;
    for (; l + DV <= here; l += DV) {
      const vd x = cells(rows + l);
      store(to + l, select(x == x, x, vd{}));
      if (mark) store(mark + l, select(x == x, vd{} + 1.0, vd{}));
    }
    for (; l < padded; ++l) {
      const double x = l < here ? double(rows[l]) : 0.0;
      to[l] = x == x ? x : 0.0;
      if (mark) mark[l] = x == x ? 1.0 : 0.0;
    }
  }
}

void level(const Points& F, size_t row, size_t count, size_t from, size_t width, size_t padded, double* out, double* seen) {
  if (F.narrow) level_of(F.narrow + row * F.p + from, F.p, count, width, padded, out, seen);
  else level_of(F.wide + row * F.p + from, F.p, count, width, padded, out, seen);
}

template <Norm NORM, bool GAPS, int K>
inline void summed(const double* x, size_t width, const double* packed, double* D) {
  for (size_t v = 0; v < TILE; v += ABREAST * DV) {
    vd sum[K][ABREAST];
    REKMEANS_UNROLL(8)
    for (int c = 0; c < K; ++c)
      REKMEANS_UNROLL(2)
      for (size_t i = 0; i < ABREAST; ++i) sum[c][i] = load(D + size_t(c) * TILE + v + i * DV);
    const double* b = packed;
    for (size_t l = 0; l < width; ++l, b += K) {
      vd a[ABREAST];
      REKMEANS_UNROLL(2)
      for (size_t i = 0; i < ABREAST; ++i) a[i] = load(x + l * TILE + v + i * DV);
      REKMEANS_UNROLL(8)
      for (int c = 0; c < K; ++c)
        REKMEANS_UNROLL(2)
        for (size_t i = 0; i < ABREAST; ++i) {
          if constexpr (NORM == Norm::products) {
            sum[c][i] += a[i] * b[c];
          } else {
            vd gap = a[i] - b[c];
            if constexpr (GAPS) gap = select(a[i] == a[i], gap, vd{});
            if constexpr (NORM == Norm::squares) sum[c][i] += gap * gap;
            else sum[c][i] += magnitude(gap);
          }
        }
    }
    REKMEANS_UNROLL(8)
    for (int c = 0; c < K; ++c)
      REKMEANS_UNROLL(2)
      for (size_t i = 0; i < ABREAST; ++i) store(D + size_t(c) * TILE + v + i * DV, sum[c][i]);
  }
}

template <Norm NORM, bool GAPS>
inline void all_summed(const double* x, size_t from, size_t width, size_t p, const double* packed, size_t k, double* D) {
  for (size_t c = 0; c < k; c += SIDE, D += SIDE * TILE) {
    const size_t span = k - c < SIDE ? k - c : SIDE;
    const double* at = packed + c * p + from * span;
    switch (span) {
      case 1: summed<NORM, GAPS, 1>(x, width, at, D); break;
      case 2: summed<NORM, GAPS, 2>(x, width, at, D); break;
      case 3: summed<NORM, GAPS, 3>(x, width, at, D); break;
      case 4: summed<NORM, GAPS, 4>(x, width, at, D); break;
      case 5: summed<NORM, GAPS, 5>(x, width, at, D); break;
      case 6: summed<NORM, GAPS, 6>(x, width, at, D); break;
      case 7: summed<NORM, GAPS, 7>(x, width, at, D); break;
      case 8: summed<NORM, GAPS, 8>(x, width, at, D); break;
    }
  }
}

void apart(Norm norm, bool gaps, const double* x, size_t from, size_t width, size_t p, const double* packed, size_t k,
           double* D) {
  switch (norm) {
    case Norm::squares:
      return gaps ? all_summed<Norm::squares, true>(x, from, width, p, packed, k, D)
                  : all_summed<Norm::squares, false>(x, from, width, p, packed, k, D);
    case Norm::absolutes:
      return gaps ? all_summed<Norm::absolutes, true>(x, from, width, p, packed, k, D)
                  : all_summed<Norm::absolutes, false>(x, from, width, p, packed, k, D);
    case Norm::products: return all_summed<Norm::products, false>(x, from, width, p, packed, k, D);
  }
}

void scaled(const Measure& measure, size_t k, double* D) {
  const double gamma = measure.gamma;
  if (measure.root)
    for (size_t i = 0; i < k * TILE; ++i) D[i] = gamma * __builtin_sqrt(D[i]);
  else
    for (size_t i = 0; i < k * TILE; ++i) D[i] *= gamma;
}

void least(const double* D, size_t k, int32_t* where, double* best) {
  for (size_t v = 0; v < TILE; v += DV) {
    vd top = load(D + v);
    vl at = {};
    for (size_t c = 1; c < k; ++c) {
      const vd here = load(D + c * TILE + v);
      at = select(here < top, vl{} + int64_t(c), at);
      top = select(here < top, here, top);
    }
    store(best + v, top);
    for (size_t i = 0; i < DV; ++i) where[v + i] = int32_t(at[i]);
  }
}

template <class T>
inline void gathered(const T* rows, size_t p, size_t stride, size_t count, const int32_t* own, const double* pulls,
                     uint32_t gaps, double* totals, double* seen) {
  for (size_t r = 0; r < count; ++r) {
    const double v = pulls[r];
    if (v == 0) continue;
    const T* f = rows + r * p;
    double* sum = totals + size_t(own[r]) * stride;
    if (gaps >> r & 1) {
      double* weight = seen + size_t(own[r]) * stride;
      for (size_t l = 0; l < p; ++l) {
        const double x = double(f[l]);
        sum[l] += x == x ? v * x : 0.0;
        weight[l] += x == x ? v : 0.0;
      }
      continue;
    }
    size_t l = 0;
    for (; l + DV <= p; l += DV) store(sum + l, load(sum + l) + v * cells(f + l));
    for (; l < p; ++l) sum[l] += v * double(f[l]);
  }
}

void gather(const Points& F, size_t row, size_t count, size_t stride, const int32_t* own, const double* pulls,
            uint32_t gaps, double* totals, double* seen) {
  if (F.narrow) gathered(F.narrow + row * F.p, F.p, stride, count, own, pulls, gaps, totals, seen);
  else gathered(F.wide + row * F.p, F.p, stride, count, own, pulls, gaps, totals, seen);
}

template <int K, int VECTORS>
inline void spread_block(const double* pulls, const double* Y, size_t padded, double* totals, size_t stride) {
  vd sum[K][VECTORS];
  REKMEANS_UNROLL(4)
  for (int c = 0; c < K; ++c)
    REKMEANS_UNROLL(2)
    for (int i = 0; i < VECTORS; ++i) sum[c][i] = load(totals + size_t(c) * stride + size_t(i) * DV);
  for (size_t r = 0; r < TILE; ++r) {
    vd f[VECTORS];
    REKMEANS_UNROLL(2)
    for (int i = 0; i < VECTORS; ++i) f[i] = load(Y + r * padded + size_t(i) * DV);
    REKMEANS_UNROLL(4)
    for (int c = 0; c < K; ++c)
      REKMEANS_UNROLL(2)
      for (int i = 0; i < VECTORS; ++i) sum[c][i] += pulls[size_t(c) * TILE + r] * f[i];
  }
  REKMEANS_UNROLL(4)
  for (int c = 0; c < K; ++c)
    REKMEANS_UNROLL(2)
    for (int i = 0; i < VECTORS; ++i) store(totals + size_t(c) * stride + size_t(i) * DV, sum[c][i]);
}

template <int K>
inline void spread_rows(const double* pulls, const double* Y, size_t padded, double* totals, size_t stride) {
  size_t l = 0;
  for (; l + 2 * DV <= padded; l += 2 * DV) spread_block<K, 2>(pulls, Y + l, padded, totals + l, stride);
  for (; l < padded; l += DV) spread_block<K, 1>(pulls, Y + l, padded, totals + l, stride);
}

void spread(const double* pulls, size_t k, const double* Y, size_t padded, double* totals, size_t stride) {
  size_t c = 0;
  for (; c + 4 <= k; c += 4) spread_rows<4>(pulls + c * TILE, Y, padded, totals + c * stride, stride);
  for (; c < k; ++c) spread_rows<1>(pulls + c * TILE, Y, padded, totals + c * stride, stride);
}

}  // namespace
}  // namespace rekmeans
