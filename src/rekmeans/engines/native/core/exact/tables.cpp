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

// The type of a cell as one number.
constexpr int cell_type(char kind, size_t bytes) { return kind * 16 + int(bytes); }

}  // namespace

void DenseTable::read(size_t j, double* out) const {
  const char* row = data + ptrdiff_t(j) * row_stride;
  switch (cell_type(kind == 'b' ? 'u' : kind, bytes)) {
    case cell_type('f', 8): return read_as<double>(row, column_stride, d, out);
    case cell_type('f', 4): return read_as<float>(row, column_stride, d, out);
    case cell_type('i', 1): return read_as<int8_t>(row, column_stride, d, out);
    case cell_type('i', 2): return read_as<int16_t>(row, column_stride, d, out);
    case cell_type('i', 4): return read_as<int32_t>(row, column_stride, d, out);
    case cell_type('i', 8): return read_as<int64_t>(row, column_stride, d, out);
    case cell_type('u', 1): return read_as<uint8_t>(row, column_stride, d, out);
    case cell_type('u', 2): return read_as<uint16_t>(row, column_stride, d, out);
    case cell_type('u', 4): return read_as<uint32_t>(row, column_stride, d, out);
    case cell_type('u', 8): return read_as<uint64_t>(row, column_stride, d, out);
  }
  throw std::invalid_argument("cells of this type cannot be read");
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
