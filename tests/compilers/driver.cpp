// Fits of synthetic tables with the core alone, without Python. The program prints a hash of all
// bits of each fit, which is the same for every compiler, processor and instruction set.
#include <cmath>
#include <cstdio>
#include <memory>
#include <string>

#include "exact/dense_rows.hpp"
#include "exact/fit.hpp"
#include "exact/scored_seeding.hpp"
#include "exact/sparse_rows.hpp"
#include "float/soft_pass.hpp"
#include "scales/robust.hpp"
#include "simd/instruction_set.hpp"

using namespace rekmeans;

struct Random {
  uint64_t state;
  uint64_t next() {
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    return state;
  }
  double uniform() { return double(next() >> 11) * 0x1p-53; }
};

struct Hash {
  uint64_t value = 1469598103934665603u;
  template <class T>
  void add(const T* data, size_t count) {
    const auto* bytes = reinterpret_cast<const unsigned char*>(data);
    for (size_t i = 0; i < count * sizeof(T); ++i) value = (value ^ bytes[i]) * 1099511628211u;
  }
  void add(int128 x) {
    const uint64_t words[] = {uint64_t(high_word(x)), low_word(x)};
    add(words, 2);
  }
};

struct Case {
  size_t n, d, k;
  double filled, missing, rate;
  bool has_weights;
  size_t n_intervals = 1;
};

constexpr Case CASES[] = {
    {3000, 17, 5, 1, 0, 0.3, false},     {2500, 33, 40, 1, 0.05, 0.9, true},
    {4100, 6, 70, 0.9, 0, 1e-4, false},  {700, 900, 80, 1, 0, 0.7, false},
    {3000, 40, 9, 0.1, 0, 0.5, false},   {2600, 24, 60, 0.15, 0.02, 2, true},
    {2200, 3, 12, 1, 0.1, 50, false},    {3100, 19, 6, 1, 0.03, 0.8, false, 3},
    {2400, 30, 20, 0.2, 0, 1.1, true, 5}};

struct Drawn {
  std::vector<double> X;
  std::vector<int64_t> weights;
};

Drawn draw(const Case& c, uint64_t seed) {
  Random random{seed * 0x9e3779b97f4a7c15u + 1};
  Drawn out;
  for (size_t i = 0; i < c.n * c.d; ++i) {
    const double x = random.uniform() + random.uniform() + double(i / c.d % c.k) * 0.3 - 1;
    const double cell =
        random.uniform() < c.filled ? std::ldexp(std::rint(std::ldexp(x, 12)), -12) : 0;
    out.X.push_back(random.uniform() < c.missing ? NAN : cell);
  }
  for (size_t j = 0; c.has_weights && j < c.n; ++j)
    out.weights.push_back(int64_t(random.next() % 1000003));
  return out;
}

ColumnScales scales_of(const Case& c, Beyond beyond) {
  std::vector<double> low, high, shift, rate;
  const double width = 2.4 / double(c.n_intervals);
  for (size_t i = 0; i < c.d * c.n_intervals; ++i) {
    // every second interval shares an end with the one before
    const size_t interval = i % c.n_intervals;
    low.push_back(-0.6 + width * double(interval) + (interval % 2 ? 0 : 0.05 * double(interval)));
    high.push_back(-0.6 + width * double(interval + 1));
    shift.push_back(0.25 - 0.1 * double(interval)), rate.push_back(c.rate / double(interval + 1));
  }
  return {low, high, shift, rate, std::vector<double>(c.d, 0), beyond};
}

