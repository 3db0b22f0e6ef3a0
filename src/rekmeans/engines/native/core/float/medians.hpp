// Weighted medians of each column and cluster.
#pragma once
#include <vector>

#include "../simd/simd.hpp"

namespace rekmeans {

// The weights V of rows in clusters: (n,) together with labels (n,), or (n, k) if labels are null.
struct RowWeights {
  const double* V;
  const int32_t* labels;
  size_t n, k;
};

// Medians (k, p): the smallest observed value at which the running weight reaches half the weight
// of the cluster. order (p, n) sorts each column, NaN last. A cluster without weight keeps its
// value in C (k, p).
std::vector<double> medians(const FloatTable& F, const RowWeights& weights, const int32_t* order,
                            const double* C, size_t threads);

}  // namespace rekmeans
