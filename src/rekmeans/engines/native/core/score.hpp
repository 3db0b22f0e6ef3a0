// Centroids made ready for scoring, and blocks of rows scored against them: winners as far as float32 can tell.
#pragma once
#include "rows.hpp"

namespace rekmeans {

// Centroids made ready for scoring: h = m - base, exact in float32, packed in panels; bias |h|^2 / 2.
struct Centroids {
  Centroids(const Rows& rows, const int32_t* C, size_t k, size_t threads = 1);

  size_t k, threads, kp = 0;
  std::vector<int32_t> whole;     // (k, p) h in grid units
  std::vector<int64_t> square;    // (k,) |h|^2
  std::vector<float> flat;        // (k, p) h
  std::vector<float> packed;      // panels of h, feature-major
  std::vector<float> bias;        // (kp,); the padding loses to everything
  std::vector<float> back;        // (d, kp) half of |h_l|^2: what a missing cell gives back; empty for complete rows
  float longest, heaviest;        // largest |h|, largest bias, rounded up

  // The same in 8 bits, if asked for: h = scale (integer) + rest, packed four features at a time.
  void coarsen(const Rows& rows);
  size_t quads = 0;
  std::vector<int8_t> eighths;
  std::vector<float> scale;       // (kp,)
  std::vector<int32_t> offset;    // (kp,) 128 times the sum of the integers
  float rest = 0;                 // largest |h - scale (integer)|, rounded up

  // Bound of |float32 score - true score| for a row of length^2 norm2 with so many missing cells.
  float error(float norm2, size_t absent) const;
  float slope, ground;            // for no missing cells it is slope |g| + ground
};

// Scores of a block of rows, and of each row the winner as far as float32 can tell.
struct Block {
  explicit Block(const Rows& rows) : rows(rows) {}
  // Score these rows; in 8 bits first if the centroids are coarse, the undecided then again in float32.
  void look(const Centroids& C, const uint32_t* at, size_t count);
  // The same, but scores may be left out where that is faster; `score_again` gives those of the r-th row.
  void look_for_winners(const Centroids& C, const uint32_t* at, size_t count);
  void score_again(const Centroids& C, size_t r);
  // bounds[j] = a lower bound of row j's distance to any but its own of the centroids that `bias` lets win.
  void bound_others(const Centroids& C, const float* bias, const int32_t* own, float* bounds);
  float score(size_t r, size_t c, const Centroids& C) const { return scores[r * C.kp + c] - C.bias[c]; }

  const Rows& rows;
  Rows::Buffer buffer;
  std::vector<uint8_t> eighths;
  std::vector<float> scores;
  uint32_t at[BLOCK] = {};           // rows that wait to be looked at
  size_t count = 0;
  const float* row[2 * BLOCK] = {};  // the second half repeats the last row: tiles look one tile ahead
  float best[BLOCK] = {}, second[BLOCK] = {}, error[BLOCK] = {}, upper[BLOCK] = {}, lower[BLOCK] = {};
  int32_t where[BLOCK] = {};
  uint8_t sure[BLOCK] = {};

 private:
  void fetch(const Centroids& C, const uint32_t* at, size_t count);  // rows, their lengths and errors
  void judge(size_t count);
  float norm2[BLOCK] = {};
  bool by_few(const Centroids& C) const { return rows.lanes->winners_of_few && C.k <= FEW && rows.complete && !rows.sparse; }
  void score_coarsely(const Centroids& C, size_t count);
  void refine(const Centroids& C, size_t j, size_t r);
  void give_back(const Centroids& C, size_t j, float* scores) const;  // what missing cells of row j add to its scores
};

}  // namespace rekmeans
