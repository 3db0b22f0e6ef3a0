// Starting centroids as they are chosen: every row's two nearest so far, exact; float32 only says which to compute.
#pragma once
#include "scoring.hpp"

namespace rekmeans {

constexpr size_t MOST_CANDIDATES = 16;

struct Seeding {
  // `overall` (p,) stands in for the missing cells of rows that become centroids; empty where none is missing.
  Seeding(const Rows& rows, std::vector<int32_t> overall, size_t threads);

  // The rows at the shares word/2^64 of the running sum of weight times the distance to the nearest centroid (of the
  // weights alone before there is one).
  std::vector<size_t> sample(const uint64_t* words, size_t count) const;
  // These rows in grid units, (count, p), complete.
  std::vector<int32_t> centroids_at(const std::vector<size_t>& numbers) const;

  // At most MOST_CANDIDATES P (count, p) in grid units, complete. Take the one that leaves the least loss as a new
  // centroid.
  void add_best(const int32_t* P, size_t count);
  // Take all of any number of them, or the row that each word draws after the one before is taken; only the nearest of
  // each row is known from then on.
  void add_all(const int32_t* P, size_t count);
  void add_drawn(const uint64_t* words, size_t count);
  // Put the best candidate in the place of the best centroid to lose, if that lowers the loss.
  bool swap_best(const int32_t* P, size_t count);

  // As often as there are rows of words (steps, count): draw candidates, and add or swap the best; swaps end after
  // `patience` of them in a row that lower nothing.
  void add_rows(const uint64_t* words, size_t steps, size_t count);
  void swap_rows(const uint64_t* words, size_t steps, size_t count, size_t patience);

  std::vector<int64_t> nearest_masses() const;  // (k,) weight of the rows that each centroid is nearest to

  const Rows& rows;
  const size_t threads;
  std::vector<int32_t> C;  // (k, p)
  size_t k = 0;

 private:
  struct Swap;  // a candidate, and the centroid it replaces

  // What is known of each row: exact distance, length that is at least its root, and index, of one of its two nearest.
  struct Neighbours {
    explicit Neighbours(size_t n);
    std::vector<int64_t> distance;
    std::vector<float> length;
    std::vector<int32_t> index;
    void set(size_t j, int64_t D, int32_t c);
  };

  // Calls visit(thread, j, i, D) for every row that `wants` it and candidate whose exact distance D is below the limit.
  template <class Wants, class Visit>
  void visit_near(const PackedCentroids& P, const Neighbours& limit, const Wants& wants, const Visit& visit);
  template <class Visit>
  void visit_block(const PackedCentroids& P, ScoreBlock& block, const Neighbours& limit, const Visit& visit) const;

  size_t threads_for_scores(size_t count) const;  // of all rows with so many centroids
  float score_bar(size_t j, const Neighbours& limit, float error) const;
  std::vector<float> candidate_distances(const PackedCentroids& P) const;  // (k,) at most that to the nearest one
  Swap best_swap(const int32_t* P, size_t count);
  void take_if_near(size_t j, int32_t c, int64_t D);  // centroid c among the two nearest of row j
  void take_nearest(const PackedCentroids& P, ScoreBlock& block);
  void find_two_nearest(const PackedCentroids& all, size_t j, ScoreBlock& block, size_t r);
  void find_two_nearest(const std::vector<std::vector<uint32_t>>& numbers);  // of the rows of each part
  bool all_rows_are_centroids() const;

  std::vector<int32_t> overall;
  Neighbours nearest, second;
  std::vector<ScoreBlock> blocks;  // of each thread
};

}  // namespace rekmeans
