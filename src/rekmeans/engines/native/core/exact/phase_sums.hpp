// Sums of phases by cluster, from the cells themselves: where on its circle the mean of a cluster
// lies.
#pragma once
#include "../int128.hpp"
#include "phase_map.hpp"
#include "tables.hpp"

namespace rekmeans {

struct WeightedTable {
  const DenseTable& table;
  const int64_t* weights;  // (n,), null: all 1
  bool has_unit_weights;   // every weight is 0 or 1
};

struct Workers {
  size_t threads;
  const Simd* simd;
};

// turns (k, d) = sums of w t on 2^-16 half-turns, observed (k, d) = sums of w, over the rows of
// each label; a row without a value inside takes no part.
void add_phase_sums(const WeightedTable& rows, const ColumnScales& scales, const int32_t* labels,
                    size_t k, const Workers& workers, int128* turns, int64_t* observed);

}  // namespace rekmeans
