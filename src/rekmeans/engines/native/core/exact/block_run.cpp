#include "block_run.hpp"

#include <algorithm>
#include <numeric>

namespace rekmeans {
namespace {

// bytes of the mapped rows of a tile: half of a core's cache
constexpr size_t TILE_BYTES = 1 << 18;
// smallest tile for which the start of a run takes little of the time
constexpr size_t MIN_TILE_ROWS = 256;
constexpr size_t BASE_ROWS = 256;  // rows of the first block whose mean is the base

template <class T>
void add_to(std::vector<T>& sums, const std::vector<T>& more) {
  for (size_t i = 0; i < more.size(); ++i) sums[i] += more[i];
}

}  // namespace

void StreamSums::allocate(size_t k, size_t d) {
  totals.assign(2 * k * d, 0), mass.assign(k, 0), missing.assign(k * d, 0);
}

void StreamSums::add(const Rows& rows, const BlockSums& more) {
  square += more.square, n_uninformative += more.n_uninformative;
  if (more.changed.is_empty()) return;
  for (size_t i = 0; i < totals.size(); ++i)
    totals[i] += more.changed.resultant(rows, i / rows.p, i % rows.p);
  add_to(mass, more.changed.mass);
  add_to(missing, more.changed.missing);
}

BlockRun::BlockRun(ColumnScales scales_, size_t k_, size_t d_, const Simd* simd_)
    : k(k_), d(d_), p(2 * d_), scales(std::move(scales_)), simd(simd_) {
  sums.allocate(k, d);
}

void BlockRun::start_pass(const int32_t* C) {
  if (n_passes) drift.emplace(C, centroids.data(), k, p, simd);
  centroids.assign(C, C + k * p);
  packed.reset();
  ++n_passes;
}

void BlockRun::prepare(const StreamBlock& block) {
  const std::lock_guard<std::mutex> lock(mutex);
  if (packed) return;
  if (!no_rows) {
    std::vector<int64_t> numbers;
    const size_t n = block.table.n, step = std::max<size_t>(1, n / BASE_ROWS);
    for (size_t j = 0; j < n; j += step) numbers.push_back(int64_t(j));
    const DenseRows some(block.table.take(numbers.data(), numbers.size()), scales, nullptr, true,
                         false, 1, simd);
    no_rows = std::make_unique<DenseRows>(block.table.take(nullptr, 0), scales, nullptr,
                                          !block.weights, false, 1, simd, some.base.data());
    no_rows->is_complete = false;  // rows of any block may have missing cells
  }
  packed = std::make_unique<PackedCentroids>(*no_rows, centroids.data(), k);
  packed->pack_bytes_if_fast(*no_rows);
}

std::vector<int64_t> BlockRun::open_rows(const StreamBlock& block) const {
  if (drift) return drift->open_rows(block.labels, block.bounds, block.table.n);
  std::vector<int64_t> numbers(block.table.n);
  std::iota(numbers.begin(), numbers.end(), 0);
  return numbers;
}

size_t BlockRun::assign(const StreamBlock& block, size_t threads) {
  prepare(block);
  const std::vector<int64_t> numbers = open_rows(block);
  const size_t n = numbers.size(), most = std::max(MIN_TILE_ROWS, TILE_BYTES / (p * sizeof(float)));
  const size_t count = threads_for(n * p, std::max<size_t>(1, threads));
  const size_t tile = std::max<size_t>(1, std::min(most, (n + count - 1) / count));
  std::vector<BlockSums> found(count);
  parallel(count, (n + tile - 1) / tile, [&](size_t thread, size_t i) {
    assign_tile(block, numbers.data() + i * tile, std::min(tile, n - i * tile), found[thread]);
  });
  const std::lock_guard<std::mutex> lock(mutex);
  size_t n_changed = 0;
  for (const BlockSums& one : found) sums.add(*no_rows, one), n_changed += one.n_changed;
  return n_changed;
}

void BlockRun::assign_tile(const StreamBlock& block, const int64_t* numbers, size_t count,
                           BlockSums& found) const {
  std::vector<int64_t> weights(block.weights ? count : 0);
  for (size_t i = 0; i < weights.size(); ++i) weights[i] = block.weights[numbers[i]];
  const int64_t* w = block.weights ? weights.data() : nullptr;
  const DenseRows rows(block.table.take(numbers, count), scales, w, !w, true, 1, simd,
                       no_rows->base.data());
  Run run(rows, k, true, 1);
  for (size_t i = 0; i < count && drift; ++i) {
    run.labels[i] = block.labels[numbers[i]];
    run.upper[i] = block.bounds.upper[numbers[i]], run.lower[i] = block.bounds.lower[numbers[i]];
  }
  if (found.changed.is_empty()) found.changed.allocate(*no_rows, k);
  found.n_changed += run.assign_to_packed(*packed, found.changed);
  if (!drift) found.square += rows.square;
  for (size_t i = 0; i < count; ++i) {
    block.labels[numbers[i]] = run.labels[i];
    block.bounds.upper[numbers[i]] = run.upper[i], block.bounds.lower[numbers[i]] = run.lower[i];
    if (!drift) found.n_uninformative += !rows.weight(i) && !(w && !w[i]);
  }
}

int128 BlockRun::loss() const {
  int128 sum = sums.square;
  for (size_t c = 0; c < k; ++c)
    for (size_t l = 0; l < p; ++l) {
      const int64_t m = centroids[c * p + l];
      sum += int128(m * m) * (sums.mass[c] - sums.missing[c * d + l % d]) -
             int128(2 * m) * sums.totals[c * p + l];
    }
  return sum;
}

}  // namespace rekmeans
