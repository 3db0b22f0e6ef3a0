#include "left_out.hpp"

#include <algorithm>

#include "../parallel.hpp"

namespace rekmeans {
namespace {

constexpr size_t ROWS_AT_ONCE = 1024;

}  // namespace

std::vector<int64_t> cells_left_out_by_row(const DenseColumns& columns, const KeptIntervals& kept, size_t threads) {
  std::vector<int64_t> counts(columns.n);
  threads = threads_for(columns.n * columns.d, threads);
  parallel(threads, (columns.n + ROWS_AT_ONCE - 1) / ROWS_AT_ONCE, [&](size_t, size_t part) {
    std::vector<double> x(columns.d);
    for (size_t j = part * ROWS_AT_ONCE; j < std::min(columns.n, (part + 1) * ROWS_AT_ONCE); ++j) {
      columns.table.read(columns.row(j), x.data());
      for (size_t l = 0; l < columns.d; ++l) counts[j] += kept.leaves_out(l, x[l]);
    }
  });
  return counts;
}

std::vector<int64_t> cells_left_out_by_row(const SparseColumns& columns, const KeptIntervals& kept, size_t) {
  std::vector<int64_t> counts(columns.n);
  int64_t zeros = 0;  // columns that leave out zeros
  for (size_t l = 0; l < columns.d; ++l) {
    const bool is_zero_out = kept.leaves_out(l, 0.0);
    zeros += is_zero_out;
    for (int64_t i = columns.indptr[l]; i < columns.indptr[l + 1]; ++i)
      counts[size_t(columns.indices[i])] += int64_t(kept.leaves_out(l, columns.data[i])) - int64_t(is_zero_out);
  }
  for (int64_t& count : counts) count += zeros;
  return counts;
}

}  // namespace rekmeans
