#include "sparse_rows.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "error_bounds.hpp"
#include "rounding.hpp"

namespace rekmeans {
namespace {

// smallest mean number of cells per row for which 16 bits save more than their preparation costs
constexpr double PAIRS_FROM = 32;
constexpr size_t COUNT_SAMPLE = 64;  // rows sampled to count their cells
// smallest number of centroids for which one distance is cheap compared with all of them
constexpr size_t RECHECK_FROM = 48;

}  // namespace

struct SparseRows::Zeros {
  Zeros(const SparseRows& rows) : phase(rows.d), turns(rows.d), is_inside(rows.d) {
    const PhaseMap map = rows.scales.map();
    for (size_t l = 0; l < rows.d; ++l) {
      phase[l] = rekmeans::phase(map, 0, l, map.beyond == Beyond::clip);
      turns[l] = phase_to_turns(phase[l]);
      is_inside[l] = !std::isnan(reduce_phase(phase[l])), n_inside += is_inside[l];
    }
  }
  std::vector<double> phase;
  std::vector<int64_t> turns;
  // true if a zero in this column has a phase; otherwise it is missing
  std::vector<uint8_t> is_inside;
  size_t n_inside = 0;
  int64_t square = 0;  // |f|^2 of a row of zeros
};

struct SparseRows::Workspace {
  explicit Workspace(size_t d) : x(d), values(d + 8), base(2 * d), columns(d + 8), is_given(d, 0) {}
  CellBuffer buffer() { return {x.data(), columns.data(), values.data()}; }
  std::vector<double> x, values, base;
  std::vector<uint32_t> columns;
  std::vector<uint8_t> is_given;
  std::vector<float> cells, g;  // of the part so far, in storage order
};

SparseRows::SparseRows(std::unique_ptr<CellSource> source_, ColumnScales scales_, const int64_t* w,
                       bool has_unit_weights_, size_t threads_, const Simd* simd_)
    : Rows(source_->n, source_->d, std::move(scales_), w, has_unit_weights_, threads_, simd_),
      source(std::move(source_)),
      parts(n_parts()) {
  has_pairs = simd->quantize_pairs && d <= MAX_PAIR_COLUMNS && mean_count() >= PAIRS_FROM;
  if (has_pairs) pair_step.resize(n), pair_error.resize(n);
  Zeros zeros(*this);
  for (size_t l = 0; l < d; ++l)
    if (zeros.is_inside[l]) round_correctly(reduce_phase(zeros.phase[l]), &base[l], &base[d + l]);
  base64.assign(base.begin(), base.end());
  for (int32_t b : base) zeros.square += int64_t(b) * b;
  std::vector<uint8_t> has_value_inside(n, 1);
  std::vector<int128> squares(threads, 0);
  std::vector<std::unique_ptr<Workspace>> workspaces(threads);
  parallel(threads, parts.size(), [&](size_t thread, size_t part) {
    if (!workspaces[thread]) workspaces[thread] = std::make_unique<Workspace>(d);
    map_part(part, zeros, *workspaces[thread], has_value_inside.data(), &squares[thread]);
  });
  finish(has_value_inside, squares);
}

double SparseRows::mean_count() const {
  Workspace workspace(d);
  const size_t step = std::max<size_t>(1, n / COUNT_SAMPLE);
  size_t cells = 0, counted = 0;
  for (size_t j = 0; j < n; j += step, ++counted)
    cells += source->read(j, simd, workspace.buffer());
  return counted ? double(cells) / double(counted) : 0;
}

size_t SparseRows::read_cells(size_t j, const Zeros& zeros, Workspace& workspace,
                              MissingCells& missing_, bool* has_value_inside) {
  const PhaseMap map = scales.map();
  const size_t given = source->read(j, simd, workspace.buffer());
  size_t count = given;
  *has_value_inside = true;
  if (map.beyond == Beyond::ignore) {
    size_t zeros_inside = zeros.n_inside;
    bool any = false;
    for (size_t i = 0; i < given; ++i) {
      zeros_inside -= zeros.is_inside[workspace.columns[i]];
      any |= is_inside(map, workspace.values[i], workspace.columns[i]);
    }
    *has_value_inside = any || zeros_inside;
  }
  if (*has_value_inside && zeros.n_inside == d) return count;
  for (size_t i = 0; i < given; ++i) workspace.is_given[workspace.columns[i]] = 1;
  for (size_t l = 0; l < d; ++l) {  // zeros that are clipped or missing
    if (workspace.is_given[l]) continue;
    if (!*has_value_inside) workspace.columns[count] = uint32_t(l), workspace.values[count++] = 0;
    else if (!zeros.is_inside[l]) missing_.columns.push_back(uint32_t(l));
  }
  for (size_t i = 0; i < given; ++i) workspace.is_given[workspace.columns[i]] = 0;
  return count;
}

void SparseRows::map_part(size_t part, const Zeros& zeros, Workspace& workspace,
                          uint8_t* has_value_inside, int128* square_) {
  const PhaseMap map = scales.map();
  MissingCells& absent = missing_cells[part];
  auto &stored = workspace.cells, &values = workspace.g;
  stored.clear(), values.clear();
  parts[part].ends.assign(1, 0);
  for (size_t j = part * PART_ROWS; j < n && j < (part + 1) * PART_ROWS; ++j) {
    bool inside;
    const size_t count = read_cells(j, zeros, workspace, absent, &inside);
    has_value_inside[j] = inside;
    const bool clip = map.beyond == Beyond::clip || !inside;
    int64_t row_square = zeros.square, cells_square;
    for (size_t i = 0; i < count; ++i) {
      const size_t l = workspace.columns[i];
      double& t = workspace.values[i];
      t = reduce_phase(phase(map, t, l, clip));
      if (std::isnan(t)) absent.columns.push_back(uint32_t(l));
      workspace.base[i] = base64[l], workspace.base[count + i] = base64[d + l];
      row_square -= int64_t(base[l]) * base[l] + int64_t(base[d + l]) * base[d + l];
    }
    const double *t = workspace.values.data(), *middle = workspace.base.data();
    double norm;
    const size_t end = stored.size();
    stored.resize(end + (has_pairs ? 2 : 3) * count);
    if (has_pairs) values.resize(values.size() + 2 * count);
    float* cos =
        has_pairs ? values.data() + values.size() - 2 * count : stored.data() + end + count;
    if (!simd->map_phases(t, count, middle, cos, &norm, &cells_square))
      map_phases_correctly(t, count, middle, cos, &norm, &cells_square);
    if (count) std::memcpy(stored.data() + end, workspace.columns.data(), count * sizeof(float));
    if (has_pairs)
      simd->quantize_pairs(cos, cos + count, count,
                           reinterpret_cast<int16_t*>(stored.data() + end + count), &pair_step[j],
                           &pair_error[j]);
    parts[part].ends.push_back(uint32_t(stored.size() / (has_pairs ? 2 : 3)));
    absent.end_row(j % PART_ROWS + 1);
    norm2[j] = float(norm);
    *square_ += int128(row_square + cells_square) * (inside ? weight(j) : 0);
  }
  parts[part].cells.allocate(stored.size());
  std::copy(stored.begin(), stored.end(), parts[part].cells.data);
  parts[part].values.allocate(values.size());
  std::copy(values.begin(), values.end(), parts[part].values.data);
}

bool SparseRows::should_recheck_own(size_t k, size_t) const { return k >= RECHECK_FROM; }

void SparseRows::fetch(const uint32_t*, size_t count, RowBuffer&, const float** out) const {
  std::fill(out, out + count, nullptr);
}

void SparseRows::pack(const float* h, float* lane, size_t span) const {
  for (size_t l = 0; l < d; ++l) lane[2 * l * span] = h[l], lane[(2 * l + 1) * span] = h[d + l];
}

void SparseRows::scores(const uint32_t* numbers, const float* const*, size_t count,
                        const float* packed, size_t kp, float* S) const {
  SparseRow rows[BLOCK_ROWS];
  for (size_t r = 0; r < count; ++r) rows[r] = cells(numbers[r]);
  simd->sparse_scores(rows, count, d, packed, kp, S);
}

void SparseRows::pair_scores(const uint32_t* numbers, size_t count, const int16_t* packed,
                             const float* scale, size_t kp, float* S) const {
  SparsePairs rows[BLOCK_ROWS];
  for (size_t r = 0; r < count; ++r) {
    const SparseRow row = cells(numbers[r]);
    rows[r] = {row.columns, reinterpret_cast<const int32_t*>(row.columns + row.count), row.count,
               pair_step[numbers[r]]};
  }
  simd->sparse_pair_scores(rows, count, d, packed, scale, kp, S);
}

float SparseRows::dot(size_t j, const float*, const float* h) const {
  return simd->sparse_dot(cells(j), d, h);
}

void SparseRows::prefetch_row(size_t j, bool values) const {
  const SparseRow row = cells(j);
  for (size_t i = 0; i < std::min((has_pairs ? 2 : 3) * row.count, PREFETCH_WORDS); i += 16)
    prefetch(row.columns + i);
  for (size_t i = 0; has_pairs && values && i < std::min(2 * row.count, PREFETCH_WORDS); i += 16)
    prefetch(row.cos + i);
}

template <class Total>
void SparseRows::add_cells(size_t j, int64_t w, Total* totals) const {
  const SparseRow row = cells(j);
  for (size_t i = 0; i < row.count; ++i) {
    totals[row.columns[i]] += Total(w) * int64_t(to_grid(row.cos[i]));
    totals[d + row.columns[i]] += Total(w) * int64_t(to_grid(row.sin[i]));
  }
}

void SparseRows::add_row(size_t j, const float*, int64_t w, int64_t* totals) const {
  add_cells(j, w, totals);
}

void SparseRows::add_row(size_t j, const float*, int64_t w, int128* totals) const {
  add_cells(j, w, totals);
}

void SparseRows::add_grid(size_t j, int32_t* out, RowBuffer&) const {
  const SparseRow row = cells(j);
  for (size_t i = 0; i < row.count; ++i) {
    out[row.columns[i]] += to_grid(row.cos[i]);
    out[d + row.columns[i]] += to_grid(row.sin[i]);
  }
}

int64_t SparseRows::full_distance(size_t j, const float*, const int32_t* h, int64_t h2) const {
  auto gap2 = [](float a, int64_t b) {
    const int64_t gap = to_grid(a) - b;
    return gap * gap;
  };
  const SparseRow row = cells(j);
  int64_t sum = h2;
  for (size_t i = 0; i < row.count; ++i) {
    const int64_t a = h[row.columns[i]], b = h[d + row.columns[i]];
    sum += gap2(row.cos[i], a) + gap2(row.sin[i], b) - a * a - b * b;
  }
  return sum;
}

struct SparseRows::PhaseTotals {
  std::vector<int64_t> sums, counts;
  std::vector<int128> large;  // sums that may not fit into 64 bits
};

void SparseRows::add_phase_changes(size_t j, size_t label, const Zeros& zeros, Workspace& workspace,
                                   PhaseTotals& totals) const {
  const PhaseMap map = scales.map();
  const int64_t w = weight(j);
  const size_t count = source->read(j, simd, workspace.buffer());
  for (size_t i = 0; i < count; ++i) {
    const size_t l = workspace.columns[i], to = label * d + l;
    const double t = phase(map, workspace.values[i], l, map.beyond == Beyond::clip);
    const int128 change = int128(phase_to_turns(t)) - int128(zeros.turns[l]);
    // 2^31 of them fit into 64 bits
    const bool small =
        has_unit_weights && change >= int128(INT32_MIN) && change <= int128(INT32_MAX);
    if (!small && totals.large.empty()) totals.large.resize(totals.sums.size(), 0);
    if (small) totals.sums[to] += int64_t(change);
    else totals.large[to] += change * w;
    if (std::isnan(t) != std::isnan(zeros.phase[l])) totals.counts[to] += std::isnan(t) ? -w : w;
  }
}

// Start each row from the phases of zeros, and replace those of its stored cells.
void SparseRows::phase_sums(const int32_t* labels, size_t k, int128* turns,
                            int64_t* observed) const {
  const Zeros zeros(*this);
  std::vector<int64_t> mass(k, 0);
  for (size_t j = 0; j < n; ++j) mass[size_t(labels[j])] += weight(j);
  for (size_t i = 0; i < k * d; ++i) {
    turns[i] = int128(zeros.turns[i % d]) * mass[i / d];
    observed[i] = std::isnan(zeros.phase[i % d]) ? 0 : mass[i / d];
  }
  std::vector<PhaseTotals> totals(threads);
  std::vector<std::unique_ptr<Workspace>> workspaces(threads);
  parallel(threads, parts.size(), [&](size_t thread, size_t part) {
    if (!workspaces[thread]) workspaces[thread] = std::make_unique<Workspace>(d);
    totals[thread].sums.resize(k * d, 0), totals[thread].counts.resize(k * d, 0);
    for (size_t j = part * PART_ROWS; j < n && j < (part + 1) * PART_ROWS; ++j)
      if (weight(j))
        add_phase_changes(j, size_t(labels[j]), zeros, *workspaces[thread], totals[thread]);
  });
  for (const PhaseTotals& total : totals) {
    for (size_t i = 0; i < total.sums.size(); ++i)
      turns[i] += total.sums[i], observed[i] += total.counts[i];
    for (size_t i = 0; i < total.large.size(); ++i) turns[i] += total.large[i];
  }
}

}  // namespace rekmeans
