#include "block_run.hpp"

#include <algorithm>
#include <numeric>

#include "dense_rows.hpp"

namespace rekmeans {
namespace {

constexpr size_t TILE_BYTES = 1 << 19;    // of the mapped rows of a tile: half of a core's cache
constexpr size_t LEAST_TILE_ROWS = 1500;  // for which packing the centroids takes a tenth of the time at most
constexpr size_t BASE_ROWS = 256;         // of the first block, whose mean is the base

template <class T>
void add_to(std::vector<T>& sums, const std::vector<T>& more) {
  for (size_t i = 0; i < more.size(); ++i) sums[i] += more[i];
}

}  // namespace

void StreamSums::allocate(size_t k, size_t d) {
  totals.assign(2 * k * d, 0), mass.assign(k, 0), missing.assign(k * d, 0);
}

void StreamSums::add(const Rows& rows, const ClusterSums& more) {
  for (size_t i = 0; i < totals.size(); ++i) totals[i] += more.resultant(rows, i / rows.p, i % rows.p);
  add_to(mass, more.mass);
  add_to(missing, more.missing);
}

void StreamSums::operator+=(const StreamSums& other) {
  add_to(totals, other.totals);
  add_to(mass, other.mass);
  add_to(missing, other.missing);
  square += other.square, n_changed += other.n_changed, n_silent += other.n_silent;
}

BlockRun::BlockRun(ColumnScales scales_, size_t k_, size_t d_, size_t threads_, const Simd* simd_)
    : k(k_), d(d_), p(2 * d_), scales(std::move(scales_)), threads(std::max<size_t>(1, threads_)), simd(simd_) {
  sums.allocate(k, d);
}

void BlockRun::start_pass(const int32_t* C) {
  drift.clear();
  if (n_passes) drift.emplace_back(C, centroids.data(), k, p, simd);
  centroids.assign(C, C + k * p);
  ++n_passes;
}

void BlockRun::choose_base(const DenseTable& table) {
  std::vector<int64_t> numbers;
  for (size_t j = 0; j < table.n; j += std::max<size_t>(1, table.n / BASE_ROWS)) numbers.push_back(int64_t(j));
  base = DenseRows(table.take(numbers.data(), numbers.size()), scales, nullptr, true, false, 1, simd).base;
}

size_t BlockRun::assign(const StreamBlock& block) {
  if (base.empty()) choose_base(block.table);
  std::vector<int64_t> numbers(drift.empty() ? block.table.n : 0);
  std::iota(numbers.begin(), numbers.end(), 0);
  if (!drift.empty()) numbers = drift[0].open_rows(block.labels, block.bounds, block.table.n);
  const size_t n = numbers.size(), most = std::max(LEAST_TILE_ROWS, TILE_BYTES / (p * sizeof(float)));
  const size_t count = threads_for(n * p, threads), tile = std::max<size_t>(1, std::min(most, (n + count - 1) / count));
  std::vector<StreamSums> partial(count);
  parallel(count, (n + tile - 1) / tile, [&](size_t thread, size_t i) {
    if (partial[thread].mass.empty()) partial[thread].allocate(k, d);
    assign_tile(block, numbers.data() + i * tile, std::min(tile, n - i * tile), partial[thread]);
  });
  const size_t before = sums.n_changed;
  for (const StreamSums& one : partial) sums += one;
  return sums.n_changed - before;
}

void BlockRun::assign_tile(const StreamBlock& block, const int64_t* numbers, size_t count, StreamSums& partial) const {
  const bool is_first = drift.empty();
  std::vector<int64_t> weights(block.weights ? count : 0);
  for (size_t i = 0; i < weights.size(); ++i) weights[i] = block.weights[numbers[i]];
  const int64_t* w = block.weights ? weights.data() : nullptr;
  const DenseRows rows(block.table.take(numbers, count), scales, w, !w, true, 1, simd, base.data());
  Run run(rows, k, true, 1);
  if (!is_first) {
    std::vector<int32_t> labels(count);
    std::vector<float> upper(count), lower(count);
    for (size_t i = 0; i < count; ++i) {
      labels[i] = block.labels[numbers[i]];
      upper[i] = block.bounds.upper[numbers[i]], lower[i] = block.bounds.lower[numbers[i]];
    }
    run.resume(std::move(labels), std::move(upper), std::move(lower), centroids.data());
  }
  partial.n_changed += run.assign(centroids.data());
  partial.add(rows, run.sums);
  if (is_first) partial.square += rows.square;
  for (size_t i = 0; i < count; ++i) {
    block.labels[numbers[i]] = run.labels[i];
    block.bounds.upper[numbers[i]] = run.upper[i], block.bounds.lower[numbers[i]] = run.lower[i];
    if (is_first) partial.n_silent += !rows.weight(i) && !(w && !w[i]);
  }
}

int128 BlockRun::loss() const {
  int128 sum = sums.square;
  for (size_t c = 0; c < k; ++c)
    for (size_t l = 0; l < p; ++l) {
      const int64_t m = centroids[c * p + l];
      sum += int128(m * m) * (sums.mass[c] - sums.missing[c * d + l % d]) - int128(2 * m) * sums.totals[c * p + l];
    }
  return sum;
}

}  // namespace rekmeans
