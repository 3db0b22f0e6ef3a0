// What seeding knows of each row: exact distance, length that is at least its root, and index, of a
// near centroid.
#pragma once
#include <cstdint>
#include <limits>
#include <vector>

#include "error_bounds.hpp"

namespace rekmeans {

constexpr int64_t INFINITELY_FAR = std::numeric_limits<int64_t>::max();

struct Neighbours {
  Neighbours(size_t n, bool has_lengths)
      : distance(n, INFINITELY_FAR),
        length(has_lengths ? n : 0, std::numeric_limits<float>::infinity()),
        index(n, -1) {}

  void set(size_t j, int64_t D, int32_t c) {
    distance[j] = D, index[j] = c;
    if (!length.empty()) length[j] = length_above(D);
  }

  std::vector<int64_t> distance;
  std::vector<float> length;  // empty where none is asked for
  std::vector<int32_t> index;
};

}  // namespace rekmeans
