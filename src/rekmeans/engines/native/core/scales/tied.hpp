// Columns in which one value has at least half of the cells, bit-identical to scales/tied.py.
#pragma once
#include <algorithm>

#include "tails.hpp"

namespace rekmeans {

constexpr double REPEATED = 0.005, REPEATED_CELLS = 2.0, REPEATED_SHARE = 0.25;
constexpr double CODE_DISTANCE = 10.0, CODE_REST = 0.25;
constexpr double USUAL = 0.75, LARGEST = 0.95, KEPT = 1.5;
constexpr double UNIT_SIGMAS = 6.0, UNIT_DISTANCES = 1.25;
constexpr double RARE = 0.2, RARE_UNITS = 2.0;
constexpr double TAIL_FALL = 0.8, BOTH_SIDES = 0.05;

// The kept range of a tied column, the factors of its unit and its tail. All are 0 for a constant
// column.
struct TiedColumn {
  double tie, kept, least_unit, factor;
  Tail tail;

  double unit(double sigma, double extent) const {
    return factor * std::max(UNIT_SIGMAS * sigma, least_unit * extent);
  }
};

TiedColumn tied_column(const SortedCells& cells);

}  // namespace rekmeans
