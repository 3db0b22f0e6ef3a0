// Which instruction set the inner loops use: the one asked for by name, or the best of this
// processor.
#pragma once
#include <string>

#include "simd.hpp"

namespace rekmeans {

// The inner loops of this name, of the best set where it is empty; std::invalid_argument where the
// processor lacks it.
const Simd* choose_simd(const std::string& name);

}  // namespace rekmeans
