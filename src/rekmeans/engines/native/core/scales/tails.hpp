// Long tails of skewed columns, bit-identical to scales/tails.py. That file explains the constants.
#pragma once
#include <vector>

#include "sorted_cells.hpp"

namespace rekmeans {

constexpr double SHORT_SIDE = 1.6, SHORT_TAIL = 0.02, TAIL_START = 4.0, MAX_TAIL = 4096.0;
constexpr double MIN_TAIL_SHARE = 0.005, MIN_TAIL_CELLS = 4.0, MAX_MIRRORED = 0.5;
constexpr int MIN_TAIL_VALUES = 13;
constexpr int N_PIECES = 14;

// The direction of a tail (0 if there is none), and the distances of the short end and of the end
// of the tail.
struct Tail {
  int sign = 0;
  double start = 0, end = 0;
};

// The cells of a column on one side of its centre.
struct Side {
  const SortedCells& cells;
  double centre, sigma;
  int sign;

  // The mass of the cells farther than `first` and not farther than `end`.
  double mass(double first, double end) const;
};

// The tail of a column with this centre and standard deviation.
Tail find_tail(const SortedCells& cells, double centre, double sigma);

// The tail beyond the distance `first`.
Tail tail_beyond(const Side& side, double first, double fall);

// The mapped cells of a column.
struct MappedCells {
  std::vector<double> values, running;
  double row_weight;

  SortedCells view() const { return {values.data(), running.data(), values.size(), row_weight}; }
};

// t of the cells up to the end of the tail, in ascending order.
MappedCells map_tail(const SortedCells& cells, double centre, double sigma, const Tail& tail);

// t of a distance v from the short end.
double compress(double v);

// The width of a piece, and the distance v that corresponds to t on it.
double piece_width(int piece);
double to_distance(double t, int piece);

}  // namespace rekmeans
