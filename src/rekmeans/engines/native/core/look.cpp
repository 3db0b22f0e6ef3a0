#include "look.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>

namespace rekmeans {

constexpr size_t REACH = 128;             // features of a tile laid out at a time: 16 KiB, that they stay in the first cache
constexpr size_t PARTS = 64, FULL = 4096; // parts at most, and rows of one at least
constexpr size_t HELD = size_t(1) << 25;  // float64 that all parts together may take: 256 MiB
constexpr size_t COUNTED = 256;           // centroids up to which counting pairs is faster than sorting
constexpr size_t STRIDE = 1024;           // rows between two milestones on the way to a median
constexpr size_t AHEAD = 32;              // rows asked for before they are needed
constexpr size_t WIDEST = 8;              // float64 in the widest vector: rows of sums are padded to a multiple of it

static size_t padded(size_t p) { return (p + WIDEST - 1) / WIDEST * WIDEST; }

// What one thread works with: the distances and shares of the rows at hand.
struct Tile {
  explicit Tile(const Look& look)
      : x(std::min(REACH, look.F.p) * TILE), D(look.k * TILE), L(D.size()), s(D.size()), W(D.size()),
        rank(look.fading.empty() ? 0 : D.size()), order(look.fading.empty() ? 0 : look.k) {
    if (!look.shares) return;
    Y.resize(TILE * padded(std::min(REACH, look.F.p)));
    there.resize(Y.size());
  }
  std::vector<double> x;               // (width, TILE) features as columns
  std::vector<double> D, L, s, W;      // (k, TILE)
  std::vector<double> Y, there;        // (TILE, padded width) features as rows, and whether they are observed
  std::vector<int32_t> rank;           // (k, TILE)
  std::vector<std::pair<double, int32_t>> order;
  int32_t where[TILE];
  double best[TILE], w[TILE];
  uint32_t gaps;                       // rows of the tile that miss a cell
};

// What a part adds up. Lanes are added last; `thin` counts the pulls on observed cells of rows that miss some.
struct Sum {
  std::vector<double> totals, thin;    // (k, padded p)
  std::vector<double> mass, whole;     // (k, TILE)
  std::vector<double> held;            // (k,)
  double loss[TILE] = {};
};

static void fuzzy(const Look& look, Tile& tile) {
  look.lanes->memberships(tile.L.data(), look.k, look.amount, tile.W.data());
  look.lanes->least(tile.D.data(), look.k, tile.where, tile.best);
}

static void gas(const Look& look, Tile& tile) {
  const size_t k = look.k;
  if (k <= COUNTED) {
    look.lanes->ranks(tile.D.data(), k, tile.rank.data());
  } else {
    for (size_t r = 0; r < TILE; ++r) {
      for (size_t c = 0; c < k; ++c) tile.order[c] = {tile.D[c * TILE + r], int32_t(c)};
      std::sort(tile.order.begin(), tile.order.end());
      for (size_t i = 0; i < k; ++i) tile.rank[size_t(tile.order[i].second) * TILE + r] = int32_t(i);
    }
  }
  for (size_t i = 0; i < k * TILE; ++i) tile.W[i] = look.fading[size_t(tile.rank[i])];
  look.lanes->least(tile.D.data(), k, tile.where, tile.best);
}

static void map(const Look& look, Tile& tile) {
  const size_t k = look.k;
  double* cost = tile.W.data();
  std::fill(cost, cost + k * TILE, 0.0);
  for (size_t from = 0; from < k; from += REACH)
    look.lanes->apart(Norm::products, false, tile.L.data() + from * TILE, from, std::min(REACH, k - from), k,
                      look.neighbours.data(), k, cost);
  look.lanes->least(cost, k, tile.where, tile.best);
  for (size_t r = 0; r < TILE; ++r)
    for (size_t c = 0; c < k; ++c) tile.W[c * TILE + r] = look.h[size_t(tile.where[r]) * k + c];
}

static const struct {
  const char* name;
  Measure measure;
} MEASURES[] = {{"square", {Norm::squares, false, false, 1}},
                {"rbf", {Norm::squares, false, true, 1}},
                {"laplace", {Norm::absolutes, false, true, 1}},
                {"laplace-l2", {Norm::squares, true, true, 1}}};

static const struct {
  const char* name;
  Shares shares;
} RULES[] = {{"hard", nullptr}, {"fuzzy", fuzzy}, {"gas", gas}, {"map", map}};

template <class Choices>
static const auto& chosen(const Choices& choices, const char* what, const std::string& name) {
  std::string names;
  for (const auto& choice : choices) {
    if (name == choice.name) return choice;
    names += std::string(names.empty() ? "'" : ", '") + choice.name + "'";
  }
  throw std::invalid_argument(std::string(what) + " is one of " + names + ", got '" + name + "'.");
}

// Rows of a (k, p), SIDE at a time, feature by feature.
static std::vector<double> in_panels(const double* a, size_t k, size_t p) {
  std::vector<double> out(k * p);
  for (size_t c = 0; c < k; ++c) {
    const size_t first = c / SIDE * SIDE, span = std::min(SIDE, k - first);
    for (size_t l = 0; l < p; ++l) out[first * p + l * span + (c - first)] = a[c * p + l];
  }
  return out;
}

void Look::choose(const std::string& measure_name, double gamma, const std::string& rule) {
  measure = chosen(MEASURES, "measure", measure_name).measure;
  shares = chosen(RULES, "rule", rule).shares;
  auto got = [](double value) { return ", got " + std::to_string(value) + "."; };
  if (measure.bounded) measure.gamma = gamma;
  if (!(measure.gamma > 0 && std::isfinite(measure.gamma)))
    throw std::invalid_argument("gamma is a positive number" + got(gamma));
  if (shares == fuzzy && !(amount > 1 && std::isfinite(amount)))
    throw std::invalid_argument("rule 'fuzzy' needs a fuzziness above 1" + got(amount));
  if (shares == gas && !(amount >= 0)) throw std::invalid_argument("rule 'gas' needs a reach of 0 or more" + got(amount));
  if (shares == map && !h) throw std::invalid_argument("rule 'map' needs h, the neighbourhood (k, k), got None.");
  packed = in_panels(C, k, F.p);
  if (shares == map) neighbours = in_panels(h, k, k);
  for (size_t i = 0; shares == gas && i < k; ++i) fading.push_back(i ? std::exp(-double(i) / amount) : 1);
}

// Distances of a tile to all centroids; which of its rows miss a cell.
static void measured(const Look& look, size_t row, size_t count, Tile& tile) {
  const size_t p = look.F.p;
  std::fill(tile.D.begin(), tile.D.end(), 0.0);
  tile.gaps = 0;
  for (size_t from = 0; from < p; from += REACH) {
    const size_t width = std::min(REACH, p - from);
    const uint32_t gaps = look.lanes->columns(look.F, row, count, from, width, tile.x.data());
    look.lanes->apart(look.measure.norm, gaps != 0, tile.x.data(), from, width, p, look.packed.data(), look.k,
                      tile.D.data());
    tile.gaps |= gaps;
  }
  look.lanes->scaled(look.measure, look.k, tile.D.data());
  for (size_t r = 0; r < TILE; ++r) tile.w[r] = r >= count ? 0 : look.w ? look.w[row + r] : 1;
}

static void add_hard(const Look& look, size_t row, size_t count, Tile& tile, Sum& sum, double* V) {
  look.lanes->least(tile.D.data(), look.k, tile.where, tile.best);
  double L[TILE], s[TILE];
  look.lanes->pull(look.measure, tile.best, TILE, L, s);
  for (size_t r = 0; r < count; ++r) {
    const size_t at = size_t(tile.where[r]) * TILE + r;
    s[r] *= tile.w[r];
    sum.mass[at] += tile.w[r];
    if (!(tile.gaps >> r & 1)) sum.whole[at] += s[r];
    if (tile.w[r] != 0) sum.loss[r] += tile.w[r] * L[r];
    if (look.measure.root && tile.best[r] <= NEAREST * look.measure.gamma) sum.held[size_t(tile.where[r])] += tile.w[r];
    if (V) V[row + r] = s[r];
  }
  look.lanes->gather(look.F, row, count, padded(look.F.p), tile.where, s, tile.gaps, sum.totals.data(), sum.thin.data());
}

static void add_soft(const Look& look, size_t row, size_t count, Tile& tile, Sum& sum, double* V) {
  const size_t p = look.F.p, k = look.k, stride = padded(p);
  look.lanes->pull(look.measure, tile.D.data(), k * TILE, tile.L.data(), tile.s.data());
  look.shares(look, tile);
  for (size_t i = 0; look.measure.root && i < k * TILE; ++i)
    if (tile.D[i] <= NEAREST * look.measure.gamma) sum.held[i / TILE] += tile.W[i] * tile.w[i % TILE];
  look.lanes->weighed(tile.w, tile.L.data(), tile.s.data(), k, tile.W.data(), sum.mass.data(),
                      tile.gaps ? nullptr : sum.whole.data(), sum.loss);
  for (size_t from = 0; from < p; from += REACH) {
    const size_t width = std::min(REACH, p - from), wide = padded(width);
    look.lanes->level(look.F, row, count, from, width, wide, tile.Y.data(), tile.gaps ? tile.there.data() : nullptr);
    look.lanes->spread(tile.W.data(), k, tile.Y.data(), wide, sum.totals.data() + from, stride);
    if (tile.gaps) look.lanes->spread(tile.W.data(), k, tile.there.data(), wide, sum.thin.data() + from, stride);
  }
  for (size_t r = 0; V && r < count; ++r)
    for (size_t c = 0; c < k; ++c) V[(row + r) * k + c] = tile.W[c * TILE + r];
}

Seen seen(const Look& look, bool with_V) {
  const size_t n = look.n, p = look.F.p, k = look.k, stride = padded(p);
  const size_t most = std::max<size_t>(1, std::min(PARTS, HELD / (2 * k * stride)));
  const size_t wanted = std::max<size_t>(1, std::min(most, (n + FULL - 1) / FULL));
  const size_t rows = std::max(TILE, ((n + wanted - 1) / wanted + TILE - 1) / TILE * TILE);  // of a part
  const size_t parts = (n + rows - 1) / rows;
  Seen out{std::vector<int32_t>(n), std::vector<double>(k * p), std::vector<double>(k * p), std::vector<double>(k), std::vector<double>(k), 0, {}};
  if (with_V) out.V.resize(look.shares ? n * k : n);
  double* V = with_V ? out.V.data() : nullptr;
  const auto add = look.shares ? add_soft : add_hard;
  std::vector<Sum> sums(parts);
  std::vector<std::unique_ptr<Tile>> tiles(std::min(look.threads, std::max<size_t>(1, parts)));
  parallel(tiles.size(), parts, [&](size_t thread, size_t part) {
    if (!tiles[thread]) tiles[thread] = std::make_unique<Tile>(look);
    Tile& tile = *tiles[thread];
    Sum& sum = sums[part];
    sum.totals.resize(k * stride), sum.mass.resize(k * TILE), sum.whole.resize(k * TILE), sum.held.resize(k);
    for (size_t row = part * rows; row < std::min(n, (part + 1) * rows); row += TILE) {
      const size_t count = std::min(TILE, n - row);
      measured(look, row, count, tile);
      if (tile.gaps && sum.thin.empty()) sum.thin.resize(k * stride);
      add(look, row, count, tile, sum, V);
      std::copy(tile.where, tile.where + count, out.labels.data() + row);
    }
  });
  parallel(parts * k * stride < 1 << 18 ? 1 : look.threads, k, [&](size_t, size_t c) {
    double whole = 0;
    for (const Sum& sum : sums) {
      const double *mass = sum.mass.data() + c * TILE, *lanes = sum.whole.data() + c * TILE;
      out.mass[c] += std::accumulate(mass, mass + TILE, 0.0);
      out.held[c] += sum.held[c];
      whole += std::accumulate(lanes, lanes + TILE, 0.0);
      for (size_t l = 0; l < p; ++l) out.totals[c * p + l] += sum.totals[c * stride + l];
      for (size_t l = 0; l < p && !sum.thin.empty(); ++l) out.strength[c * p + l] += sum.thin[c * stride + l];
    }
    for (size_t l = 0; l < p; ++l) out.strength[c * p + l] += whole;
  });
  for (const Sum& sum : sums) out.loss += std::accumulate(sum.loss, sum.loss + TILE, 0.0);
  return out;
}

namespace {

struct Pulled {
  double v;
  size_t c;
};

double cell(const Points& F, size_t j, size_t l) { return F.narrow ? double(F.narrow[j * F.p + l]) : F.wide[j * F.p + l]; }

}  // namespace

std::vector<double> medians(const Points& F, size_t n, const double* V, const int32_t* labels, const int32_t* order,
                            const double* C, size_t k, size_t threads) {
  const size_t p = F.p;
  std::vector<double> out(C, C + k * p);
  std::vector<Pulled> pulled(labels ? n : 0);   // label and pull side by side: one look into memory for a row
  for (size_t j = 0; j < pulled.size(); ++j) pulled[j] = {V[j], size_t(labels[j])};
  parallel(threads, p, [&](size_t, size_t l) {
    const int32_t* up = order + l * n;
    auto there = [&](int32_t j) { return !std::isnan(cell(F, size_t(j), l)); };
    const size_t observed = size_t(std::partition_point(up, up + n, there) - up);
    std::vector<double> run(k, 0), marks;        // weights so far; (milestones, k) the same at every STRIDE rows
    for (size_t i = 0; i < observed; ++i) {
      if (i % STRIDE == 0) marks.insert(marks.end(), run.begin(), run.end());
      const size_t j = size_t(up[i]);
      const size_t later = size_t(up[std::min(i + AHEAD, observed - 1)]);
      if (labels) prefetch(&pulled[later]);
      else prefetch(V + later * k);
      if (labels) run[pulled[j].c] += pulled[j].v;
      else for (size_t c = 0; c < k; ++c) run[c] += V[j * k + c];
    }
    for (size_t c = 0; c < k; ++c) {
      const double total = run[c];
      if (!(total > 0)) continue;
      size_t mark = 0;
      while ((mark + 1) * k < marks.size() && 2 * marks[(mark + 1) * k + c] < total) ++mark;
      double sum = marks[mark * k + c];          // below half: the median is among the next STRIDE rows
      for (size_t i = mark * STRIDE; i < observed; ++i) {
        const size_t j = size_t(up[i]);
        if (labels) sum += pulled[j].c == c ? pulled[j].v : 0;
        else sum += V[j * k + c];
        if (2 * sum < total) continue;
        out[c * p + l] = cell(F, j, l);
        break;
      }
    }
  });
  return out;
}

}  // namespace rekmeans
