// Find winners and distance bounds from scores, and loosen the bounds by drift.
#pragma once
#include "vectors.hpp"

namespace rekmeans {
namespace {

// The two largest of several scores, in each lane.
struct BestTwo {
  vf best, second;
  vi index;
};

inline BestTwo merge(const BestTwo& x, const BestTwo& y) {
  const vi better = (y.best > x.best) | ((y.best == x.best) & (y.index < x.index));
  return {select(better, y.best, x.best),
          larger(larger(x.second, y.second), select(better, x.best, y.best)),
          select(better, y.index, x.index)};
}

// Combine two vectors, each with V/SPAN rows of SPAN lanes, into one with 2V/SPAN rows of SPAN/2
// lanes: the lower or the upper half of each row.
template <int SPAN, int OFFSET>
constexpr int half_source(int lane) {
  return lane / (SPAN / 2) * SPAN + lane % (SPAN / 2) + OFFSET;
}

template <size_t SPAN>
inline BestTwo fold(const BestTwo& a, const BestTwo& b) {
  constexpr auto low = half_source<int(SPAN), 0>, high = half_source<int(SPAN), int(SPAN) / 2>;
  return merge({shuffle<low>(a.best, b.best), shuffle<low>(a.second, b.second),
                shuffle<low>(a.index, b.index)},
               {shuffle<high>(a.best, b.best), shuffle<high>(a.second, b.second),
                shuffle<high>(a.index, b.index)});
}

// The two best scores of V rows, from one vector per row to one lane per row.
template <size_t SPAN>
inline BestTwo side_by_side(const BestTwo* rows) {
  if constexpr (SPAN == 1) {
    return rows[0];
  } else {
    return fold<V / (SPAN / 2)>(side_by_side<SPAN / 2>(rows),
                                side_by_side<SPAN / 2>(rows + SPAN / 2));
  }
}

void best_two(const float* S, size_t count, size_t kp, const float* bias, const Winners& winners) {
  vi ramp;
  for (size_t i = 0; i < V; ++i) ramp[i] = int32_t(i);
  BestTwo rows[V];
  for (size_t from = 0; from < count; from += V) {
    const size_t here = count - from < V ? count - from : V;
    for (size_t r = 0; r < V; ++r) {
      const float* s = S + (from + (r < here ? r : 0)) * kp;
      BestTwo found = {load(s) - load(bias), broadcast(NO_SCORE), ramp};
      for (size_t c = V; c < kp; c += V) {
        const vf x = load(s + c) - load(bias + c);
        const vi better = x > found.best;
        found.second = larger(found.second, select(better, found.best, x));
        found.index = select(better, ramp + int32_t(c), found.index);
        found.best = select(better, x, found.best);
      }
      rows[r] = found;
    }
    const BestTwo all = side_by_side<V>(rows);
    for (size_t r = 0; r < here; ++r) {
      winners.best[from + r] = all.best[r];
      winners.second[from + r] = all.second[r];
      winners.index[from + r] = all.index[r];
    }
  }
}

void certify(size_t count, const float* norm2, const float* error, const float* best,
             const float* second, float* upper, float* lower, uint8_t* certain) {
  for (size_t r = 0; r < count; ++r) {
    const float own = best[r], other = second[r] < NO_RIVAL ? NO_RIVAL : second[r];
    certain[r] = is_proven(own, other, error[r]);
    const float slack = distance_slack(norm2[r], own, error[r]);
    const float above = upper_square(norm2[r], own, slack);
    const float below = lower_square(norm2[r], other, slack);
    upper[r] = square_root(above > 0 ? above : 0) * ROUND_UP;
    lower[r] = square_root(below > 0 ? below : 0) * ROUND_DOWN;
  }
}

void loosen_bounds(size_t count, const int32_t* __restrict labels, const float* __restrict drift,
                   const DriftGroup& slow, const DriftGroup& fast, float* __restrict upper,
                   float* __restrict lower, float* __restrict lower_fast,
                   uint8_t* __restrict open) {
  const DriftGroup s = slow, f = fast;
  for (size_t r = 0; r < count; ++r) {
    const int32_t own = labels[r];
    const float u = loosened_upper(upper[r], drift[own]);
    const float now = loosened_lower(lower[r], own == s.index ? s.second : s.largest);
    upper[r] = u, lower[r] = now;
    open[r] = !keeps_label(u, now);
  }
  if (lower_fast)
    for (size_t r = 0; r < count; ++r) {
      const float now = loosened_lower(lower_fast[r], labels[r] == f.index ? f.second : f.largest);
      lower_fast[r] = now;
      open[r] |= !keeps_label(upper[r], now);
    }
}

}  // namespace
}  // namespace rekmeans
