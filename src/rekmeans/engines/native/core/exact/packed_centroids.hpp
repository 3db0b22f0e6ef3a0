// Centroids prepared for scoring: h = m - base, exact in float32, packed in panels, and the bias
// |h|^2 / 2.
#pragma once
#include "error_bounds.hpp"
#include "rows.hpp"

namespace rekmeans {

struct PackedCentroids {
  PackedCentroids(const Rows& rows, const int32_t* C, size_t k, size_t threads = 1);

  size_t k, kp = 0;
  std::vector<int32_t> grid;    // (k, p) h in grid units
  std::vector<int64_t> square;  // (k,) |h|^2
  std::vector<float> values;    // (k, p) h
  std::vector<float> packed;    // panels of h, feature-major
  std::vector<float> bias;      // (kp,); centroids of the padding never win
  // (d, kp) |h_l|^2 / 2, which a missing cell adds to a score; empty if all rows are complete
  std::vector<float> missing_gain;
  float largest_norm, largest_bias;  // largest |h| and largest bias, rounded up

  // The centroids in 8 bits: h = scale (integer) + rest, packed four features at a time.
  void pack_bytes(const Rows& rows);
  void pack_bytes_if_fast(const Rows& rows);  // only if such scores are faster
  bool has_bytes() const { return quads > 0; }
  size_t quads = 0;
  std::vector<int8_t> int8;
  std::vector<float> int8_scale;     // (kp,)
  std::vector<int32_t> int8_offset;  // (kp,) 128 times the sum of the integers
  float int8_error = 0;              // largest |h - scale (integer)|, rounded up

  // The centroids in 16 bits. The cos and sin of a column are adjacent.
  void pack_pairs(const Rows& rows);
  bool has_pairs() const { return !pairs.empty(); }
  std::vector<int16_t> pairs;
  std::vector<float> pair_scale;  // (kp,)
  float pair_error = 0;           // largest |h - scale (integer)|, rounded up

  // Return a bound on |float32 score - exact score| for a row of squared length norm2 with
  // n_missing missing cells.
  float error(float norm2, size_t n_missing) const;
  ScoreError complete_error;  // for rows without missing cells

 private:
  void pack_one(const Rows& rows, const int32_t* C, size_t c);
  void pack_bytes_of(size_t p, size_t panel, size_t c, double* error);
  void pack_pairs_of(size_t p, size_t panel, size_t c, double* error);
  size_t threads;
};

}  // namespace rekmeans
