#include "exact.hpp"

#include <cmath>

#include "lanes.hpp"

namespace rekmeans {
namespace {

struct Twin { double high, low; };

Twin twin_sum(double a, double b) {
  const double s = a + b, v = s - a;
  return {s, (a - (s - v)) + (b - v)};
}
Twin times(Twin a, Twin b) {
  const double p = a.high * b.high;
  const double e = std::fma(a.high, b.high, -p) + (a.high * b.low + a.low * b.high);
  return twin_sum(p, e);
}
Twin plus(Twin a, Twin b) {
  const Twin s = twin_sum(a.high, b.high);
  return twin_sum(s.high, s.low + a.low + b.low);
}
Twin over(Twin a, double b) {
  const double q = a.high / b;
  const double rest = std::fma(-q, b, a.high) + a.low;
  return twin_sum(q, rest / b);
}

// cos(pi r) or sin(pi r), |r| <= 1/4, by Taylor's series.
Twin series(double r, bool cosine) {
  const Twin half_turn = {3.141592653589793, 1.2246467991473532e-16};
  const Twin x = times(half_turn, {r, 0}), x2 = times(x, x);
  Twin term = cosine ? Twin{1, 0} : x, sum = term;
  for (int i = cosine ? 1 : 2; i < 40; i += 2) {
    term = over(times(term, x2), -double(i) * (i + 1));
    sum = plus(sum, term);
  }
  return sum;
}

// The low word alone decides where the high one lies on a tie: added to a half it would be rounded away.
int32_t settled(Twin x) {
  const double scaled = x.high * GRID, near = std::rint(scaled);
  const double half = scaled - near, gap = half + x.low * GRID;  // the difference is exact
  const bool above = gap > 0.5 || (half == 0.5 && x.low > 0), below = gap < -0.5 || (half == -0.5 && x.low < 0);
  return int32_t(near) + above - below;
}

}  // namespace

void settle(double t, int32_t* cos, int32_t* sin) {
  const double quarter = std::rint(2 * t), r = t - quarter / 2;
  const int32_t c = settled(series(r, true)), s = settled(series(r, false));
  const int turn = int(int64_t(quarter) & 3);
  const int32_t even = turn & 1 ? s : c, odd = turn & 1 ? c : s;
  *cos = turn == 1 || turn == 2 ? -even : even;
  *sin = turn >= 2 ? -odd : odd;
}

}  // namespace rekmeans
