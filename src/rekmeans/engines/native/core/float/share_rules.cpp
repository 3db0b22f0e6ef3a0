#include "share_rules.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace rekmeans {
namespace {

// up to this number of centroids, counting pairs is faster than sorting
constexpr size_t COUNT_PAIRS_UP_TO = 256;

constexpr struct {
  const char* name;
  Measure value;
} MEASURES[] = {
    {"square", {.norm = Norm::squared, .has_root = false, .is_bounded = false, .gamma = 1}},
    {"rbf", {.norm = Norm::squared, .has_root = false, .is_bounded = true, .gamma = 1}},
    {"laplace", {.norm = Norm::absolute, .has_root = false, .is_bounded = true, .gamma = 1}},
    {"laplace-l2", {.norm = Norm::squared, .has_root = true, .is_bounded = true, .gamma = 1}}};

constexpr struct {
  const char* name;
  ShareRule value;
} RULES[] = {{"hard", nullptr},
             {"fuzzy", fuzzy_shares},
             {"neural_gas", neural_gas_shares},
             {"som", som_shares}};

template <class Choices>
auto choose_one(const Choices& choices, const char* what, const std::string& name) {
  std::string names;
  for (const auto& choice : choices) {
    if (name == choice.name) return choice.value;
    names += std::string(names.empty() ? "'" : ", '") + choice.name + "'";
  }
  throw std::invalid_argument(std::string(what) + " must be one of " + names + ", got '" + name +
                              "'.");
}

// Pack the rows of a (k, p) in panels of PANEL_K rows, feature by feature.
std::vector<double> pack_panels(const double* a, size_t k, size_t p) {
  std::vector<double> out(k * p);
  for (size_t c = 0; c < k; ++c) {
    const size_t first = c / PANEL_K * PANEL_K, span = std::min(PANEL_K, k - first);
    for (size_t l = 0; l < p; ++l) out[first * p + l * span + (c - first)] = a[c * p + l];
  }
  return out;
}

void check(bool holds, const char* rule, double got) {
  if (!holds) throw std::invalid_argument(rule + (", got " + std::to_string(got)) + ".");
}

}  // namespace

void fuzzy_shares(const SoftPass& pass, Tile& tile) {
  pass.simd->memberships(tile.L.data(), pass.k, pass.amount, tile.W.data());
  pass.simd->nearest(tile.D.data(), pass.k, tile.labels, tile.least);
}

void neural_gas_shares(const SoftPass& pass, Tile& tile) {
  const size_t k = pass.k;
  if (k <= COUNT_PAIRS_UP_TO) {
    pass.simd->ranks(tile.D.data(), k, tile.rank.data());
  } else {
    for (size_t r = 0; r < TILE_ROWS; ++r) {
      for (size_t c = 0; c < k; ++c) tile.order[c] = {tile.D[c * TILE_ROWS + r], int32_t(c)};
      std::sort(tile.order.begin(), tile.order.end());
      for (size_t i = 0; i < k; ++i)
        tile.rank[size_t(tile.order[i].second) * TILE_ROWS + r] = int32_t(i);
    }
  }
  for (size_t i = 0; i < k * TILE_ROWS; ++i) tile.W[i] = pass.rank_share[size_t(tile.rank[i])];
  pass.simd->nearest(tile.D.data(), k, tile.labels, tile.least);
}

void som_shares(const SoftPass& pass, Tile& tile) {
  const size_t k = pass.k;
  double* cost = tile.W.data();
  std::fill(cost, cost + k * TILE_ROWS, 0.0);
  for (size_t from = 0; from < k; from += TILE_FEATURES)
    pass.simd->add_distances(Norm::product, false, tile.L.data() + from * TILE_ROWS,
                             {from, std::min(TILE_FEATURES, k - from)}, k,
                             pass.packed_neighbours.data(), k, cost);
  pass.simd->nearest(cost, k, tile.labels, tile.least);
  for (size_t r = 0; r < TILE_ROWS; ++r)
    for (size_t c = 0; c < k; ++c)
      tile.W[c * TILE_ROWS + r] = pass.h[size_t(tile.labels[r]) * k + c];
}

void SoftPass::choose(const std::string& measure_name, double gamma, const std::string& rule) {
  measure = choose_one(MEASURES, "measure", measure_name);
  share = choose_one(RULES, "rule", rule);
  if (measure.is_bounded) measure.gamma = gamma;
  check(measure.gamma > 0 && std::isfinite(measure.gamma), "gamma must be positive and finite",
        gamma);
  if (share == fuzzy_shares)
    check(amount > 1 && std::isfinite(amount), "rule 'fuzzy' requires a fuzziness above 1", amount);
  if (share == neural_gas_shares)
    check(amount >= 0, "rule 'neural_gas' requires a reach of at least 0", amount);
  if (share == som_shares && !h)
    throw std::invalid_argument("rule 'som' requires h, the neighbourhood (k, k), got None.");
  packed = pack_panels(C, k, F.p);
  if (share == som_shares) packed_neighbours = pack_panels(h, k, k);
  for (size_t i = 0; share == neural_gas_shares && i < k; ++i)
    rank_share.push_back(i ? std::exp(-double(i) / amount) : 1);
}

}  // namespace rekmeans
