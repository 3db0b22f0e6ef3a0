// One pass over rows that are points: shares W, V = w W pulls, and the sums of V f that determine
// the next centroids.
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "../simd/simd.hpp"

namespace rekmeans {

struct SoftPass;
struct Tile;

// Computes the shares W (k, TILE_ROWS) and the labels of a tile from its losses and distances.
using ShareRule = void (*)(const SoftPass& pass, Tile& tile);

// The parameters of a pass. Invalid names and amounts raise std::invalid_argument.
struct SoftPass {
  FloatTable F;  // (n, p)
  size_t n;
  const double* w;  // (n,), or null if all are 1
  const double* C;  // (k, p)
  size_t k;
  double amount;    // fuzziness, or reach
  const double* h;  // (k, k) neighbourhood; row i is for winner i
  size_t threads;
  const Simd* simd;

  Measure measure;
  ShareRule share;                        // null for hard assignment
  std::vector<double> packed;             // C in panels of PANEL_K
  std::vector<double> packed_neighbours;  // h in panels
  std::vector<double> rank_share;         // (k,) of neural gas

  void choose(const std::string& measure_name, double gamma, const std::string& rule);
};

// The workspace of a thread: the distances and shares of its current rows.
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
  uint32_t missing;  // mask of the tile's rows with missing cells
};

struct SoftSums {
  std::vector<int32_t> labels;       // (n,)
  std::vector<double> totals, pull;  // (k, p)
  std::vector<double> mass;          // (k,)
  // (k,) mass of rows at the centroid, if the measure has a root
  std::vector<double> mass_at_centroid;
  double loss = 0;
  std::vector<double> V;  // (n,) for hard assignment, else (n, k); empty unless requested
};

// The result is the same for any number of threads: the parts depend only on the sizes, and they
// are summed and added in order.
SoftSums soft_pass(const SoftPass& pass, bool with_V);

// features of a tile that are processed at a time: 16 KiB, so that they stay in the first-level
// cache
constexpr size_t TILE_FEATURES = 128;

}  // namespace rekmeans
