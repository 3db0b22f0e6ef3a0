// The Python face of the core: Rows, Walk, Seeding, look and medians over NumPy arrays.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>

#include "fit.hpp"
#include "instruction_set.hpp"
#include "look.hpp"
#include "seeding.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using namespace rekmeans;

using Doubles = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Longs = nb::ndarray<const int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Labels = nb::ndarray<const int32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Grid = nb::ndarray<const int32_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

template <class T, class... Shape>
static nb::ndarray<nb::numpy, T> array(std::vector<T> values, Shape... shape) {
  auto* copy = new std::vector<T>(std::move(values));
  nb::capsule owner(copy, [](void* at) noexcept { delete static_cast<std::vector<T>*>(at); });
  return nb::ndarray<nb::numpy, T>(copy->data(), {size_t(shape)...}, owner);
}

static nb::object whole(i128 value) {
  return (nb::int_(int64_t(value >> 64)) << nb::int_(64)) | nb::int_(uint64_t(value));
}

// 128-bit sums as int64 where all fit, else as (high, low) words for Python to join.
static nb::object sums(const std::vector<i128>& values, size_t k, size_t p) {
  bool fit = true;
  for (i128 v : values) fit &= v == int64_t(v);
  std::vector<int64_t> high(values.size());
  if (fit) {
    for (size_t i = 0; i < values.size(); ++i) high[i] = int64_t(values[i]);
    return nb::cast(array(high, k, p));
  }
  std::vector<uint64_t> low(values.size());
  for (size_t i = 0; i < values.size(); ++i) high[i] = int64_t(values[i] >> 64), low[i] = uint64_t(values[i]);
  return nb::make_tuple(array(high, k, p), array(low, k, p));
}

static Beyond meant(const std::string& name) {
  return name == "ignore" ? Beyond::ignore : name == "clip" ? Beyond::clip : Beyond::wrap;
}

static std::vector<double> copied(const Doubles& a) { return {a.data(), a.data() + a.shape(0)}; }

// The scale of d columns: (low, high, shift) of m intervals each, a rate and a period.
static Columns scaled(size_t d, const Doubles& low, const Doubles& high, const Doubles& shift, const Doubles& rate,
                      const Doubles& period, const std::string& beyond) {
  const size_t m = d ? low.shape(0) / d : 0;
  if (rate.shape(0) != d || period.shape(0) != d || low.shape(0) != d * m || high.shape(0) != d * m || shift.shape(0) != d * m || !m)
    throw nb::value_error("a scale has (d, m) intervals, and d rates and periods.");
  Columns columns{copied(low), copied(high), copied(shift), copied(rate), copied(period), m, meant(beyond), m == 1};
  for (double p : columns.period) columns.simple &= !(p > 0);
  return columns;
}

using Dense = nb::ndarray<nb::ro, nb::ndim<2>, nb::device::cpu>;

static Table seen(const Dense& X, const std::string& kind) {
  const ptrdiff_t bytes = ptrdiff_t(X.itemsize());
  return {static_cast<const char*>(X.data()), kind[0],           X.itemsize(), X.shape(0), X.shape(1),
          X.stride(0) * bytes,                X.stride(1) * bytes};
}

using Reals = nb::ndarray<const double, nb::c_contig, nb::device::cpu>;
using Wholes = nb::ndarray<const int32_t, nb::c_contig, nb::device::cpu>;
using Anything = nb::ndarray<nb::ro, nb::c_contig, nb::device::cpu>;

static std::string text(const std::vector<size_t>& sizes) {
  std::string out;
  for (size_t size : sizes) out += (out.empty() ? "(" : ", ") + std::to_string(size);
  return (out.empty() ? "(" : out) + (sizes.size() == 1 ? ",)" : ")");
}

template <class A>
static std::vector<size_t> shape(const A& a) {
  std::vector<size_t> sizes;
  for (size_t i = 0; i < a.ndim(); ++i) sizes.push_back(a.shape(i));
  return sizes;
}

