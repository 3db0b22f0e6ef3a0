#include "walk.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace rekmeans {
namespace {

constexpr size_t COARSE_FROM = 64;      // centroids, and products for one row, from which an 8-bit look pays: measured a
constexpr size_t COARSE_SIZE = 1 << 17; // third faster on MNIST with 256 centroids, a quarter slower on covtype with 100
constexpr size_t FEW_FROM = 48;         // centroids from which the fast ones are few beside all
constexpr size_t AHEAD = 4;             // rows asked for before they are needed
constexpr size_t TIGHTEN_FROM = 16;     // centroids from which one distance is cheap beside all of them,
constexpr size_t TIGHTEN_SIZE = 6000;   // if all of them together are some work

double length(const int32_t* a, const int32_t* b, size_t p) {
  double sum = 0;
  for (size_t l = 0; l < p; ++l) {
    const double gap = double(a[l]) - b[l];
    sum += gap * gap;
  }
  return std::sqrt(sum) / GRID;
}

}  // namespace

// What a thread adds up in a pass.
struct Tally {
  std::vector<int64_t> totals;   // unit weights
  std::vector<i128> heavy;       // other weights
  std::vector<int64_t> mass, absent;
  size_t moved = 0, looked = 0, glanced = 0, decided = 0;

  void open(const Rows& rows, size_t k) {
    if (!mass.empty()) return;
    mass.assign(k, 0);
    if (rows.unit) totals.assign(k * rows.p, 0); else heavy.assign(k * rows.p, 0);
    if (!rows.complete) absent.assign(k * rows.d, 0);
  }
  void add(const Rows& rows, size_t j, const float* g, size_t c, int64_t sign) {
    const int64_t w = rows.weight(j) * sign;
    if (!w) return;
    const size_t p = rows.p, d = rows.d, count = rows.absent_count(j);
    mass[c] += w;
    auto put = [&](size_t l, float g_l) {
      const int64_t cell = int32_t(g_l * float(GRID));
      if (rows.unit) totals[c * p + l] += w * cell; else heavy[c * p + l] += i128(w) * cell;
    };
    if (rows.sparse) {
      const Thin thin = rows.thin(j);
      for (size_t i = 0; i < thin.count; ++i) put(thin.columns[i], thin.cos[i]), put(d + thin.columns[i], thin.sin[i]);
    } else if (rows.unit) {
      rows.lanes->add(totals.data() + c * p, g, p, w < 0);
    } else {
      for (size_t l = 0; l < p; ++l) put(l, g[l]);
    }
    const uint32_t* columns = count ? rows.absent_begin(j) : nullptr;
    for (size_t i = 0; i < count; ++i) absent[c * d + columns[i]] += w;
  }
};

struct Walk::Pace {
  Pace(const Walk& walk, const int32_t* now);

  bool first;                      // nothing is known yet: look at every row
  Centroids all;
  std::unique_ptr<Centroids> few;  // the fast ones, ready for scoring; null where there are none
  Group slow, fast;
  std::vector<float> slow_bias, fast_bias;  // (kp,) of the one group; the other loses to everything
};

struct Walk::Hand {
  explicit Hand(const Rows& rows) : wait(rows), some(rows), rest(rows) {}
  Block wait, some, rest;
  Tally tally;
};

Walk::Walk(const Rows& rows_, size_t k_, bool skip_, size_t threads_)
    : rows(rows_), k(k_), skip(skip_), threads(std::max<size_t>(1, threads_)), labels(rows_.n, -1),
      totals(rows_.unit ? k_ * rows_.p : 0, 0), heavy(rows_.unit ? 0 : k_ * rows_.p, 0), mass(k_, 0),
      upper(rows_.n), lower(rows_.n), drift(k_, 0), recent(k_, 0) {
  if (!rows.complete) absent.assign(k * rows.d, 0);
}

