#include "run.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>

#include "drift.hpp"

namespace rekmeans {
namespace {

constexpr size_t QUANTIZE_FROM = 64;  // centroids, and products for one row, from which 8-bit scores pay: measured
constexpr size_t QUANTIZE_PRODUCTS = 1 << 17;  // a third faster on MNIST with 256, a quarter slower on covtype with 100
constexpr size_t FAST_FROM = 48;               // centroids from which the fast ones are few beside all
constexpr size_t PREFETCH_ROWS = 4;            // rows asked for before they are needed
constexpr double SERIAL_PRODUCTS = 4e6;        // products of a pass below which threads cost more than they save,
constexpr double CREW_PRODUCTS = 4e5;          // where they wait for work already

// Add the `count` centroids that moved most of late, of those not yet chosen.
void choose_largest(const std::vector<float>& drift, size_t count, std::vector<size_t>& chosen) {
  std::vector<size_t> others;
  for (size_t c = 0; c < drift.size(); ++c)
    if (std::find(chosen.begin(), chosen.end(), c) == chosen.end()) others.push_back(c);
  std::nth_element(others.begin(), others.begin() + ptrdiff_t(count), others.end(),
                   [&](size_t a, size_t b) { return drift[a] > drift[b]; });
  chosen.insert(chosen.end(), others.begin(), others.begin() + ptrdiff_t(count));
}

}  // namespace

struct Run::CentroidDrift {
  CentroidDrift(const Run& run, const int32_t* C);

