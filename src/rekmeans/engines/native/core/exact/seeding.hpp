// Starting centroids as they are chosen: every row's two nearest so far, exact; float32 only says which to compute.
#pragma once
#include "scoring.hpp"

namespace rekmeans {

struct Seeding {
  explicit Seeding(const Rows& rows);

  // Weighted sums of the distance to the nearest centroid (of the weights alone before there is one), a part each.
  std::vector<int128> part_masses() const;
  // The first row of the part whose running sum exceeds `goal`.
  size_t row_at(size_t part, int128 goal) const;

  // Candidates P (count, p) in grid units, complete. Take the one that leaves the least loss as a new centroid.
  void add_best(const int32_t* P, size_t count);
  // Put the best candidate in the place of the best centroid to lose, if that lowers the loss.
  bool swap_best(const int32_t* P, size_t count);

  const Rows& rows;
  std::vector<int32_t> C;  // (k, p)
  size_t k = 0;

 private:
  struct Swap;  // a candidate, and the centroid it replaces

  // Calls visit(thread, j, i, D) for every row and candidate whose exact distance D is below limit(j).
  template <class Limit, class Visit>
  void visit_near(const PackedCentroids& P, const Limit& limit, const Visit& visit) const;
  template <class Limit, class Visit>
  void visit_block(const PackedCentroids& P, ScoreBlock& block, const Limit& limit, const Visit& visit) const;

  std::vector<double> candidate_distances(const PackedCentroids& P) const;  // (k,) at most that to the nearest one
  Swap best_swap(const int32_t* P, size_t count) const;
  void take_if_near(size_t j, int32_t c, int64_t D);  // centroid c among the two nearest of row j
  void find_two_nearest(const PackedCentroids& all, size_t j, ScoreBlock& block, size_t r);
  void find_two_nearest(const std::vector<std::vector<uint32_t>>& numbers);  // of the rows of each part
  bool all_rows_are_centroids() const;

  std::vector<int64_t> nearest_distance, second_distance;  // (n,)
  std::vector<int32_t> nearest, second;
};

}  // namespace rekmeans
