// Map a row to circles: from cells to phases to g = f - base on the grid.
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
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(columns + count),
                        _mm256_maskz_compress_epi32(mask, eight));
    count += size_t(__builtin_popcount(mask));
    eight = _mm256_add_epi32(eight, _mm256_set1_epi32(8));
  }
#endif
  for (; l < d; ++l) columns[count] = uint32_t(l), values[count] = x[l], count += x[l] != 0;
  return count;
}

// Minimax polynomials in r^2 for GRID cos(pi r) and GRID sin(pi r)/r at |r| <= 1/4. Their error is
// below 2^-53 GRID, and with the rounding of every step below 2^-50 GRID.
constexpr double COS[] = {1.0 * GRID,
                          -4.934802200544605 * GRID,
                          4.0587121263978485 * GRID,
                          -1.3352627670374706 * GRID,
                          0.23533054723812594 * GRID,
                          -0.025804938901108517 * GRID,
                          0.0019068114006476373 * GRID};
constexpr double SIN[] = {3.141592653589793 * GRID,     -5.167712780049954 * GRID,
                          2.5501640398733785 * GRID,    -0.5992645289398096 * GRID,
                          0.08214586918508168 * GRID,   -0.007370021659139429 * GRID,
                          0.00046153224054796405 * GRID};
// 1.5 * 2^52: adding it rounds to an integer in the low bits
constexpr double ROUNDING_SHIFT = 6755399441055744.0;
// the error of the polynomials is below 2^-27 of a grid unit, so smaller distances are not ties
constexpr double PROVEN = 0.5 - 0x1p-24;

inline vd round_to_integer(vd x) { return (x + ROUNDING_SHIFT) - ROUNDING_SHIFT; }

// sum c_i y^i, with y2 = y^2 and y4 = y^4, in pairs, to shorten the chain of dependent operations.
template <class T>
inline vd polynomial(const T& c, vd y, vd y2, vd y4) {
  const vd low = fused(fused(broadcast(c[3]), y, broadcast(c[2])), y2,
                       fused(broadcast(c[1]), y, broadcast(c[0])));
  const vd high = fused(broadcast(c[6]), y2, fused(broadcast(c[5]), y, broadcast(c[4])));
  return fused(high, y4, low);
}

constexpr uint64_t SIGN = uint64_t(1) << 63;

// Sums over phases, separately in each lane.
struct RowSums {
  vd norm2 = {},
     square = {};   // |g|^2 in grid units; |f|^2 of the last turns, exact: at most 2^47 per turn
  vl squares = {};  // |f|^2 of the earlier turns
  // largest distance of a value from the grid; if it is near 1/2, float64 cannot prove the rounding
  vd largest_gap = {};

  void empty_square() { squares += to_integer(square), square = vd{}; }
};

// The cos and sin on the grid of a vector of phases, which must be numbers below SMALL_PHASE.
inline void cos_sin(vd t, vd& cos, vd& sin, RowSums& sums) {
  const vd shifted = fused(t, broadcast(2.0), broadcast(ROUNDING_SHIFT)),
           q = shifted - ROUNDING_SHIFT;
  const vu quarter = bits(shifted);           // the low bits of the sum are the integer
  const vd r = fused(q, broadcast(-0.5), t);  // exact: |t| < 2^40
  const vd r2 = r * r, r4 = r2 * r2, r8 = r4 * r4;
  const vd c = polynomial(COS, r2, r4, r8), s = polynomial(SIN, r2, r4, r8) * r;
  const vd cn = round_to_integer(c), sn = round_to_integer(s);
  sums.largest_gap = larger(sums.largest_gap, larger(magnitude(c - cn), magnitude(s - sn)));
  const vl odd = (quarter & uint64_t(1)) != uint64_t(0);
  const vu second = quarter << 62, first = quarter << 63;
  cos = number(bits(select(odd, sn, cn)) ^ ((first ^ second) & SIGN));
  sin = number(bits(select(odd, cn, sn)) ^ (second & SIGN));
}

