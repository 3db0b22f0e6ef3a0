// Integer sums of the rows of each cluster. A run keeps them between passes, and each thread adds
// its changes.
#pragma once
#include "rows.hpp"

namespace rekmeans {

struct ClusterSums {
  std::vector<int64_t> totals;          // (k, p) sums of g
  std::vector<int128> weighted_totals;  // (k, p) sums of w g, if weights other than 0 and 1 exist
  std::vector<int64_t> mass,
      missing;  // (k,), (k, d): the weight of the rows, and of their missing cells

  bool is_empty() const { return mass.empty(); }
  void allocate(const Rows& rows, size_t k);
  void add_row(const Rows& rows, size_t j, const float* g, size_t c, int64_t sign);
  void operator+=(const ClusterSums& other);

  // Compute the centroids (k, p) of these sums, rectified or mean. If a sum is 0, keep the value in
  // `old`.
  void centroids(const Rows& rows, bool rectified, const int32_t* old, int32_t* out,
                 size_t threads) const;

  // Return the sum of w |f - m|^2 over the rows and their centroids C (k, p).
  int128 objective(const Rows& rows, const int32_t* C, size_t threads) const;

  int64_t observed_weight(size_t c, size_t l, size_t d) const {
    return mass[c] - (missing.empty() ? 0 : missing[c * d + l]);
  }
  // the sum of w f if all weights are 0 or 1, which fits into 64 bits
  int64_t unit_resultant(const Rows& rows, size_t c, size_t l) const {
    const size_t column = l < rows.d ? l : l - rows.d;
    return totals[c * rows.p + l] + int64_t(rows.base[l]) * observed_weight(c, column, rows.d);
  }
  int128 resultant(const Rows& rows, size_t c, size_t l) const {
    if (rows.has_unit_weights) return unit_resultant(rows, c, l);
    return weighted_totals[c * rows.p + l] +
           int128(int64_t(rows.base[l])) * observed_weight(c, l % rows.d, rows.d);
  }
};

}  // namespace rekmeans
