// The robust scale of each column, to the bits of scales/robust.py.
#pragma once
#include <vector>

#include "columns.hpp"

namespace rekmeans {

constexpr double LEAST_WIDTH = 1e-150;
constexpr size_t MOST_INTERVALS = 8;
constexpr double BULK_SIGMAS = 4.0, WIDEST_GAP = 1.0, TAIL = 0.02, REACHES[] = {0.0, 4.0, 12.0},
                 FOLDED_SHARE = 0.85;

// Where a column's record has its intervals, unit and share of cells left out.
constexpr size_t LOW = 0, HIGH = MOST_INTERVALS, SHIFT = 2 * MOST_INTERVALS;
constexpr size_t UNIT = 3 * MOST_INTERVALS, LEFT_OUT = UNIT + 1, RECORD = UNIT + 2;

// The record of each column, (RECORD, d); NaN for intervals it lacks. Weights (n,) are null for all
// equal.
template <class Columns>
std::vector<double> place_columns(const Columns& columns, const int64_t* weights, double row_weight,
                                  size_t threads);

}  // namespace rekmeans
