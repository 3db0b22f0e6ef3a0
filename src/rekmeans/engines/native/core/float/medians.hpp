// Weighted medians of the columns of a table, a cluster each.
#pragma once
#include <vector>

#include "../simd/simd.hpp"

namespace rekmeans {

// The weights V of rows in clusters, (n,) beside labels (n,), or (n, k) where labels are null.
struct RowWeights {
  const double* V;
  const int32_t* labels;
  size_t n, k;
};

// Medians (k, p): the smallest observed value up to which lies half the weight of a cluster. order
// (p, n) sorts each column, NaN last. C (k, p) stays where nothing weighs.
std::vector<double> medians(const FloatTable& F, const RowWeights& weights, const int32_t* order,
                            const double* C, size_t threads);

}  // namespace rekmeans
