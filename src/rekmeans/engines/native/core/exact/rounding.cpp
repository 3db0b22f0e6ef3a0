#include "rounding.hpp"

#include <cmath>

#include "../grid.hpp"

namespace rekmeans {
namespace {

struct DoubleDouble {
  double high, low;
};

DoubleDouble two_sum(double a, double b) {
  const double s = a + b, v = s - a;
  return {s, (a - (s - v)) + (b - v)};
}
DoubleDouble multiply(DoubleDouble a, DoubleDouble b) {
  const double p = a.high * b.high;
  const double e = std::fma(a.high, b.high, -p) + (a.high * b.low + a.low * b.high);
  return two_sum(p, e);
}
DoubleDouble add(DoubleDouble a, DoubleDouble b) {
  const DoubleDouble s = two_sum(a.high, b.high);
  return two_sum(s.high, s.low + a.low + b.low);
}
DoubleDouble divide(DoubleDouble a, double b) {
  const double q = a.high / b;
  const double rest = std::fma(-q, b, a.high) + a.low;
  return two_sum(q, rest / b);
}

// cos(pi r) or sin(pi r) by its Taylor series, for |r| <= 1/4.
DoubleDouble series(double r, bool cosine) {
  const DoubleDouble half_turn = {3.141592653589793, 1.2246467991473532e-16};
  const DoubleDouble x = multiply(half_turn, {r, 0}), x2 = multiply(x, x);
  DoubleDouble term = cosine ? DoubleDouble{1, 0} : x, sum = term;
  for (int i = cosine ? 1 : 2; i < 40; i += 2) {
    term = divide(multiply(term, x2), -double(i) * (i + 1));
    sum = add(sum, term);
  }
  return sum;
}

// If the high word is at a tie, the low word alone decides, because adding it would round it away.
int32_t nearest_grid(DoubleDouble x) {
  const double scaled = x.high * GRID, near = std::rint(scaled);
  const double half = scaled - near, gap = half + x.low * GRID;  // the difference is exact
  const bool above = gap > 0.5 || (half == 0.5 && x.low > 0),
             below = gap < -0.5 || (half == -0.5 && x.low < 0);
  return int32_t(near) + above - below;
}

}  // namespace

void round_correctly(double t, int32_t* cos, int32_t* sin) {
  const double quarter = std::rint(2 * t), r = t - quarter / 2;
  const int32_t c = nearest_grid(series(r, true)), s = nearest_grid(series(r, false));
  const int turn = int(int64_t(quarter) & 3);
  const int32_t even = turn & 1 ? s : c, odd = turn & 1 ? c : s;
  *cos = turn == 1 || turn == 2 ? -even : even;
  *sin = turn >= 2 ? -odd : odd;
}

void map_phases_correctly(const double* t, size_t d, const double* base, float* g, double* norm2,
                          int64_t* square) {
  *norm2 = 0, *square = 0;
  for (size_t l = 0; l < d; ++l) {
    if (std::isnan(t[l])) continue;
    int32_t f[2];
    round_correctly(t[l], f, f + 1);
    for (size_t part = 0; part < 2; ++part) {
      const double gap = f[part] - base[part * d + l];
      g[part * d + l] = float(gap) * float(1 / GRID);
      *norm2 += gap * gap, *square += int64_t(f[part]) * f[part];
    }
  }
  *norm2 /= GRID * GRID;
}

}  // namespace rekmeans
