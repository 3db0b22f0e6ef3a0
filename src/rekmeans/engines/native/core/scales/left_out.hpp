// The number of cells in each row that are outside all kept intervals of their column, as in
// scales/left_out.py.
#pragma once
#include <vector>

#include "columns.hpp"

namespace rekmeans {

// The kept intervals of d columns, m for each column. Unused intervals are NaN.
struct KeptIntervals {
  const double *low, *high;  // (m, d)
  size_t m, d;

  // out[i] = 1 if cell i, in column first + i, is outside all kept intervals, else 0. A missing
  // cell counts as inside.
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
