// Blocks of rows scored against packed centroids: winners as far as float32 can prove them.
#pragma once
#include "packed_centroids.hpp"

namespace rekmeans {

struct ScoreBlock {
  explicit ScoreBlock(const Rows& rows_) : rows(rows_) {}

  // Score these rows; in 8 bits first if the centroids are quantized, the uncertain then again in float32.
  void score(const PackedCentroids& C, const uint32_t* numbers, size_t count);
  // The same, but scores may be left out where that is faster; `rescore` gives those of the r-th row.
  void find_winners(const PackedCentroids& C, const uint32_t* numbers, size_t count);
  void rescore(const PackedCentroids& C, size_t r);
  // bounds[j] = a lower bound of row j's distance to any but its own of the centroids that `bias` lets win.
  void bound_others(const PackedCentroids& C, const float* bias, const int32_t* own, float* bounds);
  float score_of(size_t r, size_t c, const PackedCentroids& C) const { return scores[r * C.kp + c] - C.bias[c]; }

  // Rows that wait to be scored; whether the block is full.
  bool push(size_t j) {
    numbers[count++] = uint32_t(j);
    return count == BLOCK_ROWS;
  }

  const Rows& rows;
  RowBuffer buffer;
  uint32_t numbers[BLOCK_ROWS] = {};
  size_t count = 0;
  const float* fetched[2 * BLOCK_ROWS] = {};  // the second half repeats the last row: tiles prefetch one tile ahead
  int32_t winner[BLOCK_ROWS] = {};
  float best[BLOCK_ROWS] = {}, second[BLOCK_ROWS] = {}, error[BLOCK_ROWS] = {};
  float upper[BLOCK_ROWS] = {}, lower[BLOCK_ROWS] = {};
  uint8_t is_certain[BLOCK_ROWS] = {};

 private:
  void fetch(const PackedCentroids& C, const uint32_t* numbers, size_t count);  // rows, their lengths and errors
  void certify(size_t count);
  bool is_of_few(const PackedCentroids& C) const;
  void score_quantized(const PackedCentroids& C, size_t count);
  void refine(const PackedCentroids& C, size_t j, size_t r);
  void add_missing(const PackedCentroids& C, size_t j, float* scores) const;  // what missing cells add to its scores

  std::vector<uint8_t> int8;
  std::vector<float> scores;
  float norm2[BLOCK_ROWS] = {};
};

// Bounds of the distance of one scored row: at most to a centroid of this score, at least to all of lower ones.
struct DistanceBounds {
  float upper, lower;
};
DistanceBounds distance_bounds(const Rows& rows, size_t j, float error, float score);

}  // namespace rekmeans
