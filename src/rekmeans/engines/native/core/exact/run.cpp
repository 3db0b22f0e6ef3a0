#include "run.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>

#include "drift.hpp"

namespace rekmeans {
namespace {

constexpr size_t REFINE_COST = 3;  // at most one row in REFINE_COST may be scored again in float32
// smallest number of centroids for which fast ones are distinguished
constexpr size_t FAST_FROM = 48;
constexpr size_t STRIDE = 256;  // rows whose bounds are loosened together
// units of work for each thread, so that all threads end at about the same time
constexpr size_t UNITS = 8;
constexpr size_t PREFETCH_ROWS = 4;  // distance of prefetched rows
// with fewer products in a pass, threads cost more than they save
constexpr double SERIAL_PRODUCTS = 4e6;
constexpr double POOL_PRODUCTS = 4e5;  // the same if the threads of a pool are already running

// Add the `count` centroids with the largest recent drift that are not yet chosen.
void choose_largest(const std::vector<float>& drift, size_t count, std::vector<size_t>& chosen) {
  std::vector<size_t> others;
  for (size_t c = 0; c < drift.size(); ++c)
    if (std::find(chosen.begin(), chosen.end(), c) == chosen.end()) others.push_back(c);
  std::nth_element(others.begin(), others.begin() + ptrdiff_t(count), others.end(),
                   [&](size_t a, size_t b) { return drift[a] > drift[b]; });
  chosen.insert(chosen.end(), others.begin(), others.begin() + ptrdiff_t(count));
}

// Write the indices of the flagged rows, of at most STRIDE, and return their number. Flags beyond
// `count` must be 0.
size_t open_rows(uint8_t* open, size_t count, uint32_t* numbers) {
  size_t n_open = 0;
  for (size_t r = 0; r < count; r += 8) {
    uint64_t eight;
    std::memcpy(&eight, open + r, 8);
    if (!eight) continue;
    for (size_t i = r; i < r + 8; ++i)
      numbers[n_open] = uint32_t(i), n_open += size_t(open[i] != 0) & size_t(i < count);
  }
  return n_open;
}

}  // namespace

struct Run::CentroidDrift {
  CentroidDrift(const Run& run, const int32_t* C);
  CentroidDrift(const PackedCentroids& C, bool is_first_) : is_first(is_first_), all(C) {}

