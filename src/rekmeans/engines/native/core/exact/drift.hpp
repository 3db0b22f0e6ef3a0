// How far centroids moved between two passes, and which rows their bounds still prove something of.
#pragma once
#include <vector>

#include "../simd/simd.hpp"

namespace rekmeans {

// moved (k,): the distance between each centroid C (k, p) and the last one of its number, rounded
// up.
void centroid_drift(const int32_t* C, const int32_t* last, size_t k, size_t p, size_t threads,
                    float* moved);

// Bounds of one row: at most upper to its own centroid, at least lower to any other.
struct RowBounds {
  float *upper, *lower;
};

// What the bounds of rows lose from one pass to the next, where the caller keeps labels and bounds.
struct Drift {
  Drift(const int32_t* C, const int32_t* last, size_t k, size_t p, const Simd* simd);

  // Loosen the bounds of n rows; the numbers of those that may have another label now.
  std::vector<int64_t> open_rows(const int32_t* labels, const RowBounds& bounds, size_t n) const;

  const Simd* simd;
  std::vector<float> moved;
  DriftGroup all;
};

}  // namespace rekmeans
