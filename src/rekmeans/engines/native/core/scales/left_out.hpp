// How many cells of each row are in no kept interval of their column, as scales/left_out.py counts
// them.
#pragma once
#include <vector>

#include "columns.hpp"

namespace rekmeans {

// The kept intervals of d columns, m each, NaN for those that a column lacks.
struct KeptIntervals {
  const double *low, *high;  // (m, d)
  size_t m, d;

  // 1 where a cell of the columns from `first` on is left out, else 0; a missing cell is not.
  void find_left_out(size_t first, const double* x, size_t count, double* out) const {
    for (size_t l = 0; l < count; ++l) out[l] = x[l] == x[l] ? 1.0 : 0.0;
    for (size_t i = 0; i < m; ++i) {
      const double *a = low + i * d + first, *b = high + i * d + first;
      for (size_t l = 0; l < count; ++l) out[l] = ((x[l] >= a[l]) & (x[l] <= b[l])) ? 0.0 : out[l];
    }
  }
};

std::vector<int64_t> cells_left_out_by_row(const DenseColumns& columns, const KeptIntervals& kept,
                                           size_t threads);
std::vector<int64_t> cells_left_out_by_row(const SparseColumns& columns, const KeptIntervals& kept,
                                           size_t threads);

}  // namespace rekmeans
