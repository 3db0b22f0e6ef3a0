// Starting centroids for Python.
#include "../exact/seeding.hpp"

#include "module.hpp"

namespace rekmeans {
namespace {

using namespace nb::literals;

nb::list part_masses(const Seeding& seeding) {
  nb::list out;
  for (int128 mass : seeding.part_masses()) out.append(to_int(mass));
  return out;
}

size_t row_at(const Seeding& seeding, size_t part, int64_t high, uint64_t low) {
  if (part >= seeding.rows.n_parts()) throw nb::value_error("there is no such part of the rows.");
  return seeding.row_at(part, join_words(high, low));
}

void check_candidates(const Seeding& seeding, const GridPoints& P) {
  if (!P.shape(0)) throw nb::value_error("candidates are (count, p) with a count of 1 or more.");
  check_shape("candidates are (count, p)", P, {P.shape(0), seeding.rows.p});
}

void add_best(Seeding& seeding, const GridPoints& P) {
  check_candidates(seeding, P);
  nb::gil_scoped_release free;
  seeding.add_best(P.data(), P.shape(0));
}

bool swap_best(Seeding& seeding, const GridPoints& P) {
  check_candidates(seeding, P);
  if (seeding.k < 2) throw nb::value_error("a swap needs two centroids or more.");
  nb::gil_scoped_release free;
  return seeding.swap_best(P.data(), P.shape(0));
}

}  // namespace

void bind_seeding(nb::module_& m) {
  nb::class_<Seeding>(m, "Seeding", "Starting centroids as they are chosen.")
      .def(
          "__init__", [](Seeding* self, const Rows& rows) { new (self) Seeding(rows); }, "rows"_a,
          nb::keep_alive<1, 2>())
      .def("part_masses", &part_masses, "Weight times distance to the nearest centroid, of each part of the rows.")
      .def("row_at", &row_at, "part"_a, "high"_a, "low"_a, "The first row of a part whose running sum exceeds a goal.")
      .def("add_best", &add_best, "P"_a, "Add the candidate that leaves the least loss.")
      .def("swap_best", &swap_best, "P"_a, "Swap a candidate for a centroid if that lowers the loss; whether it did.")
      .def("centroids", [](const Seeding& s) { return to_array(s.C, s.k, s.rows.p); });
}

}  // namespace rekmeans
