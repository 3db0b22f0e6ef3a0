// The map from values of a column to phases in half-turns.
#pragma once
#include <limits>
#include <vector>

#include "../simd/simd.hpp"

namespace rekmeans {

// The arrays of a PhaseMap, with ownership.
struct ColumnScales {
  ColumnScales(std::vector<double> low, std::vector<double> high, std::vector<double> shift,
               std::vector<double> rate, std::vector<double> period, Beyond beyond);

  std::vector<double> low, high, shift, rate, period;
  size_t m;
  Beyond beyond;
  bool has_one_interval;  // every column has one interval and no period
  bool supports_tiles;    // no column has a period, and no value in range has a large phase

  PhaseMap map() const {
    return {low.data(), high.data(), shift.data(), rate.data(), period.data(), m, beyond};
  }

  // Compute the phases of a row in place.
  PhaseCheck row_phases(double* x, size_t d, const Simd* simd) const;
};

// Return whether a value is in an interval of its column.
bool is_inside(const PhaseMap& map, double x, size_t column);

// Return the phase of one value. NaN if it is missing, or out of range and not clipped to the
// nearest end of an interval.
double general_phase(const PhaseMap& map, double x, size_t column, bool clip);

inline double phase(const PhaseMap& map, double x, size_t column, bool clip) {
  if (map.m > 1 || map.period[column] > 0) return general_phase(map, x, column, clip);
  const double low = map.low[column], high = map.high[column];
  if (clip) x = x < low ? low : x > high ? high : x;
  else if (map.beyond == Beyond::ignore && !(x >= low && x <= high))
    return std::numeric_limits<double>::quiet_NaN();
  return (x - map.shift[column]) * map.rate[column];
}

// Reduce a phase to the range of the map. NaN if it is infinite.
double reduce_phase(double t);

// Return a phase in units of 2^-16 half-turns, or 0 for a missing cell.
int64_t phase_to_turns(double t);

}  // namespace rekmeans
