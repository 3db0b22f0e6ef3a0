// A run over rows that come block by block: labels and bounds of the rows are the caller's, and
// only rows that the bounds leave open are mapped, a few at a time, so that they stay in the cache.
#pragma once
#include <memory>
#include <mutex>
#include <optional>

#include "dense_rows.hpp"
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

// What a thread finds in a block: sums over rows that change label, and of those of a first pass w
// |f|^2.
struct BlockSums {
  ClusterSums changed;
  int128 square = 0;
  size_t n_changed = 0,
         n_silent =
             0;  // the last: rows of weight that take no part, as no value of theirs is inside
};

// Sums over all rows: of w f, of w, and of w over missing cells.
struct StreamSums {
  std::vector<int128> totals;          // (k, p)
  std::vector<int64_t> mass, missing;  // (k,), (k, d)
  int128 square = 0;                   // sum of w |f|^2
  size_t n_silent = 0;

  void allocate(size_t k, size_t d);
  void add(const Rows& rows, const BlockSums& more);
};

// Blocks of a pass may be assigned by several threads at once: what they add are integers.
struct BlockRun {
  BlockRun(ColumnScales scales, size_t k, size_t d, const Simd* simd);

  // Begin a pass with the centroids C (k, p).
  void start_pass(const int32_t* C);

  // Assign the rows of a block on a number of threads, in the first pass all of them; how many
  // changed.
  size_t assign(const StreamBlock& block, size_t threads);

  // sum of w |f - m|^2, once all blocks are done.
  int128 loss() const;

  size_t k, d, p;
  StreamSums sums;
  size_t n_passes = 0;

 private:
  void prepare(const StreamBlock& block);  // what all blocks of a pass share, at its first
  std::vector<int64_t> open_rows(const StreamBlock& block) const;
  void assign_tile(const StreamBlock& block, const int64_t* numbers, size_t count,
                   BlockSums& found) const;

  ColumnScales scales;
  const Simd* simd;
  std::vector<int32_t> centroids;  // (k, p) of this pass
  std::optional<Drift> drift;      // none in the first pass
  std::unique_ptr<DenseRows>
      no_rows;  // what rows of all blocks have in common: their base, the kind of weights
  std::unique_ptr<PackedCentroids> packed;  // those of this pass
  std::mutex mutex;                         // of what blocks share
};

}  // namespace rekmeans
