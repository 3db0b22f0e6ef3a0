// Starting centroids for Python.
#include "../exact/scored_seeding.hpp"

#include "module.hpp"

namespace rekmeans {

std::vector<int32_t> overall_of(const Rows& rows, const std::optional<Int32s>& overall) {
  if (!overall && !rows.is_complete) throw nb::value_error("rows with missing cells need their overall centroid.");
  if (!overall) return {};
  check_shape("overall is (p,)", *overall, {rows.p});
  return {overall->data(), overall->data() + rows.p};
}

namespace {

using namespace nb::literals;

void make_seeding(ScoredSeeding* self, const Rows& rows, const std::optional<Int32s>& overall) {
  new (self) ScoredSeeding(rows, overall_of(rows, overall), rows.threads);
}

auto sample(const ScoredSeeding& seeding, const Words& words) {
  const std::vector<size_t> numbers = seeding.sample(words.data(), words.size());
  return to_array(std::vector<int64_t>(numbers.begin(), numbers.end()), numbers.size());
}

void check_words(const Words& words) {
  if (!words.shape(1) || words.shape(1) > MOST_CANDIDATES)
    throw nb::value_error("words are (steps, count) with a count of 1 to 16.");
}

void add_rows(ScoredSeeding& seeding, const Words& words) {
  check_words(words);
  nb::gil_scoped_release free;
  seeding.add_rows(words.data(), words.shape(0), words.shape(1));
}

void swap_rows(ScoredSeeding& seeding, const Words& words, size_t patience) {
  check_words(words);
  if (seeding.k < 2) throw nb::value_error("a swap needs two centroids or more.");
  nb::gil_scoped_release free;
  seeding.swap_rows(words.data(), words.shape(0), words.shape(1), patience);
}

void check_candidates(const ScoredSeeding& seeding, const GridPoints& P, size_t most = MOST_CANDIDATES) {
  if (!P.shape(0) || P.shape(0) > most) throw nb::value_error("candidates are (count, p) with a count of 1 to 16.");
  check_shape("candidates are (count, p)", P, {P.shape(0), seeding.rows.p});
}

void add_best(ScoredSeeding& seeding, const GridPoints& P) {
  check_candidates(seeding, P);
  nb::gil_scoped_release free;
  seeding.add_best(P.data(), P.shape(0));
}

bool swap_best(ScoredSeeding& seeding, const GridPoints& P) {
  check_candidates(seeding, P);
  if (seeding.k < 2) throw nb::value_error("a swap needs two centroids or more.");
  nb::gil_scoped_release free;
  return seeding.swap_best(P.data(), P.shape(0));
}

void add_all(ScoredSeeding& seeding, const GridPoints& P) {
  check_candidates(seeding, P, SIZE_MAX);
  nb::gil_scoped_release free;
  seeding.add_all(P.data(), P.shape(0));
}

void add_drawn(ScoredSeeding& seeding, const Words& words) {
  nb::gil_scoped_release free;
  seeding.add_drawn(words.data(), words.size());
}

}  // namespace

void bind_seeding(nb::module_& m) {
  nb::class_<ScoredSeeding>(m, "Seeding", "Starting centroids as they are chosen.")
      .def("__init__", &make_seeding, "rows"_a, "overall"_a.none(), nb::keep_alive<1, 2>())
      .def("sample", &sample, "words"_a, "Rows drawn by weight times distance to the nearest centroid, one a word.")
      .def("add_rows", &add_rows, "words"_a, "Draw candidates and add the best, once for each row of words.")
      .def("swap_rows", &swap_rows, "words"_a, "patience"_a, "Draw candidates and swap the best, row for row of words.")
      .def("add_all", &add_all, "P"_a, "Add all of these; from then on only the nearest centroid is known.")
      .def("add_drawn", &add_drawn, "words"_a, "Add the row that each word draws; then as after add_all.")
      .def("nearest_masses", [](const ScoredSeeding& s) { return to_array(s.nearest_masses(), s.k); })
      .def("add_best", &add_best, "P"_a, "Add the candidate that leaves the least loss.")
      .def("swap_best", &swap_best, "P"_a, "Swap a candidate for a centroid if that lowers the loss; whether it did.")
      .def("centroids", [](const ScoredSeeding& s) { return to_array(s.C, s.k, s.rows.p); });
}

}  // namespace rekmeans
