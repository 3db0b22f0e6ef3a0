// The robust scale of each column, bit-identical to scales/robust.py.
#pragma once
#include <vector>

#include "columns.hpp"

namespace rekmeans {

constexpr double MIN_WIDTH = 1e-150;
constexpr size_t MAX_INTERVALS = 24, MAX_GROUPS = 8;
constexpr double BULK_SIGMAS = 4.0, WIDEST_GAP = 1.0, TAIL = 0.02, REACHES[] = {0.0, 4.0, 12.0},
                 FOLDED_SHARE = 0.85;
constexpr int FEW_PLACES = 48;
constexpr double FEW_SIGMAS = 2.0;

// Offsets of the intervals and of the share of ignored cells in the record of a column.
constexpr size_t LOW = 0, HIGH = MAX_INTERVALS, SHIFT = 2 * MAX_INTERVALS;
constexpr size_t UNIT = 3 * MAX_INTERVALS, LEFT_OUT = 4 * MAX_INTERVALS, RECORD = LEFT_OUT + 1;

// The record of each column, (RECORD, d). Unused intervals are NaN. Weights (n,) are null if all
// are equal.
template <class Columns>
std::vector<double> place_columns(const Columns& columns, const int64_t* weights, double row_weight,
                                  size_t threads);

}  // namespace rekmeans
