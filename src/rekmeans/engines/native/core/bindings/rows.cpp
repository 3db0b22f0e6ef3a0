// Python bindings of mapped rows.
#include <memory>

#include "../exact/dense_rows.hpp"
#include "../exact/packed_centroids.hpp"
#include "../exact/sparse_rows.hpp"
#include "../simd/instruction_set.hpp"
#include "module.hpp"
#include "scale_arrays.hpp"
#include "tables.hpp"

namespace rekmeans {
namespace {

using namespace nb::literals;

void make_dense(DenseRows* self, const AnyTable& X, const ScaleArrays& scale,
                const std::optional<Int64s>& weights, bool is_stored, size_t threads,
                const std::string& isa) {
  const DenseTable table = table_of(X);
  check_rows(table.n), check_threads(threads);
  ColumnScales columns = scale.columns(table.d);
  const int64_t* w = weights_of(weights, table.n);
  nb::gil_scoped_release free;
  new (self) DenseRows(table, std::move(columns), w, !w, is_stored, threads, choose_simd(isa));
}

void make_sparse_of_dense(SparseRows* self, const AnyTable& X, const ScaleArrays& scale,
                          const std::optional<Int64s>& weights, size_t threads,
                          const std::string& isa) {
  const DenseTable table = table_of(X);
  check_rows(table.n), check_threads(threads);
  ColumnScales columns = scale.columns(table.d);
  const int64_t* w = weights_of(weights, table.n);
  nb::gil_scoped_release free;
  new (self) SparseRows(std::make_unique<NonzeroCells>(table), std::move(columns), w, !w, threads,
                        choose_simd(isa));
}

void make_sparse(SparseRows* self, const Doubles& data, const Int64s& indices, const Int64s& indptr,
                 size_t d, const ScaleArrays& scale, const std::optional<Int64s>& weights,
                 size_t threads, const std::string& isa) {
  check_shape("indices must have shape (n_stored,)", indices, {data.shape(0)});
  if (!indptr.shape(0)) throw nb::value_error("indptr must have shape (n + 1,), got (0,).");
  const size_t n = indptr.shape(0) - 1;
  check_rows(n), check_threads(threads);
  ColumnScales columns = scale.columns(d);
  const int64_t* w = weights_of(weights, n);
  auto cells =
      std::make_unique<CsrCells>(data.data(), indices.data(), indptr.data(), data.shape(0), n, d);
  nb::gil_scoped_release free;
  new (self) SparseRows(std::move(cells), std::move(columns), w, !w, threads, choose_simd(isa));
}

auto weights(const Rows& rows) {
  std::vector<int64_t> out;
  {
    nb::gil_scoped_release free;
    out = rows.weights.empty() ? std::vector<int64_t>(rows.n, 1) : rows.weights;
  }
  return to_array(std::move(out), rows.n);
}

auto grid(const Rows& rows, const Int64s& numbers) {
  check_below("row numbers", numbers, rows.n);
  const size_t count = numbers.shape(0);
  std::vector<int32_t> out(count * rows.p);
  {
    nb::gil_scoped_release free;
    RowBuffer buffer;
    for (size_t i = 0; i < count; ++i)
      rows.grid(size_t(numbers.data()[i]), out.data() + i * rows.p, buffer);
  }
  return to_array(std::move(out), count, rows.p);
}

nb::tuple phase_sums(const Rows& rows, const Int32s& labels, size_t k) {
  check_clusters(k);
  check_shape("labels must have shape (n,)", labels, {rows.n});
  check_below("labels", labels, k);
  std::vector<int128> turns(k * rows.d);
  std::vector<int64_t> observed(k * rows.d);
  {
    nb::gil_scoped_release free;
    rows.phase_sums(labels.data(), k, turns.data(), observed.data());
  }
  return nb::make_tuple(to_arrays(turns, k, rows.d), to_array(std::move(observed), k, rows.d));
}

auto distances(const Rows& rows, const GridPoints& C, const Int32s& labels) {
  check_clusters(C.shape(0));
  check_shape("C must have shape (k, p)", C, {C.shape(0), rows.p});
  check_on_grid("C", C);
  check_shape("labels must have shape (n,)", labels, {rows.n});
  check_below("labels", labels, C.shape(0));
  std::vector<int64_t> out(rows.n);
  {
    nb::gil_scoped_release free;
    const PackedCentroids packed(rows, C.data(), C.shape(0));
    std::vector<RowBuffer> buffers(rows.threads);
    parallel(rows.threads, rows.n_parts(), [&](size_t thread, size_t part) {
      for (size_t j = part * PART_ROWS; j < rows.n && j < (part + 1) * PART_ROWS; ++j) {
        const uint32_t number = uint32_t(j);
        const float* g;
        rows.fetch(&number, 1, buffers[thread], &g);
        const size_t c = size_t(labels.data()[j]);
        out[j] = rows.distance(j, g, packed.grid.data() + c * rows.p, packed.square[c]);
      }
    });
  }
  return to_array(std::move(out), rows.n);
}

}  // namespace

void bind_rows(nb::module_& m) {
  nb::class_<ScaleArrays>(
      m, "Scale", "The map of columns: (d, m) ends and shifts, flat; (d,) rates and periods.")
      .def(nb::init<Doubles, Doubles, Doubles, Doubles, Doubles, std::string>(), "low"_a, "high"_a,
           "shift"_a, "rate"_a, "period"_a, "beyond"_a);
  nb::class_<Rows>(m, "Rows", "Mapped rows.")
      .def_ro("is_complete", &Rows::is_complete)
      .def("weights", &weights)
      .def("grid", &grid, "numbers"_a, "Return rows as grid integers, (count, p).")
      .def("phase_sums", &phase_sums, "labels"_a, "k"_a,
           "Return the sums of phases and of observed weights of each cluster, both (k, d).")
      .def("distances", &distances, "C"_a, "labels"_a,
           "Return the exact squared distance of each row to the centroid of its label, (n,).");
  nb::class_<DenseRows, Rows>(m, "DenseRows", "Rows with all their values.")
      .def("__init__", &make_dense, "X"_a, "scale"_a, "weights"_a.none(), "is_stored"_a,
           "threads"_a, "isa"_a, nb::keep_alive<1, 2>());
  nb::class_<SparseRows, Rows>(m, "SparseRows", "Rows whose nonzero cells are stored.")
      .def("__init__", &make_sparse_of_dense, "X"_a, "scale"_a, "weights"_a.none(), "threads"_a,
           "isa"_a, nb::keep_alive<1, 2>())
      .def("__init__", &make_sparse, "data"_a, "indices"_a, "indptr"_a, "d"_a, "scale"_a,
           "weights"_a.none(), "threads"_a, "isa"_a, nb::keep_alive<1, 2>(), nb::keep_alive<1, 3>(),
           nb::keep_alive<1, 4>());
}

}  // namespace rekmeans
