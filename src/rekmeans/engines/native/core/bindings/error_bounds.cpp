// Python bindings of the error bounds of exact passes, for rows with any coordinates. Tests compare
// them with exact arithmetic.
#include "../exact/error_bounds.hpp"

#include <stdexcept>

#include "../exact/scoring.hpp"
#include "../simd/instruction_set.hpp"
#include "checks.hpp"
#include "module.hpp"

namespace rekmeans {
namespace {

using namespace nb::literals;

using Floats = Array<const float, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using GridRows = Array<const int32_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

ColumnScales no_scales(size_t d) {
  const std::vector<double> zeros(d, 0);
  return {zeros, zeros, zeros, zeros, zeros, Beyond::wrap};
}

// Rows g (n, p) that are given in grid units, with base 0. Cells that are 0 may be missing.
struct GivenRows : Rows {
  GivenRows(const GridRows& G, const GridRows& missing, bool is_sparse_, const Simd* simd_)
      : Rows(G.shape(0), G.shape(1) / 2, no_scales(G.shape(1) / 2), nullptr, true, 1, simd_),
        is_sparse(is_sparse_),
        values(n * p),
        columns(d),
        pair_cells(n * d),
        pair_step(n) {
    for (size_t i = 0; i < values.size(); ++i) values[i] = float(G.data()[i]) * float(1 / GRID);
    for (size_t l = 0; l < d; ++l) columns[l] = uint32_t(l);
    pair_error.resize(n);
    for (size_t j = 0; j < n; ++j) {
      double square_of_row = 0;
      for (size_t l = 0; l < p; ++l) square_of_row += double(row(j)[l]) * double(row(j)[l]);
      norm2[j] = float(square_of_row);
      MissingCells& part = missing_cells[j / PART_ROWS];
      for (size_t l = 0; l < d; ++l)
        if (missing.data()[j * d + l]) part.columns.push_back(uint32_t(l));
      part.end_row(j % PART_ROWS + 1);
      if (simd->quantize_pairs)
        simd->quantize_pairs(row(j), row(j) + d, d,
                             reinterpret_cast<int16_t*>(pair_cells.data() + j * d), &pair_step[j],
                             &pair_error[j]);
    }
    for (const MissingCells& part : missing_cells) is_complete &= part.columns.empty();
  }

  const float* row(size_t j) const { return values.data() + j * p; }
  SparseRow cells(size_t j) const { return {columns.data(), row(j), row(j) + d, d}; }

  bool has_dense_values() const override { return !is_sparse; }
  bool should_recheck_own(size_t, size_t) const override { return false; }
  void fetch(const uint32_t* numbers, size_t count, RowBuffer&, const float** out) const override {
    for (size_t i = 0; i < count; ++i) out[i] = row(numbers[i]);
  }
  void pack(const float* h, float* lane, size_t span) const override {
    for (size_t l = 0; l < p; ++l)
      lane[(!is_sparse ? l : l < d ? 2 * l : 2 * (l - d) + 1) * span] = h[l];
  }
  void scores(const uint32_t* numbers, const float* const* fetched, size_t count,
              const float* packed, size_t kp, float* S) const override {
    if (!is_sparse) return simd->scores(fetched, count, p, packed, kp, S);
    std::vector<SparseRow> rows;
    for (size_t i = 0; i < count; ++i) rows.push_back(cells(numbers[i]));
    simd->sparse_scores(rows.data(), count, d, packed, kp, S);
  }
  void pair_scores(const uint32_t* numbers, size_t count, const int16_t* packed, const float* scale,
                   size_t kp, float* S) const override {
    std::vector<SparsePairs> rows;
    for (size_t i = 0; i < count; ++i)
      rows.push_back(
          {columns.data(), pair_cells.data() + numbers[i] * d, d, pair_step[numbers[i]]});
    simd->sparse_pair_scores(rows.data(), count, d, packed, scale, kp, S);
  }
  float dot(size_t j, const float* g, const float* h) const override {
    return is_sparse ? simd->sparse_dot(cells(j), d, h) : simd->dot(g, h, p);
  }
  void prefetch_row(size_t, bool) const override {}
  void add_row(size_t, const float*, int64_t, int64_t*) const override { throw_unused(); }
  void add_row(size_t, const float*, int64_t, int128*) const override { throw_unused(); }
  void phase_sums(const int32_t*, size_t, int128*, int64_t*) const override { throw_unused(); }

  bool is_sparse;
  std::vector<float> values;        // (n, p)
  std::vector<uint32_t> columns;    // (d,)
  std::vector<int32_t> pair_cells;  // (n, d) pairs of 16 bits
  std::vector<float> pair_step;     // (n,)