  bool is_first;                           // no labels exist yet, so all rows are scored
  std::unique_ptr<PackedCentroids> owned;  // null if the caller owns them
  const PackedCentroids& all;
  std::unique_ptr<PackedCentroids> fast_only;  // null if there are no fast centroids
  DriftGroup slow, fast;
  // (kp,) the bias of each group; centroids of the other group never win
  std::vector<float> slow_bias, fast_bias;
};

struct Run::Workspace {
  explicit Workspace(const Rows& rows) : open(rows), fast_only(rows), full(rows) {}
  ScoreBlock open, fast_only, full;  // pending rows for recheck_own, score_fast and score_all
  ClusterSums sums;
  size_t n_changed = 0, n_scored = 0, n_scored_fast = 0, n_decided_exactly = 0;
};

Run::Run(const Rows& rows_, size_t k_, bool skip_, size_t threads_, const RowPanels* panels_)
    : rows(rows_),
      k(k_),
      skip(skip_),
      threads(std::max<size_t>(1, threads_)),
      labels(rows_.n, -1),
      upper(panels_ ? 0 : rows_.n),
      lower(panels_ ? 0 : rows_.n),
      panels(panels_),
      drift(k_, 0),
      recent_drift(k_, 0) {
  sums.allocate(rows, k);
}

Run::CentroidDrift::CentroidDrift(const Run& run, const int32_t* C)
    : is_first(run.last_centroids.empty()),
      owned(std::make_unique<PackedCentroids>(run.rows, C, run.k, run.threads)),
      all(*owned) {
  const Rows& rows = run.rows;
  const size_t p = rows.p, k = run.k;
  if (run.may_quantize) owned->pack_bytes_if_fast(rows);
  if (run.may_quantize && run.pairs_pay && !rows.pair_error.empty()) owned->pack_pairs(rows);
  std::vector<uint8_t> is_fast(k, 0);
  std::vector<int32_t> fast_centroids;
  for (size_t c : run.fast) {
    is_fast[c] = 1;
    fast_centroids.insert(fast_centroids.end(), C + c * p, C + (c + 1) * p);
  }
  if (!run.fast.empty())
    fast_only = std::make_unique<PackedCentroids>(rows, fast_centroids.data(), run.fast.size(),
                                                  run.threads);
  if (fast_only && all.has_pairs()) fast_only->pack_pairs(rows);
  if (fast_only && !all.has_bytes()) {
    slow_bias = fast_bias = all.bias;
    for (size_t c = 0; c < k; ++c) (is_fast[c] ? slow_bias : fast_bias)[c] = NEVER_WINS;
  }
  for (size_t c = 0; c < k && !is_first; ++c)
    (is_fast[c] ? fast : slow).add(run.drift[c], int32_t(c));
}

void Run::regroup_fast() {
  const size_t width = rows.simd->width;
  if (lower_fast.empty()) lower_fast = lower;
  for (size_t j = 0; j < rows.n; ++j) lower[j] = lower_fast[j] = std::min(lower[j], lower_fast[j]);
  fast.clear();
  choose_largest(recent_drift, std::max<size_t>(1, k / 8 / width) * width, fast);
}

// A slow centroid may become fast without weakening the bounds on the slow ones.
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
  if (!last_centroids.empty())
    centroid_drift(C, last_centroids.data(), k, rows.p, threads, drift.data());
  for (size_t c = 0; c < k; ++c) recent_drift[c] = recent_drift[c] / 2 + drift[c];
}

size_t Run::assign(const int32_t* C) {
  ++n_passes;
  if (panels) return assign_by_panels(C);
  measure_drift(C);
  choose_fast();
  const CentroidDrift moves(*this, C);
  // if this pass is similar to the last one
  const double products = double(n_scored + rows.n / 64) * double(moves.all.kp * rows.p);
  const double least = ThreadPool::current() ? POOL_PRODUCTS : SERIAL_PRODUCTS;
  const size_t count = !moves.is_first && products < least ? 1 : threads;
  std::vector<Workspace> workspaces(count, Workspace(rows));
  const size_t unit = std::clamp(rows.n / (UNITS * count) / STRIDE * STRIDE, STRIDE, PART_ROWS);
  parallel(count, (rows.n + unit - 1) / unit, [&](size_t thread, size_t i) {
    assign_part(i * unit, std::min(rows.n, (i + 1) * unit), moves, workspaces[thread]);
  });
  const size_t n_changed = collect(workspaces, moves);
  was_quantized = moves.all.has_bytes() || moves.all.has_pairs();
  pairs_pay &= REFINE_COST * n_refined <= n_scored || n_scored * REFINE_COST < rows.n;
  last_centroids.assign(C, C + k * rows.p);
  loss = sums.objective(rows, C, threads);
  return n_changed;
}

size_t Run::assign_to_packed(const PackedCentroids& C, ClusterSums& changed_sums) {
  ++n_passes;
  const CentroidDrift moves(C, labels.empty() || labels[0] < 0);
  Workspace workspace(rows);
  std::swap(workspace.sums, changed_sums);
  assign_part(0, rows.n, moves, workspace);
  finish_waiting(moves, workspace);
  std::swap(workspace.sums, changed_sums);
  return workspace.n_changed;
}

size_t Run::assign_by_panels(const int32_t* C) {
  panels->nearest(C, k, nearest);
  RowBuffer buffer;
  size_t n_changed = 0;
  for (size_t j = 0; j < rows.n; ++j) {
    const int32_t own = int32_t(nearest[j]), old = labels[j];
    if (own == old) continue;
    const uint32_t number = uint32_t(j);
    const float* g;
    rows.fetch(&number, 1, buffer, &g);
    if (old >= 0) sums.add_row(rows, j, g, size_t(old), -1);
    sums.add_row(rows, j, g, size_t(own), +1);
    labels[j] = own;
    ++n_changed;
  }
  n_scored = rows.n;
  loss = sums.objective(rows, C, 1);
  return n_changed;
}

