// The caller's tables: dense with any strides, or the stored cells of a sparse table.
#pragma once
#include <cstddef>
#include <cstdint>

#include "../simd/simd.hpp"

namespace rekmeans {

struct DenseTable {
  const char* data;
  char kind;     // kind of the cells: 'f', 'i', 'u' or 'b'
  size_t bytes;  // bytes of a cell
  size_t n, d;
  ptrdiff_t row_stride, column_stride;  // in bytes
  // (d,) start of each column if the table is stored by columns
  const char* const* columns = nullptr;
  // (n,) row numbers in the stored table if this is a selection of rows
  const int64_t* numbers = nullptr;

  size_t number(size_t j) const { return numbers ? size_t(numbers[j]) : j; }

  // Read row j, (d,).
  void read(size_t j, double* out) const;

  // Read the cells of these rows by columns, (d, width of a vector). The last row is repeated to
  // fill the tile.
  void read_tile(const uint32_t* rows, size_t count, const Simd* simd, double* out) const;

  // Prefetch a row that is read soon.
  void prefetch_row(size_t j) const;

  // Return a table with these rows.
  DenseTable take(const int64_t* some, size_t count) const;
};

// Space for the cells of one row: all columns and 8 more, because vectors are written whole.
struct CellBuffer {
  double* dense;  // (d,) for a dense row
  uint32_t* columns;
  double* values;
};

// A source of the stored cells of sparse rows. All other cells are 0.
struct CellSource {
  size_t n, d;

  CellSource(size_t n_, size_t d_) : n(n_), d(d_) {}
  virtual ~CellSource() = default;

  // Write the columns and values of row j, each column once, and return their number.
  virtual size_t read(size_t j, const Simd* simd, const CellBuffer& out) const = 0;
};

// A dense table with many zeros.
struct NonzeroCells : CellSource {
  explicit NonzeroCells(DenseTable table_) : CellSource(table_.n, table_.d), table(table_) {}
  size_t read(size_t j, const Simd* simd, const CellBuffer& out) const override;
  DenseTable table;
};

// The caller's CSR arrays. Each read checks its row, and raises std::invalid_argument if the row is
// not inside the arrays or if its columns do not ascend within the table.
struct CsrCells : CellSource {
  CsrCells(const double* data_, const int64_t* indices_, const int64_t* indptr_, size_t stored_,
           size_t n_, size_t d_)
      : CellSource(n_, d_), data(data_), indices(indices_), indptr(indptr_), stored(stored_) {}
  size_t read(size_t j, const Simd* simd, const CellBuffer& out) const override;
  const double* data;
  const int64_t *indices, *indptr;
  size_t stored;  // number of cells in data and in indices
};

}  // namespace rekmeans
