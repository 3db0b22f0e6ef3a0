// A row onto the circle: its cells, their phases, and g = f - base on the grid.
#pragma once
#include "vectors.hpp"

namespace rekmeans {
namespace {

PhaseCheck row_phases(double* __restrict x, size_t d, const PhaseMap& map) {
  const double* __restrict shift = map.shift, * __restrict rate = map.rate;
  const double* __restrict low = map.low, * __restrict high = map.high;
  int64_t inside = map.beyond != Beyond::ignore, large = 0;
  if (map.beyond == Beyond::ignore)
    for (size_t l = 0; l < d; ++l) inside |= int64_t(x[l] >= low[l]) & int64_t(x[l] <= high[l]);
  if (map.beyond == Beyond::clip || !inside)
    for (size_t l = 0; l < d; ++l) x[l] = x[l] < low[l] ? low[l] : x[l] > high[l] ? high[l] : x[l];
  else if (map.beyond == Beyond::ignore)
    for (size_t l = 0; l < d; ++l) {
      const double y = x[l] >= low[l] ? x[l] : MISSING;
      x[l] = y <= high[l] ? y : MISSING;
    }
  for (size_t l = 0; l < d; ++l) {
    const double t = (x[l] - shift[l]) * rate[l];
    x[l] = t;
    large |= int64_t(!(magnitude(t) < SMALL_PHASE));
  }
  return {inside != 0, large == 0};
}

size_t nonzero_cells(const double* x, size_t d, uint32_t* columns, double* values) {
  size_t count = 0, l = 0;
#if defined(__AVX512F__) && !defined(REKMEANS_PLAIN)
  __m256i eight = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
  for (; l + 8 <= d; l += 8) {
    const __m512d cells = _mm512_loadu_pd(x + l);
    const __mmask8 mask = _mm512_cmp_pd_mask(cells, _mm512_setzero_pd(), _CMP_NEQ_UQ);
    _mm512_storeu_pd(values + count, _mm512_maskz_compress_pd(mask, cells));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(columns + count), _mm256_maskz_compress_epi32(mask, eight));
    count += size_t(__builtin_popcount(mask));
    eight = _mm256_add_epi32(eight, _mm256_set1_epi32(8));
  }
#endif
  for (; l < d; ++l) columns[count] = uint32_t(l), values[count] = x[l], count += x[l] != 0;
  return count;
}

// Taylor coefficients of cos(pi r) and sin(pi r)/r in r^2; at |r| <= 1/4 the first one left out is below 2^-58.
constexpr double COS[] = {1.0,
                          -4.934802200544679,
                          4.0587121264167685,
                          -1.3352627688545895,
                          0.2353306303588932,
                          -0.02580689139001406,
                          0.0019295743094039231,
                          -0.0001046381049248457,
                          4.303069587032947e-06};
constexpr double SIN[] = {3.141592653589793,      -5.16771278004997,       2.5501640398773455,
                          -0.5992645293207921,    0.08214588661112823,     -0.0073704309457143504,
                          0.00046630280576761255, -2.1915353447830217e-05, 7.952054001475513e-07};
constexpr double ROUNDING_SHIFT = 6755399441055744.0;  // 1.5 * 2^52: adding it rounds to an integer in the low bits
constexpr double DOUBT = 0x1p-24;  // of a grid unit; the series and its rounding err by less than 2^-26

inline vd round_to_integer(vd x) { return (x + ROUNDING_SHIFT) - ROUNDING_SHIFT; }

template <class T>
inline vd series(const T& c, vd x2) {
  vd s = broadcast(c[8]);
  REKMEANS_UNROLL(8)
  for (int i = 7; i >= 0; --i) s = fused(s, x2, broadcast(c[i]));
  return s;
}

inline vd signed_by(vu parity, vd x) { return number(bits(x) ^ (parity << 63)); }  // -x where the lowest bit is set

// Sums over the phases of a row, a lane each.
struct RowSums {
  vd norm2 = {}, square = {};    // |g|^2 in grid units; |f|^2 of the last turns, exact
  vl squares = {}, doubts = {};  // |f|^2 of those before; minus the roundings that float64 cannot prove
};

// cos and sin of a vector of phases on the grid, 0 where they are NaN.
inline void cos_sin(vd t, vl observed, vd& cos, vd& sin, RowSums& sums) {
  const vd x = select(observed, t, vd{});
  const vd shifted = x * 2.0 + ROUNDING_SHIFT, q = shifted - ROUNDING_SHIFT;
  const vu quarter = bits(shifted);      // the low bits of the sum are the integer's
  const vd r = x - q * 0.5, r2 = r * r;  // exact: |x| < 2^40
  const vd c = series(COS, r2) * GRID, s = series(SIN, r2) * r * GRID;
  const vd cn = round_to_integer(c), sn = round_to_integer(s);
  const vd cg = c - cn, sg = s - sn;
  sums.doubts += (cg > 0.5 - DOUBT) | (cg < DOUBT - 0.5) | (sg > 0.5 - DOUBT) | (sg < DOUBT - 0.5);
  const vl odd = (quarter & uint64_t(1)) != uint64_t(0);
  cos = select(observed, signed_by(quarter ^ (quarter >> 1), select(odd, sn, cn)), vd{});
  sin = select(observed, signed_by(quarter >> 1, select(odd, cn, sn)), vd{});
}

// g of DV phases, its cos and sin parts; base is given as two vectors.
inline void map_vector(vd t, vd base_cos, vd base_sin, vh& g_cos, vh& g_sin, RowSums& sums) {
  const vl observed = t == t;
  vd cos, sin;
  cos_sin(t, observed, cos, sin, sums);
  const vd gc = select(observed, cos - base_cos, vd{}), gs = select(observed, sin - base_sin, vd{});
  sums.norm2 = fused(gc, gc, fused(gs, gs, sums.norm2));
  sums.square += cos * cos + sin * sin;  // at most 2^47 a turn
  g_cos = to_float(gc * (1 / GRID)), g_sin = to_float(gs * (1 / GRID));
}

size_t map_phases(const double* t, size_t d, const double* base, float* g, double* norm2, int64_t* square) {
  RowSums sums;
  vh g_cos, g_sin;
  size_t i = 0;
  for (size_t turn = 1; i + DV <= d; i += DV, ++turn) {
    map_vector(load(t + i), load(base + i), load(base + d + i), g_cos, g_sin, sums);
    store(g + i, g_cos);
    store(g + d + i, g_sin);
    if (turn % 32 == 0) sums.squares += to_integer(sums.square), sums.square = vd{};
  }
  if (i < d) {
    double tail[3][DV];
    for (size_t j = 0; j < DV; ++j) {
      const bool inside = i + j < d;
      tail[0][j] = inside ? t[i + j] : MISSING;
      tail[1][j] = inside ? base[i + j] : 0;
      tail[2][j] = inside ? base[d + i + j] : 0;
    }
    map_vector(load(tail[0]), load(tail[1]), load(tail[2]), g_cos, g_sin, sums);
    for (size_t j = 0; i + j < d; ++j) g[i + j] = g_cos[j], g[d + i + j] = g_sin[j];
  }
  sums.squares += to_integer(sums.square);
  size_t doubtful = 0;
  *norm2 = 0, *square = 0;
  for (size_t j = 0; j < DV; ++j) {
    *norm2 += sums.norm2[j], *square += sums.squares[j];
    doubtful += size_t(-sums.doubts[j]);
  }
  *norm2 /= GRID * GRID;
  return doubtful;
}

bool add_phases(const double* t, size_t d, int64_t* sum) {
  double most = 0;
  for (size_t l = 0; l < d; ++l) most = magnitude(t[l]) > most ? magnitude(t[l]) : most;
  if (!(most < 0x1p30)) return false;
  int64_t zero;
  copy_bytes(&zero, &ROUNDING_SHIFT);
  for (size_t l = 0; l < d; ++l) {
    const double shifted = t[l] * TURN + ROUNDING_SHIFT;
    int64_t bits;
    copy_bytes(&bits, &shifted);
    sum[l] += bits - zero;
  }
  return true;
}

}  // namespace
}  // namespace rekmeans
