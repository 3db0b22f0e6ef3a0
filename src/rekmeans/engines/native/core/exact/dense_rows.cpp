#include "dense_rows.hpp"

#include <algorithm>
#include <cmath>

#include "phase_sums.hpp"
#include "rounding.hpp"

namespace rekmeans {
namespace {

constexpr size_t CENTRE_SAMPLE = 64;  // rows whose mean is the base
// smallest number of centroids for which one distance is cheap compared with all of them
constexpr size_t RECHECK_FROM = 16;
constexpr size_t RECHECK_VALUES = 6000;  // and smallest number of values of all centroids

}  // namespace

DenseRows::DenseRows(DenseTable table_, ColumnScales scales_, const int64_t* w,
                     bool has_unit_weights_, bool is_stored, size_t threads_, const Simd* simd_,
                     const int32_t* given_base)
    : Rows(table_.n, table_.d, std::move(scales_), w, has_unit_weights_, threads_, simd_),
      table(table_) {
  if (given_base) base.assign(given_base, given_base + p);
  else centre_on_sample();
  base64.assign(base.begin(), base.end());
  if (is_stored) stored.allocate(n * p);
  std::vector<uint8_t> has_value_inside(n, 1);
  std::vector<int128> squares(threads, 0);
  std::vector<RowBuffer> buffers(threads);
  parallel(threads_for(n * d, threads), n_parts(), [&](size_t thread, size_t part) {
    RowBuffer& buffer = buffers[thread];
    MissingCells& absent = missing_cells[part];
    std::vector<float> unstored(is_stored ? 0 : simd->width * p);
    const size_t last = std::min(n, (part + 1) * PART_ROWS);
    uint32_t numbers[MAX_LANES];
    float* g[MAX_LANES];
    for (size_t first = part * PART_ROWS; first < last; first += simd->width) {
      const size_t count = std::min(simd->width, last - first);
      for (size_t i = 0; i < count; ++i) {
        numbers[i] = uint32_t(first + i);
        g[i] = stored.data ? stored.data + (first + i) * p : unstored.data() + i * p;
      }
      for (size_t j = first + simd->width; j < std::min(last, first + 2 * simd->width); ++j)
        table.prefetch_row(j);
      map_tile(numbers, count, g, buffer, [&](size_t i) {
        const size_t j = first + i;
        has_value_inside[j] = buffer.has_value_inside;
        absent.columns.insert(absent.columns.end(), buffer.missing.begin(), buffer.missing.end());
        absent.end_row(j % PART_ROWS + 1);
        norm2[j] = float(buffer.norm2);
        squares[thread] += int128(buffer.square) * (buffer.has_value_inside ? weight(j) : 0);
      });
    }
  });
  finish(has_value_inside, squares);
}

template <class Each>
void DenseRows::map_tile(const uint32_t* numbers, size_t count, float* const* g, RowBuffer& buffer,
                         const Each& each) const {
  const size_t width = simd->width;
  if (!scales.supports_tiles || 2 * count <= width) {
    for (size_t i = 0; i < count; ++i) map_row(numbers[i], g[i], buffer), each(i);
    return;
  }
  buffer.x.resize(width * d), buffer.cells_of_row.resize(d), buffer.observed.resize(d),
      buffer.spare.resize(p);
  float* rows[MAX_LANES];
  for (size_t i = 0; i < width; ++i) rows[i] = i < count ? g[i] : buffer.spare.data();
  double norms[MAX_LANES];
  int64_t tile_squares[MAX_LANES];
  table.read_tile(numbers, count, simd, buffer.x.data());
  const MappedTile out{rows, norms, tile_squares, buffer.observed.data()};
  const uint32_t mapped = simd->map_tile(buffer.x.data(), d, scales.map(), base64.data(), out);
  uint32_t complete = ~uint32_t(0);
  for (uint16_t bits : buffer.observed) complete &= bits;
  for (size_t i = 0; i < count; ++i, each(i - 1)) {
    if (!(mapped >> i & 1)) {
      for (size_t l = 0; l < d; ++l) buffer.cells_of_row[l] = buffer.x[l * width + i];
      map_cells(buffer.cells_of_row.data(), g[i], buffer);
      continue;
    }
    buffer.norm2 = norms[i], buffer.square = tile_squares[i], buffer.has_value_inside = true;
    buffer.missing.clear();
    for (size_t l = 0; l < d && !(complete >> i & 1); ++l)
      if (!(buffer.observed[l] >> i & 1)) buffer.missing.push_back(uint32_t(l));
  }
}

void DenseRows::map_row(size_t j, float* g, RowBuffer& buffer) const {
  buffer.cells_of_row.resize(d);
  table.read(j, buffer.cells_of_row.data());
  map_cells(buffer.cells_of_row.data(), g, buffer);
}

void DenseRows::map_cells(double* x, float* g, RowBuffer& buffer) const {
  buffer.missing.clear();
  const PhaseCheck check = scales.row_phases(x, d, simd);
  buffer.has_value_inside = check.has_value_inside;
  if (!check.are_all_small)
    for (size_t l = 0; l < d; ++l) {
      x[l] = reduce_phase(x[l]);
      if (std::isnan(x[l])) buffer.missing.push_back(uint32_t(l));
    }
  if (simd->map_phases(x, d, base64.data(), g, &buffer.norm2, &buffer.square)) return;
  map_phases_correctly(x, d, base64.data(), g, &buffer.norm2, &buffer.square);
}

void DenseRows::centre_on_sample() {
  RowBuffer buffer;
  std::vector<float> f(p);
  std::vector<double> sums(p, 0);
  std::vector<size_t> counts(d, 0);
  const size_t step = std::max<size_t>(1, n / CENTRE_SAMPLE);
  for (size_t j = 0; j < n; j += step) {
    map_row(j, f.data(), buffer);  // the base is still 0, so these are the features
    for (size_t l = 0; l < p; ++l) sums[l] += f[l];
    for (size_t l = 0; l < d; ++l) ++counts[l];
    for (uint32_t l : buffer.missing) --counts[l];
  }
  for (size_t l = 0; l < p; ++l)
    base[l] = counts[l % d] ? int32_t(sums[l] / double(counts[l % d]) * GRID) : 0;
}

bool DenseRows::should_recheck_own(size_t k, size_t values) const {
  return k >= RECHECK_FROM && values >= RECHECK_VALUES;
}

void DenseRows::fetch(const uint32_t* numbers, size_t count, RowBuffer& buffer,
                      const float** out) const {
  if (stored.data) {
    for (size_t i = 0; i < count; ++i) out[i] = stored.data + size_t(numbers[i]) * p;
    return;
  }
  buffer.cells.resize(count * p);
  float* g[MAX_LANES];
  for (size_t first = 0; first < count; first += simd->width) {
    const size_t some = std::min(simd->width, count - first);
    for (size_t i = 0; i < some; ++i) out[first + i] = g[i] = buffer.cells.data() + (first + i) * p;
    map_tile(numbers + first, some, g, buffer, [](size_t) {});
  }
}

void DenseRows::pack(const float* h, float* lane, size_t span) const {
  for (size_t l = 0; l < p; ++l) lane[l * span] = h[l];
}

void DenseRows::scores(const uint32_t*, const float* const* fetched, size_t count,
                       const float* packed, size_t kp, float* S) const {
  simd->scores(fetched, count, p, packed, kp, S);
}

float DenseRows::dot(size_t, const float* g, const float* h) const { return simd->dot(g, h, p); }

void DenseRows::prefetch_row(size_t j, bool) const {
  for (size_t l = 0; stored.data && l < std::min(p, PREFETCH_WORDS); l += 16)
    prefetch(stored.data + j * p + l);
}

void DenseRows::add_row(size_t, const float* g, int64_t w, int64_t* totals) const {
  simd->add_row(totals, g, p, w < 0);  // weights are 0 or 1
}

void DenseRows::add_row(size_t, const float* g, int64_t w, int128* totals) const {
  for (size_t l = 0; l < p; ++l) totals[l] += int128(w) * int64_t(to_grid(g[l]));
}

int64_t DenseRows::full_distance(size_t, const float* g, const int32_t* h, int64_t) const {
  return simd->grid_distance(g, h, p);
}

void DenseRows::add_grid(size_t j, int32_t* out, RowBuffer& buffer) const {
  const uint32_t number = uint32_t(j);
  const float* g;
  fetch(&number, 1, buffer, &g);
  for (size_t l = 0; l < p; ++l) out[l] += to_grid(g[l]);
}

void DenseRows::phase_sums(const int32_t* labels, size_t k, int128* turns,
                           int64_t* observed) const {
  add_phase_sums({table, weights.empty() ? nullptr : weights.data(), has_unit_weights}, scales,
                 labels, k, {threads, simd}, turns, observed);
}

}  // namespace rekmeans
