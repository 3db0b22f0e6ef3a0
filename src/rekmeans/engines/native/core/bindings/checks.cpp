#include "checks.hpp"

#include <cmath>
#include <cstdint>
#include <functional>

#include "../parallel.hpp"

namespace rekmeans {
namespace {

constexpr int64_t MAX_WEIGHT = int64_t(1) << 31;  // as returned by integer_weights in _grid.py

// Rounding its coordinates can move a rectified centroid outside the circle. A mean is also moved
// by the rounding of its rows.
constexpr int64_t MAX_RADIUS = (int64_t(1) << GRID_BITS) + 2;

[[noreturn]] void raise_value_error(const std::string& message) {
  throw nb::value_error(message.c_str());
}

}  // namespace

void check_rows(size_t n) {
  if (n > MAX_ROWS)
    raise_value_error("engine='native' supports at most " + std::to_string(MAX_ROWS) +
                      " rows in memory, got " + std::to_string(n) +
                      ". Fit a sample of the rows, or read them from a file.");
}

void check_columns(size_t d) {
  if (!d || d > MAX_COLUMNS)
    raise_value_error("engine='native' supports 1 to " + std::to_string(MAX_COLUMNS) +
                      " columns, got " + std::to_string(d) +
                      ". Use engine='reference' for more columns.");
}

void check_clusters(size_t k) {
  if (!k || k > size_t(INT32_MAX))
    raise_value_error("k must be 1 to " + std::to_string(INT32_MAX) + ", got " + std::to_string(k) +
                      ".");
}

void check_threads(size_t threads) {
  if (threads > MAX_THREADS)
    raise_value_error("threads must be at most " + std::to_string(MAX_THREADS) + ", got " +
                      std::to_string(threads) + ".");
}

void check_on_grid(const char* name, const int32_t* points, size_t count, size_t d) {
  for (size_t i = 0; i < count; ++i)
    for (size_t l = 0; l < d; ++l) {
      const int64_t cos = points[i * 2 * d + l], sin = points[i * 2 * d + d + l];
      if (uint64_t(cos * cos) + uint64_t(sin * sin) > uint64_t(MAX_RADIUS * MAX_RADIUS))
        raise_value_error(std::string(name) + " must lie within circles of radius " +
                          std::to_string(int64_t(1) << GRID_BITS) + ", got (" +
                          std::to_string(cos) + ", " + std::to_string(sin) + ") at row " +
                          std::to_string(i) + ", column " + std::to_string(l) + ".");
    }
}

void check_weights(const int64_t* weights, size_t n) {
  for (size_t j = 0; weights && j < n; ++j)
    if (weights[j] < 0 || weights[j] > MAX_WEIGHT)
      raise_value_error("weights must be 0 to " + std::to_string(MAX_WEIGHT) + ", got " +
                        std::to_string(weights[j]) + " at row " + std::to_string(j) +
                        ". Scale the weights.");
}

void check_finite(const char* name, const double* numbers, size_t count) {
  for (size_t i = 0; i < count; ++i)
    if (!std::isfinite(numbers[i]))
      raise_value_error(std::string(name) + " must be finite, got " + std::to_string(numbers[i]) +
                        " at position " + std::to_string(i) + ".");
}

void check_disjoint(const char* names, std::initializer_list<MemoryRange> ranges) {
  const std::less<const char*> before;
  for (const MemoryRange* a = ranges.begin(); a != ranges.end(); ++a)
    for (const MemoryRange* b = a + 1; b != ranges.end(); ++b) {
      const char *first = static_cast<const char*>(a->begin),
                 *second = static_cast<const char*>(b->begin);
      if (a->bytes && b->bytes && before(first, second + b->bytes) &&
          before(second, first + a->bytes))
        raise_value_error(std::string(names) + " must not share memory. Pass copies.");
    }
}

}  // namespace rekmeans
