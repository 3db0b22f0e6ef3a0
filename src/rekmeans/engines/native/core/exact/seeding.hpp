// Starting centroids as they are chosen: every row's two nearest so far, exact.
#pragma once
#include "neighbours.hpp"
#include "rows.hpp"

namespace rekmeans {

constexpr size_t MOST_CANDIDATES = 16;

// A candidate, the centroid it replaces, and how much loss that saves.
struct Swap {
  size_t candidate, centroid;
  int128 gain;
};

// The best swap of gains (k + 1, count) by candidates, those of each centroid's rows and of all,
// less what its rows lose; the lowest centroid and candidate of several.
template <class Sum>
Swap best_swap(const std::vector<Sum>& gains, const std::vector<Sum>& lost, size_t count) {
  const size_t k = lost.size();
  Swap best{0, 0, gains[k * count] + gains[0] - lost[0]};
  for (size_t q = 0; q < k; ++q)
    for (size_t i = 0; i < count; ++i) {
      const int128 gain = gains[k * count + i] + gains[q * count + i] - lost[q];
      if (gain > best.gain) best = {i, q, gain};
    }
  return best;
}

// What all have in common; ScoredSeeding and PanelSeeding say how distances are found.
struct Seeding {
  virtual ~Seeding() = default;

  // The rows at the shares word/2^64 of the running sum of weight times the distance to the nearest
  // centroid (of the weights alone before there is one).
  std::vector<size_t> sample(const uint64_t* words, size_t count) const;
  // These rows in grid units, (count, p), complete.
  std::vector<int32_t> centroids_at(const std::vector<size_t>& numbers) const;

  // At most MOST_CANDIDATES P (count, p) in grid units, complete. Take the one that leaves the
  // least loss as a new centroid.
  void add_best(const int32_t* P, size_t count);
  // Put the best candidate in the place of the best centroid to lose, if that lowers the loss.
  bool swap_best(const int32_t* P, size_t count);

  // As often as there are rows of words (steps, count): draw candidates, and add or swap the best;
  // swaps end after `patience` of them in a row that lower nothing.
  void add_rows(const uint64_t* words, size_t steps, size_t count);
  void swap_rows(const uint64_t* words, size_t steps, size_t count, size_t patience);

  std::vector<int64_t> nearest_masses()
      const;  // (k,) weight of the rows that each centroid is nearest to

  const Rows& rows;
  const size_t threads;
  std::vector<int32_t> C;  // (k, p)
  size_t k = 0;

 protected:
  // `overall` (p,) stands in for the missing cells of rows that become centroids; empty where none
  // is missing.
  Seeding(const Rows& rows, std::vector<int32_t> overall, size_t threads, bool has_lengths);

  // The candidate that leaves the least loss, the first of several.
  virtual size_t find_addition(const int32_t* P, size_t count) = 0;
  // The nearest of all rows once this candidate, taken (p,), is a centroid too.
  virtual void add(const int32_t* taken, size_t candidate) = 0;
  virtual Swap find_swap(const int32_t* P, size_t count) = 0;
  // The centroids and the nearest of all rows after it.
  virtual void replace(const int32_t* taken, const Swap& swap) = 0;

  size_t threads_for_scores(size_t count) const;       // of all rows with so many centroids
  void take_if_near(size_t j, int32_t c, int64_t D) {  // centroid c among the two nearest of row j
    if (D < nearest.distance[j]) {
      second.set(j, nearest.distance[j], nearest.index[j]);
      nearest.set(j, D, c);
    } else if (D < second.distance[j]) {
      second.set(j, D, c);
    }
  }

  Neighbours nearest, second;

 private:
  bool all_rows_are_centroids() const;

  std::vector<int32_t> overall;
};

}  // namespace rekmeans