// The cos and sin parts of g for DV phases, 0 if a phase is NaN. The base is given as two vectors.
inline void map_vector(vd t, vd base_cos, vd base_sin, vh& g_cos, vh& g_sin, RowSums& sums) {
  const vl observed = t == t;
  auto zero_if_missing = [&](vd x) { return select(observed, x, vd{}); };
  vd cos, sin;
  cos_sin(zero_if_missing(t), cos, sin, sums);
  cos = zero_if_missing(cos), sin = zero_if_missing(sin);
  const vd gc = zero_if_missing(cos - base_cos), gs = zero_if_missing(sin - base_sin);
  sums.norm2 = fused(gc, gc, fused(gs, gs, sums.norm2));
  sums.square = fused(cos, cos, fused(sin, sin, sums.square));
  g_cos = to_float(gc * (1 / GRID)), g_sin = to_float(gs * (1 / GRID));
}

// Map the phases from i on, fewer than a vector. t points to the first of them.
inline void map_tail(const double* t, size_t i, size_t d, const double* base, float* g,
                     RowSums& sums) {
  double tail[3][DV];
  for (size_t j = 0; j < DV; ++j) {
    const bool inside = i + j < d;
    tail[0][j] = inside ? t[j] : MISSING;
    tail[1][j] = inside ? base[i + j] : 0;
    tail[2][j] = inside ? base[d + i + j] : 0;
  }
  vh g_cos, g_sin;
  map_vector(load(tail[0]), load(tail[1]), load(tail[2]), g_cos, g_sin, sums);
  for (size_t j = 0; i + j < d; ++j) g[i + j] = g_cos[j], g[d + i + j] = g_sin[j];
}

bool map_phases(const double* t, size_t d, const double* base, float* g, double* norm2,
                int64_t* square) {
  RowSums sums;
  vh g_cos, g_sin;
  size_t i = 0;
  for (size_t turn = 1; i + DV <= d; i += DV, ++turn) {
    map_vector(load(t + i), load(base + i), load(base + d + i), g_cos, g_sin, sums);
    store(g + i, g_cos);
    store(g + d + i, g_sin);
    if (turn % 32 == 0) sums.empty_square();
  }
  if (i < d) map_tail(t + i, i, d, base, g, sums);
  *norm2 = total(sums.norm2) / (GRID * GRID),
  *square = total(sums.squares + to_integer(sums.square));
  return largest(sums.largest_gap) < PROVEN;
}

// The phases of DV cells of column l, 0 if they are not observed, and a mask of the observed cells.
// A column has one interval, several, or one without bounds.
enum class Intervals { one, several, unbounded };

template <Intervals KIND>
inline vd tile_phases(vd x, size_t l, const PhaseMap& map, LaneMask& observed) {
  const auto phases_of = [&](size_t i) { return (x - map.shift[i]) * map.rate[i]; };
  const size_t first = l * map.m;
  if (KIND == Intervals::unbounded) observed = is_number(x);
  else observed = is_between(x, map.low[first], map.high[first]);
  vd t = zero_unless(observed, phases_of(first));
  if (KIND != Intervals::several) return t;
  for (size_t i = first + 1; i < first + map.m && map.low[i] == map.low[i]; ++i) {
    const LaneMask inside = is_between(x, map.low[i], map.high[i]);
    const LaneMask not_before = LaneMask(inside ^ (inside & observed));
    t += zero_unless(not_before, phases_of(i));
    observed |= inside;
  }
  return t;
}

// Map DV cells of column l: their g in grid units, and a mask of the observed cells.
template <Intervals KIND>
inline LaneMask map_tile_cells(vd x, size_t l, size_t d, const PhaseMap& map, const double* base,
                               float* g_cos, float* g_sin, LaneMask& good, RowSums& sums) {
  LaneMask observed;
  const vd t = tile_phases<KIND>(x, l, map, observed);
  if (KIND == Intervals::unbounded) good &= is_between(t, -SMALL_PHASE, SMALL_PHASE);
  vd cos, sin;
  cos_sin(t, cos, sin, sums);
  const vd gc = zero_unless(observed, cos - base[l]), gs = zero_unless(observed, sin - base[d + l]);
  sums.norm2 = fused(gc, gc, fused(gs, gs, sums.norm2));
  sums.square = fused_where(observed, cos, cos, fused_where(observed, sin, sin, sums.square));
  store(g_cos, to_float(gc));
  store(g_sin, to_float(gs));
  return observed;
}

