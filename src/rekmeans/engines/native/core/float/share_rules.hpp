// The measures and share rules of a soft pass, by name.
#pragma once
#include "soft_pass.hpp"

namespace rekmeans {

void fuzzy_shares(const SoftPass& pass, Tile& tile);
void neural_gas_shares(const SoftPass& pass, Tile& tile);
void som_shares(const SoftPass& pass, Tile& tile);

}  // namespace rekmeans