template <class A>
static void expect(const char* what, const A& a, const std::vector<size_t>& sizes) {
  if (shape(a) != sizes) throw nb::value_error((what + (", here " + text(sizes)) + ", got " + text(shape(a)) + ".").c_str());
}

static Points points(const Anything& F) {
  const bool narrow = F.dtype() == nb::dtype<float>();
  if (F.ndim() != 2 || !F.shape(1))
    throw nb::value_error(("F is a table (n, p) with columns, got " + text(shape(F)) + ".").c_str());
  if (!narrow && F.dtype() != nb::dtype<double>()) throw nb::value_error("F holds float32 or float64: convert it first.");
  return {narrow ? static_cast<const float*>(F.data()) : nullptr, narrow ? nullptr : static_cast<const double*>(F.data()),
          F.shape(1)};
}

static size_t centroids(const Reals& C, size_t p) {
  if (C.ndim() != 2 || !C.shape(0))
    throw nb::value_error(("C is (k, p) with k of 1 or more, got " + text(shape(C)) + ".").c_str());
  expect("C is (k, p)", C, {C.shape(0), p});
  return C.shape(0);
}

static nb::tuple look(const Anything& F, const std::optional<Reals>& w, const Reals& C, const std::string& measure,
                      double gamma, const std::string& rule, double amount, const std::optional<Reals>& h, size_t threads,
                      const std::string& isa, bool shares) {
  const Points cells = points(F);
  const size_t n = F.shape(0), p = cells.p, k = centroids(C, p);
  if (w) expect("w is (n,)", *w, {n});
  if (h) expect("h is (k, k)", *h, {k, k});
  Look asked{};
  asked.F = cells, asked.n = n, asked.w = w ? w->data() : nullptr, asked.C = C.data(), asked.k = k;
  asked.amount = amount, asked.h = h ? h->data() : nullptr, asked.threads = std::max<size_t>(1, threads);
  asked.lanes = choose_lanes(isa);
  asked.choose(measure, gamma, rule);
  Seen found;
  {
    nb::gil_scoped_release free;
    found = seen(asked, shares);
  }
  nb::object V = nb::none();
  if (shares) V = asked.shares ? nb::cast(array(std::move(found.V), n, k)) : nb::cast(array(std::move(found.V), n));
  return nb::make_tuple(array(std::move(found.labels), n), array(std::move(found.totals), k, p),
                        array(std::move(found.strength), k, p), array(std::move(found.mass), k), found.loss, V,
                        array(std::move(found.held), k));
}

static nb::object bind_medians(const Anything& F, const Reals& V, const std::optional<Wholes>& labels, const Wholes& order,
                               const Reals& C, size_t threads) {
  const Points cells = points(F);
  const size_t n = F.shape(0), p = cells.p, k = centroids(C, p);
  expect("order is (p, n)", order, {p, n});
  if (labels) expect("labels are (n,)", *labels, {n}), expect("V is (n,) beside labels", V, {n});
  else expect("V is (n, k) without labels", V, {n, k});
  auto below = [](const Wholes& a, size_t end) {
    for (size_t i = 0; i < a.size(); ++i)
      if (size_t(a.data()[i]) >= end) return false;
    return true;
  };
  if (labels && !below(*labels, k)) throw nb::value_error("labels are numbers of centroids, from 0 to k - 1.");
  if (!below(order, n)) throw nb::value_error("order holds numbers of rows, from 0 to n - 1: take argsort of each column.");
  std::vector<double> out;
  {
    nb::gil_scoped_release free;
    out = medians(cells, n, V.data(), labels ? labels->data() : nullptr, order.data(), C.data(), k, threads);
  }
  return nb::cast(array(std::move(out), k, p));
}