 protected:
  int64_t full_distance(size_t, const float* g, const int32_t* h, int64_t) const override {
    return simd->grid_distance(g, h, p);
  }
  void add_grid(size_t, int32_t*, RowBuffer&) const override { throw_unused(); }

 private:
  [[noreturn]] static void throw_unused() {
    throw std::logic_error("rows that are given in grid units have no sums");
  }
};

// Return whether the processor supports this scoring method for k centroids.
bool supports_method(const std::string& method, const std::string& isa, size_t k) {
  const Simd* simd = choose_simd(isa);
  if (method == "few") return simd->best_of_few && k <= FEW_CENTROIDS;
  if (method == "bytes") return simd->quantize_row;
  if (method == "pairs") return simd->quantize_pairs;
  for (const char* known : {"float", "dot", "sparse", "sparse dot"})
    if (method == known) return true;
  throw nb::value_error(("unknown scoring method: " + method + ".").c_str());
}

struct ErrorBounds {};  // a namespace in Python

// The scores (n, k) of rows and their errors (n,), before uncertain rows are scored again, and the
// winners with bounds on their distances.
struct ScoredRows {
  std::vector<float> scores, error, best, second, upper, lower;
  std::vector<int32_t> winner;
  std::vector<uint8_t> certain;

  void add(const ScoreBlock& block, size_t count) {
    best.insert(best.end(), block.best, block.best + count);
    second.insert(second.end(), block.second, block.second + count);
    upper.insert(upper.end(), block.upper, block.upper + count);
    lower.insert(lower.end(), block.lower, block.lower + count);
    winner.insert(winner.end(), block.winner, block.winner + count);
    certain.insert(certain.end(), block.is_certain, block.is_certain + count);
  }
};

ScoredRows find_scores(const GivenRows& rows, const int32_t* H, size_t k,
                       const std::string& method) {
  PackedCentroids C(rows, H, k);
  if (method == "bytes") C.pack_bytes(rows);
  if (method == "pairs") C.pack_pairs(rows);
  const bool has_dots = method == "dot" || method == "sparse dot";
  ScoredRows found;
  ScoreBlock block(rows);
  uint32_t numbers[BLOCK_ROWS];
  for (size_t first = 0; first < rows.n; first += BLOCK_ROWS) {
    const size_t count = std::min(BLOCK_ROWS, rows.n - first);
    for (size_t r = 0; r < count; ++r) numbers[r] = uint32_t(first + r);
    block.fetch(C, numbers, count);
    block.find_scores(C, numbers, count);
    for (size_t r = 0; r < count; ++r) {
      const size_t j = first + r;
      for (size_t c = 0; c < k; ++c) {
        float score = block.score_of(r, c, C);
        if (has_dots) {
          score = rows.dot(j, rows.row(j), C.values.data() + c * rows.p) - C.bias[c];
          for (uint32_t l : rows.missing(j)) score += C.missing_gain[size_t(l) * C.kp + c];
        }
        found.scores.push_back(score);
      }
      found.error.push_back(block.error[r]);
    }
    if (method == "few") block.find_winners(C, numbers, count);
    else block.score(C, numbers, count);
    found.add(block, count);
  }
  return found;
}

nb::tuple score_rows(const GridRows& G, const GridRows& missing, const GridRows& H,
                     const std::string& method, const std::string& isa) {
  const size_t n = G.shape(0), p = G.shape(1), d = p / 2, k = H.shape(0);
  check_columns(d), check_clusters(k);
  check_shape("G must have shape (n, 2 d)", G, {n, 2 * d});
  check_shape("missing must have shape (n, d)", missing, {n, d});
  check_shape("H must have shape (k, 2 d)", H, {k, p});
  const Simd* simd = choose_simd(isa);
  if (!supports_method(method, isa, k) || (method == "bytes" && p > MAX_BYTE_VALUES))
    throw nb::value_error((method + " is not available for these rows.").c_str());
  const GivenRows rows(G, missing, method[0] == 's' || method == "pairs", simd);
  ScoredRows found = find_scores(rows, H.data(), k, method);
  return nb::make_tuple(to_array(std::move(found.scores), n, k),
                        to_array(std::move(found.error), n), to_array(std::move(found.winner), n),
                        to_array(std::move(found.best), n), to_array(std::move(found.second), n),
                        to_array(std::move(found.upper), n), to_array(std::move(found.lower), n),
                        to_array(std::move(found.certain), n));
}

nb::tuple certify(const Floats& norm2, const Floats& error, const Floats& best,
                  const Floats& second, const std::string& isa) {
  const size_t n = norm2.shape(0);
  check_shape("error must have shape (n,)", error, {n});
  check_shape("best must have shape (n,)", best, {n});
  check_shape("second must have shape (n,)", second, {n});
  std::vector<float> upper(n), lower(n);
  std::vector<uint8_t> certain(n);
  choose_simd(isa)->certify(n, norm2.data(), error.data(), best.data(), second.data(), upper.data(),
                            lower.data(), certain.data());
  return nb::make_tuple(to_array(std::move(upper), n), to_array(std::move(lower), n),
                        to_array(std::move(certain), n));
}

nb::tuple loosen_bounds(const Int32s& labels, const Floats& drift, const Floats& upper,
                        const Floats& lower, const std::string& isa) {
  const size_t n = labels.shape(0);
  check_below("labels", labels, drift.shape(0));
  check_shape("upper must have shape (n,)", upper, {n});
  check_shape("lower must have shape (n,)", lower, {n});
  DriftGroup all;
  for (size_t c = 0; c < drift.shape(0); ++c) all.add(drift.data()[c], int32_t(c));
  std::vector<float> above(upper.data(), upper.data() + n), below(lower.data(), lower.data() + n);
  std::vector<uint8_t> open(n);
  choose_simd(isa)->loosen_bounds(n, labels.data(), drift.data(), all, {}, above.data(),
                                  below.data(), nullptr, open.data());
  return nb::make_tuple(to_array(std::move(above), n), to_array(std::move(below), n),
                        to_array(std::move(open), n));
}

auto near_bars(const Floats& norm2, const Int64s& limit, const Floats& error) {
  const size_t n = norm2.shape(0);
  check_shape("limit must have shape (n,)", limit, {n});
  check_shape("error must have shape (n,)", error, {n});
  std::vector<float> bars(n);
  for (size_t j = 0; j < n; ++j)
    bars[j] = near_bar(norm2.data()[j], float(limit.data()[j]) * float(1 / (GRID * GRID)),
                       error.data()[j]);
  return to_array(std::move(bars), n);
}

auto quantized_errors(const Floats& length, const Floats& row_rest, const Floats& largest_norm,
                      const Floats& centroid_rest) {
  const size_t n = length.shape(0);
  check_shape("row_rest must have shape (n,)", row_rest, {n});
  check_shape("largest_norm must have shape (n,)", largest_norm, {n});
  check_shape("centroid_rest must have shape (n,)", centroid_rest, {n});
  std::vector<float> errors(n);
  for (size_t j = 0; j < n; ++j)
    errors[j] = quantized_error(length.data()[j], row_rest.data()[j], largest_norm.data()[j],
                                centroid_rest.data()[j]);
  return to_array(std::move(errors), n);
}

}  // namespace

void bind_error_bounds(nb::module_& m) {
  nb::class_<ErrorBounds> bounds(
      m, "ErrorBounds", "The error bounds of exact passes, for rows with any coordinates.");
  bounds.attr("EXACT_COLUMNS") = EXACT_COLUMNS;
  bounds
      .def_static("supports_method", &supports_method, "method"_a, "isa"_a, "k"_a,
                  "Return whether this scoring method is supported.")
      .def_static(
          "score_rows", &score_rows, "G"_a, "missing"_a, "H"_a, "method"_a, "isa"_a,
          "Score rows G (n, p) for centroids H (k, p), both centred and in grid units; return "
          "scores, errors, winners, best, second, upper, lower, certain.")
      .def_static("certify", &certify, "norm2"_a, "error"_a, "best"_a, "second"_a, "isa"_a,
                  "Return upper, lower and certain, as proven by two scores.")
      .def_static("loosen_bounds", &loosen_bounds, "labels"_a, "drift"_a, "upper"_a, "lower"_a,
                  "isa"_a,
                  "Loosen the bounds by the drift of the centroids; return upper, lower, open.")
      .def_static("near_bars", &near_bars, "norm2"_a, "limit"_a, "error"_a,
                  "Return a lower bound on the score of a centroid below a squared distance.")
      .def_static("quantized_errors", &quantized_errors, "length"_a, "row_rest"_a, "largest_norm"_a,
                  "centroid_rest"_a, "Return the error that 8 or 16 bits add to a score.")
      .def_static("float_above", &float_above, "x"_a, "Return a float32 that is at least x.")
      .def_static("length_above", &length_above, "D"_a,
                  "Return a float32 that is at least the root of D.")
      .def_static("length_below", &length_below, "D2"_a,
                  "Return a float32 that is at most the root of D2.")
      .def_static(
          "is_beyond", &is_beyond, "own"_a, "limit"_a, "distance"_a,
          "Return whether a candidate at this distance from a row's own centroid is farther "
          "from the row than the limit.")
      .def_static("candidate_bar", &candidate_bar, "best"_a, "error"_a,
                  "Return a lower bound on the score of a centroid that may win.")
      .def_static("ruled_out_score", &ruled_out_score, "bar"_a, "error"_a,
                  "Return an upper bound on the float32 scores of centroids below the bar.");
}

}  // namespace rekmeans
