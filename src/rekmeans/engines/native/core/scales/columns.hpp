// Gather, sort and count the cells of a few columns of a table at a time.
#pragma once
#include <bit>
#include <cstdint>
#include <memory>

#include "../exact/tables.hpp"
#include "sorted_cells.hpp"

namespace rekmeans {

// columns gathered together: one cache line of float32 cells, or two of float64 cells
constexpr size_t MAX_TILE_COLUMNS = 16;

// Unsigned integers with the same order as the numbers. There is no NaN, and -0 is 0.
constexpr uint64_t SIGN = uint64_t(1) << 63;
inline uint64_t key_of(double x) {
  const uint64_t bits = std::bit_cast<uint64_t>(x);
  return bits ^ (bits & SIGN ? ~uint64_t(0) : SIGN);
}
inline double value_of(uint64_t key) {
  return std::bit_cast<double>(key ^ (key & SIGN ? SIGN : ~uint64_t(0)));
}

// A cell of weight 1, and a cell with a weight.
struct PlainCell {
  uint64_t key;
  PlainCell() = default;
  PlainCell(uint64_t key_, int64_t) : key(key_) {}
  int64_t mass() const { return 1; }
};
struct WeightedCell {
  uint64_t key;
  int64_t weight;
  WeightedCell() = default;
  WeightedCell(uint64_t key_, int64_t weight_) : key(key_), weight(weight_) {}
  int64_t mass() const { return weight; }
};

// Several columns: the observed nonzero cells of each column, in any order, and the mass of its
// zeros.
template <class Cell>
struct ColumnTile {
  ColumnTile(size_t n, size_t width)
      : capacity(n),
        cells(std::make_unique_for_overwrite<Cell[]>(n * width)),
        spare(std::make_unique_for_overwrite<Cell[]>(n)),
        values(std::make_unique_for_overwrite<double[]>(n + 1)),
        running(std::make_unique_for_overwrite<double[]>(n + 2)) {}

  size_t capacity;                // largest number of cells in a column
  std::unique_ptr<Cell[]> cells;  // (width, capacity)
  size_t count[MAX_TILE_COLUMNS];
  int64_t zeros[MAX_TILE_COLUMNS];

  // Return the sorted cells of one column. They are valid until the next call.
  SortedCells sort(size_t column, double row_weight);

 private:
  std::unique_ptr<Cell[]> spare;
  std::unique_ptr<double[]> values, running;
};

// Rows of a dense table, by row number, or all rows if `numbers` is null.
struct DenseColumns {
  DenseTable table;
  const int64_t* numbers;  // (n,)
  size_t n, d;

  size_t row(size_t i) const { return numbers ? size_t(numbers[i]) : i; }
  template <class Cell>
  void gather(size_t first, size_t width, const int64_t* weights, ColumnTile<Cell>& out) const;
};

// CSC arrays: the stored cells of each column, with their rows.
struct SparseColumns {
  const double* data;
  const int64_t *indices, *indptr;
  size_t n, d;

  template <class Cell>
  void gather(size_t first, size_t width, const int64_t* weights, ColumnTile<Cell>& out) const;
};

}  // namespace rekmeans
