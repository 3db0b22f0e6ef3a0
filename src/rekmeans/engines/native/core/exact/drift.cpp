#include "drift.hpp"

#include <algorithm>
#include <cmath>

#include "../parallel.hpp"
#include "error_bounds.hpp"

namespace rekmeans {
namespace {

double grid_length(const int32_t* a, const int32_t* b, size_t p) {
  double sum = 0;
  for (size_t l = 0; l < p; ++l) {
    const double gap = double(a[l]) - b[l];
    sum += gap * gap;
  }
  return std::sqrt(sum) / GRID;
}

}  // namespace

void centroid_drift(const int32_t* C, const int32_t* last, size_t k, size_t p, size_t threads,
                    float* moved) {
  parallel(threads_for(k * p, threads), k, [&](size_t, size_t c) {
    moved[c] = float_above(grid_length(C + c * p, last + c * p, p));
  });
}

Drift::Drift(const int32_t* C, const int32_t* last, size_t k, size_t p, const Simd* simd_)
    : simd(simd_), moved(k) {
  centroid_drift(C, last, k, p, 1, moved.data());
  for (size_t c = 0; c < k; ++c) all.add(moved[c], int32_t(c));
}

std::vector<int64_t> Drift::open_rows(const int32_t* labels, const RowBounds& bounds,
                                      size_t n) const {
  constexpr size_t STRIDE = 256;
  uint8_t open[STRIDE];
  std::vector<int64_t> numbers;
  for (size_t first = 0; first < n; first += STRIDE) {
    const size_t count = std::min(STRIDE, n - first);
    simd->loosen_bounds(count, labels + first, moved.data(), all, {}, bounds.upper + first,
                        bounds.lower + first, nullptr, open);
    for (size_t r = 0; r < count; ++r)
      if (open[r]) numbers.push_back(int64_t(first + r));
  }
  return numbers;
}

}  // namespace rekmeans
