// Tables and weights that cross the border, as the core reads them.
#pragma once
#include "../exact/tables.hpp"
#include "arrays.hpp"

namespace rekmeans {

// Weights (n,) as the core takes them; null where there are none.
inline const int64_t* weights_of(const std::optional<Int64s>& weights, size_t n) {
  if (!weights) return nullptr;
  check_shape("weights are (n,)", *weights, {n});
  return weights->data();
}

inline char kind_of(const AnyTable& X) {
  switch (nb::dlpack::dtype_code(X.dtype().code)) {
    case nb::dlpack::dtype_code::Float: return 'f';
    case nb::dlpack::dtype_code::Int: return 'i';
    default: return 'u';
  }
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

}  // namespace rekmeans
