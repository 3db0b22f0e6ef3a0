// The scale of the columns of a table, as passed from Python.
#pragma once
#include "../exact/phase_map.hpp"
#include "checks.hpp"

namespace rekmeans {

inline std::vector<double> to_vector(const Doubles& a) { return {a.data(), a.data() + a.shape(0)}; }

// The scale of d columns: (low, high, shift) of m intervals each, a rate and a period.
struct ScaleArrays {
  Doubles low, high, shift, rate, period;
  std::string beyond;

  Beyond rule() const {
    if (beyond == "ignore") return Beyond::ignore;
    if (beyond == "clip") return Beyond::clip;
    if (beyond == "wrap") return Beyond::wrap;
    throw nb::value_error(
        ("beyond must be 'ignore', 'clip' or 'wrap', got '" + beyond + "'.").c_str());
  }

  ColumnScales columns(size_t d) const {
    check_columns(d);
    const size_t m = d ? low.shape(0) / d : 0;
    const bool fits = low.shape(0) == d * m && high.shape(0) == d * m && shift.shape(0) == d * m;
    if (!m || !fits || rate.shape(0) != d || period.shape(0) != d)
      throw nb::value_error("a scale must have (d, m) intervals, d rates and d periods.");
    check_finite("rates", rate.data(), d), check_finite("periods", period.data(), d);
    return {to_vector(low),  to_vector(high),   to_vector(shift),
            to_vector(rate), to_vector(period), rule()};
  }
};

}  // namespace rekmeans
