// Exact distances of panels of rows to points: sums of squares in float64, converted to integers
// before they could be rounded.
#pragma once
#include "vectors.hpp"

namespace rekmeans {
namespace {

constexpr int POINTS_AT_ONCE = 4;             // number of points whose sums fit into registers
constexpr double GRID_SQUARED = GRID * GRID;  // squared grid units per unit

// The distances of the V rows of a panel to COUNT points, (COUNT, V).
template <int COUNT>
inline void add_panel_distances(const float* panel, size_t d, const double* H, vl (*D)[2]) {
  for (size_t from = 0; from < d; from += EXACT_COLUMNS) {
    const size_t to = d - from < EXACT_COLUMNS ? d : from + EXACT_COLUMNS;
    vd sum[COUNT][2] = {};
    for (size_t half = 0; half < 2 * d; half += d)
      for (size_t l = half + from; l < half + to; ++l) {
        const vd low = to_double(panel + l * V), high = to_double(panel + l * V + DV);
        REKMEANS_UNROLL(4)
        for (int c = 0; c < COUNT; ++c) {
          const vd h = broadcast(H[size_t(c) * 2 * d + l]), a = low - h, b = high - h;
          sum[c][0] = fused(a, a, sum[c][0]), sum[c][1] = fused(b, b, sum[c][1]);
        }
      }
    REKMEANS_UNROLL(4)
    for (int c = 0; c < COUNT; ++c) {
      D[c][0] += to_integer(sum[c][0] * GRID_SQUARED);
      D[c][1] += to_integer(sum[c][1] * GRID_SQUARED);
    }
  }
}

inline void panel_distances(const float* panel, size_t d, const double* H, size_t count,
                            vl (*D)[2]) {
  for (int c = 0; c < POINTS_AT_ONCE; ++c) D[c][0] = D[c][1] = vl{};
  switch (count) {
    case 1: return add_panel_distances<1>(panel, d, H, D);
    case 2: return add_panel_distances<2>(panel, d, H, D);
    case 3: return add_panel_distances<3>(panel, d, H, D);
    default: return add_panel_distances<POINTS_AT_ONCE>(panel, d, H, D);
  }
}

void grid_distances(const float* panels, size_t n_panels, size_t d, const double* H, size_t count,
                    int64_t* out) {
  vl D[POINTS_AT_ONCE][2];
  for (size_t first = 0; first < count; first += POINTS_AT_ONCE) {
    const size_t here = count - first < POINTS_AT_ONCE ? count - first : POINTS_AT_ONCE;
    for (size_t i = 0; i < n_panels; ++i) {
      panel_distances(panels + i * 2 * d * V, d, H + first * 2 * d, here, D);
      for (size_t c = 0; c < here; ++c) {
        int64_t* at = out + ((first + c) * n_panels + i) * V;
        store(at, D[c][0]), store(at + DV, D[c][1]);
      }
    }
  }
}

void grid_nearest(const float* panels, size_t n_panels, size_t d, const double* H, size_t k,
                  int64_t* out) {
  vl D[POINTS_AT_ONCE][2];
  for (size_t i = 0; i < n_panels; ++i) {
    vl least[2] = {}, index[2] = {};
    for (size_t first = 0; first < k; first += POINTS_AT_ONCE) {
      const size_t here = k - first < POINTS_AT_ONCE ? k - first : POINTS_AT_ONCE;
      panel_distances(panels + i * 2 * d * V, d, H + first * 2 * d, here, D);
      for (size_t c = 0; c < here; ++c)
        for (int half = 0; half < 2; ++half) {
          const vl better = D[c][half] < least[half];
          const bool is_first = first + c == 0;
          least[half] = is_first ? D[c][half] : select(better, D[c][half], least[half]);
          index[half] =
              is_first ? index[half] : select(better, vl{} + int64_t(first + c), index[half]);
        }
    }
    store(out + i * V, index[0]), store(out + i * V + DV, index[1]);
  }
}

}  // namespace
}  // namespace rekmeans
