// How many cells of each row are in no kept interval of their column, as scales/left_out.py counts them.
#pragma once
#include <vector>

#include "columns.hpp"

namespace rekmeans {

// The kept intervals of d columns, m each, NaN for those that a column lacks.
struct KeptIntervals {
  const double *low, *high;  // (d, m)
  size_t m;

  bool leaves_out(size_t column, double x) const {
    bool is_kept = x != x;  // a missing cell is not left out
    for (size_t i = column * m; i < (column + 1) * m; ++i) is_kept |= x >= low[i] && x <= high[i];
    return !is_kept;
  }
};

std::vector<int64_t> cells_left_out_by_row(const DenseColumns& columns, const KeptIntervals& kept, size_t threads);
std::vector<int64_t> cells_left_out_by_row(const SparseColumns& columns, const KeptIntervals& kept, size_t threads);

}  // namespace rekmeans