Walk::Pace::Pace(const Walk& walk, const int32_t* now) : first(walk.before.empty()), all(walk.rows, now, walk.k, walk.threads) {
  const Rows& rows = walk.rows;
  const size_t p = rows.p, k = walk.k;
  const bool large = k >= COARSE_FROM && all.kp * p >= COARSE_SIZE && p <= 1 << 15;
  if (walk.coarse && large && rows.lanes->coarse_row && !rows.sparse) all.coarsen(rows);
  std::vector<uint8_t> is_fast(k, 0);
  std::vector<int32_t> moved;
  for (size_t c : walk.fast) {
    is_fast[c] = 1;
    moved.insert(moved.end(), now + c * p, now + (c + 1) * p);
  }
  if (!walk.fast.empty()) few = std::make_unique<Centroids>(rows, moved.data(), walk.fast.size(), walk.threads);
  if (few && !all.quads) {
    slow_bias = fast_bias = all.bias;
    for (size_t c = 0; c < k; ++c) (is_fast[c] ? slow_bias : fast_bias)[c] = 1e30f;
  }
  for (size_t c = 0; c < k && !first; ++c) {
    Group& group = is_fast[c] ? fast : slow;
    const float drift = walk.drift[c];
    if (drift > group.most) group.second = group.most, group.most = drift, group.which = int32_t(c);
    else group.second = std::max(group.second, drift);
  }
}

// Add the `count` centroids that moved most of late, of those not yet chosen.
static void choose(const std::vector<float>& recent, size_t count, std::vector<size_t>& chosen) {
  std::vector<size_t> others;
  for (size_t c = 0; c < recent.size(); ++c)
    if (std::find(chosen.begin(), chosen.end(), c) == chosen.end()) others.push_back(c);
  std::nth_element(others.begin(), others.begin() + ptrdiff_t(count), others.end(),
                   [&](size_t a, size_t b) { return recent[a] > recent[b]; });
  chosen.insert(chosen.end(), others.begin(), others.begin() + ptrdiff_t(count));
}

void Walk::regroup() {
  const size_t width = rows.lanes->width;
  if (lower_fast.empty()) lower_fast = lower;
  for (size_t j = 0; j < rows.n; ++j) lower[j] = lower_fast[j] = std::min(lower[j], lower_fast[j]);
  fast.clear();
  choose(recent, std::max<size_t>(1, k / 8 / width) * width, fast);
}

// A slow centroid may become fast at no loss to the bounds of the slow ones.
void Walk::promote() {
  choose(recent, rows.lanes->width, fast);
  for (size_t j = 0; j < rows.n; ++j) lower_fast[j] = std::min(lower[j], lower_fast[j]);
}

size_t Walk::step(const int32_t* now) {
  const size_t p = rows.p, parts = (rows.n + PART - 1) / PART;
  if (!before.empty())
    parallel(k * p < 1 << 16 ? 1 : threads, k, [&](size_t, size_t c) {
      drift[c] = float(length(now + c * p, before.data() + c * p, p)) * UP;
    });
  ++passes;
  for (size_t c = 0; c < k; ++c) recent[c] = recent[c] / 2 + drift[c];
  if (skip && k >= FEW_FROM && passes > 1) {
    const size_t more = fast.size() + rows.lanes->width;
    if (!(passes & (passes - 1))) regroup();
    else if (looked * k > glanced * more && 2 * more <= k) promote();
  }
  const Pace pace(*this, now);
  // starting a thread costs as much as some million products: a pass like the last one may not be worth it
  const bool light = !pace.first && double(looked + rows.n / 64) * double(pace.all.kp * p) < 4e6;
  const size_t count = light ? 1 : threads;
  std::vector<Hand> hands(count, Hand(rows));
  parallel(count, parts, [&](size_t thread, size_t i) {
    part(i * PART, std::min(rows.n, (i + 1) * PART), pace, hands[thread]);
  });
  size_t moved = 0;
  looked = glanced = decided = 0;
  for (Hand& hand : hands) {
    weigh(pace, hand), glance(pace, hand), settle(pace, hand);
    const Tally& tally = hand.tally;
    moved += tally.moved, looked += tally.looked, glanced += tally.glanced, decided += tally.decided;
    for (size_t i = 0; i < tally.totals.size(); ++i) totals[i] += tally.totals[i];
    for (size_t i = 0; i < tally.heavy.size(); ++i) heavy[i] += tally.heavy[i];
    for (size_t i = 0; i < tally.mass.size(); ++i) mass[i] += tally.mass[i];
    for (size_t i = 0; i < tally.absent.size(); ++i) absent[i] += tally.absent[i];
  }
  in_eighths = pace.all.quads > 0;
  before.assign(now, now + k * p);
  loss = objective(now);
  return moved;
}

