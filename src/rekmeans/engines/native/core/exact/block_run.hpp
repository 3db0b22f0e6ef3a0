// A run over rows that come block by block: labels and bounds of the rows are the caller's, and only rows that the
// bounds leave open are mapped, a few at a time, so that they stay in the cache.
#pragma once
#include "drift.hpp"
#include "run.hpp"
#include "tables.hpp"

namespace rekmeans {

// Some rows of a stream, and what is known of each of them from the pass before.
struct StreamBlock {
  DenseTable table;
  const int64_t* weights;  // null: all 1
  int32_t* labels;
  RowBounds bounds;
};

// Sums over rows of any base: of w f, of w, and of w over missing cells.
struct StreamSums {
  std::vector<int128> totals;          // (k, p)
  std::vector<int64_t> mass, missing;  // (k,), (k, d)
  int128 square = 0;                   // sum of w |f|^2
  size_t n_changed = 0, n_silent = 0;  // rows of weight that take no part, as no value of theirs is inside

  void allocate(size_t k, size_t d);
  void add(const Rows& rows, const ClusterSums& sums);
  void operator+=(const StreamSums& other);
};

struct BlockRun {
  BlockRun(ColumnScales scales, size_t k, size_t d, size_t threads, const Simd* simd);

  // Begin a pass with the centroids C (k, p).
  void start_pass(const int32_t* C);

  // Assign the rows of a block, in the first pass all of them; how many changed.
  size_t assign(const StreamBlock& block);

  // sum of w |f - m|^2, once all blocks are done.
  int128 loss() const;

  size_t k, d, p;
  StreamSums sums;
  size_t n_passes = 0;

 private:
  void choose_base(const DenseTable& table);
  void assign_tile(const StreamBlock& block, const int64_t* numbers, size_t count, StreamSums& partial) const;

  ColumnScales scales;
  size_t threads;
  const Simd* simd;
  std::vector<int32_t> centroids;  // (k, p) of this pass
  std::vector<int32_t> base;       // (p,) of all rows: the mean of some of the first
  std::vector<Drift> drift;        // one, or none in the first pass
};

}  // namespace rekmeans
