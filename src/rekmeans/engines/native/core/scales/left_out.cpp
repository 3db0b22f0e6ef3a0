#include "left_out.hpp"

#include <algorithm>
#include <numeric>

#include "../parallel.hpp"

namespace rekmeans {
namespace {

constexpr size_t ROWS_AT_ONCE = 1024;

}  // namespace

std::vector<int64_t> cells_left_out_by_row(const DenseColumns& columns, const KeptIntervals& kept,
                                           size_t threads) {
  std::vector<int64_t> counts(columns.n);
  threads = threads_for(columns.n * columns.d, threads);
  parallel(threads_for(columns.n * columns.d, threads),
           (columns.n + ROWS_AT_ONCE - 1) / ROWS_AT_ONCE, [&](size_t, size_t part) {
             std::vector<double> x(columns.d), left_out(columns.d);
             for (size_t j = part * ROWS_AT_ONCE;
                  j < std::min(columns.n, (part + 1) * ROWS_AT_ONCE); ++j) {
               columns.table.read(columns.row(j), x.data());
               kept.find_left_out(0, x.data(), columns.d, left_out.data());
               counts[j] = int64_t(std::reduce(
                   left_out.begin(), left_out.end()));  // sums of integers are exact in any order
             }
           });
  return counts;
}

std::vector<int64_t> cells_left_out_by_row(const SparseColumns& columns, const KeptIntervals& kept,
                                           size_t) {
  std::vector<int64_t> counts(columns.n);
  int64_t zeros = 0;  // number of columns whose intervals exclude zero
  for (size_t l = 0; l < columns.d; ++l) {
    const double zero = 0.0;
    double of_zero, of_cell;
    kept.find_left_out(l, &zero, 1, &of_zero);
    zeros += int64_t(of_zero);
    for (int64_t i = columns.indptr[l]; i < columns.indptr[l + 1]; ++i) {
      kept.find_left_out(l, columns.data + i, 1, &of_cell);
      counts[size_t(columns.indices[i])] += int64_t(of_cell - of_zero);
    }
  }
  for (int64_t& count : counts) count += zeros;
  return counts;
}

}  // namespace rekmeans
