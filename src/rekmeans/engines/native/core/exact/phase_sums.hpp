// Sums of phases for each cluster, computed from the cells. They determine the pre-images of the
// centroids.
#pragma once
#include "../int128.hpp"
#include "phase_map.hpp"
#include "tables.hpp"

namespace rekmeans {

struct WeightedTable {
  const DenseTable& table;
  const int64_t* weights;  // (n,), null if all are 1
  bool has_unit_weights;   // every weight is 0 or 1
};

struct Workers {
  size_t threads;
  const Simd* simd;
};

// turns (k, d) = sums of w t in units of 2^-16 half-turns, observed (k, d) = sums of w, over the
// rows of each label. Rows without a value in range are ignored.
void add_phase_sums(const WeightedTable& rows, const ColumnScales& scales, const int32_t* labels,
                    size_t k, const Workers& workers, int128* turns, int64_t* observed);

}  // namespace rekmeans
