#include "row_panels.hpp"

namespace rekmeans {
namespace {

// values that fit into the second-level cache together with their distances
constexpr size_t MAX_PANEL_VALUES = 1 << 16;

size_t padded(size_t n, size_t width) { return (n + width - 1) / width * width; }

}  // namespace

bool RowPanels::is_faster(const Rows& rows) {
  return rows.has_dense_values() && rows.n * rows.p <= MAX_PANEL_VALUES;
}

RowPanels::RowPanels(const Rows& rows_)
    : rows(rows_), stride(padded(rows_.n, rows_.simd->width)), panels(stride * rows_.p, 0) {
  const size_t width = rows.simd->width;
  RowBuffer buffer;
  for (size_t j = 0; j < rows.n; ++j) {
    const uint32_t number = uint32_t(j);
    const float* g;
    rows.fetch(&number, 1, buffer, &g);
    float* lane = panels.data() + j / width * width * rows.p + j % width;
    for (size_t l = 0; l < rows.p; ++l) lane[l * width] = g[l];
    if (rows.missing(j).count) incomplete.push_back(number);
  }
}

std::vector<double> RowPanels::points(const int32_t* P, size_t count) const {
  std::vector<double> H(count * rows.p);
  for (size_t i = 0; i < count; ++i)
    for (size_t l = 0; l < rows.p; ++l)
      H[i * rows.p + l] = double(P[i * rows.p + l] - rows.base[l]) / GRID;
  return H;
}

void RowPanels::distances(const int32_t* P, size_t count, std::vector<int64_t>& D) const {
  const std::vector<double> H = points(P, count);
  D.resize(count * stride);
  rows.simd->grid_distances(panels.data(), stride / rows.simd->width, rows.d, H.data(), count,
                            D.data());
  for (uint32_t j : incomplete)
    for (uint32_t l : rows.missing(j))
      for (size_t i = 0; i < count; ++i) {
        const int64_t cos = P[i * rows.p + l] - rows.base[l];
        const int64_t sin = P[i * rows.p + rows.d + l] - rows.base[rows.d + l];
        D[i * stride + j] -= cos * cos + sin * sin;
      }
}

void RowPanels::nearest(const int32_t* C, size_t k, std::vector<int64_t>& index) const {
  const std::vector<double> H = points(C, k);
  index.resize(stride);
  rows.simd->grid_nearest(panels.data(), stride / rows.simd->width, rows.d, H.data(), k,
                          index.data());
  if (!incomplete.empty()) find_nearest_of_incomplete(C, k, index);
}

void RowPanels::find_nearest_of_incomplete(const int32_t* C, size_t k,
                                           std::vector<int64_t>& index) const {
  std::vector<int32_t> h(k * rows.p);
  for (size_t i = 0; i < h.size(); ++i) h[i] = C[i] - rows.base[i % rows.p];
  RowBuffer buffer;
  for (uint32_t j : incomplete) {
    const float* g;
    rows.fetch(&j, 1, buffer, &g);
    int64_t least = 0;
    for (size_t c = 0; c < k; ++c) {
      const int64_t D = rows.distance(j, g, h.data() + c * rows.p, 0);
      if (c == 0 || D < least) least = D, index[j] = int64_t(c);
    }
  }
}

}  // namespace rekmeans
