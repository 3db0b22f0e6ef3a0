#include "rows.hpp"

#include <algorithm>

namespace rekmeans {

Rows::Rows(size_t n_, size_t d_, ColumnScales scales_, const int64_t* w, bool has_unit_weights_,
           size_t threads_, const Simd* simd_)
    : n(n_),
      d(d_),
      p(2 * d_),
      threads(std::max<size_t>(1, threads_)),
      simd(simd_),
      has_unit_weights(has_unit_weights_),
      base(p, 0),
      base64(p, 0),
      norm2(n),
      scales(std::move(scales_)),
      missing_cells((n + PART_ROWS - 1) / PART_ROWS) {
  if (w) weights.assign(w, w + n);
}

void Rows::finish(const std::vector<uint8_t>& has_value_inside,
                  const std::vector<int128>& squares) {
  for (int128 part : squares) square += part;
  for (const MissingCells& part : missing_cells) is_complete &= part.columns.empty();
  for (size_t j = 0; j < n; ++j)
    if (!has_value_inside[j]) {
      if (weights.empty()) weights.assign(n, 1);
      weights[j] = 0;
    }
}

void Rows::grid(size_t j, int32_t* out, RowBuffer& buffer) const {
  std::copy(base.begin(), base.end(), out);
  add_grid(j, out, buffer);
  for (uint32_t l : missing(j)) out[l] = out[d + l] = 0;
}

int64_t Rows::distance(size_t j, const float* g, const int32_t* h, int64_t h2) const {
  int64_t sum = full_distance(j, g, h, h2);
  for (uint32_t l : missing(j)) sum -= int64_t(h[l]) * h[l] + int64_t(h[d + l]) * h[d + l];
  return sum;
}

}  // namespace rekmeans
