// One pass over rows that are points: shares W, pulls V = W s, and the sums of V f from which centroids move.
#pragma once
#include <string>
#include <vector>

#include "rows.hpp"

namespace rekmeans {

struct Look;
struct Tile;

// Turns the losses and distances of a tile into shares W (k, TILE) and labels; hard has none, a label says it all.
using Shares = void (*)(const Look& look, Tile& tile);

// What is asked. Wrong names and amounts are std::invalid_argument.
struct Look {
  Points F;                    // (n, p)
  size_t n;
  const double* w;             // (n,) or null: all 1
  const double* C;             // (k, p)
  size_t k;
  Measure measure;
  Shares shares;               // null: hard
  double amount;               // fuzziness, or reach
  const double* h;             // (k, k), rows are winners
  size_t threads;
  const Lanes* lanes;

  std::vector<double> packed;        // C in panels of SIDE
  std::vector<double> neighbours;    // h in panels
  std::vector<double> fading;        // (k,) the share of each rank

  void choose(const std::string& measure_name, double gamma, const std::string& rule);
};

struct Seen {
  std::vector<int32_t> labels;             // (n,)
  std::vector<double> totals, strength;    // (k, p)
  std::vector<double> mass;                // (k,)
  std::vector<double> held;                // (k,) shares of rows that sit on the centroid, where the measure has a root
  double loss = 0;
  std::vector<double> V;                   // (n,) at the label if hard, else (n, k); empty unless asked for
};

// The same for any number of threads: rows are cut into parts by the sizes alone, each summed in order, then added in order.
Seen seen(const Look& look, bool with_V);

// Weighted medians (k, p) of each column: the smallest observed value up to which lies half the weight V of a cluster. V is
// (n,) beside labels (n,), or (n, k) where labels are null; order (p, n) sorts each column, NaN last. C (k, p) stays where
// nothing weighs.
std::vector<double> medians(const Points& F, size_t n, const double* V, const int32_t* labels, const int32_t* order,
                            const double* C, size_t k, size_t threads);

}  // namespace rekmeans
