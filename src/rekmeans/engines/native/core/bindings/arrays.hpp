// NumPy arrays that cross the border: their types, and checks of what the core follows without looking again.
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

using Doubles = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Column = nb::ndarray<nb::ro, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using ChangedFloats = nb::ndarray<float, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using ChangedInt32s = nb::ndarray<int32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Int64s = nb::ndarray<const int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Int32s = nb::ndarray<const int32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Words = nb::ndarray<const uint64_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using GridPoints = nb::ndarray<const int32_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using AnyTable = nb::ndarray<nb::ro, nb::ndim<2>, nb::device::cpu>;
using DoubleArray = nb::ndarray<const double, nb::c_contig, nb::device::cpu>;
using Int32Array = nb::ndarray<const int32_t, nb::c_contig, nb::device::cpu>;
using AnyArray = nb::ndarray<nb::ro, nb::c_contig, nb::device::cpu>;

// A NumPy array that owns these values.
template <class T, class... Shape>
nb::ndarray<nb::numpy, T> to_array(std::vector<T> values, Shape... shape) {
  auto* copy = new std::vector<T>(std::move(values));
  nb::capsule owner(copy, [](void* at) noexcept { delete static_cast<std::vector<T>*>(at); });
  return nb::ndarray<nb::numpy, T>(copy->data(), {size_t(shape)...}, owner);
}

nb::object to_int(int128 value);

// 128-bit sums (k, p) as int64 where all fit, else as (high, low) words for Python to join.
nb::object to_arrays(const std::vector<int128>& values, size_t k, size_t p);

template <class A>
std::vector<size_t> shape_of(const A& a) {
  std::vector<size_t> sizes;
  for (size_t i = 0; i < a.ndim(); ++i) sizes.push_back(a.shape(i));
  return sizes;
}

std::string shape_text(const std::vector<size_t>& sizes);

// nb::value_error "what, here (sizes), got (shape)." where the shape is another.
void check_shape(const char* what, const std::vector<size_t>& shape, const std::vector<size_t>& sizes);

template <class A>
void check_shape(const char* what, const A& a, const std::vector<size_t>& sizes) {
  check_shape(what, shape_of(a), sizes);
}

// nb::value_error "what" where a number does not lie in [0, end).
template <class A>
void check_below(const char* what, const A& numbers, size_t end) {
  for (size_t i = 0; i < numbers.size(); ++i)
    if (numbers.data()[i] < 0 || size_t(numbers.data()[i]) >= end) throw nb::value_error(what);
}

}  // namespace rekmeans
