// The types of NumPy arrays that are passed from Python, and checks of their shapes.
#pragma once
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <string>
#include <vector>

#include "../int128.hpp"

namespace rekmeans {

namespace nb = nanobind;

// An argument with exactly this type, order and alignment. By default nanobind converts other
// arrays. The core would then write to a copy that is discarded, or keep a pointer to a copy that
// is freed after the call.
template <class... Ts>
struct Array : nb::ndarray<Ts...> {
  Array() = default;
  explicit Array(const nb::ndarray<Ts...>& array) : nb::ndarray<Ts...>(array) {}
};

using Doubles = Array<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Column = Array<nb::ro, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using WritableFloats = Array<float, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using WritableInt32s = Array<int32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Int64s = Array<const int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Int32s = Array<const int32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using RandomWords = Array<const uint64_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using GridPoints = Array<const int32_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using AnyTable = Array<nb::ro, nb::ndim<2>, nb::device::cpu>;
using DoubleArray = Array<const double, nb::c_contig, nb::device::cpu>;
using Int32Array = Array<const int32_t, nb::c_contig, nb::device::cpu>;
using AnyArray = Array<nb::ro, nb::c_contig, nb::device::cpu>;

// Return a NumPy array that owns these values.
template <class T, class... Shape>
nb::ndarray<nb::numpy, T> to_array(std::vector<T> values, Shape... shape) {
  auto* copy = new std::vector<T>(std::move(values));
  nb::capsule owner(copy, [](void* at) noexcept { delete static_cast<std::vector<T>*>(at); });
  return nb::ndarray<nb::numpy, T>(copy->data(), {size_t(shape)...}, owner);
}

nb::object to_int(int128 value);

// Return 128-bit sums (k, p) as int64 if all of them fit, otherwise as (high, low) words, which
// Python joins.
nb::object to_arrays(const std::vector<int128>& values, size_t k, size_t p);

template <class A>
std::vector<size_t> shape_of(const A& a) {
  std::vector<size_t> sizes;
  for (size_t i = 0; i < a.ndim(); ++i) sizes.push_back(a.shape(i));
  return sizes;
}

std::string shape_text(const std::vector<size_t>& sizes);

// Raise nb::value_error "<what> = (sizes), got (shape)." if the shape is different.
void check_shape(const char* what, const std::vector<size_t>& shape,
                 const std::vector<size_t>& sizes);

template <class A>
void check_shape(const char* what, const A& a, const std::vector<size_t>& sizes) {
  check_shape(what, shape_of(a), sizes);
}

}  // namespace rekmeans

NAMESPACE_BEGIN(NB_NAMESPACE)
NAMESPACE_BEGIN(detail)

template <class... Ts>
struct type_caster<rekmeans::Array<Ts...>> {
  NB_TYPE_CASTER(rekmeans::Array<Ts...>, make_caster<ndarray<Ts...>>::Name)

  template <class Flags>  // 8 or 32 bits, depending on the version of nanobind
  bool from_python(handle source, Flags flags, cleanup_list* cleanup) noexcept {
    make_caster<ndarray<Ts...>> array;
    if (!array.from_python(source, Flags(flags & ~Flags(cast_flags::convert)), cleanup))
      return false;
    value = rekmeans::Array<Ts...>(array.value);
    return value.size() == 0 || reinterpret_cast<uintptr_t>(value.data()) % value.itemsize() == 0;
  }
};

NAMESPACE_END(detail)
NAMESPACE_END(NB_NAMESPACE)
