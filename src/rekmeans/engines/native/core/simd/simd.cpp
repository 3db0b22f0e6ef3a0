// The inner loops, compiled once for each instruction set (REKMEANS_SIMD is its name). These files
// must not use inline functions of the standard library, because the linker could keep a copy that
// older processors cannot run.
#include "simd.hpp"

#include "few_centroids.hpp"
#include "grid_distances.hpp"
#include "pairs.hpp"
#include "phases.hpp"
#include "quantized.hpp"
#include "scores.hpp"
#include "shares.hpp"
#include "sparse.hpp"
#include "tiles.hpp"
#include "winners.hpp"

#define REKMEANS_TEXT_OF(NAME) #NAME
#define REKMEANS_TEXT(NAME) REKMEANS_TEXT_OF(NAME)

namespace rekmeans {

const Simd* REKMEANS_SIMD() {
  static const Simd table = {
      .name = REKMEANS_TEXT(REKMEANS_SIMD),
      .width = V,
      .panel = PANEL,
      .row_phases = row_phases,
      .nonzero_cells = nonzero_cells,
      .map_phases = map_phases,
      .map_tile = map_tile,
      .transpose_cells = transpose_cells,
      .add_phases = add_phases,
      .scores = scores,
      .best_of_few = best_of_few,
      .few_above = few_above,
      .quantize_row = quantize_row,
      .quantized_scores = quantized_scores,
      .sparse_scores = sparse_scores,
      .quantize_pairs = quantize_pairs,
      .sparse_pair_scores = sparse_pair_scores,
      .sparse_dot = sparse_dot,
      .best_two = best_two,
      .certify = certify,
      .loosen_bounds = loosen_bounds,
      .dot = dot,
      .grid_distance = grid_distance,
      .grid_distances = grid_distances,
      .grid_nearest = grid_nearest,
      .add_row = add_row,
      .tile_columns = tile_columns,
      .tile_cells = tile_cells,
      .add_distances = add_distances,
      .finish_distances = finish_distances,
      .nearest = nearest,
      .losses_and_pulls = losses_and_pulls,
      .memberships = memberships,
      .ranks = ranks,
      .weight_shares = weight_shares,
      .add_rows = add_rows,
      .add_product = add_product,
  };
  return &table;
}

}  // namespace rekmeans