size_t Run::collect(std::vector<Workspace>& workspaces, const CentroidDrift& moves) {
  size_t n_changed = 0;
  n_scored = n_scored_fast = n_decided_exactly = n_refined = 0;
  for (Workspace& workspace : workspaces) {
    finish_waiting(moves, workspace);
    sums += workspace.sums;
    n_changed += workspace.n_changed, n_scored += workspace.n_scored;
    n_scored_fast += workspace.n_scored_fast, n_decided_exactly += workspace.n_decided_exactly;
    n_refined += workspace.full.n_refined;
  }
  return n_changed;
}

void Run::finish_waiting(const CentroidDrift& moves, Workspace& workspace) {
  recheck_own(moves, workspace);
  score_fast(moves, workspace);
  score_all(moves, workspace);
}

void Run::assign_part(size_t from, size_t to, const CentroidDrift& moves, Workspace& workspace) {
  if (moves.is_first || !skip) {
    for (size_t j = from; j < to; ++j)
      if (workspace.full.push(j)) score_all(moves, workspace);
    return;
  }
  const bool recheck = rows.should_recheck_own(k, moves.all.kp * rows.p) || !lower_fast.empty();
  ScoreBlock& waits = recheck ? workspace.open : workspace.full;
  uint8_t open[STRIDE] = {};
  uint32_t numbers[STRIDE];
  for (size_t first = from; first < to; first += STRIDE) {
    const size_t count = std::min(STRIDE, to - first);
    rows.simd->loosen_bounds(count, labels.data() + first, drift.data(), moves.slow, moves.fast,
                             upper.data() + first, lower.data() + first,
                             lower_fast.empty() ? nullptr : lower_fast.data() + first, open);
    const size_t n_open = open_rows(open, count, numbers);
    for (size_t i = 0; i < n_open; ++i) {
      rows.prefetch_row(first + numbers[i], false);
      if (waits.push(first + numbers[i]))
        recheck ? recheck_own(moves, workspace) : score_all(moves, workspace);
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

// Recompute the distance to its own centroid, which is often below the bound that drift has
// loosened.
void Run::recheck_own(const CentroidDrift& moves, Workspace& workspace) {
  ScoreBlock& block = workspace.open;
  const PackedCentroids& C = moves.all;
  const bool rechecks = rows.should_recheck_own(k, C.kp * rows.p);
  if (rechecks) rows.fetch(block.numbers, block.count, block.buffer, block.fetched);
  for (size_t r = 0; r < block.count; ++r) {
    const size_t j = block.numbers[r], ahead = r + PREFETCH_ROWS;
    if (rechecks && ahead < block.count) rows.prefetch_row(block.numbers[ahead], true);
    if (rechecks) upper[j] = own_upper_bound(C, j, block.fetched[r]);
    const bool beats_slow = keeps_label(upper[j], lower[j]),
               beats_fast = lower_fast.empty() || keeps_label(upper[j], lower_fast[j]);
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
    lower_fast[j] =
        distance_bounds(rows, j, block.error[r], is_own ? block.second[r] : block.best[r]).lower;
    if (keeps_label(upper[j], lower_fast[j])) continue;
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
    if (!block.is_certain[r])
      own[r] = decide_exactly(moves.all, j, r, block), ++workspace.n_decided_exactly;
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

// Find the winner in integers if float32 cannot decide, and update the bounds.
int32_t Run::decide_exactly(const PackedCentroids& C, size_t j, size_t r, ScoreBlock& block) const {
  const size_t winner = block.decide_exactly(C, r);
  const float own = block.score_of(r, winner, C);
  rows.simd->certify(1, &rows.norm2[j], block.error + r, &own, block.best + r, block.upper + r,
                     block.lower + r, block.is_certain + r);
  return int32_t(winner);
}

}  // namespace rekmeans
