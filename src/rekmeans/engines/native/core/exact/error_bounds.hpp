// The bounds that prove a nearest centroid without its exact distance, each with its derivation.
//
// Notation: g = f - base is a centred row, h = m - base a centred centroid, M the number of missing
// cells of the row (g is 0 there). T = g.h - |h|^2/2 + sum over missing cells of |h_l|^2/2 is the
// exact score, s the computed one. The squared distance over the observed cells is |g|^2 - 2 T. All
// coordinates are multiples of 2^-23 below 2 + 2^-20 in size, so products are multiples of 2^-46:
// nothing underflows. g and h are exact in float32 (h beyond 2 is not, which costs u |h|).
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

// Room for 3 roundings, that of the product with this factor among them: (1 - u)^3 (1 + 4 u) > 1
// and (1 + u)^3 (1 - 4 u) < 1.
constexpr float ROUND_UP = 1 + 4 * HALF_ULP, ROUND_DOWN = 1 - 4 * HALF_ULP;

// A float32 that is at least x >= 0, where x may err by 1.9 u of itself. Two roundings: to float32,
// and of the product.
inline float float_above(double x) { return float(x) * ROUND_UP; }

// Scores in float32
// ------------------------------------------------------------------------------------------------

// Scores that stand for no centroid. Real scores are at most |g||h| + |h|^2/2 < 2^20 in size.
constexpr float NO_SCORE = -3e38f;   // below every other score
constexpr float NEVER_WINS = 1e30f;  // a bias: centroids of the padding score about -1e30
constexpr float NO_RIVAL = -1e29f;   // second scores below this count as this: twice it is finite

// The roundings that any one product g_l h_l goes through until g.h is complete, at most
// SUM_CHUNK + ceil(p / SUM_CHUNK) + 8, in every function of Simd:
// - scores, best_of_few: chains of SUM_CHUNK products from 0 take SUM_CHUNK roundings, whether the
//   multiply-add is fused or not, and the ceil(p / SUM_CHUNK) sums of chains are added up.
// - dot: shorter chains, then a tree.
// - sparse_scores: WAYS <= 4 chains of SUM_CHUNK products side by side, the first of them longer by
//   2 (WAYS - 1) <= 6 in the last piece only. Each piece adds WAYS sums. A row has at most p/2
//   cells, so there are at most p / SUM_CHUNK + WAYS such additions. The longest path either starts
//   in the last piece (SUM_CHUNK - 2 + 6 + WAYS roundings) or in an earlier one (SUM_CHUNK + p /
//   SUM_CHUNK + WAYS).
// - sparse_dot: V <= 16 chains of SUM_CHUNK products over 64 V cells. In the last piece, the first
//   chain takes up to V - 1 more additions, then log2(V) in a tree and 1. With n cells in the last
//   piece that is 2 floor(n/V) + (n mod V) + log2(V) + 1 <= SUM_CHUNK + n/64 + 8 for every n < 64
//   V, and p / SUM_CHUNK >= n/64. An earlier piece takes SUM_CHUNK + log2(V) + the number of
//   pieces.
inline float sum_roundings(size_t p) {
  return float(SUM_CHUNK + (p + SUM_CHUNK - 1) / SUM_CHUNK + 8);
}

// Roundings of a score besides those of the sum and of missing cells, at most:
// - relative to |g||h|: 1, the subtraction of the bias; 1 where h beyond 2 is rounded.
// - relative to |h|^2/2: 1 of the bias, 1 of its subtraction, 2 of the missing cells' gains, and 2
//   of these gains where h beyond 2 is rounded. That is 6 in all.
constexpr float OTHER_ROUNDINGS = 6;

// Each missing cell adds (f_l^2 + f_{d+l}^2)/2 to the score: one addition to a partial sum of at
// most |g||h| + |h|^2/2. So it costs u (|g||h| + |h|^2/2).
constexpr float MISSING_ROUNDINGS = 2;  // larger than needed: 1

// n roundings in a row err by at most (1 + u)^n - 1 <= n u / (1 - n u). With n <= 128 + 512 + 8 + 6
// roundings besides those of missing cells this is n u (1 + 2^-14). For M <= 32767 missing cells it
// is M u (1 + 2^-8), and their coefficient has a margin of 2. |g| comes from norm2, the float32
// next to |g|^2, by a square root (1.5 u), and the bound itself takes 8 roundings. Larger than
// needed: 1 + 2^-13 would do.
constexpr float SECOND_ORDER = 1.02f;

// The error of scores; largest_norm >= |h| and largest_bias >= |h|^2/2 of all centroids.
// Proof: by Cauchy and Schwarz sum |g_l h_l| <= |g||h|. The sum errs by sum_roundings u |g||h|, the
// rest by OTHER_ROUNDINGS u (|g||h| + |h|^2/2), and SECOND_ORDER covers what is not linear in u.
inline ScoreError score_error(size_t p, float largest_norm, float largest_bias) {
  return {SECOND_ORDER * HALF_ULP * (sum_roundings(p) + OTHER_ROUNDINGS) * ROUND_UP * largest_norm,
          SECOND_ORDER * HALF_ULP * OTHER_ROUNDINGS * largest_bias};
}

