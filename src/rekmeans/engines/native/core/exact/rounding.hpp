// Decide roundings that float64 cannot prove, in double-double arithmetic (about 100 bits).
#pragma once
#include <cstddef>
#include <cstdint>

namespace rekmeans {

// Compute cos(pi t) and sin(pi t), correctly rounded to the grid, for |t| < 2^40.
void round_correctly(double t, int32_t* cos, int32_t* sin);

// Compute g for d phases for which Simd::map_phases could not prove all roundings, and the same
// sums.
void map_phases_correctly(const double* t, size_t d, const double* base, float* g, double* norm2,
                          int64_t* square);

}  // namespace rekmeans
