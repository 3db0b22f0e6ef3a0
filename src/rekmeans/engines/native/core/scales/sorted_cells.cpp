#include "sorted_cells.hpp"

#include <algorithm>

#include "../int128.hpp"

namespace rekmeans {
namespace {

// adding and subtracting it rounds to the nearest integer, ties to even
constexpr double ROUNDING = 0x1.8p52;

}  // namespace

size_t SortedCells::count_up_to(double bound) const {
  return size_t(std::upper_bound(values, values + n, bound) - values);
}

size_t SortedCells::count_below(double bound) const {
  return size_t(std::lower_bound(values, values + n, bound) - values);
}

double SortedCells::first_after_mass(double mass) const {
  const double start = running[0];
  const auto place = std::partition_point(running + 1, running + n + 1,
                                          [=](double r) { return r - start <= mass; });
  return values[std::min(size_t(place - running - 1), n - 1)];
}

double SortedCells::last_before_mass(double mass) const {
  const double start = running[0];
  const auto place = std::partition_point(running + 1, running + n + 1,
                                          [=](double r) { return r - start < mass; });
  return values[std::min(size_t(place - running - 1), n - 1)];
}

Moments SortedCells::moments(double middle, double distance) const {
  int64_t count = 0;
  int128 first = 0, second = 0;
  for (size_t i = 0; i < n; ++i) {
    const double step = values[i] - middle;
    if (!(std::fabs(step) <= distance)) continue;
    const double scaled = step / distance * MOMENT_GRID;
    const int64_t y = int64_t((scaled + ROUNDING) - ROUNDING), mass = int64_t(mass_of(i));
    count += mass;
    first += int128(mass) * int128(y);
    second += int128(mass) * int128(y * y);
  }
  const double mean = double(first) / double(count);
  const double sigma =
      std::sqrt(std::max(0.0, double(second) / double(count) - mean * mean)) / MOMENT_GRID;
  return {middle + distance * (mean / MOMENT_GRID), distance * sigma};
}

}  // namespace rekmeans
