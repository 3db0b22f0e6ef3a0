// Tables as the caller has them: dense with any strides, or the stored cells of a sparse one.
#pragma once
#include <cstddef>
#include <cstdint>

#include "../simd/simd.hpp"

namespace rekmeans {

struct DenseTable {
  const char* data;
  char kind;     // of its cells: 'f', 'i', 'u' or 'b'
  size_t bytes;  // of a cell
  size_t n, d;
  ptrdiff_t row_stride, column_stride;  // in bytes
  const char* const* columns =
      nullptr;  // (d,) where each column begins, if the table is stored column by column
  const int64_t* numbers = nullptr;  // (n,) of its rows in the stored table, if they are some of it

  size_t number(size_t j) const { return numbers ? size_t(numbers[j]) : j; }

  // Row j, (d,).
  void read(size_t j, double* out) const;

  // The cells of these rows column by column, (d, width of a vector); behind the last row it is
  // repeated.
  void read_tile(const uint32_t* rows, size_t count, const Simd* simd, double* out) const;

  // Ask for a row that is read soon.
  void prefetch_row(size_t j) const;

  // The rows of these numbers.
  DenseTable take(const int64_t* some, size_t count) const;
};

// Room for the cells of one row: all columns and 8 more, since vectors are written whole.
struct CellBuffer {
  double* dense;  // (d,) for a dense row
  uint32_t* columns;
  double* values;
};

// Where the stored cells of sparse rows come from; a cell that is not among them is zero.
struct CellSource {
  size_t n, d;

  CellSource(size_t n_, size_t d_) : n(n_), d(d_) {}
  virtual ~CellSource() = default;

  // Columns and values of row j, each column once; their number.
  virtual size_t read(size_t j, const Simd* simd, const CellBuffer& out) const = 0;
};

// A dense table with many zeros.
struct NonzeroCells : CellSource {
  explicit NonzeroCells(DenseTable table_) : CellSource(table_.n, table_.d), table(table_) {}
  size_t read(size_t j, const Simd* simd, const CellBuffer& out) const override;
  DenseTable table;
};

// CSR arrays as the caller has them. Every read checks what it follows: std::invalid_argument where
// a row does not lie inside the arrays or its columns do not ascend inside the table.
struct CsrCells : CellSource {
  CsrCells(const double* data_, const int64_t* indices_, const int64_t* indptr_, size_t stored_,
           size_t n_, size_t d_)
      : CellSource(n_, d_), data(data_), indices(indices_), indptr(indptr_), stored(stored_) {}
  size_t read(size_t j, const Simd* simd, const CellBuffer& out) const override;
  const double* data;
  const int64_t *indices, *indptr;
  size_t stored;  // cells in data and in indices
};

}  // namespace rekmeans
