// The movement of centroids between two passes, and the rows whose bounds still prove their labels.
#pragma once
#include <vector>

#include "../simd/simd.hpp"

namespace rekmeans {

// moved (k,): the distance of each centroid C (k, p) from its last position, rounded up.
void centroid_drift(const int32_t* C, const int32_t* last, size_t k, size_t p, size_t threads,
                    float* moved);

// Bounds on distances of rows: `upper` to its own centroid, `lower` to all others.
struct RowBounds {
  float *upper, *lower;
};

// The drift by which the bounds of rows are loosened between two passes, if the caller stores
// labels and bounds.
struct Drift {
  Drift(const int32_t* C, const int32_t* last, size_t k, size_t p, const Simd* simd);

  // Loosen the bounds of n rows, and return the numbers of the rows whose labels may have changed.
  std::vector<int64_t> open_rows(const int32_t* labels, const RowBounds& bounds, size_t n) const;

  const Simd* simd;
  std::vector<float> moved;
  DriftGroup all;
};

}  // namespace rekmeans
