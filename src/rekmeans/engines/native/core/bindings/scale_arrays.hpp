// The scale of a table's columns as it crosses the border.
#pragma once
#include "../exact/phase_map.hpp"
#include "arrays.hpp"

namespace rekmeans {

inline std::vector<double> to_vector(const Doubles& a) { return {a.data(), a.data() + a.shape(0)}; }

// The scale of d columns: (low, high, shift) of m intervals each, a rate and a period.
struct ScaleArrays {
  Doubles low, high, shift, rate, period;
  std::string beyond;

  ColumnScales columns(size_t d) const {
    const size_t m = d ? low.shape(0) / d : 0;
    const bool fits = low.shape(0) == d * m && high.shape(0) == d * m && shift.shape(0) == d * m;
    if (!m || !fits || rate.shape(0) != d || period.shape(0) != d)
      throw nb::value_error("a scale has (d, m) intervals, and d rates and periods.");
    const Beyond rule = beyond == "ignore" ? Beyond::ignore : beyond == "clip" ? Beyond::clip : Beyond::wrap;
    return {to_vector(low), to_vector(high), to_vector(shift), to_vector(rate), to_vector(period), rule};
  }
};

}  // namespace rekmeans
