#include "phase_map.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace rekmeans {

bool is_inside(const PhaseMap& map, double x, size_t column) {
  const double *low = map.low + column * map.m, *high = map.high + column * map.m;
  for (size_t i = 0; i < map.m; ++i)
    if (x >= low[i] && x <= high[i]) return true;
  return false;
}

double general_phase(const PhaseMap& map, double x, size_t column, bool clip) {
  const double *low = map.low + column * map.m, *high = map.high + column * map.m;
  size_t interval = 0;
  if (map.beyond != Beyond::wrap) {
    while (interval < map.m && !(x >= low[interval] && x <= high[interval])) ++interval;
    if (interval == map.m) {
      if (!clip || std::isnan(x)) return NAN;
      double least = INFINITY, end = x;
      for (size_t i = 0; i < map.m; ++i) {
        const double y = x < low[i] ? low[i] : x > high[i] ? high[i] : x;
        if (std::fabs(y - x) < least && !std::isnan(low[i]))
          least = std::fabs(y - x), end = y, interval = i;
      }
      if (interval == map.m) return NAN;
      x = end;
    }
  }
  double step = x - map.shift[column * map.m + interval];
  if (map.period[column] > 0) step = std::fmod(step, map.period[column]);
  return step * map.rate[column * map.m + interval];
}

ColumnScales::ColumnScales(std::vector<double> low_, std::vector<double> high_,
                           std::vector<double> shift_, std::vector<double> rate_,
                           std::vector<double> period_, Beyond beyond_)
    : low(std::move(low_)),
      high(std::move(high_)),
      shift(std::move(shift_)),
      rate(std::move(rate_)),
      period(std::move(period_)),
      m(low.size() / period.size()),
      beyond(beyond_),
      has_one_interval(m == 1),
      supports_tiles(true) {
  for (double p : period) supports_tiles &= !(p > 0);
  has_one_interval &= supports_tiles;
  for (size_t i = 0; i < low.size() && beyond != Beyond::wrap; ++i)
    for (double end : {low[i], high[i]})
      supports_tiles &= std::isnan(end) || std::fabs((end - shift[i]) * rate[i]) < SMALL_PHASE;
}

PhaseCheck ColumnScales::row_phases(double* x, size_t d, const Simd* simd) const {
  const PhaseMap map_ = map();
  if (has_one_interval) return simd->row_phases(x, d, map_);
  bool inside = beyond != Beyond::ignore, small = true;
  for (size_t l = 0; l < d && !inside; ++l) inside = is_inside(map_, x[l], l);
  const bool clip = beyond == Beyond::clip || !inside;
  for (size_t l = 0; l < d; ++l) {
    x[l] = phase(map_, x[l], l, clip);
    small &= std::fabs(x[l]) < SMALL_PHASE;
  }
  return {inside, small};
}

double reduce_phase(double t) { return std::fabs(t) >= SMALL_PHASE ? std::fmod(t, 2.0) : t; }

int64_t phase_to_turns(double t) {
  constexpr double ROUNDING_SHIFT = 0x1.8p52;  // adding it rounds to an integer
  if (std::fabs(t) < 0x1p30) return int64_t((t * TURN + ROUNDING_SHIFT) - ROUNDING_SHIFT);
  return std::isnan(t) ? 0 : int64_t(std::rint(std::min(std::max(t, -0x1p46), 0x1p46) * TURN));
}

}  // namespace rekmeans
