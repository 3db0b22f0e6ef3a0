#include "score.hpp"

#include <algorithm>
#include <cmath>

namespace rekmeans {

Centroids::Centroids(const Rows& rows, const int32_t* C, size_t k_, size_t threads_)
    : k(k_), threads(k_ * rows.p < 1 << 16 ? 1 : threads_), whole(k_ * rows.p), square(k_, 0), flat(k_ * rows.p) {
  const size_t p = rows.p, d = rows.d, width = rows.lanes->width, panel = rows.lanes->panel;
  kp = (k + width - 1) / width * width;
  packed.assign(kp * p, 0);
  bias.assign(kp, 1e30f);
  if (!rows.complete) back.assign(d * kp, 0);
  std::vector<double> sizes(k);
  parallel(threads, k, [&](size_t, size_t c) {
    int32_t* h = whole.data() + c * p;
    float* f = flat.data() + c * p;
    const size_t start = c / panel * panel, span = std::min(panel, kp - start);
    float* lane = packed.data() + start * p + (c - start);
    for (size_t l = 0; l < p; ++l) {
      h[l] = C[c * p + l] - rows.base[l];
      f[l] = float(h[l]) * float(1 / GRID);
      square[c] += int64_t(h[l]) * h[l];
    }
    if (rows.sparse)
      for (size_t l = 0; l < d; ++l) lane[2 * l * span] = f[l], lane[(2 * l + 1) * span] = f[d + l];
    else
      for (size_t l = 0; l < p; ++l) lane[l * span] = f[l];
    if (!rows.complete)
      for (size_t l = 0; l < d; ++l) back[l * kp + c] = (f[l] * f[l] + f[d + l] * f[d + l]) / 2;
    bias[c] = float(double(square[c]) / (2 * GRID * GRID));
    sizes[c] = std::sqrt(double(square[c])) / GRID;
  });
  const double most = *std::max_element(sizes.begin(), sizes.end());
  const float steps = float(CHUNK + (p + CHUNK - 1) / CHUNK + 8);
  longest = float(most) * UP;
  heaviest = float(most * most / 2) * UP;
  slope = 1.02f * U * (steps + 6) * UP * longest;
  ground = 1.02f * U * 6 * heaviest;
}

// Sums of at most CHUNK products and of the p/CHUNK chunks, each step off by U of its size: at most
// (CHUNK + p/CHUNK + 2) U |g||h|. Then the bias, rounded once and subtracted, and the missing cells added one by one.
float Centroids::error(float norm2, size_t absent) const {
  const float more = 2.04f * U * float(absent);
  return std::sqrt(norm2) * (slope + more * UP * longest) + ground + more * heaviest;
}

void Centroids::coarsen(const Rows& rows) {
  const size_t p = rows.p, panel = rows.lanes->panel;
  quads = (p + 3) / 4;
  eighths.assign(kp * quads * 4, 0);
  scale.assign(kp, 0);
  offset.assign(kp, 0);
  std::vector<double> rests(k);
  parallel(threads, k, [&](size_t, size_t c) {
    const float* h = flat.data() + c * p;
    float top = 0;
    for (size_t l = 0; l < p; ++l) top = std::max(top, std::fabs(h[l]));
    scale[c] = top / 127;
    const float inverse = top > 0 ? 127 / top : 0;
    const size_t start = c / panel * panel, span = std::min(panel, kp - start);
    int8_t* lane = eighths.data() + start * quads * 4 + (c - start) * 4;
    double gap2 = 0;
    for (size_t l = 0; l < p; ++l) {
      const int q = int(std::lrintf(h[l] * inverse));
      const double gap = double(h[l]) - double(scale[c]) * q;
      lane[l / 4 * span * 4 + l % 4] = int8_t(q);
      offset[c] += 128 * q;
      gap2 += gap * gap;
    }
    rests[c] = std::sqrt(gap2);
  });
  rest = float(*std::max_element(rests.begin(), rests.end())) * UP;
}

void Block::give_back(const Centroids& C, size_t j, float* s) const {
  const uint32_t* absent = rows.absent_begin(j);
  for (size_t i = 0; i < rows.absent_count(j); ++i) {
    const float* back = C.back.data() + size_t(absent[i]) * C.kp;
    for (size_t c = 0; c < C.kp; ++c) s[c] += back[c];
  }
}

// With g' and h' the 8-bit forms: |g.h - g'.h'| <= |g - g'||h| + |g'||h - h'|, and a few roundings of the product.
void Block::score_coarsely(const Centroids& C, size_t count) {
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

void Block::fetch(const Centroids& C, const uint32_t* at, size_t count) {
  scores.resize(BLOCK * C.kp);
  rows.fetch(at, count, buffer, row);
  std::fill(row + count, row + std::min(2 * BLOCK, count + 32), row[count - 1]);
  for (size_t r = 0; r < count; ++r) norm2[r] = rows.norm2[at[r]];
  if (rows.complete)
    for (size_t r = 0; r < count; ++r) error[r] = std::sqrt(norm2[r]) * C.slope + C.ground;
  else
    for (size_t r = 0; r < count; ++r) error[r] = C.error(norm2[r], rows.absent_count(at[r]));
}

void Block::judge(size_t count) { rows.lanes->judged(count, norm2, error, best, second, upper, lower, sure); }

void Block::look(const Centroids& C, const uint32_t* at, size_t count) {
  fetch(C, at, count);
  if (rows.sparse) {
    Thin thin[BLOCK];
    for (size_t r = 0; r < count; ++r) thin[r] = rows.thin(at[r]);
    rows.lanes->thin_scores(thin, count, rows.d, C.packed.data(), C.kp, scores.data());
  } else if (C.quads) {
    score_coarsely(C, count);
  } else {
    rows.lanes->scores(row, count, rows.p, C.packed.data(), C.kp, scores.data());
  }
  if (!rows.complete)
    for (size_t r = 0; r < count; ++r) give_back(C, at[r], scores.data() + r * C.kp);
  rows.lanes->winners(scores.data(), count, C.kp, C.bias.data(), where, best, second);
  judge(count);
  if (C.quads)
    for (size_t r = 0; r < count; ++r)
      if (!sure[r]) refine(C, at[r], r);
}

void Block::look_for_winners(const Centroids& C, const uint32_t* at, size_t count) {
  if (!by_few(C)) return look(C, at, count);
  fetch(C, at, count);
  rows.lanes->winners_of_few(row, count, rows.p, C.packed.data(), C.k, C.bias.data(), where, best, second);
  judge(count);
}

void Block::score_again(const Centroids& C, size_t r) {
  if (by_few(C)) rows.lanes->scores(row + r, 1, rows.p, C.packed.data(), C.kp, scores.data() + r * C.kp);
}

void Block::bound_others(const Centroids& C, const float* bias, const int32_t* own, float* bounds) {
  float next[BLOCK], above[BLOCK], below[BLOCK];
  uint8_t unused[BLOCK];
  rows.lanes->winners(scores.data(), count, C.kp, bias, where, best, next);
  for (size_t r = 0; r < count; ++r) best[r] = where[r] == own[r] ? next[r] : best[r];
  rows.lanes->judged(count, norm2, error, best, best, above, below, unused);
  for (size_t r = 0; r < count; ++r) bounds[at[r]] = below[r];
}

}  // namespace rekmeans
