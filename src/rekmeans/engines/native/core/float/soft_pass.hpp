// One pass over rows that are points: shares W, V = w W pulls, and the sums of V f from which
// centroids are updated.
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "../simd/simd.hpp"

namespace rekmeans {

struct SoftPass;
struct Tile;

// Turns the losses and distances of a tile into shares W (k, TILE_ROWS) and labels.
using ShareRule = void (*)(const SoftPass& pass, Tile& tile);

// What is asked. Wrong names and amounts are std::invalid_argument.
struct SoftPass {
  FloatTable F;  // (n, p)
  size_t n;
  const double* w;  // (n,) or null: all 1
  const double* C;  // (k, p)
  size_t k;
  double amount;    // fuzziness, or reach
  const double* h;  // (k, k) neighbourhood, rows are winners
  size_t threads;
  const Simd* simd;

  Measure measure;
  ShareRule share;                        // null: hard, the label says it all
  std::vector<double> packed;             // C in panels of PANEL_K
  std::vector<double> packed_neighbours;  // h in panels
  std::vector<double> rank_share;         // (k,) of neural gas

  void choose(const std::string& measure_name, double gamma, const std::string& rule);
};

// What one thread works with: the distances and shares of the rows at hand.
struct Tile {
  explicit Tile(const SoftPass& pass);
  std::vector<double> x;               // (width, TILE_ROWS) features as columns
  std::vector<double> D, L, pulls, W;  // (k, TILE_ROWS)
  std::vector<double> Y,
      observed;  // (TILE_ROWS, padded width) features as rows, and whether they are observed
  std::vector<int32_t> rank;  // (k, TILE_ROWS)
  std::vector<std::pair<double, int32_t>> order;
  int32_t labels[TILE_ROWS];
  double least[TILE_ROWS], w[TILE_ROWS];
  uint32_t missing;  // rows of the tile with a missing cell, a bit each
};

struct SoftSums {
  std::vector<int32_t> labels;       // (n,)
  std::vector<double> totals, pull;  // (k, p)
  std::vector<double> mass;          // (k,)
  std::vector<double>
      mass_at_centroid;  // (k,) of rows that lie on the centroid, where the measure has a root
  double loss = 0;
  std::vector<double> V;  // (n,) at the label if hard, else (n, k); empty unless asked for
};

// The same for any number of threads: rows are cut into parts by the sizes alone, each summed in
// order, then added in order.
SoftSums soft_pass(const SoftPass& pass, bool with_V);

constexpr size_t TILE_FEATURES =
    128;  // features of a tile laid out at a time: 16 KiB, that they stay in the first cache

}  // namespace rekmeans
