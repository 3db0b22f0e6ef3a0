// One run over shared rows: labels, distance bounds that let rows be skipped, and integer sums kept up by movers.
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

struct Walk {
  Walk(const Rows& rows, size_t k, bool skip, size_t threads);

  // Assign every row to the centroids C (k, p), bring the sums up to date; the number of rows that changed label.
  size_t step(const int32_t* C);

  const Rows& rows;
  size_t k;
  bool skip;
  size_t threads;
  std::vector<int32_t> labels;       // (n,)
  std::vector<int64_t> totals;       // (k, p) sums of g; of w g in `heavy` where weights are not 0 or 1
  std::vector<i128> heavy;
  std::vector<int64_t> mass, absent; // (k,), (k, d): weight of the rows, and of their cells that say nothing
  i128 loss = 0;

  i128 resultant(size_t c, size_t l) const {  // sum of w f
    return rows.unit ? plain(c, l) : heavy[c * rows.p + l] + i128(rows.base[l]) * seen(c, l % rows.d);
  }
  int64_t plain(size_t c, size_t l) const {   // the same for weights 0 and 1: 64 bits hold it
    return totals[c * rows.p + l] + int64_t(rows.base[l]) * seen(c, l < rows.d ? l : l - rows.d);
  }
  int64_t seen(size_t c, size_t l) const { return mass[c] - (absent.empty() ? 0 : absent[c * rows.d + l]); }

  // The centroids of the present sums, rectified or mean; where the sums say nothing, those given. (k, p)
  void centroids(bool rectified, const int32_t* old, int32_t* out) const;

  size_t looked = 0;                 // rows scored against all centroids in the last pass
  size_t glanced = 0;                // rows scored against the fast ones
  size_t decided = 0;                // of them, rows decided in integers
  bool coarse = true;                // an 8-bit look first, where it pays
  bool in_eighths = false;           // the last pass took it

 private:
  struct Pace;    // how far the centroids moved since the last pass
  struct Hand;    // what one thread works with
  void regroup();                              // choose the fast ones anew
  void promote();                              // more of them
  void part(size_t from, size_t to, const Pace& pace, Hand& hand);
  void weigh(const Pace& pace, Hand& hand);    // rows that wait: drop, look at the fast centroids only, or at all
  void glance(const Pace& pace, Hand& hand);   // look at the fast ones
  void settle(const Pace& pace, Hand& hand);   // look at all
  int32_t decide(const Centroids& C, size_t j, size_t r, Block& block) const;
  i128 objective(const int32_t* C) const;

  float tightened(const Centroids& C, size_t j, const float* g) const;  // upper bound of the own distance, computed anew

  // (n,) bounds: at most upper to the own centroid; at least lower to any other slow one, lower_fast to any other fast
  // one (empty before there are fast ones)
  std::vector<float> upper, lower, lower_fast;
  std::vector<size_t> fast;          // centroids that moved most when last counted: in passes 2, 4, 8, 16, ...
  size_t passes = 0;
  std::vector<float> drift;          // (k,)
  std::vector<float> recent;         // (k,) of the last few passes
  std::vector<int32_t> before;       // (k, p) the centroids of the last pass
};

}  // namespace rekmeans
