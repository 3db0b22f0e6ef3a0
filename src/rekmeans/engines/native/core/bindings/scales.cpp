// Python bindings of column scales.
#include <cmath>

#include "../scales/far_groups.hpp"
#include "../scales/left_out.hpp"
#include "../scales/robust.hpp"
#include "../scales/tails.hpp"
#include "../scales/tied.hpp"
#include "module.hpp"
#include "tables.hpp"

namespace rekmeans {
namespace {

using namespace nb::literals;
using Numbers = std::optional<Int64s>;
using Bounds = Array<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

DenseColumns columns_of(const AnyTable& X, const Numbers& numbers) {
  const DenseTable table = table_of(X);
  if (!numbers) return {table, nullptr, table.n, table.d};
  check_below("row numbers", *numbers, table.n);
  return {table, numbers->data(), numbers->shape(0), table.d};
}

SparseColumns columns_of(const Doubles& data, const Int64s& indices, const Int64s& indptr,
                         size_t n) {
  check_shape("indices must have shape (n_stored,)", indices, {data.shape(0)});
  check_below("indices", indices, n);
  if (!indptr.shape(0)) throw nb::value_error("indptr must have shape (d + 1,), got (0,).");
  const size_t d = indptr.shape(0) - 1;
  check_below("indptr", indptr, data.shape(0) + 1);
  for (size_t l = 0; l < d; ++l)
    if (const int64_t count = indptr.data()[l + 1] - indptr.data()[l];
        count < 0 || size_t(count) > n)
      throw nb::value_error(("a column must have 0 to n=" + std::to_string(n) +
                             " stored cells, got " + std::to_string(count) + " in column " +
                             std::to_string(l) + ".")
                                .c_str());
  return {data.data(), indices.data(), indptr.data(), n, d};
}

template <class Columns>
auto place(const Columns& columns, const Numbers& weights, double row_weight, size_t threads) {
  check_rows(columns.n), check_threads(threads);
  const int64_t* w = weights_of(weights, columns.n);
  if (!(row_weight > 0 && std::isfinite(row_weight)))
    throw nb::value_error(
        ("row_weight must be positive, got " + std::to_string(row_weight) + ".").c_str());
  std::vector<double> placed;
  {
    nb::gil_scoped_release free;
    placed = place_columns(columns, w, row_weight, threads);
  }
  return to_array(std::move(placed), RECORD, columns.d);
}

auto place_dense(const AnyTable& X, const Numbers& numbers, const Numbers& weights,
                 double row_weight, size_t threads) {
  return place(columns_of(X, numbers), weights, row_weight, threads);
}

auto place_sparse(const Doubles& data, const Int64s& indices, const Int64s& indptr, size_t n,
                  const Numbers& weights, double row_weight, size_t threads) {
  return place(columns_of(data, indices, indptr, n), weights, row_weight, threads);
}

template <class Columns>
auto count_left_out(const Columns& columns, const Bounds& low, const Bounds& high, size_t threads) {
  check_threads(threads);
  check_shape("low must have shape (m, d)", low, {low.shape(0), columns.d});
  check_shape("high must have shape (m, d)", high, {low.shape(0), columns.d});
  std::vector<int64_t> counts;
  {
    nb::gil_scoped_release free;
    counts =
        cells_left_out_by_row(columns, {low.data(), high.data(), low.shape(0), columns.d}, threads);
  }
  return to_array(std::move(counts), columns.n);
}

auto count_dense(const AnyTable& X, const Numbers& numbers, const Bounds& low, const Bounds& high,
                 size_t threads) {
  return count_left_out(columns_of(X, numbers), low, high, threads);
}

auto count_sparse(const Doubles& data, const Int64s& indices, const Int64s& indptr, size_t n,
                  const Bounds& low, const Bounds& high, size_t threads) {
  return count_left_out(columns_of(data, indices, indptr, n), low, high, threads);
}

// Export the constants that scales/ also defines in Python.
void add_constants(nb::module_& m) {
#define ADD(NAME) m.attr(#NAME) = NAME
  ADD(MOMENT_GRID), ADD(NORMAL_IQR), ADD(FENCE_SIGMAS), ADD(NEAREST), ADD(MAX_DISTANCE), ADD(BIN),
      ADD(BIN_GROWTH);
  ADD(WIDE_BINS), ADD(N_GROWTHS), ADD(RISE_SIGMAS), ADD(RISE_SHARE), ADD(RISE_OF_ALL),
      ADD(GROUP_END);
  ADD(MIN_GROUP_SHARE), ADD(MIN_RISE_CELLS), ADD(WIDEST_SIGMA), ADD(WIDEST), ADD(GROUP_SIGMAS),
      ADD(MAX_WIDENING);
  ADD(MAX_CATEGORY_DISTANCE), ADD(FEW_VALUES), ADD(PLACES);
  ADD(REPEATED), ADD(REPEATED_CELLS), ADD(REPEATED_SHARE), ADD(CODE_DISTANCE), ADD(CODE_REST),
      ADD(USUAL), ADD(LARGEST);
  ADD(KEPT), ADD(UNIT_SIGMAS), ADD(UNIT_DISTANCES), ADD(RARE), ADD(RARE_UNITS), ADD(BOTH_SIDES);
  ADD(MIN_WIDTH), ADD(MAX_INTERVALS), ADD(MAX_GROUPS), ADD(BULK_SIGMAS), ADD(WIDEST_GAP);
  ADD(TAIL), ADD(FOLDED_SHARE), ADD(FEW_PLACES), ADD(FEW_SIGMAS);
  ADD(SHORT_SIDE), ADD(SHORT_TAIL), ADD(TAIL_START), ADD(MAX_TAIL), ADD(MIN_TAIL_SHARE);
  ADD(MIN_TAIL_CELLS), ADD(MAX_MIRRORED), ADD(MIN_TAIL_VALUES), ADD(N_PIECES), ADD(TAIL_FALL);
  ADD(RECORD);
#undef ADD
  m.attr("REACHES") = nb::make_tuple(REACHES[0], REACHES[1], REACHES[2]);
}

}  // namespace

void bind_scales(nb::module_& m) {
  add_constants(m);
  m.def("place_columns", &place_dense, "X"_a, "numbers"_a.none(), "weights"_a.none(),
        "row_weight"_a, "threads"_a,
        "Return the record of the robust scale of each column for these rows, (26, d).");
  m.def("place_columns", &place_sparse, "data"_a, "indices"_a, "indptr"_a, "n"_a,
        "weights"_a.none(), "row_weight"_a, "threads"_a, "The same for a table in CSC form.");
  m.def("cells_left_out_by_row", &count_dense, "X"_a, "numbers"_a.none(), "low"_a, "high"_a,
        "threads"_a, "Return how many cells of each row are outside all intervals, (n,).");
  m.def("cells_left_out_by_row", &count_sparse, "data"_a, "indices"_a, "indptr"_a, "n"_a, "low"_a,
        "high"_a, "threads"_a, "The same for a table in CSC form.");
}

}  // namespace rekmeans
