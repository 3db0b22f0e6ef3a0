// The choice of an instruction set for the inner loops: by name, or the best of this processor.
#pragma once
#include <string>

#include "simd.hpp"

namespace rekmeans {

// Return the inner loops for this instruction set, or for the best one if the name is empty. Raises
// std::invalid_argument if the processor does not support it.
const Simd* choose_simd(const std::string& name);

}  // namespace rekmeans
