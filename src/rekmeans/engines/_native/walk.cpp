#include "walk.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace rekmeans {
namespace {

constexpr float U = 0x1p-24f;           // half a unit in the last place of 1
constexpr size_t COARSE_FROM = 32;      // centroids from which the 8-bit look pays for turning the rows into 8 bits
constexpr float UP = 1 + 4 * U, DOWN = 1 - 4 * U;  // room for the roundings of a bound

double length(const int32_t* a, const int32_t* b, size_t p) {
  double sum = 0;
  for (size_t l = 0; l < p; ++l) {
    const double gap = double(a[l]) - (b ? b[l] : 0);
    sum += gap * gap;
  }
  return std::sqrt(sum) / GRID;
}

}  // namespace

Centroids::Centroids(const Rows& rows, const int32_t* C, size_t k_) : k(k_), whole(k_ * rows.p), square(k_, 0), flat(k_ * rows.p) {
  const size_t p = rows.p, d = rows.d, width = rows.lanes->width, panel = rows.lanes->panel;
  kp = (k + width - 1) / width * width;
  packed.assign(kp * p, 0);
  bias.assign(kp, 1e30f);
  double most = 0;
  for (size_t c = 0; c < k; ++c) {
    int32_t* h = whole.data() + c * p;
    const size_t start = c / panel * panel, span = std::min(panel, kp - start);
    float* lane = packed.data() + start * p + (c - start);
    for (size_t l = 0; l < p; ++l) {
      h[l] = C[c * p + l] - rows.base[l];
      lane[l * span] = flat[c * p + l] = float(h[l]) * float(1 / GRID);
      square[c] += int64_t(h[l]) * h[l];
    }
    const double size = length(h, nullptr, p);
    bias[c] = float(size * size / 2);
    most = std::max(most, size);
  }
  steps = float(CHUNK + (p + CHUNK - 1) / CHUNK + 8);
  longest = float(most) * UP;
  heaviest = float(most * most / 2) * UP;
  if (!rows.complete) {
    back.assign(d * kp, 0);
    for (size_t c = 0; c < k; ++c)
      for (size_t l = 0; l < d; ++l) {
        const float a = flat[c * p + l], b = flat[c * p + d + l];
        back[l * kp + c] = (a * a + b * b) / 2;
      }
  }
}

// Sums of at most CHUNK products and of the p/CHUNK chunks, each step off by U of its size: at most
// (CHUNK + p/CHUNK + 2) U |g||h|. Then the bias, rounded once and subtracted, and the missing cells added one by one.
float Centroids::error(float norm2, size_t absent) const {
  const float reach = std::sqrt(norm2) * UP * longest;
  return 1.02f * U * (steps * reach + (6 + 2 * float(absent)) * (heaviest + reach));
}

void Centroids::coarsen(const Rows& rows) {
  const size_t p = rows.p, panel = rows.lanes->panel;
  quads = (p + 3) / 4;
  eighths.assign(kp * quads * 4, 0);
  scale.assign(kp, 0);
  offset.assign(kp, 0);
  double most = 0;
  for (size_t c = 0; c < k; ++c) {
    const float* h = flat.data() + c * p;
    float top = 0;
    for (size_t l = 0; l < p; ++l) top = std::max(top, std::fabs(h[l]));
    scale[c] = top / 127;
    const size_t start = c / panel * panel, span = std::min(panel, kp - start);
    int8_t* lane = eighths.data() + start * quads * 4 + (c - start) * 4;
    double gap2 = 0;
    for (size_t l = 0; l < p; ++l) {
      const int q = top > 0 ? int(std::rint(h[l] / scale[c])) : 0;
      const double gap = double(h[l]) - double(scale[c]) * q;
      lane[l / 4 * span * 4 + l % 4] = int8_t(q);
      offset[c] += 128 * q;
      gap2 += gap * gap;
    }
    most = std::max(most, std::sqrt(gap2));
  }
  rest = float(most) * UP;
}

void Block::give_back(const Centroids& C, size_t j, float* s) const {
  const uint32_t* absent = rows.absent_begin(j);
  for (size_t i = 0; i < rows.absent_count(j); ++i) {
    const float* back = C.back.data() + size_t(absent[i]) * C.kp;
    for (size_t c = 0; c < C.kp; ++c) s[c] += back[c];
  }
}

