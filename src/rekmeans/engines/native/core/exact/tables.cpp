#include "tables.hpp"

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <string>

#include "../compiler.hpp"

namespace rekmeans {
namespace {

constexpr size_t PREFETCH_ROWS = 32;  // distance of prefetched rows
// largest number of bytes of a row that are prefetched; the hardware prefetches the rest
constexpr ptrdiff_t MAX_PREFETCHED_BYTES = 1024;

template <class T>
void read_as(const char* from, ptrdiff_t step, size_t d, double* out) {
  if (step == sizeof(T)) {
    const T* row = reinterpret_cast<const T*>(from);
    for (size_t l = 0; l < d; ++l) out[l] = double(row[l]);
    return;
  }
  for (size_t l = 0; l < d; ++l, from += step) {
    T value;
    std::memcpy(&value, from, sizeof value);
    out[l] = double(value);
  }
}

template <class T>
void read_row(const DenseTable& table, size_t j, double* out) {
  const size_t row = table.number(j);
  if (!table.columns)
    return read_as<T>(table.data + ptrdiff_t(row) * table.row_stride, table.column_stride, table.d,
                      out);
  for (size_t l = 0; l < table.d; ++l)
    out[l] = double(reinterpret_cast<const T*>(table.columns[l])[row]);
}

template <class T>
void read_tile_as(const DenseTable& table, const size_t* rows, size_t width, double* out) {
  bool is_run = true;
  for (size_t r = 1; r < width; ++r) is_run &= rows[r] == rows[0] + r;
  for (size_t l = 0; l < table.d && table.columns; ++l, out += width) {
    const T* column = reinterpret_cast<const T*>(table.columns[l]);
    prefetch(column + rows[width - 1] + PREFETCH_ROWS),
        prefetch(column + rows[width - 1] + PREFETCH_ROWS + width / 2);
    if (is_run)
      for (size_t r = 0; r < width; ++r) out[r] = double(column[rows[0] + r]);
    else
      for (size_t r = 0; r < width; ++r) out[r] = double(column[rows[r]]);
  }
  for (size_t r = 0; r < width && !table.columns; ++r) {
    const char* cell = table.data + ptrdiff_t(rows[r]) * table.row_stride;
    for (size_t l = 0; l < table.d; ++l, cell += table.column_stride) {
      T value;
      std::memcpy(&value, cell, sizeof value);
      out[l * width + r] = double(value);
    }
  }
}

// The type of a cell as a single number.
constexpr int cell_type(char kind, size_t bytes) { return kind * 16 + int(bytes); }

// Call call.operator()<T>() for the type T of the cells.
template <class Call>
void with_cell_type(const DenseTable& table, const Call& call) {
  switch (cell_type(table.kind == 'b' ? 'u' : table.kind, table.bytes)) {
    case cell_type('f', 8): return call.template operator()<double>();
    case cell_type('f', 4): return call.template operator()<float>();
    case cell_type('i', 1): return call.template operator()<int8_t>();
    case cell_type('i', 2): return call.template operator()<int16_t>();
    case cell_type('i', 4): return call.template operator()<int32_t>();
    case cell_type('i', 8): return call.template operator()<int64_t>();
    case cell_type('u', 1): return call.template operator()<uint8_t>();
    case cell_type('u', 2): return call.template operator()<uint16_t>();
    case cell_type('u', 4): return call.template operator()<uint32_t>();
    case cell_type('u', 8): return call.template operator()<uint64_t>();
  }
  throw std::invalid_argument("the dtype of the cells is not supported");
}

}  // namespace

void DenseTable::read(size_t j, double* out) const {
  with_cell_type(*this, [&]<class T>() { read_row<T>(*this, j, out); });
}

void DenseTable::read_tile(const uint32_t* rows, size_t count, const Simd* simd,
                           double* out) const {
  const size_t width = simd->width;
  size_t stored[MAX_LANES];
  for (size_t r = 0; r < width; ++r) stored[r] = number(rows[std::min(r, count - 1)]);
  if (columns || kind != 'f' || bytes != sizeof(double) || column_stride != sizeof(double))
    return with_cell_type(*this, [&]<class T>() { read_tile_as<T>(*this, stored, width, out); });
  const double* first[MAX_LANES];
  for (size_t r = 0; r < width; ++r)
    first[r] = reinterpret_cast<const double*>(data + ptrdiff_t(stored[r]) * row_stride);
  simd->transpose_cells(first, d, out);
}

void DenseTable::prefetch_row(size_t j) const {
  if (columns) return;
  const char* row = data + ptrdiff_t(number(j)) * row_stride;
  for (ptrdiff_t at = 0; at < ptrdiff_t(d) * column_stride && at < MAX_PREFETCHED_BYTES; at += 64)
    prefetch(row + at);
}

DenseTable DenseTable::take(const int64_t* some, size_t count) const {
  DenseTable rows = *this;
  rows.n = count, rows.numbers = some;
  return rows;
}

size_t NonzeroCells::read(size_t j, const Simd* simd, const CellBuffer& out) const {
  table.read(j, out.dense);
  return simd->nonzero_cells(out.dense, d, out.columns, out.values);
}

size_t CsrCells::read(size_t j, const Simd*, const CellBuffer& out) const {
  const int64_t from = indptr[j], to = indptr[j + 1];
  if (from < 0 || to < from || size_t(to) > stored)
    throw std::invalid_argument("row " + std::to_string(j) +
                                " of the sparse table is outside its " + std::to_string(stored) +
                                " stored cells. Check indptr.");
  int64_t last = -1;
  for (int64_t i = from; i < to; ++i) {
    const int64_t column = indices[i];
    if (column <= last || size_t(column) >= d)
      throw std::invalid_argument("row " + std::to_string(j) + " of the sparse table has column " +
                                  std::to_string(column) + " after " + std::to_string(last) +
                                  ". Columns must ascend and be below " + std::to_string(d) + ".");
    out.columns[i - from] = uint32_t(column), out.values[i - from] = data[i];
    last = column;
  }
  return size_t(to - from);
}

}  // namespace rekmeans
