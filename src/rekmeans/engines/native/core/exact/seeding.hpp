// Seeding: the starting centroids chosen so far, and the two nearest of them for every row, exact.
#pragma once
#include "neighbours.hpp"
#include "rows.hpp"

namespace rekmeans {

constexpr size_t MAX_CANDIDATES = 16;

// A candidate, the centroid that it replaces, and the decrease of the loss.
struct Swap {
  size_t candidate, centroid;
  int128 gain;
};

// Return the best swap, given the gains (k + 1, count) of candidates for the rows of each centroid
// and for all rows, and the loss that the rows of each removed centroid gain. Ties go to the lowest
// centroid and candidate.
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

// The base class of ScoredSeeding and PanelSeeding, which compute distances in different ways.
struct Seeding {
  virtual ~Seeding() = default;

  // Return the rows at the share word/2^64 of the running sum of weight times distance to the
  // nearest centroid, or of weight alone if there is no centroid yet.
  std::vector<size_t> sample(const uint64_t* words, size_t count) const;
  // Return these rows in grid units, (count, p), with missing cells filled.
  std::vector<int32_t> centroids_at(const std::vector<size_t>& numbers) const;

  // Add the candidate with the smallest resulting loss as a new centroid. P (count, p) are at most
  // MAX_CANDIDATES points in grid units, without missing cells.
  void add_best(const int32_t* P, size_t count);
  // Swap the best candidate for the best centroid if that lowers the loss.
  bool swap_best(const int32_t* P, size_t count);

  // For each row of words (steps, count), draw candidates and add or swap the best one. Swaps end
  // after `patience` consecutive ones that do not lower the loss.
  void add_rows(const uint64_t* words, size_t steps, size_t count);
  void swap_rows(const uint64_t* words, size_t steps, size_t count, size_t patience);

  std::vector<int64_t> nearest_masses()
      const;  // (k,) weight of the rows that are nearest to each centroid

  const Rows& rows;
  const size_t threads;
  std::vector<int32_t> C;  // (k, p)
  size_t k = 0;

 protected:
  // `overall` (p,) fills missing cells of rows that become centroids. It is empty if no cell is
  // missing.
  Seeding(const Rows& rows, std::vector<int32_t> overall, size_t threads, bool has_lengths);

  // Return the candidate with the smallest resulting loss, the first if several are equal.
  virtual size_t find_addition(const int32_t* P, size_t count) = 0;
  // Update the nearest centroids of all rows with this candidate, `taken` (p,).
  virtual void add(const int32_t* taken, size_t candidate) = 0;
  virtual Swap find_swap(const int32_t* P, size_t count) = 0;
  // Replace a centroid and update the nearest centroids of all rows.
  virtual void replace(const int32_t* taken, const Swap& swap) = 0;

  size_t threads_for_scores(size_t count) const;  // to score all rows for this number of centroids
  // update the two nearest centroids of row j with centroid c
  void update_two_nearest(size_t j, int32_t c, int64_t D) {
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
