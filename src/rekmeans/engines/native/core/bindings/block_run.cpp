// Python bindings of runs over the blocks of a stream.
#include "../exact/block_run.hpp"

#include <nanobind/stl/vector.h>

#include <atomic>

#include "../exact/phase_sums.hpp"
#include "../simd/instruction_set.hpp"
#include "access.hpp"
#include "module.hpp"
#include "scale_arrays.hpp"
#include "tables.hpp"

namespace rekmeans {
namespace {

using namespace nb::literals;

// A run over blocks that Python threads can share. They may assign blocks of a pass in parallel.
struct SharedBlockRun : BlockRun {
  using BlockRun::BlockRun;

  // Check that all blocks have weights or none has, because weighted sums need wider integers.
  void check_kind_of_weights(bool has_weights) {
    int known = -1;
    if (kind_of_weights.compare_exchange_strong(known, has_weights) || known == int(has_weights))
      return;
    throw nb::value_error(
        has_weights
            ? "this block has weights, but earlier blocks had none. Pass weights for all blocks."
            : "this block has no weights, but earlier blocks had. Pass weights for all blocks.");
  }

  // Check that all passes assign the same number of rows, because they share bounds and sums.
  void check_rows_of_pass() const {
    if (n_passes > 1 && n_assigned != n_first)
      throw std::runtime_error("the last pass assigned " + std::to_string(n_assigned.load()) +
                               " rows and the first " + std::to_string(n_first) +
                               ". Assign every block once in each pass.");
  }

  void begin_pass(const int32_t* C) {
    check_rows_of_pass();
    if (n_passes == 1) n_first = n_assigned;
    start_pass(C);
    n_assigned = 0;
  }

  void check_started() const {
    if (!n_passes) throw std::runtime_error("the run has no centroids yet. Call start_pass first.");
  }

  // A thread that assigns a block is a reader. A thread that needs all blocks is a writer.
  mutable Access access;
  std::atomic<size_t> n_assigned{0};  // rows assigned in this pass so far