// With g' and h' the 8-bit forms: |g.h - g'.h'| <= |g - g'||h| + |g'||h - h'|, and a few roundings of the product.
void Block::score_coarsely(const Centroids& C, size_t count, const float* norm2) {
  const uint8_t* at[BLOCK];
  float step[BLOCK], rest[BLOCK];
  eighths.resize(BLOCK * C.quads * 4);
  for (size_t r = 0; r < count; ++r) {
    uint8_t* q = eighths.data() + r * C.quads * 4;
    rows.lanes->coarse_row(row[r], rows.p, q, step + r, rest + r);
    at[r] = q;
  }
  rows.lanes->coarse_scores(at, step, count, C.quads, C.eighths.data(), C.scale.data(), C.offset.data(), C.kp,
                            scores.data());
  for (size_t r = 0; r < count; ++r) {
    const float size = std::sqrt(norm2[r]) * UP;
    error[r] += (rest[r] * C.longest + (size + rest[r]) * C.rest) * 1.001f + 16 * U * (size + rest[r]) * (C.longest + C.rest);
  }
}

// Float32 scores for those that may win by the 8-bit ones; the rest cannot, and at best reach the bar they missed.
void Block::refine(const Centroids& C, size_t j, size_t r) {
  float* s = scores.data() + r * C.kp;
  const float slack = error[r], bar = best[r] - 2 * slack;
  best[r] = second[r] = -3e38f;
  for (size_t c = 0; c < C.k; ++c) {
    if (!(s[c] - C.bias[c] >= bar)) {
      s[c] = -3e38f;
      continue;
    }
    s[c] = rows.lanes->dot(row[r], C.flat.data() + c * rows.p, rows.p);
    for (size_t i = 0, count = rows.absent_count(j); i < count; ++i)
      s[c] += C.back[size_t(rows.absent_begin(j)[i]) * C.kp + c];
    const float now = s[c] - C.bias[c];
    if (now > best[r]) second[r] = best[r], best[r] = now, where[r] = int32_t(c);
    else second[r] = std::max(second[r], now);
  }
  second[r] = std::max(second[r], bar + slack);
  error[r] = C.error(rows.norm2[j], rows.absent_count(j));
  rows.lanes->judged(1, &rows.norm2[j], error + r, best + r, second + r, upper + r, lower + r, sure + r);
}

void Block::look(const Centroids& C, const uint32_t* at, size_t count) {
  scores.resize(BLOCK * C.kp);
  rows.fetch(at, count, buffer, row);
  std::fill(row + count, row + std::min(2 * BLOCK, count + 16), row[count - 1]);
  float norm2[BLOCK];
  for (size_t r = 0; r < count; ++r) norm2[r] = rows.norm2[at[r]];
  for (size_t r = 0; r < count; ++r) error[r] = C.error(norm2[r], 0);
  if (!rows.complete)
    for (size_t r = 0; r < count; ++r) error[r] = C.error(norm2[r], rows.absent_count(at[r]));
  if (rows.sparse)
    for (size_t r = 0; r < count; ++r) {
      const SparseRows& cells = rows.cells;
      const size_t from = cells.from[at[r]];
      rows.lanes->sparse_scores(cells.columns.data() + from, cells.cos.data() + from, cells.sin.data() + from,
                                cells.from[at[r] + 1] - from, rows.d, C.packed.data(), C.kp, scores.data() + r * C.kp);
    }
  else if (C.quads)
    score_coarsely(C, count, norm2);
  else
    rows.lanes->scores(row, count, rows.p, C.packed.data(), C.kp, scores.data());
  if (!rows.complete)
    for (size_t r = 0; r < count; ++r) give_back(C, at[r], scores.data() + r * C.kp);
  rows.lanes->winners(scores.data(), count, C.kp, C.bias.data(), where, best, second);
  rows.lanes->judged(count, norm2, error, best, second, upper, lower, sure);
  if (C.quads)
    for (size_t r = 0; r < count; ++r)
      if (!sure[r]) refine(C, at[r], r);
}

// What a thread adds up in a pass.
struct Walk::Tally {
  std::vector<int64_t> totals;   // unit weights
  std::vector<i128> heavy;       // other weights
  std::vector<int64_t> mass, absent;
  size_t moved = 0, looked = 0, decided = 0;

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
    if (rows.sparse)
      for (size_t i = rows.cells.from[j]; i < rows.cells.from[j + 1]; ++i)
        put(rows.cells.columns[i], rows.cells.cos[i]), put(d + rows.cells.columns[i], rows.cells.sin[i]);
    else if (rows.unit) rows.lanes->add(totals.data() + c * p, g, p, w < 0);
    else for (size_t l = 0; l < p; ++l) put(l, g[l]);
    const uint32_t* columns = count ? rows.absent_begin(j) : nullptr;
    for (size_t i = 0; i < count; ++i) absent[c * d + columns[i]] += w;
  }
};

