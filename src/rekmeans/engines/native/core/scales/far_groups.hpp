// Groups far from the bulk of a column, bit-identical to scales/far_groups.py. That file explains
// the constants.
#pragma once
#include <vector>

#include "sorted_cells.hpp"

namespace rekmeans {

constexpr double NORMAL_IQR = 1.349, FENCE_SIGMAS = 3.0;
constexpr double NEAREST = 2.5, MAX_DISTANCE = 1e6;
constexpr double BIN = 0.5, BIN_GROWTH = 1.025, WIDE_BINS = 20.0;
constexpr double RISE_SIGMAS = 2.0, RISE_SHARE = 0.1, RISE_OF_ALL = 0.0025;
constexpr double GROUP_END = 0.25, MIN_GROUP_SHARE = 0.01, MIN_RISE_CELLS = 4.0;
constexpr double WIDEST_SIGMA = 20.0, WIDEST = 120.0;
constexpr double GROUP_SIGMAS = 3.0;
constexpr int MAX_WIDENING = 20;
constexpr double MAX_CATEGORY_DISTANCE = 12.0;
constexpr int FEW_VALUES = 8, PLACES = 64;
constexpr size_t N_GROWTHS = 440;

// The kept intervals beyond 2.5 sigma from the centre, relative to the centre in units of sigma.
std::vector<Interval> far_groups(const SortedCells& cells, double centre, double sigma);

// The smallest mass of a group in a column of this total mass.
double least_mass(double total, double row_weight);

// The mean and standard deviation of the cells within 3 robust standard deviations of the median.
Moments fenced_moments(const SortedCells& cells, double q25, double median, double q75);

}  // namespace rekmeans
