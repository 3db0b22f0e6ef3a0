#include "panel_seeding.hpp"

#include <algorithm>

namespace rekmeans {
namespace {

// largest weight times columns for which two sums of distances, at most 2^48 each, fit
constexpr int64_t SMALL_MASS = 1 << 13;

// Return the weights divided by the largest power of two that divides all of them.
std::vector<int64_t> reduced_weights(const Rows& rows) {
  if (rows.weights.empty()) return std::vector<int64_t>(rows.n, 1);
  std::vector<int64_t> weights = rows.weights;
  int64_t bits = 0;
  for (int64_t w : weights) bits |= w;
  const int64_t common = std::max<int64_t>(1, bits & -bits);
  for (int64_t& w : weights) w /= common;
  return weights;
}

bool has_small_mass(const std::vector<int64_t>& weights, size_t d) {
  int64_t mass = 0;
  for (int64_t w : weights) mass += std::min(w, SMALL_MASS);
  return mass * int64_t(d) < SMALL_MASS;
}

}  // namespace

PanelSeeding::PanelSeeding(const RowPanels& panels_, std::vector<int32_t> overall_)
    : Seeding(panels_.rows, std::move(overall_), 1, false),
      panels(panels_),
      weights(reduced_weights(panels_.rows)),
      sums_are_small(has_small_mass(weights, panels_.rows.d)) {}

size_t PanelSeeding::find_addition(const int32_t* P, size_t count) {
  panels.distances(P, count, distances);
  if (count == 1) return 0;
  return sums_are_small ? find_addition_of<int64_t>(count) : find_addition_of<int128>(count);
}

template <class Sum>
size_t PanelSeeding::find_addition_of(size_t count) const {
  std::vector<Sum> gains(count, 0);
  for (size_t i = 0; i < count; ++i) {
    const int64_t *D = to_candidate(i), *near = nearest.distance.data();
    Sum gain = 0;
    for (size_t j = 0; j < rows.n; ++j)
      gain += Sum(weights[j]) * Sum(near[j] - std::min(D[j], near[j]));
    gains[i] = gain;
  }
  return size_t(std::max_element(gains.begin(), gains.end()) - gains.begin());
}

void PanelSeeding::add(const int32_t*, size_t candidate) {
  const int64_t* D = to_candidate(candidate);
  for (size_t j = 0; j < rows.n; ++j) update_two_nearest(j, int32_t(k), D[j]);
  to_centroids.insert(to_centroids.end(), D, D + panels.stride);
}

Swap PanelSeeding::find_swap(const int32_t* P, size_t count) {
  panels.distances(P, count, distances);
  return sums_are_small ? find_swap_of<int64_t>(count) : find_swap_of<int128>(count);
}

// As ScoredSeeding::find_swap, but for all rows. Candidates that are not near subtract nothing.
template <class Sum>
Swap PanelSeeding::find_swap_of(size_t count) const {
  std::vector<Sum> lost(k, 0), gains((k + 1) * count, 0);  // the last row of gains is for all rows
  const int64_t *near = nearest.distance.data(), *next = second.distance.data();
  for (size_t j = 0; j < rows.n; ++j) {
    const Sum w = weights[j];
    const size_t own = size_t(nearest.index[j]);
    lost[own] += w * Sum(next[j] - near[j]);
    for (size_t i = 0; i < count; ++i) {
      const int64_t D = distances[i * panels.stride + j], shorter = std::min(D, near[j]);
      gains[k * count + i] += w * Sum(near[j] - shorter);
      gains[own * count + i] += w * Sum((next[j] - near[j]) - (std::min(D, next[j]) - shorter));
    }
  }
  return best_swap(gains, lost, count);
}

void PanelSeeding::replace(const int32_t* taken, const Swap& swap) {
  const int32_t q = int32_t(swap.centroid);
  const int64_t* D = to_candidate(swap.candidate);
  std::copy(taken, taken + rows.p, C.begin() + ptrdiff_t(swap.centroid * rows.p));
  std::copy(D, D + panels.stride, to_centroids.begin() + ptrdiff_t(swap.centroid * panels.stride));
  for (size_t j = 0; j < rows.n; ++j) {
    if (nearest.index[j] != q && second.index[j] != q) {
      update_two_nearest(j, q, D[j]);
      continue;
    }
    nearest.set(j, INFINITE_DISTANCE, -1), second.set(j, INFINITE_DISTANCE, -1);
    for (size_t c = 0; c < k; ++c)
      update_two_nearest(j, int32_t(c), to_centroids[c * panels.stride + j]);
  }
}

}  // namespace rekmeans