Walk::Walk(const Rows& rows_, size_t k_, bool skip_, size_t threads_)
    : rows(rows_), k(k_), skip(skip_), threads(std::max<size_t>(1, threads_)), labels(rows_.n, -1), totals(k_ * rows_.p, 0), mass(k_, 0),
      upper(rows_.n), lower(rows_.n), drift(k_, 0) {
  if (!rows.complete) absent.assign(k * rows.d, 0);
}

size_t Walk::step(const int32_t* now) {
  const size_t p = rows.p, parts = (rows.n + PART - 1) / PART;
  Centroids C(rows, now, k);
  if (coarse && rows.lanes->coarse_row && !rows.sparse && k >= COARSE_FROM && p <= 1 << 15) C.coarsen(rows);
  Drift furthest = {0, 0, -1};
  if (!before.empty())
    for (size_t c = 0; c < k; ++c) {
      drift[c] = float(length(now + c * p, before.data() + c * p, p)) * UP;
      if (drift[c] > furthest.most) furthest = {drift[c], furthest.most, int32_t(c)};
      else furthest.second = std::max(furthest.second, drift[c]);
    }
  // starting a thread costs as much as some million products: a pass like the last one may not be worth it
  const bool light = !before.empty() && double(looked + rows.n / 64) * double(C.kp * p) < 16e6;
  const size_t hands = light ? 1 : threads;
  std::vector<Tally> tallies(hands);
  std::vector<Block> blocks(hands, Block(rows));
  parallel(hands, parts, [&](size_t thread, size_t i) {
    part(C, i * PART, std::min(rows.n, (i + 1) * PART), blocks[thread], tallies[thread], furthest);
  });
  for (size_t t = 0; t < hands; ++t) flush(C, blocks[t], tallies[t]);
  size_t moved = 0;
  looked = decided = 0;
  for (const Tally& tally : tallies) {
    moved += tally.moved, looked += tally.looked, decided += tally.decided;
    for (size_t i = 0; i < tally.totals.size(); ++i) totals[i] += tally.totals[i];
    for (size_t i = 0; i < tally.heavy.size(); ++i) totals[i] += tally.heavy[i];
    for (size_t i = 0; i < tally.mass.size(); ++i) mass[i] += tally.mass[i];
    for (size_t i = 0; i < tally.absent.size(); ++i) absent[i] += tally.absent[i];
  }
  before.assign(now, now + k * p);
  loss = objective(now);
  return moved;
}

void Walk::part(const Centroids& C, size_t from, size_t to, Block& block, Tally& tally, const Drift& furthest) {
  const bool first = before.empty();
  for (size_t j = from; j < to; ++j) {
    if (!first) {
      const int32_t own = labels[j];
      upper[j] = (upper[j] + drift[own]) * UP;
      lower[j] -= (own == furthest.which ? furthest.second : furthest.most) * UP + std::fabs(lower[j]) * (4 * U);
      if (skip && upper[j] < lower[j]) continue;
    }
    block.at[block.count++] = uint32_t(j);
    if (block.count == BLOCK) flush(C, block, tally);
  }
}

void Walk::flush(const Centroids& C, Block& block, Tally& tally) {
  if (!block.count) return;
  tally.open(rows, k);
  block.look(C, block.at, block.count);
  tally.looked += block.count;
  for (size_t r = 0; r < block.count; ++r) {
    const size_t j = block.at[r];
    const int32_t old = labels[j], now = block.sure[r] ? block.where[r] : (++tally.decided, decide(C, j, r, block));
    upper[j] = block.upper[r], lower[j] = block.lower[r];
    if (now == old) continue;
    ++tally.moved;
    if (old >= 0) tally.add(rows, j, block.row[r], size_t(old), -1);
    tally.add(rows, j, block.row[r], size_t(now), +1);
    labels[j] = now;
  }
  block.count = 0;
}

// The winner among those that float32 cannot tell apart, in integers; the bounds follow it.
int32_t Walk::decide(const Centroids& C, size_t j, size_t r, Block& block) const {
  const float bar = block.best[r] - 2 * block.error[r];
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
      const double a = double(resultant(c, l)), b = double(resultant(c, d + l));
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
  i128 sum = rows.square;
  for (size_t c = 0; c < k; ++c)
    for (size_t l = 0; l < p; ++l) {
      const int64_t m = C[c * p + l];
      sum += i128(m) * m * seen(c, l % d) - 2 * m * resultant(c, l);
    }
  return sum;
}

}  // namespace rekmeans