void Walk::part(size_t from, size_t to, const Pace& pace, Hand& hand) {
  if (pace.first || !skip) {
    for (size_t j = from; j < to; ++j) {
      hand.rest.at[hand.rest.count++] = uint32_t(j);
      if (hand.rest.count == BLOCK) settle(pace, hand);
    }
    return;
  }
  constexpr size_t STRIDE = 256;
  uint8_t open[STRIDE];
  for (size_t at = from; at < to; at += STRIDE) {
    const size_t count = std::min(STRIDE, to - at);
    rows.lanes->worn(count, labels.data() + at, drift.data(), pace.slow, pace.fast, upper.data() + at, lower.data() + at,
                     lower_fast.empty() ? nullptr : lower_fast.data() + at, open);
    for (size_t r = 0; r < count; ++r) {
      uint64_t eight;
      if (r % 8 == 0 && r + 8 <= count && (std::memcpy(&eight, open + r, 8), !eight)) {
        r += 7;
        continue;
      }
      if (!open[r]) continue;
      hand.wait.at[hand.wait.count++] = uint32_t(at + r);
      if (hand.wait.count == BLOCK) weigh(pace, hand);
    }
  }
}

float Walk::tightened(const Centroids& C, size_t j, const float* g) const {
  const size_t own = size_t(labels[j]), absent = rows.absent_count(j);
  const float* h = C.flat.data() + own * rows.p;
  const float error = C.error(rows.norm2[j], absent);
  float score = (rows.sparse ? rows.lanes->thin_dot(rows.thin(j), rows.d, h) : rows.lanes->dot(g, h, rows.p)) - C.bias[own];
  for (size_t i = 0; i < absent; ++i) score += C.back[size_t(rows.absent_begin(j)[i]) * C.kp + own];
  float above, below;
  uint8_t sure;
  rows.lanes->judged(1, &rows.norm2[j], &error, &score, &score, &above, &below, &sure);
  return above;
}

// The distance to the own centroid, computed anew, often lies below the bound that drift has worn out.
void Walk::weigh(const Pace& pace, Hand& hand) {
  Block& block = hand.wait;
  const Centroids& C = pace.all;
  const bool anew = rows.sparse ? k >= FEW_FROM : k >= TIGHTEN_FROM && C.kp * rows.p >= TIGHTEN_SIZE;
  if (anew) rows.fetch(block.at, block.count, block.buffer, block.row);
  for (size_t r = 0; r < block.count; ++r) {
    const size_t j = block.at[r];
    if (anew && r + AHEAD < block.count) {
      const Thin thin = rows.sparse ? rows.thin(block.at[r + AHEAD]) : Thin{};
      const float* row = rows.sparse ? reinterpret_cast<const float*>(thin.columns) : block.row[r + AHEAD];
      for (size_t l = 0, count = rows.sparse ? 3 * thin.count : rows.p; l < count; l += 16) prefetch(row + l);
    }
    if (anew) upper[j] = tightened(C, j, block.row[r]);
    const bool slow = upper[j] < lower[j], fast = lower_fast.empty() || upper[j] < lower_fast[j];
    if (slow && fast) continue;
    Block& next = slow ? hand.some : hand.rest;
    next.at[next.count++] = uint32_t(j);
    if (next.count == BLOCK) slow ? glance(pace, hand) : settle(pace, hand);
  }
  block.count = 0;
}

void Walk::glance(const Pace& pace, Hand& hand) {
  Block& block = hand.some;
  if (!block.count) return;
  block.look(*pace.few, block.at, block.count);
  hand.tally.glanced += block.count;
  for (size_t r = 0; r < block.count; ++r) {
    const size_t j = block.at[r];
    const bool own = fast[size_t(block.where[r])] == size_t(labels[j]);
    float unused, least;
    uint8_t sure;
    const float* other = own ? block.second + r : block.best + r;
    rows.lanes->judged(1, &rows.norm2[j], block.error + r, other, other, &unused, &least, &sure);
    lower_fast[j] = least;
    if (upper[j] < least) continue;
    hand.rest.at[hand.rest.count++] = uint32_t(j);
    if (hand.rest.count == BLOCK) settle(pace, hand);
  }
  block.count = 0;
}

