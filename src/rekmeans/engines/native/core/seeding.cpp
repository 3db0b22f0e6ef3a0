#include "seeding.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace rekmeans {
namespace {

constexpr int64_t FAR = std::numeric_limits<int64_t>::max();
constexpr double UNITS = GRID * GRID;  // grid units squared in 1

auto below(const std::vector<int64_t>& limit) {
  return [&limit](size_t j) { return limit[j]; };
}

size_t parts(const Rows& rows) { return (rows.n + PART - 1) / PART; }

}  // namespace

Seeding::Seeding(const Rows& rows_)
    : rows(rows_), near(rows_.n, FAR), next(rows_.n, FAR), owner(rows_.n, -1), second(rows_.n, -1) {}

bool Seeding::flat() const {
  if (!k) return true;
  for (size_t j = 0; j < rows.n; ++j)
    if (near[j] && rows.weight(j)) return false;
  return true;
}

std::vector<i128> Seeding::masses() const {
  const bool plain = flat();
  std::vector<i128> sums(parts(rows), 0);
  parallel(rows.threads, sums.size(), [&](size_t, size_t part) {
    for (size_t j = part * PART; j < rows.n && j < (part + 1) * PART; ++j)
      sums[part] += i128(rows.weight(j)) * (plain ? 1 : near[j]);
  });
  return sums;
}

size_t Seeding::row(size_t part, i128 goal) const {
  const bool plain = flat();
  const size_t end = std::min(rows.n, (part + 1) * PART);
  i128 sum = 0;
  for (size_t j = part * PART; j < end; ++j) {
    sum += i128(rows.weight(j)) * (plain ? 1 : near[j]);
    if (sum > goal) return j;
  }
  return end - 1;
}

// A candidate as far from a row's own centroid as that centroid and the limit together cannot be below the limit.
std::vector<double> Seeding::reach(const Centroids& P) const {
  std::vector<double> least(k, 0);
  if (!rows.complete) return least;  // a missing cell shortens distances
  parallel(k * P.k * rows.p < 1 << 16 ? 1 : rows.threads, k, [&](size_t, size_t c) {
    double nearest = std::numeric_limits<double>::infinity();
    for (size_t i = 0; i < P.k; ++i) {
      double sum = 0;
      for (size_t l = 0; l < rows.p; ++l) {
        const double gap = double(P.whole[i * rows.p + l]) + rows.base[l] - C[c * rows.p + l];
        sum += gap * gap;
      }
      nearest = std::min(nearest, std::sqrt(sum));
    }
    least[c] = nearest * (1 - 0x1p-30);
  });
  return least;
}

template <class Limit, class Seen>
void Seeding::visit(const Centroids& P, const Limit& limit, const Seen& seen) const {
  std::vector<Block> blocks(std::max<size_t>(1, rows.threads), Block(rows));
  const std::vector<double> far = reach(P);
  auto look = [&](size_t thread, Block& block) {
    if (!block.count) return;
    block.look(P, block.at, block.count);
    for (size_t r = 0; r < block.count; ++r) {
      const size_t j = block.at[r];
      const int64_t most = limit(j);
      // |f - m|^2 = |g|^2 - 2 score: below the limit only if the score is above this bar
      const double bar = (rows.norm2[j] * (1 - 0x1p-23) - double(most) / UNITS * (1 + 0x1p-50)) / 2 - block.error[r];
      if (block.best[r] < bar) continue;
      for (size_t i = 0; i < P.k; ++i)
        if (block.score(r, i, P) >= bar) {
          const int64_t D = rows.distance(j, block.row[r], P.whole.data() + i * rows.p, P.square[i]);
          if (D < most) seen(thread, j, i, D);
        }
    }
    block.count = 0;
  };
  parallel(rows.threads, parts(rows), [&](size_t thread, size_t part) {
    Block& block = blocks[thread];
    for (size_t j = part * PART; j < rows.n && j < (part + 1) * PART; ++j) {
      const double most = double(limit(j));
      if (most <= 0) continue;
      if (owner[j] >= 0 && std::sqrt(double(near[j])) + std::sqrt(most) < far[size_t(owner[j])]) continue;
      block.at[block.count++] = uint32_t(j);
      if (block.count == BLOCK) look(thread, block);
    }
    look(thread, block);
  });
}

