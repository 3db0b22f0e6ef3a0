// The grid on which mapped rows lie, and other numbers of the definition; Python asserts that its
// own are equal.
#pragma once
#include <cstddef>
#include <cstdint>

namespace rekmeans {

constexpr int GRID_BITS = 23;  // grid values are multiples of 2^-23
constexpr double GRID = double(1 << GRID_BITS);
constexpr double TURN = 65536;  // phases are averaged on 2^-16 half-turns
constexpr double SMALL_PHASE =
    0x1p40;  // half-turns up to which a phase needs no reduction before the map
constexpr size_t MOST_COLUMNS = 32767;  // their |f - m|^2 <= 4 d 2^46 stays inside 64 bits
// Rows of a table: 32 bits hold their numbers, and 64 bits the sum of weights up to 2^31.
constexpr size_t MOST_ROWS = size_t(1) << 31;
constexpr double AT_CENTROID =
    1e-9;  // a row this near lies on the centroid: it has no direction to pull in

// A grid value that a float holds exactly, as an integer.
inline int32_t to_grid(float x) { return int32_t(x * float(GRID)); }

}  // namespace rekmeans
