// The scale of the columns of a table, as passed from Python.
#pragma once
#include <cmath>

#include "../exact/phase_map.hpp"
#include "checks.hpp"

namespace rekmeans {

inline std::vector<double> to_vector(const Doubles& a) { return {a.data(), a.data() + a.shape(0)}; }

// The scale of d columns: (low, high, shift, rate) of m intervals each, and a period.
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
    bool fits = m && period.shape(0) == d;
    for (const Doubles* values : {&low, &high, &shift, &rate}) fits &= values->shape(0) == d * m;
    if (!fits)
      throw nb::value_error("a scale must have (d, m) intervals and rates, and d periods.");
    for (size_t i = 0; i < d * m; ++i)
      if (!std::isnan(low.data()[i])) check_finite("rates", rate.data() + i, 1);
    check_finite("periods", period.data(), d);
    return {to_vector(low),  to_vector(high),   to_vector(shift),
            to_vector(rate), to_vector(period), rule()};
  }
};

}  // namespace rekmeans