inline float error_of_complete_row(const ScoreError& error, float norm2) {
  return square_root(norm2) * error.slope + error.floor;
}

// |s - T| for any number of missing cells.
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

// In 8 bits |q|, |r| <= 127 and q + 128 <= 255: sums of p products stay below 255 * 127 p < 2^31.
constexpr size_t MOST_BYTES = 1 << 15;  // values p of a row
constexpr float LARGEST_BYTE = 127;

// In 16 bits the step is chosen such that before rounding |q| <= LONGEST_PAIRS as a vector and
// |q_l| <= LARGEST_OF_PAIR. Rounding changes each of p <= 2^16 coordinates by at most 0.5 + 2^-8,
// so the length by at most 129. By Cauchy and Schwarz |q.r| <= (46000 + 129)^2 < 2^31. Partial sums
// wrap around modulo 2^32, and the last one fits.
constexpr float LONGEST_PAIRS = 46000, LARGEST_OF_PAIR = 32767;
constexpr size_t MOST_PAIRS = 1 << 15;  // columns d

// Lengths |g - g'| and |g| are square roots of sums of at most 2^16 squares in float32, 16 side by
// side: at most 2^12 + 32 roundings, so the root errs by less than 2^-12.8 = 0.00014. The factor
// also covers the quotients and products of a step. Larger than needed.
constexpr float MEASURED_UP = 1.001f;

// A score from g' and h' errs by at most this more than one from g and h.
// Proof: |g.h - g'.h'| <= |g - g'||h| + |g'||h - h'| and |g'| <= |g| + |g - g'|. That is `rests`.
// Relative to |g'||h'| there are 3 roundings of the product (the integer, scale * step, their
// product), 1 of the bias' subtraction, and 1 because g - g' was measured with a rounded step q
// (8 bits). That is 5 of the 16 in PRODUCT_ROUNDINGS, which is larger than needed. The roundings of
// missing cells now act on partial sums that are larger by `rests`, which costs M u rests. In 8
// bits M u <= 2^14 u = 2^-10, which the factor 1.001 of `rests` covers together with the roundings
// of this expression (5 u). In 16 bits rests <= 0.01 |g||h|, which MISSING_ROUNDINGS covers.
constexpr float PRODUCT_ROUNDINGS = 16;
constexpr float RESTS_UP = 1.001f;

inline float quantized_error(float length, float row_rest, float largest_norm,
                             float centroid_rest) {
  return (row_rest * largest_norm + (length + row_rest) * centroid_rest) * RESTS_UP +
         PRODUCT_ROUNDINGS * HALF_ULP * (length + row_rest) * (largest_norm + centroid_rest);
}

// Winners
// ------------------------------------------------------------------------------------------------

// The centroid of the best score is nearer than any other if this holds, where |s - T| <= error.
// Proof: 2 error is a float32 and fl is monotone, so fl(best - second) > 2 error implies best -
// second > 2 error. Then T_best >= best - error > second + error >= T of any other. This is tight.
inline bool is_proven(float best, float second, float error) { return best - second > 2 * error; }

// A centroid that may win scores at least this.
// Proof: let b have the best score, and T_c >= T_b. Then s_c >= T_c - error >= T_b - error, which
// is at least best - 2 error. s_c is a float32 and fl is monotone, so s_c >= fl(best - 2 error).
// This is tight.
inline float candidate_bar(float best, float error) { return best - 2 * error; }

// A score s with T <= s + e for every centroid that scores below bar = candidate_bar(best, error)
// in 8 bits, where e is the error of a float32 score.
// Proof: T < bar + error. Rounding this sum costs u |bar + error| <= u (|best| + error). We have
// error <= e + 4 |g||h| and |best| <= |g||h| + |h|^2/2 + error. So this costs at most
// u (9 |g||h| + |h|^2/2 + 2 e), which is below e >= 142 u |g||h| + 6 u |h|^2/2.
inline float ruled_out_score(float bar, float error) { return bar + error; }

// Distances
// ------------------------------------------------------------------------------------------------

// Roundings of a squared distance, relative to |g|^2 + 2 |s|.
constexpr float DISTANCE_ROUNDINGS = 8;

// Room for |s - T| <= error and for the roundings of the bounds below; norm2 errs by 1.001 u |g|^2.
inline float distance_slack(float norm2, float score, float error) {
  return 2 * error + DISTANCE_ROUNDINGS * HALF_ULP * (norm2 + 2 * magnitude(score));
}

// At least D^2 = |g|^2 - 2 T for a centroid of this score, up to a relative error of 2.01 u.
//
// Proof: let N = norm2 + 2 |s|, t = fl(norm2 - 2 s), S the slack and a = fl(t + S). We have
//   |g|^2 <= norm2 (1 + 1.001 u),  |t - (norm2 - 2 s)| <= u N,  |a - (t + S)| <= u |a|,
//   S >= 2 error + 8 u (1 - u) N - u S,  S <= (1 + u) |a| + (1 + u) N.
// Together a + 2.01 u |a| >= |g|^2 - 2 s + 2 error + (8 - 3.02) u N >= D^2. So a >= 0, and 3.02 of
// the 8 roundings are needed here. The caller takes the root and multiplies it by ROUND_UP: one
// rounding each, and (1 - 1.01 u)(1 - u)^2 (1 + 4 u) > 1.
inline float upper_square(float norm2, float score, float slack) {
  return norm2 - 2 * score + slack;
}

