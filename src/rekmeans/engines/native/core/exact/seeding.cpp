#include "seeding.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace rekmeans {
namespace {

constexpr int64_t INFINITELY_FAR = std::numeric_limits<int64_t>::max();
constexpr double GRID2 = GRID * GRID;  // grid units squared in 1

auto below(const std::vector<int64_t>& limit) {
  return [&limit](size_t j) { return limit[j]; };
}

// The sums of several threads in the first of them.
const std::vector<int128>& add_up(std::vector<std::vector<int128>>& sums) {
  for (size_t t = 1; t < sums.size(); ++t)
    for (size_t i = 0; i < sums[0].size(); ++i) sums[0][i] += sums[t][i];
  return sums[0];
}

}  // namespace

Seeding::Seeding(const Rows& rows_)
    : rows(rows_),
      nearest_distance(rows_.n, INFINITELY_FAR),
      second_distance(rows_.n, INFINITELY_FAR),
      nearest(rows_.n, -1),
      second(rows_.n, -1) {}

bool Seeding::all_rows_are_centroids() const {
  if (!k) return true;
  for (size_t j = 0; j < rows.n; ++j)
    if (nearest_distance[j] && rows.weight(j)) return false;
  return true;
}

std::vector<int128> Seeding::part_masses() const {
  const bool by_weight = all_rows_are_centroids();
  std::vector<int128> sums(rows.n_parts(), 0);
  parallel(rows.threads, sums.size(), [&](size_t, size_t part) {
    for (size_t j = part * PART_ROWS; j < rows.n && j < (part + 1) * PART_ROWS; ++j)
      sums[part] += int128(rows.weight(j)) * (by_weight ? int64_t(1) : nearest_distance[j]);
  });
  return sums;
}

size_t Seeding::row_at(size_t part, int128 goal) const {
  const bool by_weight = all_rows_are_centroids();
  const size_t end = std::min(rows.n, (part + 1) * PART_ROWS);
  int128 sum = 0;
  for (size_t j = part * PART_ROWS; j < end; ++j) {
    sum += int128(rows.weight(j)) * (by_weight ? int64_t(1) : nearest_distance[j]);
    if (sum > goal) return j;
  }
  return end - 1;
}

std::vector<double> Seeding::candidate_distances(const PackedCentroids& P) const {
  std::vector<double> least(k, 0);
  if (!rows.is_complete) return least;  // a missing cell shortens distances
  parallel(threads_for(k * P.k * rows.p, rows.threads), k, [&](size_t, size_t c) {
    double closest = std::numeric_limits<double>::infinity();
    for (size_t i = 0; i < P.k; ++i) {
      double sum = 0;
      for (size_t l = 0; l < rows.p; ++l) {
        const double gap = double(P.grid[i * rows.p + l]) + rows.base[l] - C[c * rows.p + l];
        sum += gap * gap;
      }
      closest = std::min(closest, std::sqrt(sum));
    }
    least[c] = closest * (1 - 0x1p-30);
  });
  return least;
}

template <class Limit, class Visit>
void Seeding::visit_block(const PackedCentroids& P, ScoreBlock& block, const Limit& limit, const Visit& visit) const {
  if (!block.count) return;
  block.score(P, block.numbers, block.count);
  for (size_t r = 0; r < block.count; ++r) {
    const size_t j = block.numbers[r];
    const int64_t most = limit(j);
    // |f - m|^2 = |g|^2 - 2 score: below the limit only if the score is above this bar
    const double bar = (rows.norm2[j] * (1 - 0x1p-23) - double(most) / GRID2 * (1 + 0x1p-50)) / 2 - block.error[r];
    if (block.best[r] < bar) continue;
    for (size_t i = 0; i < P.k; ++i) {
      if (!(block.score_of(r, i, P) >= bar)) continue;
      const int64_t D = rows.distance(j, block.fetched[r], P.grid.data() + i * rows.p, P.square[i]);
      if (D < most) visit(j, i, D);
    }
  }
  block.count = 0;
}

// A candidate as far from a row's own centroid as that centroid and the limit together cannot be below the limit.
template <class Limit, class Visit>
void Seeding::visit_near(const PackedCentroids& P, const Limit& limit, const Visit& visit) const {
  std::vector<ScoreBlock> blocks(rows.threads, ScoreBlock(rows));
  const std::vector<double> distances = candidate_distances(P);
  parallel(rows.threads, rows.n_parts(), [&](size_t thread, size_t part) {
    ScoreBlock& block = blocks[thread];
    auto visit_here = [&](size_t j, size_t i, int64_t D) { visit(thread, j, i, D); };
    for (size_t j = part * PART_ROWS; j < rows.n && j < (part + 1) * PART_ROWS; ++j) {
      const double most = double(limit(j));
      if (most <= 0) continue;
      const double reach = std::sqrt(double(nearest_distance[j])) + std::sqrt(most);
      if (nearest[j] >= 0 && reach < distances[size_t(nearest[j])]) continue;
      if (block.push(j)) visit_block(P, block, limit, visit_here);
    }
    visit_block(P, block, limit, visit_here);
  });
}

