// Rows of a small table side by side, so that exact distances of all of them cost less than proofs
// that avoid them.
#pragma once
#include "rows.hpp"

namespace rekmeans {

struct RowPanels {
  explicit RowPanels(const Rows& rows);

  // Whether they pay: few cells, and all of a row's values at hand.
  static bool serve(const Rows& rows);

  // D (count, stride): of each row the squared distances to points P (count, p), over the
  // coordinates it observes.
  void distances(const int32_t* P, size_t count, std::vector<int64_t>& D) const;
  // The nearest centroid of each row, the first of several, (stride,).
  void nearest(const int32_t* C, size_t k, std::vector<int64_t>& index) const;

  const Rows& rows;
  const size_t stride;  // rows, padded to whole panels

 private:
  void find_nearest_of_incomplete(const int32_t* C, size_t k, std::vector<int64_t>& index) const;
  std::vector<double> points(const int32_t* P,
                             size_t count) const;  // relative to the base, (count, p)

  std::vector<float> panels;         // (stride / width, p, width)
  std::vector<uint32_t> incomplete;  // rows with missing cells
};

}  // namespace rekmeans
