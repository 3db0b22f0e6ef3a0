// Tables and weights, as passed from Python.
#pragma once
#include "../exact/tables.hpp"
#include "checks.hpp"

namespace rekmeans {

// Return a pointer to the weights (n,), or null if there are none.
inline const int64_t* weights_of(const std::optional<Int64s>& weights, size_t n) {
  if (!weights) return nullptr;
  check_shape("weights must have shape (n,)", *weights, {n});
  check_weights(weights->data(), n);
  return weights->data();
}

// Return the kind of the cells, as in DenseTable.
template <class A>
char kind_of(const A& X) {
  const size_t bytes = X.itemsize();
  switch (nb::dlpack::dtype_code(X.dtype().code)) {
    case nb::dlpack::dtype_code::Float:
      if (bytes == 4 || bytes == 8) return 'f';
      break;
    case nb::dlpack::dtype_code::Int: return 'i';
    case nb::dlpack::dtype_code::UInt: return 'u';
    case nb::dlpack::dtype_code::Bool: return 'u';
    default: break;
  }
  throw nb::type_error(("cells must be booleans, integers, float32 or float64, got a type with " +
                        std::to_string(bytes) + " bytes. Convert the table to float64.")
                           .c_str());
}

inline DenseTable table_of(const AnyTable& X) {
  const ptrdiff_t bytes = ptrdiff_t(X.itemsize());
  return {static_cast<const char*>(X.data()),
          kind_of(X),
          X.itemsize(),
          X.shape(0),
          X.shape(1),
          X.stride(0) * bytes,
          X.stride(1) * bytes};
}

// A table that is stored by columns, which have the same dtype and length.
struct ColumnTable {
  explicit ColumnTable(const std::vector<Column>& columns) {
    if (columns.empty()) throw nb::value_error("a table must have at least one column, got none.");
    for (const Column& column : columns) {
      if (column.shape(0) != columns[0].shape(0) || column.dtype() != columns[0].dtype())
        throw nb::value_error("all columns must have the same length and dtype.");
      begins.push_back(static_cast<const char*>(column.data()));
    }
    table = {
        nullptr, kind_of(columns[0]), columns[0].itemsize(), columns[0].shape(0), columns.size(), 0,
        0,       begins.data()};
  }
  ColumnTable(const ColumnTable&) = delete;

  std::vector<const char*> begins;
  DenseTable table;
};

}  // namespace rekmeans
