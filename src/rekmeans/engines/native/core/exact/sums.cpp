#include "sums.hpp"

#include <cmath>

namespace rekmeans {
namespace {

template <class T>
void add_to(std::vector<T>& sums, const std::vector<T>& more) {
  for (size_t i = 0; i < more.size(); ++i) sums[i] += more[i];
}

}  // namespace

void ClusterSums::allocate(const Rows& rows, size_t k) {
  mass.assign(k, 0);
  if (rows.has_unit_weights) totals.assign(k * rows.p, 0);
  else weighted_totals.assign(k * rows.p, 0);
  if (!rows.is_complete) missing.assign(k * rows.d, 0);
}

void ClusterSums::add_row(const Rows& rows, size_t j, const float* g, size_t c, int64_t sign) {
  const int64_t w = rows.weight(j) * sign;
  if (!w) return;
  mass[c] += w;
  if (rows.has_unit_weights) rows.add_row(j, g, w, totals.data() + c * rows.p);
  else rows.add_row(j, g, w, weighted_totals.data() + c * rows.p);
  for (uint32_t l : rows.missing(j)) missing[c * rows.d + l] += w;
}

void ClusterSums::operator+=(const ClusterSums& other) {
  add_to(totals, other.totals);
  add_to(weighted_totals, other.weighted_totals);
  add_to(mass, other.mass);
  add_to(missing, other.missing);
}

// Separate IEEE operations in the order of the definition.
void ClusterSums::centroids(const Rows& rows, bool rectified, const int32_t* old, int32_t* out,
                            size_t threads) const {
  const size_t p = rows.p, d = rows.d, k = mass.size();
  const bool unit = rows.has_unit_weights;
  parallel(threads_for(k * p, threads), k, [&](size_t, size_t c) {
    for (size_t l = 0; l < d; ++l) {
      const size_t cos = c * p + l, sin = cos + d;
      const double a = unit ? double(unit_resultant(rows, c, l)) : double(resultant(rows, c, l));
      const double b =
          unit ? double(unit_resultant(rows, c, d + l)) : double(resultant(rows, c, d + l));
      const double divisor =
          rectified ? std::sqrt(a * a + b * b) : double(observed_weight(c, l, d));
      if (divisor > 0) {
        out[cos] = int32_t(std::rint(rectified ? a / divisor * GRID : a / divisor));
        out[sin] = int32_t(std::rint(rectified ? b / divisor * GRID : b / divisor));
      } else {
        out[cos] = old[cos], out[sin] = old[sin];
      }
    }
  });
}

// sum w |f|^2 - 2 sum S.m + the sum over c, l of the observed weight times |m|^2.
int128 ClusterSums::objective(const Rows& rows, const int32_t* C, size_t threads) const {
  const size_t p = rows.p, d = rows.d, k = mass.size();
  std::vector<int128> parts(k, 0);
  parallel(threads_for(k * p, threads), k, [&](size_t, size_t c) {
    for (size_t l = 0; l < p; ++l) {
      const int64_t m = C[c * p + l];
      parts[c] += int128(m * m) * observed_weight(c, l < d ? l : l - d, d);
      if (rows.has_unit_weights) parts[c] -= int128(2 * m) * unit_resultant(rows, c, l);
      else parts[c] -= int128(2 * m) * resultant(rows, c, l);
    }
  });
  int128 sum = rows.square;
  for (int128 part : parts) sum += part;
  return sum;
}

}  // namespace rekmeans
