// Checks of arguments from Python. Each raises ValueError with the invalid value.
#pragma once
#include "../grid.hpp"
#include "arrays.hpp"

namespace rekmeans {

void check_rows(size_t n);           // at most MAX_ROWS
void check_columns(size_t d);        // 1 to MAX_COLUMNS
void check_clusters(size_t k);       // 1 to 2^31 - 1: labels have 32 bits
void check_threads(size_t threads);  // at most MAX_THREADS; 0 counts as 1

// Check that points (count, 2d) lie within the unit circle of each column, up to rounding.
void check_on_grid(const char* name, const int32_t* points, size_t count, size_t d);

inline void check_on_grid(const char* name, const GridPoints& points) {
  check_on_grid(name, points.data(), points.shape(0), points.shape(1) / 2);
}

// Check that weights are 0 to 2^31, so that their sum over MAX_ROWS rows fits into 64 bits.
void check_weights(const int64_t* weights, size_t n);

void check_finite(const char* name, const double* numbers, size_t count);

// Check that all numbers are 0 to end - 1.
template <class A>
void check_below(const char* name, const A& numbers, size_t end) {
  for (size_t i = 0; i < numbers.size(); ++i) {
    const auto number = numbers.data()[i];
    if (number < 0 || size_t(number) >= end)
      throw nb::value_error((std::string(name) + " must be 0 to " +
                             (end ? std::to_string(end - 1) : "-1 (none)") + ", got " +
                             std::to_string(number) + " at position " + std::to_string(i) + ".")
                                .c_str());
  }
}

// Check that arrays do not share memory, because the core writes to some while it reads others.
struct MemoryRange {
  const void* begin;
  size_t bytes;
};
void check_disjoint(const char* names, std::initializer_list<MemoryRange> ranges);

}  // namespace rekmeans