// Store columns [first, first + count) of V rows, given column by column in grid units, in the
// rows.
inline void store_rows(const float* columns, size_t count, float* const* rows, size_t first) {
  vf x[V];
  REKMEANS_UNROLL(16)
  for (size_t i = 0; i < V; ++i) x[i] = i < count ? load(columns + i * V) * float(1 / GRID) : vf{};
  transpose(x);
  if (count == V) {
    REKMEANS_UNROLL(16)
    for (size_t r = 0; r < V; ++r) store(rows[r] + first, x[r]);
  } else {
    for (size_t r = 0; r < V; ++r)
      for (size_t i = 0; i < count; ++i) rows[r][first + i] = x[r][i];
  }
}

template <Intervals KIND>
inline uint32_t map_tile_by(const double* x, size_t d, const PhaseMap& map, const double* base,
                            const MappedTile& out) {
  RowSums sums[2];
  LaneMask good[2] = {all_lanes(), all_lanes()};
  for (size_t first = 0; first < d; first += V) {
    float g[2][V * V];
    const size_t count = first + V < d ? V : d - first;
    for (size_t i = 0; i < count; ++i) {
      const size_t l = first + i;
      uint32_t bits = 0;
      REKMEANS_UNROLL(2)
      for (size_t half = 0; half < 2; ++half) {
        const size_t at = half * DV;
        const LaneMask observed =
            map_tile_cells<KIND>(load(x + l * V + at), l, d, map, base, g[0] + i * V + at,
                                 g[1] + i * V + at, good[half], sums[half]);
        bits |= lane_bits(observed) << at;
      }
      out.observed[l] = uint16_t(bits);
    }
    for (RowSums& half : sums) half.empty_square();
    store_rows(g[0], count, out.g, first);
    store_rows(g[1], count, out.g, d + first);
  }
  uint32_t any = 0, all = ~uint32_t(0), mapped = 0;
  for (size_t l = 0; l < d; ++l) any |= out.observed[l], all &= out.observed[l];
  for (size_t half = 0; half < 2; ++half) {
    store(out.norm2 + half * DV, sums[half].norm2 * (1 / (GRID * GRID)));
    store(out.square + half * DV, sums[half].squares);
    good[half] &= is_between(sums[half].largest_gap, 0, PROVEN);
    mapped |= lane_bits(good[half]) << (half * DV);
  }
  return mapped & (map.beyond == Beyond::clip ? all : any);
}

uint32_t map_tile(const double* x, size_t d, const PhaseMap& map, const double* base,
                  const MappedTile& out) {
  if (map.beyond == Beyond::wrap) return map_tile_by<Intervals::unbounded>(x, d, map, base, out);
  return map.m == 1 ? map_tile_by<Intervals::one>(x, d, map, base, out)
                    : map_tile_by<Intervals::several>(x, d, map, base, out);
}

void transpose_cells(const double* const* rows, size_t d, double* out) {
  size_t l = 0;
  for (; l + DV <= d; l += DV)
    for (size_t half = 0; half < 2; ++half) {
      vd x[DV];
      REKMEANS_UNROLL(8)
      for (size_t r = 0; r < DV; ++r) x[r] = load(rows[half * DV + r] + l);
      transpose(x);
      REKMEANS_UNROLL(8)
      for (size_t i = 0; i < DV; ++i) store(out + (l + i) * V + half * DV, x[i]);
    }
  for (; l < d; ++l)
    for (size_t r = 0; r < V; ++r) out[l * V + r] = rows[r][l];
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
