// Whole runs of hard clustering, for many small fits at once. This is the loop of lloyd.py without
// Python, with the same passes.
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
  std::vector<int128> losses;  // the loss of each recorded pass
  std::vector<int64_t> n_changed, n_relocated;
  std::vector<double> seconds;
};

// Return the best fit from several starts (m, k, p), the first if several are equal. The starts run
// in parallel, each on one thread.
Fit fit_starts(const Rows& rows, const int32_t* starts, size_t m, size_t k,
               const FitOptions& options);

// The draws of k-means++: candidates for each of k - 1 draws, batches of swaps, candidates in a
// batch, and the number of failures after which swaps end.
struct SeedingPlan {
  size_t k, candidates, batches, swap_candidates, patience;
  size_t n_words() const { return 1 + (k - 1) * candidates + batches * swap_candidates; }
};

// Return the best fit from k-means++ starts, which random words (m, n_words) draw. Missing cells of
// a drawn row are filled from `overall`.
Fit fit_drawn_starts(const Rows& rows, const std::vector<int32_t>& overall, const uint64_t* words,
                     size_t m, const SeedingPlan& plan, const FitOptions& options);

}  // namespace rekmeans