Hash fit(const Rows& rows, const Case& c) {
  Hash hash;
  RowBuffer buffer;
  std::vector<int32_t> candidates(3 * rows.p);
  ScoredSeeding seeding(rows, {}, 2);
  Random random{c.n};
  for (size_t step = 0; step < c.k + 3; ++step) {
    for (size_t i = 0; i < 3; ++i)
      rows.grid(random.next() % rows.n, candidates.data() + i * rows.p, buffer);
    if (step < c.k) seeding.add_best(candidates.data(), 3);
    else seeding.swap_best(candidates.data(), 3);
  }
  hash.add(seeding.C.data(), seeding.C.size());
  const std::vector<int64_t> masses = seeding.nearest_masses();
  hash.add(masses.data(), masses.size());
  std::vector<uint64_t> words(16);
  for (uint64_t& word : words) word = random.next();
  for (size_t number : seeding.sample(words.data(), words.size()))
    hash.add(int128(int64_t(number)));
  const SeedingPlan plan{c.k, 4, 3, 4, 3};
  words.resize(3 * plan.n_words());
  for (uint64_t& word : words) word = random.next();
  const Fit drawn = fit_drawn_starts(rows, std::vector<int32_t>(rows.p, 1 << 20), words.data(), 3,
                                     plan, {true, true, 25, 0.0});
  hash.add(drawn.centroids.data(), drawn.centroids.size());
  hash.add(drawn.labels.data(), drawn.labels.size());
  for (bool rectified : {true, false}) {
    const Fit found = fit_starts(rows, seeding.C.data(), 1, c.k, {rectified, true, 25, 0.0});
    hash.add(found.centroids.data(), found.centroids.size());
    hash.add(found.labels.data(), found.labels.size());
    for (int128 loss : found.losses) hash.add(loss);
    std::vector<int128> turns(c.k * rows.d);
    std::vector<int64_t> observed(turns.size());
    rows.phase_sums(found.labels.data(), c.k, turns.data(), observed.data());
    for (int128 turn : turns) hash.add(turn);
    hash.add(observed.data(), observed.size());
  }
  return hash;
}

// Sums of one pass in floats, which agree only up to a tolerance.
double soft_loss(const Case& c, const Drawn& drawn, const char* measure, const char* rule,
                 double amount, const Simd* simd) {
  std::vector<double> C(drawn.X.begin(), drawn.X.begin() + ptrdiff_t(c.k * c.d));
  for (double& x : C) x = std::isnan(x) ? 0 : x;
  SoftPass pass{};
  pass.F = {nullptr, drawn.X.data(), c.d};
  pass.n = c.n, pass.C = C.data(), pass.k = c.k, pass.amount = amount, pass.threads = 2,
  pass.simd = simd;
  pass.choose(measure, 0.1, rule);
  return soft_pass(pass, false).loss;
}

int main(int argc, char** argv) {
  const Simd* simd = choose_simd(argc > 1 ? argv[1] : "");
  std::printf("set %s\n", simd->name);
  uint64_t seed = 0;
  for (const Case& c : CASES) {
    const Drawn drawn = draw(c, ++seed);
    const int64_t* w = drawn.weights.empty() ? nullptr : drawn.weights.data();
    const DenseTable table{
        reinterpret_cast<const char*>(drawn.X.data()), 'f', 8, c.n, c.d, ptrdiff_t(8 * c.d), 8};
    for (Beyond beyond : {Beyond::wrap, Beyond::clip, Beyond::ignore}) {
      const DenseRows stored(table, scales_of(c, beyond), w, !w, true, 2, simd);
      const DenseRows mapped(table, scales_of(c, beyond), w, !w, false, 3, simd);
      const SparseRows sparse(std::make_unique<NonzeroCells>(table), scales_of(c, beyond), w, !w, 2,
                              simd);
      std::printf("exact %d %d", int(seed), int(beyond));
      for (const Rows* rows : {static_cast<const Rows*>(&stored), static_cast<const Rows*>(&mapped),
                               static_cast<const Rows*>(&sparse)})
        std::printf(" %016llx", static_cast<unsigned long long>(fit(*rows, c).value));
      std::printf("\n");
    }
    std::printf("exact %d scale", int(seed));
    for (size_t threads : {1, 2, 3}) {
      const std::vector<double> placed =
          place_columns(DenseColumns{table, nullptr, c.n, c.d}, w, 1.5, threads);
      Hash hash;
      hash.add(placed.data(), placed.size());
      std::printf(" %016llx", static_cast<unsigned long long>(hash.value));
    }
    std::printf("\n");
    for (const char* measure : {"square", "rbf", "laplace", "laplace-l2"})
      std::printf("float %d %s %.17g %.17g %.17g\n", int(seed), measure,
                  soft_loss(c, drawn, measure, "hard", 0, simd),
                  soft_loss(c, drawn, measure, "fuzzy", 1.7, simd),
                  soft_loss(c, drawn, measure, "neural_gas", 2, simd));
  }
}
