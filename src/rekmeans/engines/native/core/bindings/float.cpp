// Python bindings of passes over points.
#include <algorithm>

#include "../float/medians.hpp"
#include "../float/soft_pass.hpp"
#include "../simd/instruction_set.hpp"
#include "checks.hpp"
#include "module.hpp"

namespace rekmeans {
namespace {

using namespace nb::literals;

FloatTable table_of(const AnyArray& F) {
  const bool is_float32 = F.dtype() == nb::dtype<float>();
  if (F.ndim() != 2 || !F.shape(1))
    throw nb::value_error(
        ("F must have shape (n, p) with p > 0, got " + shape_text(shape_of(F)) + ".").c_str());
  if (!is_float32 && F.dtype() != nb::dtype<double>())
    throw nb::value_error("F must have dtype float32 or float64. Convert it.");
  return {is_float32 ? static_cast<const float*>(F.data()) : nullptr,
          is_float32 ? nullptr : static_cast<const double*>(F.data()), F.shape(1)};
}

// Return the number of centroids.
size_t count_centroids(const DoubleArray& C, size_t p) {
  if (C.ndim() != 2)
    throw nb::value_error(
        ("C must have shape (k, p), got " + shape_text(shape_of(C)) + ".").c_str());
  check_clusters(C.shape(0));
  check_shape("C must have shape (k, p)", C, {C.shape(0), p});
  check_finite("C", C.data(), C.size());
  return C.shape(0);
}

nb::tuple bind_soft_pass(const AnyArray& F, const std::optional<DoubleArray>& w,
                         const DoubleArray& C, const std::string& measure, double gamma,
                         const std::string& rule, double amount,
                         const std::optional<DoubleArray>& h, size_t threads,
                         const std::string& isa, bool with_V) {
  const FloatTable table = table_of(F);
  const size_t n = F.shape(0), p = table.p, k = count_centroids(C, p);
  if (w) check_shape("w must have shape (n,)", *w, {n});
  if (h)
    check_shape("h must have shape (k, k)", *h, {k, k}), check_finite("h", h->data(), h->size());
  check_threads(threads);
  SoftPass pass{.F = table,
                .n = n,
                .w = w ? w->data() : nullptr,
                .C = C.data(),
                .k = k,
                .amount = amount,
                .h = h ? h->data() : nullptr,
                .threads = std::max<size_t>(1, threads),
                .simd = choose_simd(isa),
                .measure = {},
                .share = nullptr,
                .packed = {},
                .packed_neighbours = {},
                .rank_share = {}};
  pass.choose(measure, gamma, rule);
  SoftSums sums;
  {
    nb::gil_scoped_release free;
    sums = soft_pass(pass, with_V);
  }
  nb::object V = nb::none();
  if (with_V)
    V = pass.share ? nb::cast(to_array(std::move(sums.V), n, k))
                   : nb::cast(to_array(std::move(sums.V), n));
  return nb::make_tuple(to_array(std::move(sums.labels), n), to_array(std::move(sums.totals), k, p),
                        to_array(std::move(sums.pull), k, p), to_array(std::move(sums.mass), k),
                        sums.loss, V, to_array(std::move(sums.mass_at_centroid), k));
}

nb::object bind_medians(const AnyArray& F, const DoubleArray& V,
                        const std::optional<Int32Array>& labels, const Int32Array& order,
                        const DoubleArray& C, size_t threads) {
  const FloatTable table = table_of(F);
  const size_t n = F.shape(0), p = table.p, k = count_centroids(C, p);
  check_rows(n), check_threads(threads);
  check_shape("order must have shape (p, n)", order, {p, n});
  if (labels)
    check_shape("labels must have shape (n,)", *labels, {n}),
        check_shape("V must, with labels, have shape (n,)", V, {n});
  else check_shape("V must, without labels, have shape (n, k)", V, {n, k});
  if (labels) check_below("labels", *labels, k);
  check_below("row numbers in order", order, n);
  const RowWeights weights{V.data(), labels ? labels->data() : nullptr, n, k};
  std::vector<double> out;
  {
    nb::gil_scoped_release free;
    out = medians(table, weights, order.data(), C.data(), threads);
  }
  return nb::cast(to_array(std::move(out), k, p));
}

}  // namespace

void bind_float(nb::module_& m) {
  m.def("soft_pass", &bind_soft_pass, "F"_a, "w"_a.none(), "C"_a, "measure"_a, "gamma"_a, "rule"_a,
        "amount"_a, "h"_a.none(), "threads"_a, "isa"_a, "with_V"_a,
        "Make one pass; return labels, totals, pull, mass, loss, V (None unless with_V) and "
        "mass_at_centroid.");
  m.def("medians", &bind_medians, "F"_a, "V"_a, "labels"_a.none(), "order"_a, "C"_a, "threads"_a,
        "Return the weighted medians of each column and cluster, (k, p).");
}

}  // namespace rekmeans
