#include "packed_centroids.hpp"

#include <algorithm>
#include <cmath>

namespace rekmeans {
namespace {

// smallest numbers of centroids and of products per row for which 8-bit scores are faster
// (measured):
constexpr size_t QUANTIZE_FROM = 64;
// a third faster on MNIST with 256 centroids, a quarter slower on covtype with 100
constexpr size_t QUANTIZE_PRODUCTS = 1 << 17;

}  // namespace

PackedCentroids::PackedCentroids(const Rows& rows, const int32_t* C, size_t k_, size_t threads_)
    : k(k_),
      grid(k_ * rows.p),
      square(k_, 0),
      values(k_ * rows.p),
      threads(threads_for(k_ * rows.p, threads_)) {
  const size_t p = rows.p, width = rows.simd->width;
  kp = (k + width - 1) / width * width;
  packed.assign(kp * p, 0);
  bias.assign(kp, NEVER_WINS);
  if (!rows.is_complete) missing_gain.assign(rows.d * kp, 0);
  parallel(threads, k, [&](size_t, size_t c) { pack_one(rows, C, c); });
  const double norm = std::sqrt(double(*std::max_element(square.begin(), square.end()))) / GRID;
  largest_norm = float_above(norm);
  largest_bias = float_above(norm * norm / 2);
  complete_error = score_error(p, largest_norm, largest_bias);
}

void PackedCentroids::pack_one(const Rows& rows, const int32_t* C, size_t c) {
  const size_t p = rows.p, d = rows.d, panel = rows.simd->panel;
  int32_t* h = grid.data() + c * p;
  float* f = values.data() + c * p;
  for (size_t l = 0; l < p; ++l) {
    h[l] = C[c * p + l] - rows.base[l];
    f[l] = float(h[l]) * float(1 / GRID);
    square[c] += int64_t(h[l]) * h[l];
  }
  const size_t first = c / panel * panel;
  rows.pack(f, packed.data() + first * p + (c - first), std::min(panel, kp - first));
  for (size_t l = 0; l < d && !rows.is_complete; ++l)
    missing_gain[l * kp + c] = (f[l] * f[l] + f[d + l] * f[d + l]) / 2;
  bias[c] = float(double(square[c]) / (2 * GRID * GRID));
}

float PackedCentroids::error(float norm2, size_t n_missing) const {
  return error_of_row(complete_error, norm2, n_missing, largest_norm, largest_bias);
}

void PackedCentroids::pack_bytes_if_fast(const Rows& rows) {
  const bool is_large =
      k >= QUANTIZE_FROM && kp * rows.p >= QUANTIZE_PRODUCTS && rows.p <= MAX_BYTE_VALUES;
  if (is_large && rows.simd->quantize_row && rows.has_dense_values()) pack_bytes(rows);
}

void PackedCentroids::pack_bytes(const Rows& rows) {
  quads = (rows.p + 3) / 4;
  int8.assign(kp * quads * 4, 0);
  int8_scale.assign(kp, 0);
  int8_offset.assign(kp, 0);
  std::vector<double> errors(k);
  parallel(threads, k,
           [&](size_t, size_t c) { pack_bytes_of(rows.p, rows.simd->panel, c, &errors[c]); });
  int8_error = float_above(*std::max_element(errors.begin(), errors.end()));
}

void PackedCentroids::pack_bytes_of(size_t p, size_t panel, size_t c, double* error) {
  const float* h = values.data() + c * p;
  float largest = 0;
  for (size_t l = 0; l < p; ++l) largest = std::max(largest, std::fabs(h[l]));
  int8_scale[c] = largest / LARGEST_BYTE;
  const float inverse = largest > 0 ? LARGEST_BYTE / largest : 0;
  const size_t first = c / panel * panel, span = std::min(panel, kp - first);
  int8_t* lane = int8.data() + first * quads * 4 + (c - first) * 4;
  double gap2 = 0;
  for (size_t l = 0; l < p; ++l) {
    const int q = int(std::lrint(h[l] * inverse));
    const double gap = double(h[l]) - double(int8_scale[c]) * q;
    lane[l / 4 * span * 4 + l % 4] = int8_t(q);
    int8_offset[c] += 128 * q;
    gap2 += gap * gap;
  }
  *error = std::sqrt(gap2);
}

void PackedCentroids::pack_pairs(const Rows& rows) {
  pairs.assign(kp * rows.p, 0);
  pair_scale.assign(kp, 0);
  std::vector<double> errors(k);
  parallel(threads, k,
           [&](size_t, size_t c) { pack_pairs_of(rows.p, rows.simd->panel, c, &errors[c]); });
  pair_error = float_above(*std::max_element(errors.begin(), errors.end()));
}

void PackedCentroids::pack_pairs_of(size_t p, size_t panel, size_t c, double* error) {
  const float* h = values.data() + c * p;
  float largest = 0;
  for (size_t l = 0; l < p; ++l) largest = std::max(largest, std::fabs(h[l]));
  const float length = float(std::sqrt(double(square[c])) / GRID);
  const float scale = MEASURED_UP * std::max(length / LONGEST_PAIRS, largest / LARGEST_OF_PAIR);
  const float inverse = scale > 0 ? 1 / scale : 0;
  const size_t first = c / panel * panel, span = std::min(panel, kp - first), d = p / 2;
  int16_t* lane = pairs.data() + first * p + (c - first) * 2;
  constexpr float SHIFT = 12582912.0f;  // 1.5 * 2^23: adding it rounds to an integer
  double gap2 = 0;
  for (size_t l = 0; l < p; ++l) {
    const float q = (h[l] * inverse + SHIFT) - SHIFT;
    const double gap = double(h[l]) - double(scale) * q;
    lane[(l < d ? l : l - d) * span * 2 + (l < d ? 0 : 1)] = int16_t(q);
    gap2 += gap * gap;
  }
  pair_scale[c] = scale;
  *error = std::sqrt(gap2);
}

}  // namespace rekmeans
