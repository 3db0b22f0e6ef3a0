// Python bindings of runs and whole fits.
#include <cmath>

#include "../exact/fit.hpp"
#include "access.hpp"
#include "checks.hpp"
#include "module.hpp"

namespace rekmeans {
namespace {

using namespace nb::literals;

// A run that Python threads can share.
struct SharedRun : Run {
  using Run::Run;
  mutable Access access;
};

void make_run(SharedRun* self, const Rows& rows, size_t k, bool skip) {
  check_clusters(k);
  nb::gil_scoped_release free;
  new (self) SharedRun(rows, k, skip, rows.threads);
}

size_t assign(SharedRun& run, const GridPoints& C) {
  check_shape("C must have shape (k, p)", C, {run.k, run.rows.p});
  check_on_grid("C", C);
  const WriteGuard changing(run.access, "Run");
  nb::gil_scoped_release free;
  return run.assign(C.data());
}

auto centroids(const SharedRun& run, bool rectified, const GridPoints& old) {
  check_shape("old must have shape (k, p)", old, {run.k, run.rows.p});
  check_on_grid("old", old);
  const ReadGuard reading(run.access, "Run");
  std::vector<int32_t> out;
  {
    nb::gil_scoped_release free;
    out.resize(run.k * run.rows.p);
    run.sums.centroids(run.rows, rectified, old.data(), out.data(), run.threads);
  }
  return to_array(std::move(out), run.k, run.rows.p);
}

nb::object totals(const SharedRun& run) {
  const ReadGuard reading(run.access, "Run");
  const size_t p = run.rows.p;
  std::vector<int128> out;
  {
    nb::gil_scoped_release free;
    out.resize(run.k * p);
    for (size_t i = 0; i < out.size(); ++i) out[i] = run.sums.resultant(run.rows, i / p, i % p);
  }
  return to_arrays(out, run.k, p);
}

// Return a copy of a part of a run, while no other thread changes it.
template <class Find>
auto copy_of(const SharedRun& run, const Find& find) {
  const ReadGuard reading(run.access, "Run");
  nb::gil_scoped_release free;
  return find();
}

void check_options(double tol) {
  if (std::isnan(tol)) throw nb::value_error("tol must be a number, got NaN.");
}

// Return centroids, labels, n_iter, and loss, n_changed, n_relocated and seconds of each pass.
nb::tuple to_tuple(Fit fit, const Rows& rows) {
  nb::list losses;
  for (int128 loss : fit.losses) losses.append(to_int(loss));
  const size_t t = fit.n_changed.size(), k = fit.centroids.size() / rows.p;
  return nb::make_tuple(
      to_array(std::move(fit.centroids), k, rows.p), to_array(std::move(fit.labels), rows.n),
      fit.n_iter, losses, to_array(std::move(fit.n_changed), t),
      to_array(std::move(fit.n_relocated), t), to_array(std::move(fit.seconds), t));
}

nb::tuple bind_fit_starts(const Rows& rows, const GridPoints& starts, size_t k, bool rectified,
                          bool skip, size_t max_iter, double tol) {
  check_options(tol);
  check_clusters(k);
  if (!starts.shape(0) || starts.shape(0) % k)
    throw nb::value_error(("starts must have a multiple of k=" + std::to_string(k) + " rows, got " +
                           std::to_string(starts.shape(0)) + ".")
                              .c_str());
  check_shape("starts must have shape (m k, p)", starts, {starts.shape(0), rows.p});
  check_on_grid("starts", starts);
  Fit fit;
  {
    nb::gil_scoped_release free;
    fit = fit_starts(rows, starts.data(), starts.shape(0) / k, k, {rectified, skip, max_iter, tol});
  }
  return to_tuple(std::move(fit), rows);
}

nb::tuple bind_fit_drawn_starts(const Rows& rows, const std::optional<Int32s>& overall,
                                const RandomWords& words, const SeedingPlan& plan, bool rectified,
                                bool skip, size_t max_iter, double tol) {
  check_options(tol);
  check_has_rows(rows);
  if (!words.shape(0)) throw nb::value_error("words must have a row for each start, got 0 rows.");
  check_shape("words must have shape (m, n_words)", words, {words.shape(0), plan.n_words()});
  const std::vector<int32_t> fallback = overall_of(rows, overall);
  Fit fit;
  {
    nb::gil_scoped_release free;
    fit = fit_drawn_starts(rows, fallback, words.data(), words.shape(0), plan,
                           {rectified, skip, max_iter, tol});
  }
  return to_tuple(std::move(fit), rows);
}

// Check a count of a plan. The limits ensure that the number of words does not overflow.
void check_count(const char* name, size_t count, size_t lowest, size_t highest) {
  if (count < lowest || count > highest)
    throw nb::value_error((std::string(name) + " must be " + std::to_string(lowest) + " to " +
                           std::to_string(highest) + ", got " + std::to_string(count) + ".")
                              .c_str());
}

void make_plan(SeedingPlan* self, size_t k, size_t candidates, size_t batches,
               size_t swap_candidates, size_t patience) {
  check_clusters(k);
  check_count("candidates", candidates, 1, MAX_CANDIDATES);
  check_count("batches", batches, 0, size_t(INT32_MAX));
  check_count("swap_candidates", swap_candidates, 1, MAX_CANDIDATES);
  new (self) SeedingPlan{k, candidates, batches, swap_candidates, patience};
}

}  // namespace

void bind_run(nb::module_& m) {
  nb::class_<SharedRun>(m, "Run", "A run over rows: labels, bounds and sums of the last pass.")
      .def("__init__", &make_run, "rows"_a, "k"_a, "skip"_a, nb::keep_alive<1, 2>())
      .def("assign", &assign, "C"_a,
           "Assign every row to a centroid; return how many labels changed.")
      .def("centroids", &centroids, "rectified"_a, "old"_a,
           "Return the centroids of the sums. If a sum is 0, return the value in old.")
      .def("labels",
           [](const SharedRun& run) {
             return to_array(copy_of(run, [&] { return run.labels; }), run.rows.n);
           })
      .def("totals", &totals, "Return the sums of w f, (k, p).")
      .def("mass",
           [](const SharedRun& run) {
             return to_array(copy_of(run, [&] { return run.sums.mass; }), run.k);
           })
      .def(
          "missing_mass",
          [](const SharedRun& run) {
            auto missing = copy_of(run, [&] { return run.sums.missing; });
            const size_t k = missing.empty() ? 0 : run.k;
            return to_array(std::move(missing), k, run.rows.d);
          },
          "Return the weight of the missing cells, (k, d), or (0, d) if none is missing.")
      .def_prop_ro(
          "loss",
          [](const SharedRun& run) { return to_int(copy_of(run, [&] { return run.loss; })); })
      .def_ro("n_passes", &Run::n_passes)
      .def_ro("n_scored", &Run::n_scored)
      .def_ro("n_scored_fast", &Run::n_scored_fast)
      .def_ro("n_decided_exactly", &Run::n_decided_exactly)
      .def_ro("n_refined", &Run::n_refined)
      .def_ro("was_quantized", &Run::was_quantized)
      .def_rw("may_quantize", &Run::may_quantize);
  m.def(
      "fit_starts", &bind_fit_starts, "rows"_a, "starts"_a, "k"_a, "rectified"_a, "skip"_a,
      "max_iter"_a, "tol"_a,
      "Return the best fit of several starts: centroids, labels, n_iter, and the loss, n_changed, "
      "n_relocated and seconds of each pass.");
  nb::class_<SeedingPlan>(m, "SeedingPlan", "The numbers of draws of k-means++.")
      .def("__init__", &make_plan, "k"_a, "candidates"_a, "batches"_a, "swap_candidates"_a,
           "patience"_a)
      .def_prop_ro("n_words", &SeedingPlan::n_words);
  m.def("fit_drawn_starts", &bind_fit_drawn_starts, "rows"_a, "overall"_a.none(), "words"_a,
        "plan"_a, "rectified"_a, "skip"_a, "max_iter"_a, "tol"_a,
        "As fit_starts, for k-means++ starts that these words draw, one row per start.");
}

}  // namespace rekmeans
