// Whole runs of hard clustering, for many small fits at once: the loop of lloyd.py, step for step, without Python.
#pragma once
#include "walk.hpp"

namespace rekmeans {

struct Limits {
  bool rectified, skip;
  size_t max_iter;
  double tol;
};

struct Fit {
  std::vector<int32_t> centroids, labels;
  i128 loss = 0;
  size_t n_iter = 0;
  std::vector<i128> losses;                  // of each pass kept
  std::vector<int64_t> moved, refilled;
  std::vector<double> seconds;
};

Fit fitted(const Rows& rows, std::vector<int32_t> C, size_t k, const Limits& limits);

// The best of several starts (m, k, p), the first of several; the starts run side by side, each on one thread.
Fit fit_starts(const Rows& rows, const int32_t* starts, size_t m, size_t k, const Limits& limits);

}  // namespace rekmeans
