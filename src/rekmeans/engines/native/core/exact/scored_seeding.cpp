#include "scored_seeding.hpp"

#include <algorithm>
#include <limits>

namespace rekmeans {
namespace {

constexpr double GRID2 = GRID * GRID;  // squared grid units per unit
const auto every_row = [](size_t) { return true; };

// Add the sums of several threads into the first.
const std::vector<int128>& add_up(std::vector<std::vector<int128>>& sums) {
  for (size_t t = 1; t < sums.size(); ++t)
    for (size_t i = 0; i < sums[0].size(); ++i) sums[0][i] += sums[t][i];
  return sums[0];
}

}  // namespace

ScoredSeeding::ScoredSeeding(const Rows& rows_, std::vector<int32_t> overall_, size_t threads_)
    : Seeding(rows_, std::move(overall_), threads_, true), blocks(threads_, ScoreBlock(rows_)) {}

std::vector<float> ScoredSeeding::candidate_distances(const PackedCentroids& P) const {
  std::vector<float> least(k, 0);
  parallel(threads_for(k * P.k * rows.p, threads), k, [&](size_t, size_t c) {
    double closest = std::numeric_limits<double>::infinity();
    for (size_t i = 0; i < P.k; ++i) {
      double sum = 0;
      for (size_t l = 0; l < rows.p; ++l) {
        const double gap = double(P.grid[i * rows.p + l]) + rows.base[l] - C[c * rows.p + l];
        sum += gap * gap;
      }
      closest = std::min(closest, sum);
    }
    least[c] = length_below(closest);
  });
  return least;
}

// Return the score that a centroid must reach if its distance is below the limit of row j.
float ScoredSeeding::score_bar(size_t j, const Neighbours& limit, float error) const {
  return near_bar(rows.norm2[j], float(limit.distance[j]) * float(1 / GRID2), error);
}

template <class Visit>
void ScoredSeeding::visit_block(const PackedCentroids& P, ScoreBlock& block,
                                const Neighbours& limit, const Visit& visit) const {
  if (!block.count) return;
  block.fetch(P, block.numbers, block.count);
  float bars[BLOCK_ROWS];
  uint16_t above[BLOCK_ROWS];
  for (size_t r = 0; r < block.count; ++r)
    bars[r] = score_bar(block.numbers[r], limit, block.error[r]);
  block.find_above(P, bars, above);
  for (size_t r = 0; r < block.count; ++r)
    for (unsigned i = 0, left = above[r]; left; ++i, left >>= 1) {
      if (!(left & 1)) continue;
      const size_t j = block.numbers[r];
      const int64_t D = rows.distance(j, block.fetched[r], P.grid.data() + i * rows.p, P.square[i]);
      if (D < limit.distance[j]) visit(j, i, D);
    }
  block.count = 0;
}

// Skip candidates that are too far from a row's own centroid to be below its limit.
template <class Wants, class Visit>
void ScoredSeeding::visit_near(const PackedCentroids& P, const Neighbours& limit,
                               const Wants& wants, const Visit& visit) {
  const std::vector<float> distances = candidate_distances(P);
  parallel(threads_for_scores(P.k), rows.n_parts(), [&](size_t thread, size_t part) {
    ScoreBlock& block = blocks[thread];
    auto visit_here = [&](size_t j, size_t i, int64_t D) { visit(thread, j, i, D); };
    for (size_t j = part * PART_ROWS; j < rows.n && j < (part + 1) * PART_ROWS; ++j) {
      const bool is_far =
          k && is_beyond(nearest.length[j], limit.length[j], distances[size_t(nearest.index[j])]);
      if (is_far && !rows.missing(j).count) continue;  // missing cells make distances shorter
      if (limit.distance[j] > 0 && wants(j) && block.push(j))
        visit_block(P, block, limit, visit_here);
    }
    visit_block(P, block, limit, visit_here);
  });
}

size_t ScoredSeeding::find_addition(const int32_t* P, size_t count) {
  if (count == 1) return 0;
  std::vector<std::vector<int128>> gains(threads, std::vector<int128>(count, 0));
  visit_near(PackedCentroids(rows, P, count), nearest, every_row,
             [&](size_t thread, size_t j, size_t i, int64_t D) {
               gains[thread][i] += int128(rows.weight(j)) * int128(nearest.distance[j] - D);
             });
  const auto& total = add_up(gains);
  return size_t(std::max_element(total.begin(), total.end()) - total.begin());
}

void ScoredSeeding::add(const int32_t* taken, size_t) {
  visit_near(PackedCentroids(rows, taken, 1), second, every_row,
             [&](size_t, size_t j, size_t, int64_t D) { update_two_nearest(j, int32_t(k), D); });
}

void ScoredSeeding::add_all(const int32_t* P, size_t count) {
  const PackedCentroids candidates(rows, P, count, threads);
  parallel(threads_for_scores(count), rows.n_parts(), [&](size_t thread, size_t part) {
    for (size_t j = part * PART_ROWS; j < rows.n && j < (part + 1) * PART_ROWS; ++j)
      if (nearest.distance[j] > 0 && blocks[thread].push(j))
        take_nearest(candidates, blocks[thread]);
    take_nearest(candidates, blocks[thread]);
  });
  C.insert(C.end(), P, P + count * rows.p);
  k += count;
}

void ScoredSeeding::add_drawn(const uint64_t* words, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    const std::vector<int32_t> taken = centroids_at(sample(words + i, 1));
    visit_near(PackedCentroids(rows, taken.data(), 1), nearest, every_row,
               [&](size_t, size_t j, size_t, int64_t D) { nearest.set(j, D, int32_t(k)); });
    C.insert(C.end(), taken.begin(), taken.end());
    ++k;
  }
}

