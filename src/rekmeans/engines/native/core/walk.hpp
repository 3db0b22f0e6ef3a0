// One run over shared rows: labels, distance bounds that let rows be skipped, and integer sums kept up by movers.
#pragma once
#include "score.hpp"

namespace rekmeans {

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
  size_t passes = 0;

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
  std::vector<float> drift;          // (k,)
  std::vector<float> recent;         // (k,) of the last few passes
  std::vector<int32_t> before;       // (k, p) the centroids of the last pass
};

}  // namespace rekmeans