  bool is_first;  // nothing is known yet: score every row
  PackedCentroids all;
  std::unique_ptr<PackedCentroids> fast_only;  // null where there are none
  DriftGroup slow, fast;
  std::vector<float> slow_bias, fast_bias;  // (kp,) of the one group; the other never wins
};

struct Run::Workspace {
  explicit Workspace(const Rows& rows) : open(rows), fast_only(rows), full(rows) {}
  ScoreBlock open, fast_only, full;  // rows that wait for recheck_own, score_fast and score_all
  ClusterSums sums;
  size_t n_changed = 0, n_scored = 0, n_scored_fast = 0, n_decided_exactly = 0;
};

Run::Run(const Rows& rows_, size_t k_, bool skip_, size_t threads_)
    : rows(rows_),
      k(k_),
      skip(skip_),
      threads(std::max<size_t>(1, threads_)),
      labels(rows_.n, -1),
      upper(rows_.n),
      lower(rows_.n),
      drift(k_, 0),
      recent_drift(k_, 0) {
  sums.allocate(rows, k);
}

Run::CentroidDrift::CentroidDrift(const Run& run, const int32_t* C)
    : is_first(run.last_centroids.empty()), all(run.rows, C, run.k, run.threads) {
  const Rows& rows = run.rows;
  const size_t p = rows.p, k = run.k;
  const bool is_large = k >= QUANTIZE_FROM && all.kp * p >= QUANTIZE_PRODUCTS && p <= 1 << 15;
  if (run.may_quantize && is_large && rows.simd->quantize_row && rows.has_dense_values()) all.quantize(rows);
  std::vector<uint8_t> is_fast(k, 0);
  std::vector<int32_t> fast_centroids;
  for (size_t c : run.fast) {
    is_fast[c] = 1;
    fast_centroids.insert(fast_centroids.end(), C + c * p, C + (c + 1) * p);
  }
  if (!run.fast.empty())
    fast_only = std::make_unique<PackedCentroids>(rows, fast_centroids.data(), run.fast.size(), run.threads);
  if (fast_only && !all.is_quantized()) {
    slow_bias = fast_bias = all.bias;
    for (size_t c = 0; c < k; ++c) (is_fast[c] ? slow_bias : fast_bias)[c] = NEVER_WINS;
  }
  for (size_t c = 0; c < k && !is_first; ++c) (is_fast[c] ? fast : slow).add(run.drift[c], int32_t(c));
}

void Run::regroup_fast() {
  const size_t width = rows.simd->width;
  if (lower_fast.empty()) lower_fast = lower;
  for (size_t j = 0; j < rows.n; ++j) lower[j] = lower_fast[j] = std::min(lower[j], lower_fast[j]);
  fast.clear();
  choose_largest(recent_drift, std::max<size_t>(1, k / 8 / width) * width, fast);
}

// A slow centroid may become fast at no loss to the bounds of the slow ones.
void Run::promote_fast() {
  choose_largest(recent_drift, rows.simd->width, fast);
  for (size_t j = 0; j < rows.n; ++j) lower_fast[j] = std::min(lower[j], lower_fast[j]);
}

void Run::choose_fast() {
  if (!skip || k < FAST_FROM || n_passes == 1) return;
  const size_t more = fast.size() + rows.simd->width;
  if (!(n_passes & (n_passes - 1))) regroup_fast();
  else if (n_scored * k > n_scored_fast * more && 2 * more <= k) promote_fast();
}

void Run::measure_drift(const int32_t* C) {
  if (!last_centroids.empty()) centroid_drift(C, last_centroids.data(), k, rows.p, threads, drift.data());
  for (size_t c = 0; c < k; ++c) recent_drift[c] = recent_drift[c] / 2 + drift[c];
}

void Run::resume(std::vector<int32_t> labels_, std::vector<float> upper_, std::vector<float> lower_, const int32_t* C) {
  labels = std::move(labels_), upper = std::move(upper_), lower = std::move(lower_);
  last_centroids.assign(C, C + k * rows.p);
}

size_t Run::assign(const int32_t* C) {
  ++n_passes;
  measure_drift(C);
  choose_fast();
  const CentroidDrift moves(*this, C);
  const double products = double(n_scored + rows.n / 64) * double(moves.all.kp * rows.p);  // if it is like the last one
  const double least = Crew::current() ? CREW_PRODUCTS : SERIAL_PRODUCTS;
  const size_t count = !moves.is_first && products < least ? 1 : threads;
  std::vector<Workspace> workspaces(count, Workspace(rows));
  parallel(count, rows.n_parts(), [&](size_t thread, size_t i) {
    assign_part(i * PART_ROWS, std::min(rows.n, (i + 1) * PART_ROWS), moves, workspaces[thread]);
  });
  const size_t n_changed = collect(workspaces, moves);
  was_quantized = moves.all.is_quantized();
  last_centroids.assign(C, C + k * rows.p);
  loss = sums.objective(rows, C, threads);
  return n_changed;
}

size_t Run::collect(std::vector<Workspace>& workspaces, const CentroidDrift& moves) {
  size_t n_changed = 0;
  n_scored = n_scored_fast = n_decided_exactly = 0;
  for (Workspace& workspace : workspaces) {
    recheck_own(moves, workspace);
    score_fast(moves, workspace);
    score_all(moves, workspace);
    sums += workspace.sums;
    n_changed += workspace.n_changed, n_scored += workspace.n_scored;
    n_scored_fast += workspace.n_scored_fast, n_decided_exactly += workspace.n_decided_exactly;
  }
  return n_changed;
}

void Run::assign_part(size_t from, size_t to, const CentroidDrift& moves, Workspace& workspace) {
  if (moves.is_first || !skip) {
    for (size_t j = from; j < to; ++j)
      if (workspace.full.push(j)) score_all(moves, workspace);
    return;
  }
  constexpr size_t STRIDE = 256;
  uint8_t open[STRIDE];
  for (size_t first = from; first < to; first += STRIDE) {
    const size_t count = std::min(STRIDE, to - first);
    rows.simd->loosen_bounds(count, labels.data() + first, drift.data(), moves.slow, moves.fast, upper.data() + first,
                             lower.data() + first, lower_fast.empty() ? nullptr : lower_fast.data() + first, open);
    for (size_t r = 0; r < count; ++r) {
      uint64_t eight;
      if (r % 8 == 0 && r + 8 <= count && (std::memcpy(&eight, open + r, 8), !eight)) {
        r += 7;
        continue;
      }
      if (open[r] && workspace.open.push(first + r)) recheck_own(moves, workspace);
    }
  }
}

float Run::own_upper_bound(const PackedCentroids& C, size_t j, const float* g) const {
  const size_t own = size_t(labels[j]);
  const ColumnList missing = rows.missing(j);
  float score = rows.dot(j, g, C.values.data() + own * rows.p) - C.bias[own];
  for (uint32_t l : missing) score += C.missing_gain[size_t(l) * C.kp + own];
  return distance_bounds(rows, j, C.error(rows.norm2[j], missing.count), score).upper;
}

// The distance to the own centroid, computed anew, often lies below the bound that drift has loosened.
void Run::recheck_own(const CentroidDrift& moves, Workspace& workspace) {
  ScoreBlock& block = workspace.open;
  const PackedCentroids& C = moves.all;
  const bool anew = rows.should_recheck_own(k, C.kp * rows.p);
  if (anew) rows.fetch(block.numbers, block.count, block.buffer, block.fetched);
  for (size_t r = 0; r < block.count; ++r) {
    const size_t j = block.numbers[r], ahead = r + PREFETCH_ROWS;
    if (anew && ahead < block.count) rows.prefetch_row(block.numbers[ahead], block.fetched[ahead]);
    if (anew) upper[j] = own_upper_bound(C, j, block.fetched[r]);
    const bool beats_slow = upper[j] < lower[j], beats_fast = lower_fast.empty() || upper[j] < lower_fast[j];
    if (beats_slow && beats_fast) continue;
    if (beats_slow && workspace.fast_only.push(j)) score_fast(moves, workspace);
    if (!beats_slow && workspace.full.push(j)) score_all(moves, workspace);
  }
  block.count = 0;
}

void Run::score_fast(const CentroidDrift& moves, Workspace& workspace) {
  ScoreBlock& block = workspace.fast_only;
  if (!block.count) return;
  block.score(*moves.fast_only, block.numbers, block.count);
  workspace.n_scored_fast += block.count;
  for (size_t r = 0; r < block.count; ++r) {
    const size_t j = block.numbers[r];
    const bool is_own = fast[size_t(block.winner[r])] == size_t(labels[j]);
    lower_fast[j] = distance_bounds(rows, j, block.error[r], is_own ? block.second[r] : block.best[r]).lower;
    if (upper[j] < lower_fast[j]) continue;
    if (workspace.full.push(j)) score_all(moves, workspace);
  }
  block.count = 0;
}

void Run::score_all(const CentroidDrift& moves, Workspace& workspace) {
  ScoreBlock& block = workspace.full;
  ClusterSums& partial = workspace.sums;
  if (!block.count) return;
  if (partial.is_empty()) partial.allocate(rows, k);
  block.find_winners(moves.all, block.numbers, block.count);
  workspace.n_scored += block.count;
  int32_t own[BLOCK_ROWS];
  for (size_t r = 0; r < block.count; ++r) {
    const size_t j = block.numbers[r];
    const int32_t old = labels[j];
    own[r] = block.winner[r];
    if (!block.is_certain[r]) own[r] = decide_exactly(moves.all, j, r, block), ++workspace.n_decided_exactly;
    upper[j] = block.upper[r], lower[j] = block.lower[r];
    if (!lower_fast.empty()) lower_fast[j] = block.lower[r];
    if (own[r] == old) continue;
    ++workspace.n_changed;
    if (old >= 0) partial.add_row(rows, j, block.fetched[r], size_t(old), -1);
    partial.add_row(rows, j, block.fetched[r], size_t(own[r]), +1);
    labels[j] = own[r];
  }
  if (!moves.slow_bias.empty()) {
    block.bound_others(moves.all, moves.slow_bias.data(), own, lower.data());
    block.bound_others(moves.all, moves.fast_bias.data(), own, lower_fast.data());
  }
  block.count = 0;
}

// The winner in integers where float32 cannot tell; the bounds follow it.
int32_t Run::decide_exactly(const PackedCentroids& C, size_t j, size_t r, ScoreBlock& block) const {
  const size_t winner = block.decide_exactly(C, r);
  const float own = block.score_of(r, winner, C);
  rows.simd->certify(1, &rows.norm2[j], block.error + r, &own, block.best + r, block.upper + r, block.lower + r,
                     block.is_certain + r);
  return int32_t(winner);
}

}  // namespace rekmeans
