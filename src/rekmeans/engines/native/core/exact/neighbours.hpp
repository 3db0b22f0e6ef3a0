// A near centroid of each row during seeding: its index, the exact squared distance, and an upper
// bound on the distance.
#pragma once
#include <cstdint>
#include <limits>
#include <vector>

#include "error_bounds.hpp"

namespace rekmeans {

constexpr int64_t INFINITE_DISTANCE = std::numeric_limits<int64_t>::max();

struct Neighbours {
  Neighbours(size_t n, bool has_lengths)
      : distance(n, INFINITE_DISTANCE),
        length(has_lengths ? n : 0, std::numeric_limits<float>::infinity()),
        index(n, -1) {}

  void set(size_t j, int64_t D, int32_t c) {
    distance[j] = D, index[j] = c;
    if (!length.empty()) length[j] = length_above(D);
  }

  std::vector<int64_t> distance;
  std::vector<float> length;  // empty if not needed
  std::vector<int32_t> index;
};

}  // namespace rekmeans