// At most D^2 for any centroid of this score or less, up to a relative error of 3.1 u. The slack
// may be that of any score.
//
// Proof: let N = norm2 + 2 |s|, t = fl(norm2 - 2 s), c = fl(t - S), v = 16 u |s| and b = fl(c - v),
// which is the result. We have
//   |g|^2 >= norm2 (1 - 1.001 u),  |t - (norm2 - 2 s)| <= u N,  |c - (t - S)| <= u |c|,
//   |b - (c - v)| <= u |b|,  |c| <= (1 + u) |b| + v,
//   S >= 2 error + 8 u (1 - u) norm2 - u S,  S <= (1 + u) N + (1 + u) |c|.
// Together b <= (|g|^2 - 2 s - 2 error) + 3.02 u N + 3.02 u |b| less 8 u (1 - u) norm2 + v. The
// last two are at least 7.9 u N, of which 3.02 are needed here. So b (1 - 3.1 u) <= D^2 if b > 0
// (else the caller takes 0), and the root is at most D (1 + 1.6 u). The root and the product with
// ROUND_DOWN are rounded once each, and (1 + 1.6 u)(1 + u)^2 (1 - 4 u) < 1.
inline float lower_square(float norm2, float score, float slack) {
  return norm2 - 2 * score - slack - DISTANCE_ROUNDINGS * HALF_ULP * magnitude(2 * score);
}

// Bounds from one pass to the next
// ------------------------------------------------------------------------------------------------
// A centroid that moved by at most `drift` changes its distance to any row by at most that
// (triangle inequality; distances over observed cells change by less).

// At least upper + drift: two roundings and ROUND_UP.
inline float loosened_upper(float upper, float drift) { return (upper + drift) * ROUND_UP; }

// At most lower - drift. lower may be negative, which bounds nothing but does no harm.
// Proof: q = fl(fl(drift (1 + 4 u)) + 4 u |lower|) >= drift (1 + 1.9 u) + 4 u (1 - u) |lower|, and
// fl(lower - q) errs by at most u (|lower| + q). So lower less the result is at least
// drift (1 + 0.8 u) + 2.9 u |lower|. Of the 4 roundings of |lower|, 1.1 are needed. Where the
// result is positive, |lower| >= drift and ROUND_UP is not needed.
constexpr float LOWER_ROUNDINGS = 4;
inline float loosened_lower(float lower, float drift) {
  return lower - (drift * ROUND_UP + magnitude(lower) * (LOWER_ROUNDINGS * HALF_ULP));
}

// The label stays: the own centroid is strictly nearer than any other. No rounding.
inline bool keeps_label(float upper, float lower) { return upper < lower; }

// Seeding
// ------------------------------------------------------------------------------------------------

// Room for the roundings of lengths whose sum is compared. A length from an integer takes 3.5 u:
// float(D) (half of u after the root), the root and the product. The sum of two takes 1 u, and the
// distance on the other side 2.1 u. Of 16 u on each side these need 7 u in all.
constexpr float LENGTH_UP = 1 + 0x1p-20f;

// At least sqrt(D), and at most sqrt(D2) for D2 that errs by 2^-30 of itself.
inline float length_above(int64_t D) { return square_root(float(D)) * LENGTH_UP; }
inline float length_below(double D2) { return float(square_root(D2)) / LENGTH_UP; }

// A candidate whose distance from a row's own centroid exceeds this sum is farther from the row
// than `limit` (triangle inequality): own >= |f - c| and limit by length_above, distance by
// length_below.
inline bool is_beyond(float own, float limit, float distance) { return own + limit < distance; }

// A candidate nearer than a squared distance L scores at least this; most = fl(L), in units of 1.
// Proof: |g|^2 - 2 T < L means s >= T - error > (|g|^2 - L)/2 - error. Let W = norm2 + most. norm2
// and most err by 1.001 u W / 2 together, their difference by u W / 2, and the two subtractions by
// u (W / 2 + error) (1 + 5 u) each: 2.01 u W + 2.01 u error. ROUND_UP adds 2.9 u error and the last
// term 3.9 u W.
constexpr float BAR_ROUNDINGS = 4;  // larger than needed: 2.1
inline float near_bar(float norm2, float most, float error) {
  return (norm2 - most) / 2 - error * ROUND_UP - BAR_ROUNDINGS * HALF_ULP * (norm2 + most);
}

// Exact distances in float64: grid_distances adds up squares of this many columns, which are
// integers in units of 2^-46. A column has |f - m|^2 <= (2 + 2^-21)^2, so 31 of them stay below
// 124.1 2^46 < 2^53, where every integer is a float64 and no sum is rounded. It is the largest such
// number.
constexpr size_t EXACT_COLUMNS = 31;

}  // namespace
}  // namespace rekmeans
