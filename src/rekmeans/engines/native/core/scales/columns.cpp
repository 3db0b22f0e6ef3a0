#include "columns.hpp"

#include <algorithm>
#include <numeric>

namespace rekmeans {
namespace {

constexpr size_t RADIX_FROM = 512;  // cells from which on counting digits is faster than comparing
constexpr int DIGIT = 11;           // bits

// The items in order, in one of the two arrays, by digits from the lowest on; those in which all are alike are left
// out.
template <class Cell>
const Cell* sort_cells(Cell* cells, Cell* spare, size_t n) {
  if (n < RADIX_FROM) {
    std::sort(cells, cells + n, [](const Cell& a, const Cell& b) { return a.key < b.key; });
    return cells;
  }
  uint64_t different = 0;
  for (size_t i = 0; i < n; ++i) different |= cells[i].key ^ cells[0].key;
  for (int shift = 0; different >> shift; shift += DIGIT) {
    shift += std::countr_zero(different >> shift);
    constexpr uint64_t mask = (1 << DIGIT) - 1;
    uint32_t places[mask + 1] = {};
    for (size_t i = 0; i < n; ++i) ++places[(cells[i].key >> shift) & mask];
    std::exclusive_scan(places, places + mask + 1, places, uint32_t(0));
    for (size_t i = 0; i < n; ++i) spare[places[(cells[i].key >> shift) & mask]++] = cells[i];
    std::swap(cells, spare);
    if (shift + DIGIT >= 64) break;
  }
  return cells;
}

// Distinct values as they come, with their running mass.
struct DistinctValues {
  double *values, *running;
  size_t n = 0;

  void add(double value, double mass) {
    if (n && values[n - 1] == value) {
      running[n] += mass;
      return;
    }
    values[n] = value, running[n + 1] = running[n] + mass;
    ++n;
  }
};

int64_t weight_of(const int64_t* weights, size_t row) { return weights ? weights[row] : 1; }

}  // namespace

template <class Cell>
SortedCells Tile<Cell>::sort(size_t column, double row_weight) {
  const size_t n = count[column];
  const Cell* cell = sort_cells(cells.get() + column * room, spare.get(), n);
  const Cell *end = cell + n, *positive = std::partition_point(cell, end, [](const Cell& c) { return c.key < SIGN; });
  DistinctValues found{values.get(), running.get()};
  running[0] = 0.0;
  for (; cell < positive; ++cell) found.add(value_of(cell->key), cell->mass());
  if (zeros[column] > 0) found.add(0.0, zeros[column]);
  for (; cell < end; ++cell) found.add(value_of(cell->key), cell->mass());
  return {values.get(), running.get(), found.n, row_weight};
}

template <class Cell>
void DenseColumns::gather(size_t first, size_t width, const int64_t* weights, Tile<Cell>& out) const {
  DenseTable tile = table;
  tile.data += ptrdiff_t(first) * table.column_stride, tile.d = width;
  Cell* next[MOST_TILE];
  double zeros[MOST_TILE] = {};
  for (size_t c = 0; c < width; ++c) next[c] = out.cells.get() + c * out.room;
  double x[MOST_TILE];
  for (size_t i = 0; i < n; ++i) {
    tile.read(row(i), x);
    const int64_t weight = weight_of(weights, i);
    for (size_t c = 0; c < width; ++c) {
      *next[c] = Cell(key_of(x[c]), weight);
      next[c] += (x[c] < 0) | (x[c] > 0);
      zeros[c] += x[c] == 0 ? double(weight) : 0.0;
    }
  }
  for (size_t c = 0; c < width; ++c) {
    out.count[c] = size_t(next[c] - (out.cells.get() + c * out.room));
    out.zeros[c] = zeros[c];
  }
}

template <class Cell>
void SparseColumns::gather(size_t first, size_t width, const int64_t* weights, Tile<Cell>& out) const {
  const double all = weights ? std::accumulate(weights, weights + n, 0.0) : double(n);
  for (size_t c = 0; c < width; ++c) {
    Cell *start = out.cells.get() + c * out.room, *next = start;
    double other = 0.0;  // mass of the cells that are stored and not zero
    for (int64_t i = indptr[first + c]; i < indptr[first + c + 1]; ++i) {
      const int64_t weight = weight_of(weights, size_t(indices[i]));
      *next = Cell(key_of(data[i]), weight);
      next += (data[i] < 0) | (data[i] > 0);
      other += data[i] == 0 ? 0.0 : double(weight);
    }
    out.count[c] = size_t(next - start), out.zeros[c] = all - other;
  }
}

template struct Tile<PlainCell>;
template struct Tile<WeightedCell>;
template void DenseColumns::gather(size_t, size_t, const int64_t*, Tile<PlainCell>&) const;
template void DenseColumns::gather(size_t, size_t, const int64_t*, Tile<WeightedCell>&) const;
template void SparseColumns::gather(size_t, size_t, const int64_t*, Tile<PlainCell>&) const;
template void SparseColumns::gather(size_t, size_t, const int64_t*, Tile<WeightedCell>&) const;

}  // namespace rekmeans