// Take the nearest candidate, the first if several are equal, if it is nearer than all centroids.
void ScoredSeeding::take_nearest(const PackedCentroids& P, ScoreBlock& block) {
  if (!block.count) return;
  block.find_winners(P, block.numbers, block.count);
  for (size_t r = 0; r < block.count; ++r) {
    const size_t j = block.numbers[r];
    if (block.best[r] < score_bar(j, nearest, block.error[r])) continue;
    const size_t winner =
        block.is_certain[r] ? size_t(block.winner[r]) : block.decide_exactly(P, r);
    const int64_t D =
        rows.distance(j, block.fetched[r], P.grid.data() + winner * rows.p, P.square[winner]);
    if (D < nearest.distance[j]) nearest.set(j, D, int32_t(k + winner));
  }
  block.count = 0;
}

// Find the best swap. If candidate i replaces centroid q, the loss is the sum of min(D_i, nearest),
// and of min(D_i, second) for the rows of q. It starts at `lost[q]`, the loss if no candidate is
// near, and each visit subtracts a part.
Swap ScoredSeeding::find_swap(const int32_t* P, size_t count) {
  std::vector<int128> lost(k, 0);
  for (size_t j = 0; j < rows.n; ++j)
    lost[size_t(nearest.index[j])] +=
        int128(rows.weight(j)) * int128(second.distance[j] - nearest.distance[j]);
  std::vector<std::vector<int128>> gains(threads, std::vector<int128>((k + 1) * count, 0));
  visit_near(PackedCentroids(rows, P, count), second, every_row,
             [&](size_t thread, size_t j, size_t i, int64_t D) {
               const int128 w = rows.weight(j);
               const int64_t near = nearest.distance[j], shorter = std::min(D, near);
               gains[thread][k * count + i] += w * int128(near - shorter);
               gains[thread][size_t(nearest.index[j]) * count + i] +=
                   w * int128((second.distance[j] - near) - (D - shorter));
             });
  const auto& total = add_up(gains);
  return best_swap(total, lost, count);
}

void ScoredSeeding::replace(const int32_t* taken, const Swap& swap) {
  const int32_t q = int32_t(swap.centroid);
  auto loses_one = [&](size_t j) { return nearest.index[j] == q || second.index[j] == q; };
  std::vector<std::vector<uint32_t>> affected(rows.n_parts());
  for (size_t j = 0; j < rows.n; ++j)
    if (loses_one(j)) affected[j / PART_ROWS].push_back(uint32_t(j));
  visit_near(
      PackedCentroids(rows, taken, 1), second, [&](size_t j) { return !loses_one(j); },
      [&](size_t, size_t j, size_t, int64_t D) { update_two_nearest(j, q, D); });
  std::copy(taken, taken + rows.p, C.begin() + ptrdiff_t(swap.centroid * rows.p));
  find_two_nearest(affected);
}

void ScoredSeeding::find_two_nearest(const std::vector<std::vector<uint32_t>>& numbers) {
  const PackedCentroids all(rows, C.data(), k);
  parallel(threads_for_scores(2), numbers.size(), [&](size_t thread, size_t part) {
    const auto& here = numbers[part];
    for (size_t from = 0; from < here.size(); from += BLOCK_ROWS) {
      const size_t count = std::min(BLOCK_ROWS, here.size() - from);
      blocks[thread].score(all, here.data() + from, count);
      for (size_t r = 0; r < count; ++r) find_two_nearest(all, here[from + r], blocks[thread], r);
    }
  });
}

// Compare by (distance, index).
void ScoredSeeding::find_two_nearest(const PackedCentroids& all, size_t j, ScoreBlock& block,
                                     size_t r) {
  const float bar = candidate_bar(k > 1 ? block.second[r] : block.best[r], block.error[r]);
  nearest.set(j, INFINITE_DISTANCE, -1), second.set(j, INFINITE_DISTANCE, -1);
  for (size_t c = 0; c < k; ++c) {
    if (block.score_of(r, c, all) < bar) continue;
    update_two_nearest(
        j, int32_t(c),
        rows.distance(j, block.fetched[r], all.grid.data() + c * rows.p, all.square[c]));
  }
}

}  // namespace rekmeans
