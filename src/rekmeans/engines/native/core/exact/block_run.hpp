// A run over rows that are read in blocks. The caller stores their labels and bounds. Only rows
// whose labels the bounds do not prove are mapped, a few at a time, so that they stay in the cache.
#pragma once
#include <memory>
#include <mutex>
#include <optional>

#include "dense_rows.hpp"
#include "drift.hpp"
#include "run.hpp"
#include "tables.hpp"

namespace rekmeans {

// A block of a stream, with the labels and bounds of its rows from the previous pass.
struct StreamBlock {
  DenseTable table;
  const int64_t* weights;  // null if all are 1
  int32_t* labels;
  RowBounds bounds;
};

// The results of a thread for a block: the changes of the sums, and, in the first pass, w |f|^2.
struct BlockSums {
  ClusterSums changed;
  int128 square = 0;
  // rows of positive weight that are ignored because all their values are out of range
  size_t n_changed = 0, n_uninformative = 0;
};

// Sums over all rows of w f, of w, and of w for missing cells.
struct StreamSums {
  std::vector<int128> totals;          // (k, p)
  std::vector<int64_t> mass, missing;  // (k,), (k, d)
  int128 square = 0;                   // sum of w |f|^2
  size_t n_uninformative = 0;

  void allocate(size_t k, size_t d);
  void add(const Rows& rows, const BlockSums& more);
};

// Several threads may assign the blocks of a pass at the same time, because integer sums do not
// depend on the order.
struct BlockRun {
  BlockRun(ColumnScales scales, size_t k, size_t d, const Simd* simd);

  // Start a pass with the centroids C (k, p).
  void start_pass(const int32_t* C);

  // Assign the rows of a block on several threads, all rows in the first pass. Return the number of
  // changed labels.
  size_t assign(const StreamBlock& block, size_t threads);

  // Return the sum of w |f - m|^2. All blocks must be assigned.
  int128 loss() const;

  size_t k, d, p;
  StreamSums sums;
  size_t n_passes = 0;

 private:
  // prepare the data that all blocks share, at the first block of a pass
  void prepare(const StreamBlock& block);
  std::vector<int64_t> open_rows(const StreamBlock& block) const;
  void assign_tile(const StreamBlock& block, const int64_t* numbers, size_t count,
                   BlockSums& found) const;

  ColumnScales scales;
  const Simd* simd;
  std::vector<int32_t> centroids;  // (k, p) the centroids of this pass
  std::optional<Drift> drift;      // empty in the first pass
  // an empty table with the properties that all blocks share: the base and the kind of weights
  std::unique_ptr<DenseRows> no_rows;
  std::unique_ptr<PackedCentroids> packed;  // the centroids of this pass
  std::mutex mutex;                         // protects the data that blocks share
};

}  // namespace rekmeans
