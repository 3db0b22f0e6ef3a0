// From scores to winners and bounds of distances, and what wears the bounds out.
#pragma once
#include "vectors.hpp"

namespace rekmeans {
namespace {

// The two largest of several scores, lane by lane.
struct Top {
  vf first, next;
  vi at;
};

inline Top merged(const Top& x, const Top& y) {
  const vi better = (y.first > x.first) | ((y.first == x.first) & (y.at < x.at));
  return {select(better, y.first, x.first), larger(larger(x.next, y.next), select(better, x.first, y.first)),
          select(better, y.at, x.at)};
}

// Two vectors, each of V/SPAN rows of SPAN lanes, become one of 2V/SPAN rows of SPAN/2 lanes: of each row the lower or upper half.
template <int SPAN, int OFFSET>
constexpr int half_source(int lane) { return lane / (SPAN / 2) * SPAN + lane % (SPAN / 2) + OFFSET; }

template <size_t SPAN>
inline Top folded(const Top& a, const Top& b) {
  constexpr auto low = half_source<int(SPAN), 0>, high = half_source<int(SPAN), int(SPAN) / 2>;
  const Lanes4 all;
  return merged({shuffled<low>(a.first, b.first, all), shuffled<low>(a.next, b.next, all), shuffled<low>(a.at, b.at, all)},
                {shuffled<high>(a.first, b.first, all), shuffled<high>(a.next, b.next, all), shuffled<high>(a.at, b.at, all)});
}

// The tops of V rows, a vector each, side by side in one vector.
template <size_t SPAN>
inline Top gathered(const Top* rows) {
  if constexpr (SPAN == 1) {
    return rows[0];
  } else {
    return folded<V / (SPAN / 2)>(gathered<SPAN / 2>(rows), gathered<SPAN / 2>(rows + SPAN / 2));
  }
}

void winners(const float* S, size_t count, size_t kp, const float* bias, int32_t* where, float* best, float* second) {
  constexpr float NONE = -3.0e38f;
  vi ramp;
  for (size_t i = 0; i < V; ++i) ramp[i] = int32_t(i);
  Top rows[V];
  for (size_t from = 0; from < count; from += V) {
    const size_t here = count - from < V ? count - from : V;
    for (size_t r = 0; r < V; ++r) {
      const float* s = S + (from + (r < here ? r : 0)) * kp;
      Top top = {load(s) - load(bias), vf{} + NONE, ramp};
      for (size_t c = V; c < kp; c += V) {
        const vf x = load(s + c) - load(bias + c);
        const vi better = x > top.first;
        top.next = larger(top.next, select(better, top.first, x));
        top.at = select(better, ramp + int32_t(c), top.at);
        top.first = select(better, x, top.first);
      }
      rows[r] = top;
    }
    const Top all = gathered<V>(rows);
    for (size_t r = 0; r < here; ++r) best[from + r] = all.first[r], second[from + r] = all.next[r], where[from + r] = all.at[r];
  }
}

void judged(size_t count, const float* norm2, const float* error, const float* best, const float* second, float* upper,
            float* lower, uint8_t* sure) {
  for (size_t r = 0; r < count; ++r) {
    const float e = error[r], own = best[r], other = second[r] < -1e29f ? -1e29f : second[r];
    sure[r] = own - other > 2 * e;
    const float room = 2 * e + 8 * U * (norm2[r] + 2 * __builtin_fabsf(own));
    const float above = norm2[r] - 2 * own + room;
    const float below = norm2[r] - 2 * other - room - 8 * U * __builtin_fabsf(2 * other);
    upper[r] = __builtin_sqrtf(above > 0 ? above : 0) * UP;
    lower[r] = __builtin_sqrtf(below > 0 ? below : 0) * DOWN;
  }
}

void worn(size_t count, const int32_t* __restrict labels, const float* __restrict drift, const Group& slow,
          const Group& fast, float* __restrict upper, float* __restrict lower, float* __restrict lower_fast,
          uint8_t* __restrict open) {
  const Group s = slow, f = fast;
  for (size_t r = 0; r < count; ++r) {
    const int32_t own = labels[r];
    const float u = (upper[r] + drift[own]) * UP, l = lower[r];
    const float now = l - ((own == s.which ? s.second : s.most) * UP + __builtin_fabsf(l) * (4 * U));
    upper[r] = u, lower[r] = now;
    open[r] = !(u < now);
  }
  if (lower_fast)
    for (size_t r = 0; r < count; ++r) {
      const float l = lower_fast[r];
      const float now = l - ((labels[r] == f.which ? f.second : f.most) * UP + __builtin_fabsf(l) * (4 * U));
      lower_fast[r] = now;
      open[r] |= !(upper[r] < now);
    }
}

}  // namespace
}  // namespace rekmeans
