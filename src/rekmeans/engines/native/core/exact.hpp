// A doubtful rounding, settled in double-double arithmetic (about 100 bits).
#pragma once
#include <cstdint>

namespace rekmeans {

// cos(pi t) and sin(pi t), correctly rounded to the grid, |t| < 2^40.
void settle(double t, int32_t* cos, int32_t* sin);

}  // namespace rekmeans