void Seeding::extend(const int32_t* P, size_t count) {
  size_t best = 0;
  if (count > 1) {
    std::vector<std::vector<i128>> gains(std::max<size_t>(1, rows.threads), std::vector<i128>(count, 0));
    visit(Centroids(rows, P, count), below(near), [&](size_t thread, size_t j, size_t i, int64_t D) {
      gains[thread][i] += i128(rows.weight(j)) * (near[j] - D);
    });
    for (size_t t = 1; t < gains.size(); ++t)
      for (size_t i = 0; i < count; ++i) gains[0][i] += gains[t][i];
    best = size_t(std::max_element(gains[0].begin(), gains[0].end()) - gains[0].begin());
  }
  C.insert(C.end(), P + best * rows.p, P + (best + 1) * rows.p);
  const int32_t c = int32_t(k++);
  visit(Centroids(rows, P + best * rows.p, 1), below(next), [&](size_t, size_t j, size_t, int64_t D) {
    if (D < near[j]) next[j] = near[j], second[j] = owner[j], near[j] = D, owner[j] = c;
    else next[j] = D, second[j] = c;
  });
}

bool Seeding::exchange(const int32_t* P, size_t count) {
  const size_t threads = std::max<size_t>(1, rows.threads);
  // What is left if candidate i replaces centroid q: sum of min(D_i, near), and for the rows of q up to min(D_i, next).
  // Counted from what is left if no candidate were near: `lost[q]`; each visit gives some of it back.
  std::vector<i128> lost(k, 0);
  for (size_t j = 0; j < rows.n; ++j) lost[size_t(owner[j])] += i128(rows.weight(j)) * (next[j] - near[j]);
  std::vector<std::vector<i128>> gains(threads, std::vector<i128>((k + 1) * count, 0));
  visit(Centroids(rows, P, count), below(next), [&](size_t thread, size_t j, size_t i, int64_t D) {
    const i128 w = rows.weight(j);
    const int64_t kept = std::min(D, near[j]);
    gains[thread][k * count + i] += w * (near[j] - kept);
    gains[thread][size_t(owner[j]) * count + i] += w * ((next[j] - near[j]) - (D - kept));
  });
  for (size_t t = 1; t < threads; ++t)
    for (size_t i = 0; i < gains[0].size(); ++i) gains[0][i] += gains[t][i];
  size_t best = 0;
  i128 most = 0;
  for (size_t q = 0; q < k; ++q)
    for (size_t i = 0; i < count; ++i) {
      const i128 gain = gains[0][k * count + i] + gains[0][q * count + i] - lost[q];
      if ((q == 0 && i == 0) || gain > most) most = gain, best = q * count + i;
    }
  if (most <= 0) return false;
  const size_t q = best / count, p = rows.p;
  const int32_t* taken = P + best % count * p;
  std::vector<std::vector<uint32_t>> hits(parts(rows));
  parallel(threads, hits.size(), [&](size_t, size_t part) {
    for (size_t j = part * PART; j < rows.n && j < (part + 1) * PART; ++j)
      if (owner[j] == int32_t(q) || second[j] == int32_t(q)) hits[part].push_back(uint32_t(j));
  });
  auto kept = [&](size_t j) {  // rows that lose one of their two nearest are counted anew below
    return owner[j] == int32_t(q) || second[j] == int32_t(q) ? int64_t(0) : next[j];
  };
  visit(Centroids(rows, taken, 1), kept, [&](size_t, size_t j, size_t, int64_t D) {
    if (D < near[j]) next[j] = near[j], second[j] = owner[j], near[j] = D, owner[j] = int32_t(q);
    else next[j] = D, second[j] = int32_t(q);
  });
  std::copy(taken, taken + p, C.begin() + ptrdiff_t(q * p));
  const Centroids all(rows, C.data(), k);
  std::vector<Block> blocks(threads, Block(rows));
  parallel(threads, hits.size(), [&](size_t thread, size_t part) {
    const auto& hit = hits[part];
    for (size_t from = 0; from < hit.size(); from += BLOCK) {
      const size_t count = std::min(BLOCK, hit.size() - from);
      blocks[thread].look(all, hit.data() + from, count);
      for (size_t r = 0; r < count; ++r) recount(all, hit[from + r], blocks[thread], r);
    }
  });
  return true;
}

// The two nearest of row j among all centroids, by (distance, index).
void Seeding::recount(const Centroids& all, size_t j, Block& block, size_t r) {
  const float bar = (k > 1 ? block.second[r] : block.best[r]) - 2 * block.error[r];
  near[j] = next[j] = FAR, owner[j] = second[j] = -1;
  for (size_t c = 0; c < k; ++c) {
    if (block.score(r, c, all) < bar) continue;
    const int64_t D = rows.distance(j, block.row[r], all.whole.data() + c * rows.p, all.square[c]);
    if (D < near[j]) next[j] = near[j], second[j] = owner[j], near[j] = D, owner[j] = int32_t(c);
    else if (D < next[j]) next[j] = D, second[j] = int32_t(c);
  }
}

}  // namespace rekmeans