void Seeding::take_if_near(size_t j, int32_t c, int64_t D) {
  if (D < nearest_distance[j]) {
    second_distance[j] = nearest_distance[j], second[j] = nearest[j];
    nearest_distance[j] = D, nearest[j] = c;
  } else if (D < second_distance[j]) {
    second_distance[j] = D, second[j] = c;
  }
}

void Seeding::add_best(const int32_t* P, size_t count) {
  size_t best = 0;
  if (count > 1) {
    std::vector<std::vector<int128>> gains(rows.threads, std::vector<int128>(count, 0));
    const PackedCentroids candidates(rows, P, count);
    visit_near(candidates, below(nearest_distance), [&](size_t thread, size_t j, size_t i, int64_t D) {
      gains[thread][i] += int128(rows.weight(j)) * (nearest_distance[j] - D);
    });
    const auto& total = add_up(gains);
    best = size_t(std::max_element(total.begin(), total.end()) - total.begin());
  }
  const int32_t *taken = P + best * rows.p, c = int32_t(k);
  visit_near(PackedCentroids(rows, taken, 1), below(second_distance),
             [&](size_t, size_t j, size_t, int64_t D) { take_if_near(j, c, D); });
  C.insert(C.end(), taken, taken + rows.p);
  ++k;
}

struct Seeding::Swap {
  size_t candidate, centroid;
  int128 gain;
};

// What is left if candidate i replaces centroid q: sum of min(D_i, nearest), and for the rows of q up to min(D_i,
// second). Counted from what is left if no candidate were near: `lost[q]`; each visit gives some of it back.
Seeding::Swap Seeding::best_swap(const int32_t* P, size_t count) const {
  std::vector<int128> lost(k, 0);
  for (size_t j = 0; j < rows.n; ++j)
    lost[size_t(nearest[j])] += int128(rows.weight(j)) * (second_distance[j] - nearest_distance[j]);
  std::vector<std::vector<int128>> gains(rows.threads, std::vector<int128>((k + 1) * count, 0));
  const PackedCentroids candidates(rows, P, count);
  visit_near(candidates, below(second_distance), [&](size_t thread, size_t j, size_t i, int64_t D) {
    const int128 w = rows.weight(j);
    const int64_t near = nearest_distance[j], shorter = std::min(D, near);
    gains[thread][k * count + i] += w * (near - shorter);
    gains[thread][size_t(nearest[j]) * count + i] += w * ((second_distance[j] - near) - (D - shorter));
  });
  const auto& total = add_up(gains);
  Swap best{0, 0, 0};
  for (size_t q = 0; q < k; ++q)
    for (size_t i = 0; i < count; ++i) {
      const int128 gain = total[k * count + i] + total[q * count + i] - lost[q];
      if ((q == 0 && i == 0) || gain > best.gain) best = {i, q, gain};
    }
  return best;
}

bool Seeding::swap_best(const int32_t* P, size_t count) {
  const Swap best = best_swap(P, count);
  if (best.gain <= 0) return false;
  const int32_t q = int32_t(best.centroid), *taken = P + best.candidate * rows.p;
  auto loses_one = [&](size_t j) { return nearest[j] == q || second[j] == q; };  // of its two nearest
  std::vector<std::vector<uint32_t>> losers(rows.n_parts());
  parallel(rows.threads, losers.size(), [&](size_t, size_t part) {
    for (size_t j = part * PART_ROWS; j < rows.n && j < (part + 1) * PART_ROWS; ++j)
      if (loses_one(j)) losers[part].push_back(uint32_t(j));
  });
  auto limit = [&](size_t j) { return loses_one(j) ? int64_t(0) : second_distance[j]; };
  visit_near(PackedCentroids(rows, taken, 1), limit,
             [&](size_t, size_t j, size_t, int64_t D) { take_if_near(j, q, D); });
  std::copy(taken, taken + rows.p, C.begin() + ptrdiff_t(best.centroid * rows.p));
  find_two_nearest(losers);
  return true;
}

void Seeding::find_two_nearest(const std::vector<std::vector<uint32_t>>& numbers) {
  const PackedCentroids all(rows, C.data(), k);
  std::vector<ScoreBlock> blocks(rows.threads, ScoreBlock(rows));
  parallel(rows.threads, numbers.size(), [&](size_t thread, size_t part) {
    const auto& here = numbers[part];
    for (size_t from = 0; from < here.size(); from += BLOCK_ROWS) {
      const size_t count = std::min(BLOCK_ROWS, here.size() - from);
      blocks[thread].score(all, here.data() + from, count);
      for (size_t r = 0; r < count; ++r) find_two_nearest(all, here[from + r], blocks[thread], r);
    }
  });
}

// By (distance, index).
void Seeding::find_two_nearest(const PackedCentroids& all, size_t j, ScoreBlock& block, size_t r) {
  const float bar = (k > 1 ? block.second[r] : block.best[r]) - 2 * block.error[r];
  nearest_distance[j] = second_distance[j] = INFINITELY_FAR, nearest[j] = second[j] = -1;
  for (size_t c = 0; c < k; ++c) {
    if (block.score_of(r, c, all) < bar) continue;
    take_if_near(j, int32_t(c), rows.distance(j, block.fetched[r], all.grid.data() + c * rows.p, all.square[c]));
  }
}

}  // namespace rekmeans
