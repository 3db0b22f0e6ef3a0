// Python bindings of seeding.
#include "../exact/scored_seeding.hpp"

#include "access.hpp"
#include "checks.hpp"
#include "module.hpp"

namespace rekmeans {

std::vector<int32_t> overall_of(const Rows& rows, const std::optional<Int32s>& overall) {
  if (!overall && !rows.is_complete)
    throw nb::value_error("overall is None, but cells are missing. Pass the centroid of all rows.");
  if (!overall) return {};
  check_shape("overall must have shape (p,)", *overall, {rows.p});
  check_on_grid("overall", overall->data(), 1, rows.d);
  return {overall->data(), overall->data() + rows.p};
}

void check_has_rows(const Rows& rows) {
  if (!rows.n) throw nb::value_error("cannot draw rows from a table without rows (n=0).");
}

namespace {

using namespace nb::literals;

// A seeding that Python threads can share.
struct SharedSeeding : ScoredSeeding {
  using ScoredSeeding::ScoredSeeding;

  void check_can_swap() const {
    if (!has_second)
      throw std::runtime_error(
          "swaps are not possible after add_all or add_drawn, which do not keep the second nearest "
          "centroids.");
    if (k < 2)
      throw nb::value_error(
          ("a swap needs at least 2 centroids, got " + std::to_string(k) + ".").c_str());
  }
  void check_can_draw() const { check_has_rows(rows); }

  mutable Access access;
  bool has_second = true;  // true if the second nearest centroid of each row is known
};

void make_seeding(SharedSeeding* self, const Rows& rows, const std::optional<Int32s>& overall) {
  std::vector<int32_t> fallback = overall_of(rows, overall);
  nb::gil_scoped_release free;
  new (self) SharedSeeding(rows, std::move(fallback), rows.threads);
}

auto sample(const SharedSeeding& seeding, const RandomWords& words) {
  seeding.check_can_draw();
  const ReadGuard reading(seeding.access, "Seeding");
  std::vector<int64_t> numbers;
  {
    nb::gil_scoped_release free;
    const std::vector<size_t> drawn = seeding.sample(words.data(), words.size());
    numbers.assign(drawn.begin(), drawn.end());
  }
  const size_t count = numbers.size();
  return to_array(std::move(numbers), count);
}

void check_words(const RandomWords& words) {
  if (!words.shape(1) || words.shape(1) > MAX_CANDIDATES)
    throw nb::value_error(("words must have 1 to " + std::to_string(MAX_CANDIDATES) +
                           " columns, got " + std::to_string(words.shape(1)) + ".")
                              .c_str());
}

void add_rows(SharedSeeding& seeding, const RandomWords& words) {
  check_words(words), seeding.check_can_draw();
  const WriteGuard changing(seeding.access, "Seeding");
  nb::gil_scoped_release free;
  seeding.add_rows(words.data(), words.shape(0), words.shape(1));
}

void swap_rows(SharedSeeding& seeding, const RandomWords& words, size_t patience) {
  check_words(words), seeding.check_can_draw();
  const WriteGuard changing(seeding.access, "Seeding");
  seeding.check_can_swap();
  nb::gil_scoped_release free;
  seeding.swap_rows(words.data(), words.shape(0), words.shape(1), patience);
}

void check_candidates(const SharedSeeding& seeding, const GridPoints& P,
                      size_t highest = MAX_CANDIDATES) {
  if (!P.shape(0) || P.shape(0) > highest)
    throw nb::value_error(("candidates must be 1 to " + std::to_string(highest) + " points, got " +
                           std::to_string(P.shape(0)) + ".")
                              .c_str());
  check_shape("candidates must have shape (count, p)", P, {P.shape(0), seeding.rows.p});
  check_on_grid("candidates", P);
}

void add_best(SharedSeeding& seeding, const GridPoints& P) {
  check_candidates(seeding, P);
  const WriteGuard changing(seeding.access, "Seeding");
  nb::gil_scoped_release free;
  seeding.add_best(P.data(), P.shape(0));
}

bool swap_best(SharedSeeding& seeding, const GridPoints& P) {
  check_candidates(seeding, P);
  const WriteGuard changing(seeding.access, "Seeding");
  seeding.check_can_swap();
  nb::gil_scoped_release free;
  return seeding.swap_best(P.data(), P.shape(0));
}

void add_all(SharedSeeding& seeding, const GridPoints& P) {
  check_candidates(seeding, P, size_t(INT32_MAX));
  const WriteGuard changing(seeding.access, "Seeding");
  nb::gil_scoped_release free;
  seeding.has_second = false;
  seeding.add_all(P.data(), P.shape(0));
}

void add_drawn(SharedSeeding& seeding, const RandomWords& words) {
  seeding.check_can_draw();
  const WriteGuard changing(seeding.access, "Seeding");
  nb::gil_scoped_release free;
  seeding.has_second = false;
  seeding.add_drawn(words.data(), words.size());
}

auto nearest_masses(const SharedSeeding& seeding) {
  const ReadGuard reading(seeding.access, "Seeding");
  if (!seeding.k) throw std::runtime_error("the seeding has no centroids yet. Add one first.");
  std::vector<int64_t> masses;
  {
    nb::gil_scoped_release free;
    masses = seeding.nearest_masses();
  }
  return to_array(std::move(masses), seeding.k);
}

auto centroids(const SharedSeeding& seeding) {
  const ReadGuard reading(seeding.access, "Seeding");
  return to_array(seeding.C, seeding.k, seeding.rows.p);
}

}  // namespace

void bind_seeding(nb::module_& m) {
  nb::class_<SharedSeeding>(m, "Seeding", "The starting centroids chosen so far.")
      .def("__init__", &make_seeding, "rows"_a, "overall"_a.none(), nb::keep_alive<1, 2>())
      .def("sample", &sample, "words"_a,
           "Draw a row for each word, by weight times distance to the nearest centroid.")
      .def("add_rows", &add_rows, "words"_a,
           "For each row of words, draw candidates and add the best one.")
      .def("swap_rows", &swap_rows, "words"_a, "patience"_a,
           "For each row of words, draw candidates and swap the best one.")
      .def("add_all", &add_all, "P"_a,
           "Add all of these. After this, only the nearest centroid of each row is known.")
      .def("add_drawn", &add_drawn, "words"_a,
           "Add the row that each word draws, with the same effect as add_all.")
      .def("nearest_masses", &nearest_masses)
      .def("add_best", &add_best, "P"_a, "Add the candidate with the smallest resulting loss.")
      .def("swap_best", &swap_best, "P"_a,
           "Swap a candidate for a centroid if that lowers the loss; return whether it did.")
      .def("centroids", &centroids);
}

}  // namespace rekmeans
