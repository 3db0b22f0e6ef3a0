#include "columns.hpp"

#include <algorithm>
#include <numeric>

#include "../compiler.hpp"

namespace rekmeans {
namespace {

// radix sort is faster than comparison sort for at least this many cells
constexpr size_t RADIX_FROM = 512;
constexpr int DIGIT = 11;  // bits of a digit
// sorting by the highest 3 digits that differ leaves few cells to compare
constexpr int MAX_DIGITS = 3;
constexpr size_t ROWS_AHEAD = 16;  // distance of prefetched rows

template <class Cell>
void sort_by_comparison(Cell* cells, Cell* end) {
  std::sort(cells, end, [](const Cell& a, const Cell& b) { return a.key < b.key; });
}

// Sort the cells by one digit, stably.
template <class Cell>
void sort_by_digit(const Cell* cells, size_t n, int shift, Cell* out) {
  constexpr uint64_t MASK = (1 << DIGIT) - 1;
  uint32_t places[MASK + 1] = {};
  for (size_t i = 0; i < n; ++i) ++places[(cells[i].key >> shift) & MASK];
  std::exclusive_scan(places, places + MASK + 1, places, uint32_t(0));
  for (size_t i = 0; i < n; ++i) out[places[(cells[i].key >> shift) & MASK]++] = cells[i];
}

// Return the sorted cells, in one of the two arrays. Sort by the highest digits that differ, then
// by comparison.
template <class Cell>
Cell* sort_cells(Cell* cells, Cell* spare, size_t n) {
  if (n < RADIX_FROM) return sort_by_comparison(cells, cells + n), cells;
  uint64_t different = 0;
  for (size_t i = 0; i < n; ++i) different |= cells[i].key ^ cells[0].key;
  const int end = std::bit_width(different), lowest = end ? std::countr_zero(different) : 0;
  const int first = std::max(lowest, end - MAX_DIGITS * DIGIT);
  for (int shift = first; shift < end; shift += DIGIT, std::swap(cells, spare))
    sort_by_digit(cells, n, shift, spare);
  if (first == lowest) return cells;
  for (size_t i = 0, last; i < n; i = last) {
    for (last = i + 1; last < n && cells[last].key >> first == cells[i].key >> first;) ++last;
    if (last > i + 1) sort_by_comparison(cells + i, cells + last);
  }
  return cells;
}

// The distinct values and their running mass, added in order.
struct DistinctValues {
  double *values, *running;
  size_t n = 0;
  int64_t mass = 0;

  template <class Cell>
  void add(const Cell* cells, const Cell* end) {
    for (const Cell* cell = cells; cell < end; ++cell) {
      mass += cell->mass();
      values[n] = value_of(cell->key), running[n + 1] = double(mass);
      n += cell + 1 == end || cell[1].key != cell->key;
    }
  }

  void add_zeros(int64_t zeros) {
    if (!zeros) return;
    mass += zeros;
    values[n] = 0.0, running[n + 1] = double(mass);
    ++n;
  }
};

int64_t weight_of(const int64_t* weights, size_t row) { return weights ? weights[row] : 1; }

}  // namespace

template <class Cell>
SortedCells ColumnTile<Cell>::sort(size_t column, double row_weight) {
  const size_t n = count[column];
  const Cell* cell = sort_cells(cells.get() + column * capacity, spare.get(), n);
  const Cell *end = cell + n, *positive = std::partition_point(
                                  cell, end, [](const Cell& c) { return c.key < SIGN; });
  DistinctValues found{values.get(), running.get()};
  running[0] = 0.0;
  found.add(cell, positive);
  found.add_zeros(zeros[column]);
  found.add(positive, end);
  return {values.get(), running.get(), found.n, row_weight};
}

template <class Cell>
void DenseColumns::gather(size_t first, size_t width, const int64_t* weights,
                          ColumnTile<Cell>& out) const {
  DenseTable tile = table;
  tile.data += ptrdiff_t(first) * table.column_stride, tile.d = width;
  Cell* next[MAX_TILE_COLUMNS];
  int64_t zeros[MAX_TILE_COLUMNS] = {};
  for (size_t c = 0; c < width; ++c) next[c] = out.cells.get() + c * out.capacity;
  double x[MAX_TILE_COLUMNS];
  for (size_t i = 0; i < n; ++i) {
    const char* ahead =
        tile.data + ptrdiff_t(row(std::min(i + ROWS_AHEAD, n - 1))) * tile.row_stride;
    prefetch(ahead), prefetch(ahead + ptrdiff_t(width - 1) * tile.column_stride);
    tile.read(row(i), x);
    const int64_t weight = weight_of(weights, i);
    for (size_t c = 0; c < width; ++c) {
      *next[c] = Cell(key_of(x[c]), weight);
      next[c] += (x[c] < 0) | (x[c] > 0);
      zeros[c] += x[c] == 0 ? weight : 0;
    }
  }
  for (size_t c = 0; c < width; ++c) {
    out.count[c] = size_t(next[c] - (out.cells.get() + c * out.capacity));
    out.zeros[c] = zeros[c];
  }
}

template <class Cell>
void SparseColumns::gather(size_t first, size_t width, const int64_t* weights,
                           ColumnTile<Cell>& out) const {
  const int64_t all = weights ? std::accumulate(weights, weights + n, int64_t(0)) : int64_t(n);
  for (size_t c = 0; c < width; ++c) {
    Cell *start = out.cells.get() + c * out.capacity, *next = start;
    int64_t other = 0;  // mass of the stored nonzero cells
    for (int64_t i = indptr[first + c]; i < indptr[first + c + 1]; ++i) {
      const int64_t weight = weight_of(weights, size_t(indices[i]));
      *next = Cell(key_of(data[i]), weight);
      next += (data[i] < 0) | (data[i] > 0);
      other += data[i] == 0 ? 0 : weight;
    }
    out.count[c] = size_t(next - start), out.zeros[c] = all - other;
  }
}

template struct ColumnTile<PlainCell>;
template struct ColumnTile<WeightedCell>;
template void DenseColumns::gather(size_t, size_t, const int64_t*, ColumnTile<PlainCell>&) const;
template void DenseColumns::gather(size_t, size_t, const int64_t*, ColumnTile<WeightedCell>&) const;
template void SparseColumns::gather(size_t, size_t, const int64_t*, ColumnTile<PlainCell>&) const;
template void SparseColumns::gather(size_t, size_t, const int64_t*,
                                    ColumnTile<WeightedCell>&) const;

}  // namespace rekmeans
