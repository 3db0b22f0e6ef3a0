// Whole runs of hard clustering, for many small fits at once: the loop of lloyd.py, pass for pass,
// without Python.
#pragma once
#include "run.hpp"
#include "seeding.hpp"

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

// The best of several starts (m, k, p), the first of several; the starts run at the same time, each
// on one thread.
Fit fit_starts(const Rows& rows, const int32_t* starts, size_t m, size_t k,
               const FitOptions& options);

// How k-means++ draws: candidates of each of k - 1 draws, batches of swaps, candidates of a batch,
// failures that end them.
struct SeedingPlan {
  size_t k, candidates, batches, swap_candidates, patience;
  size_t n_words() const { return 1 + (k - 1) * candidates + batches * swap_candidates; }
};

// The best fit from starts that k-means++ draws by words (m, n_words), as above; a draw's missing
// cells from `overall`.
Fit fit_drawn_starts(const Rows& rows, const std::vector<int32_t>& overall, const uint64_t* words,
                     size_t m, const SeedingPlan& plan, const FitOptions& options);

}  // namespace rekmeans
