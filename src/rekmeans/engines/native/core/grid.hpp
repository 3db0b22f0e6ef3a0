// The grid of mapped rows and other constants of the definition. Python checks that its constants
// are equal.
#pragma once
#include <cstddef>
#include <cstdint>

namespace rekmeans {

constexpr int GRID_BITS = 23;  // grid values are multiples of 2^-23
constexpr double GRID = double(1 << GRID_BITS);
constexpr double TURN = 65536;  // phases are averaged in units of 2^-16 half-turns
// phases up to this number of half-turns are mapped without reduction
constexpr double SMALL_PHASE = 0x1p40;
constexpr size_t MAX_COLUMNS = 32767;  // |f - m|^2 <= 4 d 2^46 fits into 64 bits
// Rows of a table: 32 bits hold a row number, and 64 bits hold the sum of weights up to 2^31.
constexpr size_t MAX_ROWS = size_t(1) << 31;
// a row within this distance is at the centroid and has no direction to pull in
constexpr double AT_CENTROID = 1e-9;

// The integer of a grid value that a float represents exactly.
inline int32_t to_grid(float x) { return int32_t(x * float(GRID)); }

}  // namespace rekmeans
