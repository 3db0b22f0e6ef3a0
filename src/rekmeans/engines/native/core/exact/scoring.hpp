// Blocks of rows, scored against packed centroids: winners where float32 can prove them.
#pragma once
#include "packed_centroids.hpp"

namespace rekmeans {

struct ScoreBlock {
  explicit ScoreBlock(const Rows& rows_) : rows(rows_) {}

  // Score these rows. If the centroids are packed in 8 or 16 bits, these are used first, and
  // uncertain rows are scored again in float32.
  void score(const PackedCentroids& C, const uint32_t* numbers, size_t count);
  // The same, but without storing scores if that is faster.
  void find_winners(const PackedCentroids& C, const uint32_t* numbers, size_t count);
  // Return the nearest centroid of the r-th pending row, in integers.
  size_t decide_exactly(const PackedCentroids& C, size_t r);
  // Find which of at most 16 centroids score at least the bar of each fetched row, one bit each.
  void find_above(const PackedCentroids& C, const float* bars, uint16_t* above);
  // bounds[j] = a lower bound on the distance of row j to all other centroids that `bias` allows to
  // win.
  void bound_others(const PackedCentroids& C, const float* bias, const int32_t* own, float* bounds);
  float score_of(size_t r, size_t c, const PackedCentroids& C) const {
    return scores[r * C.kp + c] - C.bias[c];
  }

  // Fetch the values, lengths and errors of these rows.
  void fetch(const PackedCentroids& C, const uint32_t* numbers, size_t count);
  // Compute the scores of fetched rows, in few bits if the centroids are packed so. That increases
  // their errors.
  void find_scores(const PackedCentroids& C, const uint32_t* numbers, size_t count);

  // Add a pending row; return whether the block is full.
  bool push(size_t j) {
    numbers[count++] = uint32_t(j);
    return count == BLOCK_ROWS;
  }

  const Rows& rows;
  RowBuffer buffer;
  uint32_t numbers[BLOCK_ROWS] = {};
  size_t count = 0, n_refined = 0;  // pending rows; rows that were scored again in float32
  // the second half repeats the last row, because tiles prefetch the next tile
  const float* fetched[2 * BLOCK_ROWS] = {};
  int32_t winner[BLOCK_ROWS] = {};
  float best[BLOCK_ROWS] = {}, second[BLOCK_ROWS] = {}, error[BLOCK_ROWS] = {};
  float upper[BLOCK_ROWS] = {}, lower[BLOCK_ROWS] = {};
  uint8_t is_certain[BLOCK_ROWS] = {};

 private:
  void certify(size_t count);
  void score_one(const PackedCentroids& C, const uint32_t* numbers, size_t r);
  void score_fetched(const PackedCentroids& C, const uint32_t* numbers, size_t count);
  bool can_skip_scores(const PackedCentroids& C, size_t count) const;
  void score_bytes(const PackedCentroids& C, size_t count);
  void refine_bytes(const PackedCentroids& C, size_t j, size_t r);
  void score_pairs(const PackedCentroids& C, const uint32_t* numbers, size_t count);
  void refine_pairs(const PackedCentroids& C, const uint32_t* numbers, size_t r);
  void add_rest(const PackedCentroids& C, size_t r, float row_rest, float centroid_rest);
  void add_missing(const PackedCentroids& C, size_t j,
                   float* scores) const;  // adds the gains of missing cells to the scores

  uint32_t incomplete[BLOCK_ROWS] = {};  // fetched rows with missing cells
  size_t n_incomplete = 0;
  bool lacks_scores = false;  // true if the last winners were found without scores
  std::vector<uint8_t> int8;
  std::vector<float> scores;
  float norm2[BLOCK_ROWS] = {};
};

// Bounds for one scored row: `upper` on the distance to a centroid with this score, `lower` on the
// distance to all centroids with lower scores.
struct DistanceBounds {
  float upper, lower;
};
DistanceBounds distance_bounds(const Rows& rows, size_t j, float error, float score);

}  // namespace rekmeans
