// The sorted cells of one column: quantiles, masses and moments, bit-identical to
// scales/sorted_columns.py.
#pragma once
#include <cmath>
#include <cstddef>
#include <utility>

namespace rekmeans {

// moments are summed in units of 1 / MOMENT_GRID of the largest distance
constexpr double MOMENT_GRID = 0x1p24;

using Interval = std::pair<double, double>;

// The mean and the standard deviation.
struct Moments {
  double mean, sigma;
};

// The distinct values and the running sum of their masses. Masses are integers, so sums and
// differences are exact.
struct SortedCells {
  const double* values;   // (n,) ascending
  const double* running;  // (n + 1,) the mass of value i is running[i + 1] - running[i]
  size_t n;
  double row_weight;  // mass of one row

  double total() const { return running[n] - running[0]; }
  double mass_of(size_t i) const { return running[i + 1] - running[i]; }

  size_t count_up_to(double bound) const;
  size_t count_below(double bound) const;
  double mass_up_to(double bound) const { return running[count_up_to(bound)] - running[0]; }
  double mass_below(double bound) const { return running[count_below(bound)] - running[0]; }
  double mass_within(double low, double high) const { return mass_up_to(high) - mass_below(low); }

  double first_after_mass(double mass) const;
  double last_before_mass(double mass) const;
  double quantile(double share) const { return last_before_mass(share * total()); }

  SortedCells take(size_t first, size_t last) const {
    return {values + first, running + first, last > first ? last - first : 0, row_weight};
  }
  // The cells in (low, high].
  SortedCells take_between(double low, double high) const {
    return take(count_up_to(low), count_up_to(high));
  }

  // The moments of the cells within `distance` of `middle`.
  Moments moments(double middle, double distance) const;
};

}  // namespace rekmeans
