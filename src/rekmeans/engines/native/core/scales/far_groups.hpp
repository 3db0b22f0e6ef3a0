// Groups far from the bulk of a column, to the bits of scales/far_groups.py, which says why each
// number is what it is.
#pragma once
#include <vector>

#include "sorted_cells.hpp"

namespace rekmeans {

constexpr double NORMAL_IQR = 1.349, FENCE_SIGMAS = 3.0;
constexpr double NEAREST = 2.5, MOST_DISTANT = 1e6;
constexpr double BIN = 0.5, BIN_GROWTH = 1.025, WIDE_BINS = 20.0;
constexpr double RISE_SIGMAS = 2.0, RISE_SHARE = 0.1, RISE_OF_ALL = 0.0025;
constexpr double GROUP_END = 0.25, LEAST_GROUP = 0.01, LEAST_CELLS = 4.0;
constexpr double WIDEST_SIGMA = 20.0, WIDEST = 120.0;
constexpr double GROUP_SIGMAS = 3.0;
constexpr int MOST_WIDENING = 20;
constexpr double MOST_DISTANT_CATEGORY = 12.0;
constexpr int FEW_VALUES = 8, PLACES = 64;
constexpr size_t N_GROWTHS = 440;

// Kept intervals beyond 2.5 sigma of the centre, in units of sigma from the centre.
std::vector<Interval> far_groups(const SortedCells& cells, double centre, double sigma);

// Mass of the smallest group in a column of this mass.
double least_mass(double total, double row_weight);

// Of the cells within 3 quartile-range sigmas of the median.
Moments fenced_moments(const SortedCells& cells, double q25, double median, double q75);

}  // namespace rekmeans
