// The rows of a small table in panels, so that computing all exact distances is faster than proving
// that some are not needed.
#pragma once
#include "rows.hpp"

namespace rekmeans {

struct RowPanels {
  explicit RowPanels(const Rows& rows);

  // Return whether panels are faster: the table is small, and its rows store all values.
  static bool is_faster(const Rows& rows);

  // D (count, stride): the squared distances of each row to points P (count, p), over its observed
  // coordinates.
  void distances(const int32_t* P, size_t count, std::vector<int64_t>& D) const;
  // Find the nearest centroid of each row (stride,), the first if several are equal.
  void nearest(const int32_t* C, size_t k, std::vector<int64_t>& index) const;

  const Rows& rows;
  const size_t stride;  // number of rows, padded to whole panels

 private:
  void find_nearest_of_incomplete(const int32_t* C, size_t k, std::vector<int64_t>& index) const;
  std::vector<double> points(const int32_t* P,
                             size_t count) const;  // points relative to the base, (count, p)

  std::vector<float> panels;         // (stride / width, p, width)
  std::vector<uint32_t> incomplete;  // rows with missing cells
};

}  // namespace rekmeans
