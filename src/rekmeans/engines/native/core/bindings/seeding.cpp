// Starting centroids for Python.
#include "../exact/scored_seeding.hpp"

#include "access.hpp"
#include "checks.hpp"
#include "module.hpp"

namespace rekmeans {

std::vector<int32_t> overall_of(const Rows& rows, const std::optional<Int32s>& overall) {
  if (!overall && !rows.is_complete)
    throw nb::value_error(
        "overall is None, but some cells are missing. Pass the centroid of all rows.");
  if (!overall) return {};
  check_shape("overall is (p,)", *overall, {rows.p});
  check_on_grid("overall", overall->data(), 1, rows.d);
  return {overall->data(), overall->data() + rows.p};
}

void check_has_rows(const Rows& rows) {
  if (!rows.n) throw nb::value_error("rows cannot be drawn from a table without rows (n=0).");
}

namespace {

using namespace nb::literals;

// A seeding as exposed to Python.
struct SharedSeeding : ScoredSeeding {
  using ScoredSeeding::ScoredSeeding;

  void check_can_swap() const {
    if (!has_second)
      throw std::runtime_error(
          "no swap may follow add_all or add_drawn: they forget the second nearest centroids.");
    if (k < 2)
      throw nb::value_error(("a swap needs 2 centroids, got " + std::to_string(k) + ".").c_str());
  }
  void check_can_draw() const { check_has_rows(rows); }

  mutable Access access;
  bool has_second = true;  // the second nearest centroid of each row is known
};

void make_seeding(SharedSeeding* self, const Rows& rows, const std::optional<Int32s>& overall) {
  std::vector<int32_t> fallback = overall_of(rows, overall);
  nb::gil_scoped_release free;
  new (self) SharedSeeding(rows, std::move(fallback), rows.threads);
}

auto sample(const SharedSeeding& seeding, const Words& words) {
  seeding.check_can_draw();
  const Reading reading(seeding.access, "Seeding");
  std::vector<int64_t> numbers;
  {
    nb::gil_scoped_release free;
    const std::vector<size_t> drawn = seeding.sample(words.data(), words.size());
    numbers.assign(drawn.begin(), drawn.end());
  }
  const size_t count = numbers.size();
  return to_array(std::move(numbers), count);
}

void check_words(const Words& words) {
  if (!words.shape(1) || words.shape(1) > MOST_CANDIDATES)
    throw nb::value_error(("words must have 1 to " + std::to_string(MOST_CANDIDATES) +
                           " columns, got " + std::to_string(words.shape(1)) + ".")
                              .c_str());
}

void add_rows(SharedSeeding& seeding, const Words& words) {
  check_words(words), seeding.check_can_draw();
  const Changing changing(seeding.access, "Seeding");
  nb::gil_scoped_release free;
  seeding.add_rows(words.data(), words.shape(0), words.shape(1));
}

void swap_rows(SharedSeeding& seeding, const Words& words, size_t patience) {
  check_words(words), seeding.check_can_draw();
  const Changing changing(seeding.access, "Seeding");
  seeding.check_can_swap();
  nb::gil_scoped_release free;
  seeding.swap_rows(words.data(), words.shape(0), words.shape(1), patience);
}

void check_candidates(const SharedSeeding& seeding, const GridPoints& P,
                      size_t most = MOST_CANDIDATES) {
  if (!P.shape(0) || P.shape(0) > most)
    throw nb::value_error(("candidates must be 1 to " + std::to_string(most) + " points, got " +
                           std::to_string(P.shape(0)) + ".")
                              .c_str());
  check_shape("candidates are (count, p)", P, {P.shape(0), seeding.rows.p});
  check_on_grid("candidates", P);
}

void add_best(SharedSeeding& seeding, const GridPoints& P) {
  check_candidates(seeding, P);
  const Changing changing(seeding.access, "Seeding");
  nb::gil_scoped_release free;
  seeding.add_best(P.data(), P.shape(0));
}

bool swap_best(SharedSeeding& seeding, const GridPoints& P) {
  check_candidates(seeding, P);
  const Changing changing(seeding.access, "Seeding");
  seeding.check_can_swap();
  nb::gil_scoped_release free;
  return seeding.swap_best(P.data(), P.shape(0));
}

void add_all(SharedSeeding& seeding, const GridPoints& P) {
  check_candidates(seeding, P, size_t(INT32_MAX));
  const Changing changing(seeding.access, "Seeding");
  nb::gil_scoped_release free;
  seeding.has_second = false;
  seeding.add_all(P.data(), P.shape(0));
}

void add_drawn(SharedSeeding& seeding, const Words& words) {
  seeding.check_can_draw();
  const Changing changing(seeding.access, "Seeding");
  nb::gil_scoped_release free;
  seeding.has_second = false;
  seeding.add_drawn(words.data(), words.size());
}

auto nearest_masses(const SharedSeeding& seeding) {
  const Reading reading(seeding.access, "Seeding");
  if (!seeding.k) throw std::runtime_error("there is no centroid yet. Add one first.");
  std::vector<int64_t> masses;
  {
    nb::gil_scoped_release free;
    masses = seeding.nearest_masses();
  }
  return to_array(std::move(masses), seeding.k);
}

auto centroids(const SharedSeeding& seeding) {
  const Reading reading(seeding.access, "Seeding");
  return to_array(seeding.C, seeding.k, seeding.rows.p);
}

}  // namespace

void bind_seeding(nb::module_& m) {
  nb::class_<SharedSeeding>(m, "Seeding", "Starting centroids as they are chosen.")
      .def("__init__", &make_seeding, "rows"_a, "overall"_a.none(), nb::keep_alive<1, 2>())
      .def("sample", &sample, "words"_a,
           "Rows drawn by weight times distance to the nearest centroid, one a word.")
      .def("add_rows", &add_rows, "words"_a,
           "Draw candidates and add the best, once for each row of words.")
      .def("swap_rows", &swap_rows, "words"_a, "patience"_a,
           "Draw candidates and swap the best, row for row of words.")
      .def("add_all", &add_all, "P"_a,
           "Add all of these; from then on only the nearest centroid is known.")
      .def("add_drawn", &add_drawn, "words"_a,
           "Add the row that each word draws; then as after add_all.")
      .def("nearest_masses", &nearest_masses)
      .def("add_best", &add_best, "P"_a, "Add the candidate that leaves the least loss.")
      .def("swap_best", &swap_best, "P"_a,
           "Swap a candidate for a centroid if that lowers the loss; whether it did.")
      .def("centroids", &centroids);
}

}  // namespace rekmeans
