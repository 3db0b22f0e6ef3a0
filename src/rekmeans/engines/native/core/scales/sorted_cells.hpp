// Cells of one column in ascending order: quantiles, masses and moments, to the bits of
// scales/sorted_columns.py.
#pragma once
#include <cmath>
#include <cstddef>
#include <utility>

namespace rekmeans {

constexpr double MOMENT_GRID =
    0x1p24;  // cells are summed on this grid of the distance they may have

using Interval = std::pair<double, double>;

// Mean and standard deviation.
struct Moments {
  double mean, sigma;
};

// Distinct values and the running sum of their masses, which are integers: sums and differences are
// exact.
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
  // The cells above `low` and not above `high`.
  SortedCells take_between(double low, double high) const {
    return take(count_up_to(low), count_up_to(high));
  }

  // Of the cells within `distance` of `middle`.
  Moments moments(double middle, double distance) const;
};

}  // namespace rekmeans