NB_MODULE(_core, m) {
  m.def("isa", [](const std::string& name) { return std::string(choose_lanes(name)->name); }, "name"_a);

  nb::class_<Rows>(m, "Rows")
      .def(
          "__init__",
          [](Rows* self, Dense X, const std::string& kind, Doubles low, Doubles high, Doubles shift, Doubles rate,
             Doubles period, const std::string& beyond, std::optional<Longs> weights, bool unit, bool keep, bool thin,
             size_t threads, const std::string& isa) {
            const Table table = seen(X, kind);
            Columns columns = scaled(table.d, low, high, shift, rate, period, beyond);
            const int64_t* w = weights ? weights->data() : nullptr;
            nb::gil_scoped_release free;
            if (thin) new (self) Rows(Cells{.dense = table}, table.n, table.d, std::move(columns), w, unit, threads, choose_lanes(isa));
            else new (self) Rows(table, std::move(columns), w, unit, keep, threads, choose_lanes(isa));
          },
          "X"_a, "kind"_a, "low"_a, "high"_a, "shift"_a, "rate"_a, "period"_a, "beyond"_a, "weights"_a.none(), "unit"_a,
          "keep"_a, "thin"_a, "threads"_a, "isa"_a, nb::keep_alive<1, 2>())
      .def(
          "__init__",
          [](Rows* self, Doubles data, Longs indices, Longs indptr, size_t d, Doubles low, Doubles high, Doubles shift,
             Doubles rate, Doubles period, const std::string& beyond, std::optional<Longs> weights, bool unit,
             size_t threads, const std::string& isa) {
            Cells cells{.data = data.data(), .columns = indices.data(), .from = indptr.data()};
            Columns columns = scaled(d, low, high, shift, rate, period, beyond);
            const int64_t* w = weights ? weights->data() : nullptr;
            const size_t n = indptr.shape(0) - 1;
            nb::gil_scoped_release free;
            new (self) Rows(cells, n, d, std::move(columns), w, unit, threads, choose_lanes(isa));
          },
          "data"_a, "indices"_a, "indptr"_a, "d"_a, "low"_a, "high"_a, "shift"_a, "rate"_a, "period"_a, "beyond"_a,
          "weights"_a.none(), "unit"_a, "threads"_a, "isa"_a, nb::keep_alive<1, 2>(), nb::keep_alive<1, 3>(),
          nb::keep_alive<1, 4>())
      .def_ro("complete", &Rows::complete)
      .def("weights", [](const Rows& r) {
        return array(r.weights.empty() ? std::vector<int64_t>(r.n, 1) : r.weights, r.n);
      })
      .def("grid", [](const Rows& r, Longs at) {
        std::vector<int32_t> out(at.shape(0) * r.p);
        Rows::Buffer buffer;
        for (size_t i = 0; i < at.shape(0); ++i) r.grid(size_t(at.data()[i]), out.data() + i * r.p, buffer);
        return array(out, at.shape(0), r.p);
      })
      .def("phase_sums", [](const Rows& r, Labels labels, size_t k) {
        std::vector<i128> turns(k * r.d);
        std::vector<int64_t> seen(k * r.d);
        {
          nb::gil_scoped_release free;
          r.phase_sums(labels.data(), k, turns.data(), seen.data());
        }
        return nb::make_tuple(sums(turns, k, r.d), array(seen, k, r.d));
      })
      .def("distances", [](const Rows& r, Grid C, Labels own) {  // exact, of each row to the centroid named
        std::vector<int64_t> out(r.n);
        nb::gil_scoped_release free;
        const Centroids ready(r, C.data(), C.shape(0));
        std::vector<Rows::Buffer> buffers(r.threads);
        parallel(r.threads, (r.n + PART - 1) / PART, [&](size_t thread, size_t part) {
          for (size_t j = part * PART; j < r.n && j < (part + 1) * PART; ++j) {
            const uint32_t at = uint32_t(j);
            const float* g;
            r.fetch(&at, 1, buffers[thread], &g);
            const size_t c = size_t(own.data()[j]);
            out[j] = r.distance(j, g, ready.whole.data() + c * r.p, ready.square[c]);
          }
        });
        nb::gil_scoped_acquire held;
        return array(out, r.n);
      });

  nb::class_<Walk>(m, "Walk")
      .def("__init__", [](Walk* self, const Rows& rows, size_t k, bool skip) { new (self) Walk(rows, k, skip, rows.threads); },
           "rows"_a, "k"_a, "skip"_a, nb::keep_alive<1, 2>())
      .def("step", [](Walk& w, Grid C) {
        nb::gil_scoped_release free;
        return w.step(C.data());
      })
      .def("centroids", [](const Walk& w, bool rectified, Grid old) {
        std::vector<int32_t> out(w.k * w.rows.p);
        w.centroids(rectified, old.data(), out.data());
        return array(out, w.k, w.rows.p);
      })
      .def("labels", [](const Walk& w) { return array(w.labels, w.rows.n); })
      .def("totals", [](const Walk& w) {
        std::vector<i128> out(w.k * w.rows.p);
        for (size_t i = 0; i < out.size(); ++i) out[i] = w.resultant(i / w.rows.p, i % w.rows.p);
        return sums(out, w.k, w.rows.p);
      })
      .def("mass", [](const Walk& w) { return array(w.mass, w.k); })
      .def("absent", [](const Walk& w) { return array(w.absent, w.absent.empty() ? 0 : w.k, w.rows.d); })
      .def_prop_ro("loss", [](const Walk& w) { return whole(w.loss); })
      .def_ro("passes", &Walk::passes)
      .def_ro("looked", &Walk::looked)
      .def_ro("glanced", &Walk::glanced)
      .def_ro("decided", &Walk::decided)
      .def_ro("in_eighths", &Walk::in_eighths)
      .def_rw("coarse", &Walk::coarse);

  m.def("fit_starts", [](const Rows& rows, Grid starts, size_t k, bool rectified, bool skip, size_t max_iter, double tol) {
    Fit fit;
    {
      nb::gil_scoped_release free;
      fit = fit_starts(rows, starts.data(), starts.shape(0) / k, k, {rectified, skip, max_iter, tol});
    }
    nb::list losses;
    for (i128 loss : fit.losses) losses.append(whole(loss));
    const size_t t = fit.moved.size();
    return nb::make_tuple(array(fit.centroids, k, rows.p), array(fit.labels, rows.n), fit.n_iter, losses,
                          array(fit.moved, t), array(fit.refilled, t), array(fit.seconds, t));
  });

  nb::class_<Seeding>(m, "Seeding")
      .def("__init__", [](Seeding* self, const Rows& rows) { new (self) Seeding(rows); }, "rows"_a, nb::keep_alive<1, 2>())
      .def("masses", [](const Seeding& s) {
        nb::list out;
        for (i128 mass : s.masses()) out.append(whole(mass));
        return out;
      })
      .def("row", [](const Seeding& s, size_t part, int64_t high, uint64_t low) {
        return s.row(part, (i128(high) << 64) | i128(low));
      })
      .def("extend", [](Seeding& s, Grid P) {
        nb::gil_scoped_release free;
        s.extend(P.data(), P.shape(0));
      })
      .def("exchange", [](Seeding& s, Grid P) {
        nb::gil_scoped_release free;
        return s.exchange(P.data(), P.shape(0));
      })
      .def("centroids", [](const Seeding& s) { return array(s.C, s.k, s.rows.p); });

  m.def("look", look, "F"_a, "w"_a.none(), "C"_a, "measure"_a, "gamma"_a, "rule"_a, "amount"_a, "h"_a.none(), "threads"_a,
        "isa"_a, "shares"_a);
  m.def("medians", bind_medians, "F"_a, "V"_a, "labels"_a.none(), "order"_a, "C"_a, "threads"_a);
}