 private:
  std::atomic<int> kind_of_weights{-1};  // -1: unknown, then 0 or 1
  size_t n_first = 0;                    // rows assigned in the first pass
};

void make_block_run(SharedBlockRun* self, const ScaleArrays& scale, size_t k, size_t d,
                    const std::string& isa) {
  check_clusters(k);
  new (self) SharedBlockRun(scale.columns(d), k, d, choose_simd(isa));
}

void start_pass(SharedBlockRun& run, const GridPoints& C) {
  check_shape("C must have shape (k, p)", C, {run.k, run.p});
  check_on_grid("C", C);
  const WriteGuard changing(run.access, "BlockRun");
  nb::gil_scoped_release free;
  run.begin_pass(C.data());
}

size_t assign_table(SharedBlockRun& run, const DenseTable& table,
                    const std::optional<Int64s>& weights, const WritableInt32s& labels,
                    const WritableFloats& upper, const WritableFloats& lower, size_t threads) {
  const ReadGuard reading(run.access, "BlockRun");
  run.check_started();
  check_threads(threads);
  if (table.d != run.d)
    throw nb::value_error(("a block must have the " + std::to_string(run.d) +
                           " columns of the scale, got " + std::to_string(table.d) + ".")
                              .c_str());
  check_shape("labels must have shape (n,)", labels, {table.n});
  check_shape("upper must have shape (n,)", upper, {table.n});
  check_shape("lower must have shape (n,)", lower, {table.n});
  check_disjoint("labels, upper and lower", {{labels.data(), labels.nbytes()},
                                             {upper.data(), upper.nbytes()},
                                             {lower.data(), lower.nbytes()}});
  if (weights) check_shape("weights must have shape (n,)", *weights, {table.n});
  if (run.n_passes == 1 && weights) check_weights(weights->data(), table.n);
  if (run.n_passes > 1) check_below("labels", labels, run.k);
  run.check_kind_of_weights(weights.has_value());
  const StreamBlock block{
      table, weights ? weights->data() : nullptr, labels.data(), {upper.data(), lower.data()}};
  nb::gil_scoped_release free;
  const size_t n_changed = run.assign(block, threads);
  run.n_assigned += table.n;
  return n_changed;
}

// Return a value that is computed from the sums of all blocks, while no thread assigns a block.
template <class Find>
auto after_assigning(const SharedBlockRun& run, const Find& find) {
  const WriteGuard changing(run.access, "BlockRun");
  nb::gil_scoped_release free;
  return find();
}

size_t assign_rows(SharedBlockRun& run, const AnyTable& X, const std::optional<Int64s>& weights,
                   const WritableInt32s& labels, const WritableFloats& upper,
                   const WritableFloats& lower, size_t threads) {
  return assign_table(run, table_of(X), weights, labels, upper, lower, threads);
}

size_t assign_columns(SharedBlockRun& run, const std::vector<Column>& columns,
                      const std::optional<Int64s>& weights, const WritableInt32s& labels,
                      const WritableFloats& upper, const WritableFloats& lower, size_t threads) {
  const ColumnTable stored(columns);
  return assign_table(run, stored.table, weights, labels, upper, lower, threads);
}

nb::tuple phase_sums_of(const DenseTable& table, const ScaleArrays& scale,
                        const std::optional<Int64s>& weights, const Int32s& labels, size_t k,
                        size_t threads, const std::string& isa) {
  check_clusters(k), check_threads(threads);
  check_shape("labels must have shape (n,)", labels, {table.n});
  check_below("labels", labels, k);
  const ColumnScales columns = scale.columns(table.d);
  const WeightedTable rows{table, weights_of(weights, table.n), !weights};
  std::vector<int128> turns(k * table.d);
  std::vector<int64_t> observed(k * table.d);
  {
    nb::gil_scoped_release free;
    add_phase_sums(rows, columns, labels.data(), k, {threads, choose_simd(isa)}, turns.data(),
                   observed.data());
  }
  return nb::make_tuple(to_arrays(turns, k, table.d), to_array(std::move(observed), k, table.d));
}

nb::tuple row_phase_sums(const AnyTable& X, const ScaleArrays& scale,
                         const std::optional<Int64s>& weights, const Int32s& labels, size_t k,
                         size_t threads, const std::string& isa) {
  return phase_sums_of(table_of(X), scale, weights, labels, k, threads, isa);
}

nb::tuple column_phase_sums(const std::vector<Column>& columns, const ScaleArrays& scale,
                            const std::optional<Int64s>& weights, const Int32s& labels, size_t k,
                            size_t threads, const std::string& isa) {
  const ColumnTable stored(columns);
  return phase_sums_of(stored.table, scale, weights, labels, k, threads, isa);
}

}  // namespace

void bind_block_run(nb::module_& m) {
  nb::class_<SharedBlockRun>(
      m, "BlockRun",
      "A run over rows that are read in blocks. The caller stores their labels and bounds.")
      .def("__init__", &make_block_run, "scale"_a, "k"_a, "d"_a, "isa"_a)
      .def("start_pass", &start_pass, "C"_a,
           "Start a pass with these centroids. Assign all blocks after this.")
      .def("assign_rows", &assign_rows, "X"_a, "weights"_a.none(), "labels"_a, "upper"_a, "lower"_a,
           "threads"_a,
           "Assign the rows of a block and update their labels and bounds; return how many labels "
           "changed.")
      .def("assign_columns", &assign_columns, "columns"_a, "weights"_a.none(), "labels"_a,
           "upper"_a, "lower"_a, "threads"_a,
           "As assign_rows, for a block that is stored by columns.")
      .def("totals",
           [](const SharedBlockRun& run) {
             return to_arrays(after_assigning(run, [&] { return run.sums.totals; }), run.k, run.p);
           })
      .def("mass",
           [](const SharedBlockRun& run) {
             return to_array(after_assigning(run, [&] { return run.sums.mass; }), run.k);
           })
      .def("missing_mass",
           [](const SharedBlockRun& run) {
             return to_array(after_assigning(run, [&] { return run.sums.missing; }), run.k, run.d);
           })
      .def_prop_ro("loss",
                   [](const SharedBlockRun& run) {
                     run.check_started();
                     return to_int(after_assigning(run, [&] { return run.loss(); }));
                   })
      .def_prop_ro("n_uninformative",
                   [](const SharedBlockRun& run) {
                     return after_assigning(run, [&] { return run.sums.n_uninformative; });
                   })
      .def_ro("n_passes", &BlockRun::n_passes);
  m.def(
      "row_phase_sums", &row_phase_sums, "X"_a, "scale"_a, "weights"_a.none(), "labels"_a, "k"_a,
      "threads"_a, "isa"_a,
      "Return the sums of phases and of observed weights of each cluster of a block, both (k, d).");
  m.def("column_phase_sums", &column_phase_sums, "columns"_a, "scale"_a, "weights"_a.none(),
        "labels"_a, "k"_a, "threads"_a, "isa"_a,
        "As row_phase_sums, for a block that is stored by columns.");
}

}  // namespace rekmeans
