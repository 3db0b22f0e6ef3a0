// Seeding on any rows. Float32 scores decide which distances must be computed exactly.
#pragma once
#include "scoring.hpp"
#include "seeding.hpp"

namespace rekmeans {

struct ScoredSeeding : Seeding {
  ScoredSeeding(const Rows& rows, std::vector<int32_t> overall, size_t threads);

  // Add all points P (count, p), or the row that each word draws after the previous row was added.
  // After this, only the nearest centroid of each row is known.
  void add_all(const int32_t* P, size_t count);
  void add_drawn(const uint64_t* words, size_t count);

 protected:
  size_t find_addition(const int32_t* P, size_t count) override;
  void add(const int32_t* taken, size_t candidate) override;
  Swap find_swap(const int32_t* P, size_t count) override;
  void replace(const int32_t* taken, const Swap& swap) override;

 private:
  // Call visit(thread, j, i, D) for each row j with wants(j) and each candidate i whose exact
  // distance D is below the limit.
  template <class Wants, class Visit>
  void visit_near(const PackedCentroids& P, const Neighbours& limit, const Wants& wants,
                  const Visit& visit);
  template <class Visit>
  void visit_block(const PackedCentroids& P, ScoreBlock& block, const Neighbours& limit,
                   const Visit& visit) const;

  float score_bar(size_t j, const Neighbours& limit, float error) const;
  // (k,) lower bounds on the distance of each centroid to its nearest candidate
  std::vector<float> candidate_distances(const PackedCentroids& P) const;
  void take_nearest(const PackedCentroids& P, ScoreBlock& block);
  void find_two_nearest(const PackedCentroids& all, size_t j, ScoreBlock& block, size_t r);
  void find_two_nearest(
      const std::vector<std::vector<uint32_t>>& numbers);  // for these rows of each part

  std::vector<ScoreBlock> blocks;  // one for each thread
};

}  // namespace rekmeans
