// Blocks of rows scored against packed centroids: winners as far as float32 can prove them.
#pragma once
#include "packed_centroids.hpp"

namespace rekmeans {

struct ScoreBlock {
  explicit ScoreBlock(const Rows& rows_) : rows(rows_) {}

  // Score these rows; in 8 or 16 bits first if the centroids are packed so, the uncertain then
  // again in float32.
  void score(const PackedCentroids& C, const uint32_t* numbers, size_t count);
  // The same, but scores may be left out where that is faster.
  void find_winners(const PackedCentroids& C, const uint32_t* numbers, size_t count);
  // The nearest centroid of the r-th row that waits, in integers.
  size_t decide_exactly(const PackedCentroids& C, size_t r);
  // Of the rows that wait, once they are fetched: which of at most 16 centroids score at least the
  // row's bar, a bit each.
  void find_above(const PackedCentroids& C, const float* bars, uint16_t* above);
  // bounds[j] = a lower bound of row j's distance to any but its own of the centroids that `bias`
  // lets win.
  void bound_others(const PackedCentroids& C, const float* bias, const int32_t* own, float* bounds);
  float score_of(size_t r, size_t c, const PackedCentroids& C) const {
    return scores[r * C.kp + c] - C.bias[c];
  }

  // Their values, lengths and errors.
  void fetch(const PackedCentroids& C, const uint32_t* numbers, size_t count);
  // Scores of fetched rows, in few bits if the centroids are packed so; their errors grow by that.
  void find_scores(const PackedCentroids& C, const uint32_t* numbers, size_t count);

  // Rows that wait to be scored; whether the block is full.
  bool push(size_t j) {
    numbers[count++] = uint32_t(j);
    return count == BLOCK_ROWS;
  }

  const Rows& rows;
  RowBuffer buffer;
  uint32_t numbers[BLOCK_ROWS] = {};
  size_t count = 0, n_refined = 0;  // rows that wait; rows that were scored again in float32
  const float* fetched[2 * BLOCK_ROWS] =
      {};  // the second half repeats the last row: tiles prefetch one tile ahead
  int32_t winner[BLOCK_ROWS] = {};
  float best[BLOCK_ROWS] = {}, second[BLOCK_ROWS] = {}, error[BLOCK_ROWS] = {};
  float upper[BLOCK_ROWS] = {}, lower[BLOCK_ROWS] = {};
  uint8_t is_certain[BLOCK_ROWS] = {};

 private:
  void certify(size_t count);
  void score_one(const PackedCentroids& C, const uint32_t* numbers, size_t r);
  void score_fetched(const PackedCentroids& C, const uint32_t* numbers, size_t count);
  bool has_fast_way(const PackedCentroids& C, size_t count) const;
  void score_bytes(const PackedCentroids& C, size_t count);
  void refine_bytes(const PackedCentroids& C, size_t j, size_t r);
  void score_pairs(const PackedCentroids& C, const uint32_t* numbers, size_t count);
  void refine_pairs(const PackedCentroids& C, const uint32_t* numbers, size_t r);
  void add_rest(const PackedCentroids& C, size_t r, float row_rest, float centroid_rest);
  void add_missing(const PackedCentroids& C, size_t j,
                   float* scores) const;  // what missing cells add to its scores

  uint32_t incomplete[BLOCK_ROWS] = {};  // rows fetched last that have missing cells
  size_t n_incomplete = 0;
  bool lacks_scores = false;  // of the last winners
  std::vector<uint8_t> int8;
  std::vector<float> scores;
  float norm2[BLOCK_ROWS] = {};
};

// Bounds of the distance of one scored row: at most to a centroid of this score, at least to all of
// lower ones.
struct DistanceBounds {
  float upper, lower;
};
DistanceBounds distance_bounds(const Rows& rows, size_t j, float error, float score);

}  // namespace rekmeans
