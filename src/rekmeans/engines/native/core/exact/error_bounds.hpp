// The bounds that prove which centroid is nearest without exact distances, with their derivations.
//
// Notation: g = f - base is a centred row, h = m - base a centred centroid, and M the number of
// missing cells of the row, where g is 0. T = g.h - |h|^2/2 + sum over missing cells of |h_l|^2/2
// is the exact score, and s the computed score. The squared distance over the observed cells is
// |g|^2 - 2 T. All coordinates are multiples of 2^-23 with absolute values below 2 + 2^-20, so
// products are multiples of 2^-46 and nothing underflows. g and h are exact in float32, except that
// components of h above 2 are rounded, with an error of at most u |h|.
//
// u = HALF_ULP = 2^-24. fl(x) is x rounded to float32. It satisfies |fl(x) - x| <= u |x| and
// |fl(x) - x| <= u |fl(x)|, and fl is monotone: x >= y implies fl(x) >= fl(y).
//
// tests/engines/native/test_error_bounds.py evaluates every bound in exact arithmetic.
#pragma once
#include "../compiler.hpp"
#include "../simd/simd.hpp"

namespace rekmeans {

// |s - T| <= |g| slope + floor for a row without missing cells, over all centroids.
struct ScoreError {
  float slope = 0, floor = 0;
};

// Anonymous, so that each instruction set has its own copy of these functions.
namespace {

constexpr float HALF_ULP = 0x1p-24f;  // the largest relative error of a float32 rounding

// Factors that cover 3 roundings, including the product with the factor: (1 - u)^3 (1 + 4 u) > 1
// and (1 + u)^3 (1 - 4 u) < 1.
constexpr float ROUND_UP = 1 + 4 * HALF_ULP, ROUND_DOWN = 1 - 4 * HALF_ULP;

// Return a float32 that is at least x >= 0, where x may have a relative error of 1.9 u. There are
// two roundings: the conversion to float32 and the product.
inline float float_above(double x) { return float(x) * ROUND_UP; }

// Scores in float32
// ------------------------------------------------------------------------------------------------

// Scores that represent no centroid. The absolute value of a real score is at most
// |g||h| + |h|^2/2 < 2^20.
constexpr float NO_SCORE = -3e38f;   // below every other score
constexpr float NEVER_WINS = 1e30f;  // a bias, so that centroids of the padding score about -1e30
constexpr float NO_RIVAL = -1e29f;   // lower limit for second scores, so that twice it is finite

// The largest number of roundings that affect a product g_l h_l until g.h is complete. It is
// SUM_CHUNK + ceil(p / SUM_CHUNK) + 8 for all functions of Simd:
// - scores, best_of_few: a chain of SUM_CHUNK products that starts at 0 has SUM_CHUNK roundings,
//   whether the multiply-add is fused or not. Then the ceil(p / SUM_CHUNK) sums are added.
// - dot: shorter chains, then a tree.
// - sparse_scores: WAYS <= 4 parallel chains of SUM_CHUNK products. In the last piece, the first
//   chain is longer by 2 (WAYS - 1) <= 6. Each piece adds WAYS sums. A row has at most p/2 cells,
//   so there are at most p / SUM_CHUNK + WAYS of these additions. The longest path starts either in
//   the last piece (SUM_CHUNK - 2 + 6 + WAYS roundings) or in an earlier one (SUM_CHUNK + p /
//   SUM_CHUNK + WAYS roundings).
// - sparse_dot: V <= 16 chains of SUM_CHUNK products over 64 V cells. In the last piece, the first
//   chain has up to V - 1 additional additions, then log2(V) in a tree and 1 more. If the last
//   piece has n cells, this is 2 floor(n/V) + (n mod V) + log2(V) + 1 <= SUM_CHUNK + n/64 + 8 for
//   all n < 64 V, and p / SUM_CHUNK >= n/64. An earlier piece has SUM_CHUNK + log2(V) roundings
//   plus one per piece.
inline float sum_roundings(size_t p) {
  return float(SUM_CHUNK + (p + SUM_CHUNK - 1) / SUM_CHUNK + 8);
}

// The largest number of roundings of a score, without those of the sum and of missing cells:
// - relative to |g||h|: 1 for the subtraction of the bias, and 1 if h is rounded (above 2).
// - relative to |h|^2/2: 1 for the bias, 1 for its subtraction, 2 for the gains of missing cells,
//   and 2 for these gains if h is rounded (above 2). The total is 6.
constexpr float OTHER_ROUNDINGS = 6;

// Each missing cell adds (h_l^2 + h_{d+l}^2)/2 to the score. This is one addition to a partial sum
// of at most |g||h| + |h|^2/2, so its error is at most u (|g||h| + |h|^2/2).
constexpr float MISSING_ROUNDINGS = 2;  // 1 would suffice

// The relative error of n consecutive roundings is at most (1 + u)^n - 1 <= n u / (1 - n u). For
// n <= 128 + 512 + 8 + 6 roundings, without those of missing cells, it is n u (1 + 2^-14). For
// M <= 32767 missing cells it is M u (1 + 2^-8), and their coefficient has a margin of 2. |g| is
// the square root of norm2, the float32 nearest to |g|^2 (1.5 u), and the computation of the bound
// has 8 roundings. A factor of 1 + 2^-13 would suffice.
constexpr float SECOND_ORDER = 1.02f;

// Return the error of scores, given largest_norm >= |h| and largest_bias >= |h|^2/2 for all
// centroids.
// Proof: by Cauchy-Schwarz, sum |g_l h_l| <= |g||h|. The error of the sum is at most
// sum_roundings u |g||h|, that of the other roundings OTHER_ROUNDINGS u (|g||h| + |h|^2/2), and
// SECOND_ORDER covers the terms that are not linear in u.
inline ScoreError score_error(size_t p, float largest_norm, float largest_bias) {
  return {SECOND_ORDER * HALF_ULP * (sum_roundings(p) + OTHER_ROUNDINGS) * ROUND_UP * largest_norm,
          SECOND_ORDER * HALF_ULP * OTHER_ROUNDINGS * largest_bias};
}

inline float error_of_complete_row(const ScoreError& error, float norm2) {
  return square_root(norm2) * error.slope + error.floor;
}

// Return a bound on |s - T| for any number of missing cells.
inline float error_of_row(const ScoreError& error, float norm2, size_t n_missing,
                          float largest_norm, float largest_bias) {
  const float more = MISSING_ROUNDINGS * SECOND_ORDER * HALF_ULP * float(n_missing);
  return square_root(norm2) * (error.slope + more * ROUND_UP * largest_norm) + error.floor +
         more * largest_bias;
}

// Scores in 8 and 16 bits
// ------------------------------------------------------------------------------------------------
// g' = step q and h' = scale r have integer coordinates q and r. g'.h' is an exact integer of 32
// bits times scale * step.

// In 8 bits, |q|, |r| <= 127 and q + 128 <= 255, so sums of p products stay below 255 * 127 p <
// 2^31.
constexpr size_t MAX_BYTE_VALUES = 1 << 15;  // largest number of values p of a row
constexpr float LARGEST_BYTE = 127;

// In 16 bits, the step is chosen such that before rounding |q| <= LONGEST_PAIRS for the vector and
// |q_l| <= LARGEST_OF_PAIR for its components. Rounding changes each of p <= 2^16 coordinates by at
// most 0.5 + 2^-8, and the length by at most 129. By Cauchy-Schwarz, |q.r| <= (46000 + 129)^2 <
// 2^31. Partial sums may wrap around modulo 2^32; the final sum fits.
constexpr float LONGEST_PAIRS = 46000, LARGEST_OF_PAIR = 32767;
constexpr size_t MAX_PAIR_COLUMNS = 1 << 15;  // largest number of columns d

// The lengths |g - g'| and |g| are square roots of sums of at most 2^16 squares in float32, in 16
// parallel chains. These have at most 2^12 + 32 roundings, so the relative error of the root is
// below 2^-12.8 = 0.00014. The factor also covers the quotients and products of a step, and is
// larger than necessary.
constexpr float MEASURED_UP = 1.001f;

// Return a bound on the additional error of a score that is computed from g' and h' instead of g
// and h.
// Proof: |g.h - g'.h'| <= |g - g'||h| + |g'||h - h'| and |g'| <= |g| + |g - g'|. The first line of
// the expression, `rests`, is this bound. Relative to |g'||h'|, there are 3 roundings of the
// product (the integer, scale * step, their product), 1 of the subtraction of the bias, and 1
// because g - g' was measured with a rounded step q (8 bits). These are 5 of the 16 in
// PRODUCT_ROUNDINGS. The roundings of missing cells act on partial sums that are larger by `rests`,
// which adds M u rests. In 8 bits, M u <= 2^14 u = 2^-10, which the factor 1.001 of `rests` covers
// together with the roundings of this expression (5 u). In 16 bits, rests <= 0.01 |g||h|, which
// MISSING_ROUNDINGS covers.
constexpr float PRODUCT_ROUNDINGS = 16;
constexpr float RESTS_UP = 1.001f;

inline float quantized_error(float length, float row_rest, float largest_norm,
                             float centroid_rest) {
  return (row_rest * largest_norm + (length + row_rest) * centroid_rest) * RESTS_UP +
         PRODUCT_ROUNDINGS * HALF_ULP * (length + row_rest) * (largest_norm + centroid_rest);
}

// Winners
// ------------------------------------------------------------------------------------------------

// Return whether the centroid with the best score is proven to be nearer than all others, given
// |s - T| <= error.
// Proof: 2 error is a float32 and fl is monotone, so fl(best - second) > 2 error implies best -
// second > 2 error. Therefore T_best >= best - error > second + error >= T for all others. This
// bound is tight.
inline bool is_proven(float best, float second, float error) { return best - second > 2 * error; }

// Return a lower bound on the score of a centroid that may win.
// Proof: let b have the best score, and T_c >= T_b. Then s_c >= T_c - error >= T_b - error >=
// best - 2 error. s_c is a float32 and fl is monotone, so s_c >= fl(best - 2 error). This bound is
// tight.
inline float candidate_bar(float best, float error) { return best - 2 * error; }

// Return a score s with T <= s + e for all centroids whose 8-bit score is below
// bar = candidate_bar(best, error). Here e is the error of a float32 score.
// Proof: T < bar + error. The error of rounding this sum is at most u |bar + error| <=
// u (|best| + error). We have error <= e + 4 |g||h| and |best| <= |g||h| + |h|^2/2 + error, so the
// rounding error is at most u (9 |g||h| + |h|^2/2 + 2 e), which is below
// e >= 142 u |g||h| + 6 u |h|^2/2.
inline float ruled_out_score(float bar, float error) { return bar + error; }

// Distances
// ------------------------------------------------------------------------------------------------

// The number of roundings of a squared distance, relative to |g|^2 + 2 |s|.
constexpr float DISTANCE_ROUNDINGS = 8;

// Return the slack S for |s - T| <= error and for the roundings of the bounds below. The error of
// norm2 is at most 1.001 u |g|^2.
inline float distance_slack(float norm2, float score, float error) {
  return 2 * error + DISTANCE_ROUNDINGS * HALF_ULP * (norm2 + 2 * magnitude(score));
}

// Return an upper bound, up to a relative error of 2.01 u, on D^2 = |g|^2 - 2 T for a centroid with
// this score.
//
// Proof: let N = norm2 + 2 |s|, t = fl(norm2 - 2 s), S the slack and a = fl(t + S). We have
//   |g|^2 <= norm2 (1 + 1.001 u),  |t - (norm2 - 2 s)| <= u N,  |a - (t + S)| <= u |a|,
//   S >= 2 error + 8 u (1 - u) N - u S,  S <= (1 + u) |a| + (1 + u) N.
// Together, a + 2.01 u |a| >= |g|^2 - 2 s + 2 error + (8 - 3.02) u N >= D^2. Therefore a >= 0, and
// 3.02 of the 8 roundings are needed here. The caller takes the root and multiplies it by ROUND_UP,
// with one rounding each, and (1 - 1.01 u)(1 - u)^2 (1 + 4 u) > 1.
inline float upper_square(float norm2, float score, float slack) {
  return norm2 - 2 * score + slack;
}

// Return a lower bound, up to a relative error of 3.1 u, on D^2 for all centroids with this score
// or less. The slack may belong to any score.
//
// Proof: let N = norm2 + 2 |s|, t = fl(norm2 - 2 s), c = fl(t - S), v = 16 u |s| and b = fl(c - v),
// which is the result. We have
//   |g|^2 >= norm2 (1 - 1.001 u),  |t - (norm2 - 2 s)| <= u N,  |c - (t - S)| <= u |c|,
//   |b - (c - v)| <= u |b|,  |c| <= (1 + u) |b| + v,
//   S >= 2 error + 8 u (1 - u) norm2 - u S,  S <= (1 + u) N + (1 + u) |c|.
// Together, b <= (|g|^2 - 2 s - 2 error) + 3.02 u N + 3.02 u |b| - (8 u (1 - u) norm2 + v). The
// term in the last parentheses is at least 7.9 u N, and 3.02 u N are needed here. If b > 0, then
// b (1 - 3.1 u) <= D^2, and the root is at most D (1 + 1.6 u). Otherwise the caller uses 0. The
// root and the product with ROUND_DOWN are rounded once each, and
// (1 + 1.6 u)(1 + u)^2 (1 - 4 u) < 1.
inline float lower_square(float norm2, float score, float slack) {
  return norm2 - 2 * score - slack - DISTANCE_ROUNDINGS * HALF_ULP * magnitude(2 * score);
}

// Bounds from one pass to the next
// ------------------------------------------------------------------------------------------------
// If a centroid moves by at most `drift`, its distance to any row changes by at most `drift`
// (triangle inequality). Distances over observed cells change by less.

// Return an upper bound on upper + drift: there are two roundings, covered by ROUND_UP.
inline float loosened_upper(float upper, float drift) { return (upper + drift) * ROUND_UP; }

// Return a lower bound on lower - drift. A negative bound is valid, but proves nothing.
// Proof: q = fl(fl(drift (1 + 4 u)) + 4 u |lower|) >= drift (1 + 1.9 u) + 4 u (1 - u) |lower|, and
// the error of fl(lower - q) is at most u (|lower| + q). Therefore lower minus the result is at
// least drift (1 + 0.8 u) + 2.9 u |lower|. Of the 4 roundings of |lower|, 1.1 are needed. If the
// result is positive, then |lower| >= drift, and ROUND_UP is not needed.
constexpr float LOWER_ROUNDINGS = 4;
inline float loosened_lower(float lower, float drift) {
  return lower - (drift * ROUND_UP + magnitude(lower) * (LOWER_ROUNDINGS * HALF_ULP));
}

// Return whether the bounds prove the label: its own centroid is strictly nearer than all others.
// There is no rounding.
inline bool keeps_label(float upper, float lower) { return upper < lower; }

// Seeding
// ------------------------------------------------------------------------------------------------

// A factor that covers the roundings of lengths whose sum is compared. A length that is computed
// from an integer has an error of 3.5 u: float(D) (u/2 after the root), the root and the product.
// The sum of two lengths adds 1 u, and the distance on the other side adds 2.1 u. The total is 7 u,
// and the factor covers 16 u on each side.
constexpr float LENGTH_UP = 1 + 0x1p-20f;

// Return an upper bound on sqrt(D), and a lower bound on sqrt(D2), for D2 with a relative error of
// 2^-30.
inline float length_above(int64_t D) { return square_root(float(D)) * LENGTH_UP; }
inline float length_below(double D2) { return float(square_root(D2)) / LENGTH_UP; }

// Return whether a candidate is farther from a row than `limit` by the triangle inequality, given
// its distance from the row's own centroid. own >= |f - c| and `limit` are computed by
// length_above, `distance` by length_below.
inline bool is_beyond(float own, float limit, float distance) { return own + limit < distance; }

// Return a lower bound on the score of a candidate whose squared distance is below L. `limit` is
// fl(L), in units of 1.
// Proof: |g|^2 - 2 T < L implies s >= T - error > (|g|^2 - L)/2 - error. Let W = norm2 + limit. The
// errors are 1.001 u W / 2 for norm2 and limit together, u W / 2 for their difference, and
// u (W / 2 + error) (1 + 5 u) for each of the two subtractions. The sum is 2.01 u W + 2.01 u error.
// ROUND_UP covers 2.9 u error, and the last term 3.9 u W.
constexpr float BAR_ROUNDINGS = 4;  // 2.1 would suffice
inline float near_bar(float norm2, float limit, float error) {
  return (norm2 - limit) / 2 - error * ROUND_UP - BAR_ROUNDINGS * HALF_ULP * (norm2 + limit);
}

// The number of columns whose squares grid_distances adds in float64 without rounding. The squares
// are integers in units of 2^-46. A column has |f - m|^2 <= (2 + 2^-21)^2, so the sum over 31
// columns stays below 124.1 * 2^46 < 2^53, where float64 represents every integer. 31 is the
// largest such number.
constexpr size_t EXACT_COLUMNS = 31;

}  // namespace
}  // namespace rekmeans
