#include "tables.hpp"

#include <cstring>
#include <stdexcept>
#include <string>

namespace rekmeans {
namespace {

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
void read_rows(const DenseTable& table, size_t j, size_t count, double* out) {
  const size_t d = table.d;
  if (!table.columns) {
    for (size_t r = 0; r < count; ++r, out += d)
      read_as<T>(table.data + ptrdiff_t(table.number(j + r)) * table.row_stride, table.column_stride, d, out);
    return;
  }
  for (size_t l = 0; l < d; ++l) {
    const T* column = reinterpret_cast<const T*>(table.columns[l]);
    for (size_t r = 0; r < count; ++r) out[r * d + l] = double(column[table.number(j + r)]);
  }
}

// The type of a cell as one number.
constexpr int cell_type(char kind, size_t bytes) { return kind * 16 + int(bytes); }

}  // namespace

void DenseTable::read(size_t j, size_t count, double* out) const {
  switch (cell_type(kind == 'b' ? 'u' : kind, bytes)) {
    case cell_type('f', 8): return read_rows<double>(*this, j, count, out);
    case cell_type('f', 4): return read_rows<float>(*this, j, count, out);
    case cell_type('i', 1): return read_rows<int8_t>(*this, j, count, out);
    case cell_type('i', 2): return read_rows<int16_t>(*this, j, count, out);
    case cell_type('i', 4): return read_rows<int32_t>(*this, j, count, out);
    case cell_type('i', 8): return read_rows<int64_t>(*this, j, count, out);
    case cell_type('u', 1): return read_rows<uint8_t>(*this, j, count, out);
    case cell_type('u', 2): return read_rows<uint16_t>(*this, j, count, out);
    case cell_type('u', 4): return read_rows<uint32_t>(*this, j, count, out);
    case cell_type('u', 8): return read_rows<uint64_t>(*this, j, count, out);
  }
  throw std::invalid_argument("cells of this type cannot be read");
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
    throw std::invalid_argument("row " + std::to_string(j) + " of the sparse table lies outside its " +
                                std::to_string(stored) + " stored cells: indptr is damaged.");
  int64_t last = -1;
  for (int64_t i = from; i < to; ++i) {
    const int64_t column = indices[i];
    if (column <= last || size_t(column) >= d)
      throw std::invalid_argument("row " + std::to_string(j) + " of the sparse table has column " +
                                  std::to_string(column) + " after " + std::to_string(last) +
                                  ": columns must ascend and lie below " + std::to_string(d) + ".");
    out.columns[i - from] = uint32_t(column), out.values[i - from] = data[i];
    last = column;
  }
  return size_t(to - from);
}

}  // namespace rekmeans
