// Whole runs of hard clustering, for many small fits at once: the loop of lloyd.py, pass for pass, without Python.
#pragma once
#include "run.hpp"

namespace rekmeans {

struct FitOptions {
  bool rectified, skip;
  size_t max_iter;
  double tol;
};

struct Fit {
  std::vector<int32_t> centroids, labels;
  int128 loss = 0;
  size_t n_iter = 0;
  std::vector<int128> losses;  // of each pass that counts
  std::vector<int64_t> n_changed, n_relocated;
  std::vector<double> seconds;
};

// The best of several starts (m, k, p), the first of several; the starts run at the same time, each on one thread.
Fit fit_starts(const Rows& rows, const int32_t* starts, size_t m, size_t k, const FitOptions& options);

}  // namespace rekmeans
