// Seeding of rows of any kind: float32 scores say which distances to compute.
#pragma once
#include "scoring.hpp"
#include "seeding.hpp"

namespace rekmeans {

struct ScoredSeeding : Seeding {
  ScoredSeeding(const Rows& rows, std::vector<int32_t> overall, size_t threads);

  // Take all of any number of rows P (count, p), or the row that each word draws after the one
  // before is taken; only the nearest of each row is known from then on.
  void add_all(const int32_t* P, size_t count);
  void add_drawn(const uint64_t* words, size_t count);

 protected:
  size_t find_addition(const int32_t* P, size_t count) override;
  void add(const int32_t* taken, size_t candidate) override;
  Swap find_swap(const int32_t* P, size_t count) override;
  void replace(const int32_t* taken, const Swap& swap) override;

 private:
  // Calls visit(thread, j, i, D) for every row that `wants` it and candidate whose exact distance D
  // is below the limit.
  template <class Wants, class Visit>
  void visit_near(const PackedCentroids& P, const Neighbours& limit, const Wants& wants,
                  const Visit& visit);
  template <class Visit>
  void visit_block(const PackedCentroids& P, ScoreBlock& block, const Neighbours& limit,
                   const Visit& visit) const;

  float score_bar(size_t j, const Neighbours& limit, float error) const;
  std::vector<float> candidate_distances(
      const PackedCentroids& P) const;  // (k,) at most that to the nearest one
  void take_nearest(const PackedCentroids& P, ScoreBlock& block);
  void find_two_nearest(const PackedCentroids& all, size_t j, ScoreBlock& block, size_t r);
  void find_two_nearest(
      const std::vector<std::vector<uint32_t>>& numbers);  // of the rows of each part

  std::vector<ScoreBlock> blocks;  // of each thread
};

}  // namespace rekmeans
