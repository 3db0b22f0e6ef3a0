// Runs over the blocks of a stream for Python.
#include "../exact/block_run.hpp"

#include <nanobind/stl/vector.h>

#include "../exact/phase_sums.hpp"
#include "../simd/instruction_set.hpp"
#include "module.hpp"
#include "scale_arrays.hpp"
#include "tables.hpp"

namespace rekmeans {
namespace {

using namespace nb::literals;

void make_block_run(BlockRun* self, const ScaleArrays& scale, size_t k, size_t d, const std::string& isa) {
  if (!k) throw nb::value_error("a run needs a centroid, got k=0.");
  new (self) BlockRun(scale.columns(d), k, d, choose_simd(isa));
}

void start_pass(BlockRun& run, const GridPoints& C) {
  check_shape("C is (k, p)", C, {run.k, run.p});
  run.start_pass(C.data());
}

size_t assign_table(BlockRun& run, const DenseTable& table, const std::optional<Int64s>& weights,
                    const ChangedInt32s& labels, const ChangedFloats& upper, const ChangedFloats& lower,
                    size_t threads) {
  if (!run.n_passes) throw nb::value_error("a pass has centroids: start one.");
  if (table.d != run.d) throw nb::value_error("a block has the columns of the scale.");
  check_shape("labels are (n,)", labels, {table.n});
  check_shape("upper is (n,)", upper, {table.n});
  check_shape("lower is (n,)", lower, {table.n});
  if (run.n_passes > 1) check_below("labels are numbers of centroids, from 0 to k - 1.", labels, run.k);
  const StreamBlock block{table, weights_of(weights, table.n), labels.data(), {upper.data(), lower.data()}};
  nb::gil_scoped_release free;
  return run.assign(block, threads);
}

size_t assign_rows(BlockRun& run, const AnyTable& X, const std::optional<Int64s>& weights, const ChangedInt32s& labels,
                   const ChangedFloats& upper, const ChangedFloats& lower, size_t threads) {
  return assign_table(run, table_of(X), weights, labels, upper, lower, threads);
}

size_t assign_columns(BlockRun& run, const std::vector<Column>& columns, const std::optional<Int64s>& weights,
                      const ChangedInt32s& labels, const ChangedFloats& upper, const ChangedFloats& lower,
                      size_t threads) {
  const ColumnTable stored(columns);
  return assign_table(run, stored.table, weights, labels, upper, lower, threads);
}

nb::tuple phase_sums_of(const DenseTable& table, const ScaleArrays& scale, const std::optional<Int64s>& weights,
                        const Int32s& labels, size_t k, size_t threads, const std::string& isa) {
  check_shape("labels are (n,)", labels, {table.n});
  check_below("labels are numbers of centroids, from 0 to k - 1.", labels, k);
  const ColumnScales columns = scale.columns(table.d);
  const WeightedTable rows{table, weights_of(weights, table.n), !weights};
  std::vector<int128> turns(k * table.d);
  std::vector<int64_t> observed(k * table.d);
  {
    nb::gil_scoped_release free;
    add_phase_sums(rows, columns, labels.data(), k, {threads, choose_simd(isa)}, turns.data(), observed.data());
  }
  return nb::make_tuple(to_arrays(turns, k, table.d), to_array(std::move(observed), k, table.d));
}

nb::tuple row_phase_sums(const AnyTable& X, const ScaleArrays& scale, const std::optional<Int64s>& weights,
                         const Int32s& labels, size_t k, size_t threads, const std::string& isa) {
  return phase_sums_of(table_of(X), scale, weights, labels, k, threads, isa);
}

nb::tuple column_phase_sums(const std::vector<Column>& columns, const ScaleArrays& scale,
                            const std::optional<Int64s>& weights, const Int32s& labels, size_t k, size_t threads,
                            const std::string& isa) {
  const ColumnTable stored(columns);
  return phase_sums_of(stored.table, scale, weights, labels, k, threads, isa);
}

}  // namespace

void bind_block_run(nb::module_& m) {
  nb::class_<BlockRun>(m, "BlockRun", "One run over rows that come block by block; labels and bounds are the caller's.")
      .def("__init__", &make_block_run, "scale"_a, "k"_a, "d"_a, "isa"_a)
      .def("start_pass", &start_pass, "C"_a, "Begin a pass with these centroids; all blocks follow.")
      .def("assign_rows", &assign_rows, "X"_a, "weights"_a.none(), "labels"_a, "upper"_a, "lower"_a, "threads"_a,
           "Assign the rows of a block, renew their labels and bounds; how many changed.")
      .def("assign_columns", &assign_columns, "columns"_a, "weights"_a.none(), "labels"_a, "upper"_a, "lower"_a,
           "threads"_a, "As assign_rows, of a block stored column by column.")
      .def("totals", [](const BlockRun& run) { return to_arrays(run.sums.totals, run.k, run.p); })
      .def("mass", [](const BlockRun& run) { return to_array(run.sums.mass, run.k); })
      .def("missing_mass", [](const BlockRun& run) { return to_array(run.sums.missing, run.k, run.d); })
      .def_prop_ro("loss", [](const BlockRun& run) { return to_int(run.loss()); })
      .def_prop_ro("n_silent", [](const BlockRun& run) { return run.sums.n_silent; })
      .def_ro("n_passes", &BlockRun::n_passes);
  m.def("row_phase_sums", &row_phase_sums, "X"_a, "scale"_a, "weights"_a.none(), "labels"_a, "k"_a, "threads"_a,
        "isa"_a, "Sums of phases of each cluster of a block, and observed weights; (k, d).");
  m.def("column_phase_sums", &column_phase_sums, "columns"_a, "scale"_a, "weights"_a.none(), "labels"_a, "k"_a,
        "threads"_a, "isa"_a, "As row_phase_sums, of a block stored column by column.");
}

}  // namespace rekmeans
