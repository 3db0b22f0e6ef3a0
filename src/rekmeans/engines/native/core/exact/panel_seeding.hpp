// Seeding on a small table: compute the distances of all rows to every candidate and centroid.
#pragma once
#include "row_panels.hpp"
#include "seeding.hpp"

namespace rekmeans {

struct PanelSeeding : Seeding {
  PanelSeeding(const RowPanels& panels, std::vector<int32_t> overall);

 protected:
  size_t find_addition(const int32_t* P, size_t count) override;
  void add(const int32_t* taken, size_t candidate) override;
  Swap find_swap(const int32_t* P, size_t count) override;
  void replace(const int32_t* taken, const Swap& swap) override;

 private:
  template <class Sum>
  size_t find_addition_of(size_t count) const;
  template <class Sum>
  Swap find_swap_of(size_t count) const;
  const int64_t* to_candidate(size_t i) const { return distances.data() + i * panels.stride; }

  const RowPanels& panels;
  // (n,) divided by their common power of two, which affects no choice
  std::vector<int64_t> weights;
  bool sums_are_small;                // sums of weights times distances fit into 64 bits
  std::vector<int64_t> distances;     // (count, stride) to the last candidates
  std::vector<int64_t> to_centroids;  // (k, stride)
};

}  // namespace rekmeans
