// Real-valued shares: exp and log of a vector, and the pulls, memberships and ranks of a tile.
// Lanes are rows.
#pragma once
#include "tiles.hpp"

namespace rekmeans {
namespace {

// 1/2!, 1/3!, ... For |r| <= ln(2)/2, the first omitted term is below 2^-56 r.
constexpr double EXP[] = {1.0 / 2,       1.0 / 6,        1.0 / 24,        1.0 / 120,
                          1.0 / 720,     1.0 / 5040,     1.0 / 40320,     1.0 / 362880,
                          1.0 / 3628800, 1.0 / 39916800, 1.0 / 479001600, 1.0 / 6227020800};
constexpr double LOG2E = 1.4426950408889634, LN2 = 0x1.62e42feep-1,
                 LN2_REST = 1.9082149292705877e-10;
constexpr double EXP_LIMIT = 746;  // exp(-EXP_LIMIT) underflows to 0
constexpr uint64_t SHIFT_BITS = 0x4338000000000000;

inline vd power_of_two(vd integer) {
  return number((bits(integer + ROUNDING_SHIFT) - SHIFT_BITS + 1023) << 52);
}

// exp(-x) for x >= 0, and complement = 1 - exp(-x) without cancellation.
inline vd exp_minus(vd x, vd& complement) {
  const vd y = select(x < EXP_LIMIT, -x, broadcast(-EXP_LIMIT));
  const vd n = round_to_integer(y * LOG2E), half = round_to_integer(n * 0.5);
  const vd r = fused(n, broadcast(-LN2_REST), fused(n, broadcast(-LN2), y));
  vd series = broadcast(EXP[11]);
  REKMEANS_UNROLL(11)
  for (int i = 10; i >= 0; --i) series = fused(series, r, broadcast(EXP[i]));
  const vd q = fused(r * r, series, r);  // exp(r) - 1
  // in two steps, so that the smallest results do not underflow
  const vd a = power_of_two(half), b = power_of_two(n - half);
  complement = (1.0 - a * b) - q * a * b;
  return (1.0 + q) * a * b;
}

// log(x) for x > 0.
inline vd log_of(vd x) {
  const vl tiny = x < 0x1p-1000;
  const vu y = bits(select(tiny, x * 0x1p60, x));
  const vd m = number((y & ((uint64_t(1) << 52) - 1)) | (uint64_t(1023) << 52));  // in [1, 2)
  const vl large = m > 1.4142135623730951;
  const vd n = number((y >> 52) + SHIFT_BITS) - (ROUNDING_SHIFT + 1023) +
               select(large, broadcast(1.0), vd{}) - select(tiny, broadcast(60.0), vd{});
  const vd f = select(large, m * 0.5, m) - 1.0, s = f / (f + 2.0), s2 = s * s;
  vd series = broadcast(1.0 / 23);  // atanh(s)/s, |s| <= 0.172
  REKMEANS_UNROLL(11)
  for (int i = 21; i > 0; i -= 2) series = fused(series, s2, broadcast(1.0 / i));
  return n * LN2 + (n * LN2_REST + 2.0 * s * series);
}

void losses_and_pulls(const Measure& measure, const double* D, size_t count, double* L,
                      double* pulls) {
  if (!measure.is_bounded) {
    for (size_t i = 0; i < count; ++i) L[i] = D[i], pulls[i] = 1.0;
    return;
  }
  for (size_t i = 0; i < count; i += DV) {
    vd complement;
    store(pulls + i, exp_minus(load(D + i), complement));
    store(L + i, 2.0 * complement);
  }
  for (size_t i = 0; measure.has_root && i < count; i += DV) {
    const vd r = load(D + i) / measure.gamma;
    store(pulls + i, select(r > AT_CENTROID, load(pulls + i) / r, vd{}));
  }
}

template <class Power>
inline void memberships_by(const double* L, size_t k, double fuzziness, const Power& power,
                           double* W) {
  for (size_t v = 0; v < TILE_ROWS; v += DV) {
    vd low = load(L + v), sum = {};
    for (size_t c = 1; c < k; ++c) {
      const vd here = load(L + c * TILE_ROWS + v);
      low = select(here < low, here, low);
    }
    for (size_t c = 0; c < k; ++c) {
      const vd here = load(L + c * TILE_ROWS + v),
               ratio = select(here == low, broadcast(1.0), low / here);
      const vd t = power(ratio);
      sum += t;
      store(W + c * TILE_ROWS + v, t * ratio);  // t^m, since t = ratio^(1/(m - 1))
    }
    vd unused;
    const vd by = exp_minus(fuzziness * log_of(sum), unused);  // sum >= 1
    for (size_t c = 0; c < k; ++c) store(W + c * TILE_ROWS + v, load(W + c * TILE_ROWS + v) * by);
  }
}

void memberships(const double* L, size_t k, double fuzziness, double* W) {
  const double exponent = 1 / (fuzziness - 1);
  if (exponent == 1) return memberships_by(L, k, fuzziness, [](vd x) { return x; }, W);
  if (exponent == 2) return memberships_by(L, k, fuzziness, [](vd x) { return x * x; }, W);
  memberships_by(
      L, k, fuzziness,
      [exponent](vd x) {
        vd unused;
        const vd t = exp_minus(-exponent * log_of(x), unused);
        return select(x > 0.0, t, vd{});
      },
      W);
}

void ranks(const double* D, size_t k, int32_t* rank) {
  for (size_t v = 0; v < TILE_ROWS; v += DV)
    for (size_t c = 0; c < k; ++c) {
      const vd own = load(D + c * TILE_ROWS + v);
      vl before = {};
      for (size_t r = 0; r < c; ++r) before -= load(D + r * TILE_ROWS + v) <= own;
      for (size_t r = c + 1; r < k; ++r) before -= load(D + r * TILE_ROWS + v) < own;
      for (size_t i = 0; i < DV; ++i) rank[c * TILE_ROWS + v + i] = int32_t(before[i]);
    }
}

void weight_shares(const double* w, const double* L, const double* pulls, size_t k, double* W,
                   double* mass, double* pull, double* loss) {
  for (size_t v = 0; v < TILE_ROWS; v += DV) {
    const vd own = load(w + v);
    vd sum = load(loss + v);
    for (size_t i = v; i < k * TILE_ROWS; i += TILE_ROWS) {
      const vd share = load(W + i) * own, v_pull = share * load(pulls + i);
      store(mass + i, load(mass + i) + share);
      if (pull) store(pull + i, load(pull + i) + v_pull);
      sum += select(share != 0.0, share * load(L + i), vd{});
      store(W + i, v_pull);
    }
    store(loss + v, sum);
  }
}

}  // namespace
}  // namespace rekmeans