void Walk::settle(const Pace& pace, Hand& hand) {
  Block& block = hand.rest;
  Tally& tally = hand.tally;
  if (!block.count) return;
  tally.open(rows, k);
  block.look_for_winners(pace.all, block.at, block.count);
  tally.looked += block.count;
  int32_t own[BLOCK];
  for (size_t r = 0; r < block.count; ++r) {
    const size_t j = block.at[r];
    const int32_t old = labels[j];
    const int32_t now = block.sure[r] ? block.where[r] : (++tally.decided, decide(pace.all, j, r, block));
    own[r] = now;
    upper[j] = block.upper[r], lower[j] = block.lower[r];
    if (!lower_fast.empty()) lower_fast[j] = block.lower[r];
    if (now == old) continue;
    ++tally.moved;
    if (old >= 0) tally.add(rows, j, block.row[r], size_t(old), -1);
    tally.add(rows, j, block.row[r], size_t(now), +1);
    labels[j] = now;
  }
  if (!pace.slow_bias.empty()) {
    block.bound_others(pace.all, pace.slow_bias.data(), own, lower.data());
    block.bound_others(pace.all, pace.fast_bias.data(), own, lower_fast.data());
  }
  block.count = 0;
}

// The winner among those that float32 cannot tell apart, in integers; the bounds follow it.
int32_t Walk::decide(const Centroids& C, size_t j, size_t r, Block& block) const {
  const float bar = block.best[r] - 2 * block.error[r];
  block.score_again(C, r);
  int64_t least = 0;
  int32_t winner = -1;
  for (size_t c = 0; c < k; ++c) {
    if (!(block.score(r, c, C) >= bar)) continue;
    const int64_t D = rows.distance(j, block.row[r], C.whole.data() + c * rows.p, C.square[c]);
    if (winner < 0 || D < least) least = D, winner = int32_t(c);
  }
  const float own = block.score(r, size_t(winner), C);
  rows.lanes->judged(1, &rows.norm2[j], block.error + r, &own, block.best + r, block.upper + r, block.lower + r,
                     block.sure + r);
  return winner;
}

// One IEEE operation after the other, as the definition says; nothing is contracted in this file.
void Walk::centroids(bool rectified, const int32_t* old, int32_t* out) const {
  const size_t p = rows.p, d = rows.d;
  parallel(k * p < 1 << 16 ? 1 : threads, k, [&](size_t, size_t c) {
    for (size_t l = 0; l < d; ++l) {
      const size_t at = c * p + l;
      const double a = rows.unit ? double(plain(c, l)) : double(resultant(c, l));
      const double b = rows.unit ? double(plain(c, d + l)) : double(resultant(c, d + l));
      const double by = rectified ? std::sqrt(a * a + b * b) : double(seen(c, l));
      if (by > 0) {
        out[at] = int32_t(std::rint(rectified ? a / by * GRID : a / by));
        out[at + d] = int32_t(std::rint(rectified ? b / by * GRID : b / by));
      } else {
        out[at] = old[at], out[at + d] = old[at + d];
      }
    }
  });
}

// sum w |f - m|^2 = sum w |f|^2 - 2 sum S.m + sum over c, l of seen |m|^2.
i128 Walk::objective(const int32_t* C) const {
  const size_t p = rows.p, d = rows.d;
  std::vector<i128> parts(k, 0);
  parallel(k * p < 1 << 16 ? 1 : threads, k, [&](size_t, size_t c) {
    for (size_t l = 0; l < p; ++l) {
      const int64_t m = C[c * p + l];
      parts[c] += i128(m * m) * seen(c, l < d ? l : l - d);
      if (rows.unit) parts[c] -= i128(2 * m) * plain(c, l);
      else parts[c] -= 2 * m * resultant(c, l);
    }
  });
  i128 sum = rows.square;
  for (i128 part : parts) sum += part;
  return sum;
}

}  // namespace rekmeans
