#include "scoring.hpp"

#include <algorithm>
#include <cmath>

namespace rekmeans {
namespace {

// rows are scored without stored scores if at most one in this number has missing cells
constexpr size_t ROWS_PER_INCOMPLETE = 4;

}  // namespace

DistanceBounds distance_bounds(const Rows& rows, size_t j, float error, float score) {
  DistanceBounds bounds;
  uint8_t unused;
  rows.simd->certify(1, &rows.norm2[j], &error, &score, &score, &bounds.upper, &bounds.lower,
                     &unused);
  return bounds;
}

void ScoreBlock::add_missing(const PackedCentroids& C, size_t j, float* s) const {
  for (uint32_t l : rows.missing(j)) {
    const float* gain = C.missing_gain.data() + size_t(l) * C.kp;
    for (size_t c = 0; c < C.kp; ++c) s[c] += gain[c];
  }
}

void ScoreBlock::add_rest(const PackedCentroids& C, size_t r, float row_rest, float centroid_rest) {
  const float length = float_above(std::sqrt(norm2[r]));
  error[r] += quantized_error(length, row_rest, C.largest_norm, centroid_rest);
}

void ScoreBlock::score_pairs(const PackedCentroids& C, const uint32_t* numbers_, size_t count_) {
  rows.pair_scores(numbers_, count_, C.pairs.data(), C.pair_scale.data(), C.kp, scores.data());
  for (size_t r = 0; r < count_; ++r) add_rest(C, r, rows.pair_error[numbers_[r]], C.pair_error);
}

void ScoreBlock::refine_pairs(const PackedCentroids& C, const uint32_t* numbers_, size_t r) {
  score_one(C, numbers_, r);
  rows.simd->best_two(scores.data() + r * C.kp, 1, C.kp, C.bias.data(),
                      {winner + r, best + r, second + r});
  error[r] = C.error(norm2[r], rows.missing(numbers_[r]).count);
  rows.simd->certify(1, norm2 + r, error + r, best + r, second + r, upper + r, lower + r,
                     is_certain + r);
}

void ScoreBlock::score_bytes(const PackedCentroids& C, size_t count_) {
  const uint8_t* quantized[BLOCK_ROWS];
  float step[BLOCK_ROWS], row_error[BLOCK_ROWS];
  int8.resize(BLOCK_ROWS * C.quads * 4);
  for (size_t r = 0; r < count_; ++r) {
    uint8_t* q = int8.data() + r * C.quads * 4;
    rows.simd->quantize_row(fetched[r], rows.p, q, step + r, row_error + r);
    quantized[r] = q;
  }
  rows.simd->quantized_scores(quantized, step, count_, C.quads, C.int8.data(), C.int8_scale.data(),
                              C.int8_offset.data(), C.kp, scores.data());
  for (size_t r = 0; r < count_; ++r) add_rest(C, r, row_error[r], C.int8_error);
}

// Compute float32 scores for the centroids that may win according to their 8-bit scores.
void ScoreBlock::refine_bytes(const PackedCentroids& C, size_t j, size_t r) {
  float* s = scores.data() + r * C.kp;
  const float slack = error[r], threshold = candidate_bar(best[r], slack);
  const ColumnList missing = rows.missing(j);
  best[r] = second[r] = NO_SCORE;
  for (size_t c = 0; c < C.k; ++c) {
    if (!(s[c] - C.bias[c] >= threshold)) {
      s[c] = NO_SCORE;
      continue;
    }
    s[c] = rows.dot(j, fetched[r], C.values.data() + c * rows.p);
    for (uint32_t l : missing) s[c] += C.missing_gain[size_t(l) * C.kp + c];
    const float now = s[c] - C.bias[c];
    if (now > best[r]) second[r] = best[r], best[r] = now, winner[r] = int32_t(c);
    else second[r] = std::max(second[r], now);
  }
  second[r] = std::max(second[r], ruled_out_score(threshold, slack));
  error[r] = C.error(rows.norm2[j], missing.count);
  rows.simd->certify(1, &rows.norm2[j], error + r, best + r, second + r, upper + r, lower + r,
                     is_certain + r);
}

void ScoreBlock::fetch(const PackedCentroids& C, const uint32_t* numbers_, size_t count_) {
  scores.resize(BLOCK_ROWS * C.kp);
  rows.fetch(numbers_, count_, buffer, fetched);
  std::fill(fetched + count_, fetched + std::min(2 * BLOCK_ROWS, count_ + 32), fetched[count_ - 1]);
  for (size_t r = 0; r < count_; ++r) norm2[r] = rows.norm2[numbers_[r]];
  for (size_t r = 0; r < count_; ++r) error[r] = error_of_complete_row(C.complete_error, norm2[r]);
  n_incomplete = 0;
  for (size_t r = 0; r < count_ && !rows.is_complete; ++r)
    if (const size_t count_missing = rows.missing(numbers_[r]).count) {
      incomplete[n_incomplete++] = uint32_t(r);
      error[r] = C.error(norm2[r], count_missing);
    }
}

void ScoreBlock::certify(size_t count_) {
  rows.simd->certify(count_, norm2, error, best, second, upper, lower, is_certain);
}

void ScoreBlock::find_scores(const PackedCentroids& C, const uint32_t* numbers_, size_t count_) {
  if (C.has_bytes()) score_bytes(C, count_);
  else if (C.has_pairs()) score_pairs(C, numbers_, count_);
  else rows.scores(numbers_, fetched, count_, C.packed.data(), C.kp, scores.data());
  for (size_t i = 0; i < n_incomplete; ++i)
    add_missing(C, numbers_[incomplete[i]], scores.data() + incomplete[i] * C.kp);
}

void ScoreBlock::score(const PackedCentroids& C, const uint32_t* numbers_, size_t count_) {
  fetch(C, numbers_, count_);
  score_fetched(C, numbers_, count_);
}

void ScoreBlock::score_fetched(const PackedCentroids& C, const uint32_t* numbers_, size_t count_) {
  find_scores(C, numbers_, count_);
  rows.simd->best_two(scores.data(), count_, C.kp, C.bias.data(), {winner, best, second});
  certify(count_);
  if (!C.has_bytes() && !C.has_pairs()) return;
  for (size_t r = 0; r < count_; ++r) {
    if (is_certain[r]) continue;
    ++n_refined;
    if (C.has_bytes()) refine_bytes(C, numbers_[r], r);
    else refine_pairs(C, numbers_, r);
  }
}

// Rows with missing cells are scored one by one, so there must be few of them.
bool ScoreBlock::can_skip_scores(const PackedCentroids& C, size_t count_) const {
  const bool has_few_centroids =
      rows.simd->best_of_few && C.k <= FEW_CENTROIDS && rows.has_dense_values();
  return has_few_centroids && n_incomplete * ROWS_PER_INCOMPLETE <= count_;
}

void ScoreBlock::score_one(const PackedCentroids& C, const uint32_t* numbers_, size_t r) {
  float* s = scores.data() + r * C.kp;
  rows.scores(numbers_ + r, fetched + r, 1, C.packed.data(), C.kp, s);
  add_missing(C, numbers_[r], s);
}

void ScoreBlock::find_winners(const PackedCentroids& C, const uint32_t* numbers_, size_t count_) {
  fetch(C, numbers_, count_);
  lacks_scores = can_skip_scores(C, count_);
  if (!lacks_scores) return score_fetched(C, numbers_, count_);
  rows.simd->best_of_few(fetched, count_, rows.p, C.packed.data(), C.k, C.bias.data(),
                         {winner, best, second});
  for (size_t i = 0; i < n_incomplete; ++i) {
    const size_t r = incomplete[i];
    score_one(C, numbers_, r);
    rows.simd->best_two(scores.data() + r * C.kp, 1, C.kp, C.bias.data(),
                        {winner + r, best + r, second + r});
  }
  certify(count_);
}

void ScoreBlock::find_above(const PackedCentroids& C, const float* bars, uint16_t* above) {
  auto compare = [&](size_t r) {
    above[r] = 0;
    for (size_t c = 0; c < C.k; ++c)
      above[r] |= uint16_t(uint16_t(score_of(r, c, C) >= bars[r]) << c);
  };
  if (can_skip_scores(C, count)) {
    rows.simd->few_above(fetched, count, rows.p, C.packed.data(), C.k, C.bias.data(), bars, above);
    for (size_t i = 0; i < n_incomplete; ++i)
      score_one(C, numbers, incomplete[i]), compare(incomplete[i]);
  } else {
    find_scores(C, numbers, count);
    for (size_t r = 0; r < count; ++r) compare(r);
  }
}

// Find the nearest of the centroids that float32 cannot separate, in integers. Ties go to the
// lowest number.
size_t ScoreBlock::decide_exactly(const PackedCentroids& C, size_t r) {
  const float bar = candidate_bar(best[r], error[r]);
  if (lacks_scores) score_one(C, numbers, r);
  int64_t least = 0;
  size_t nearest = C.k;
  for (size_t c = 0; c < C.k; ++c) {
    if (!(score_of(r, c, C) >= bar)) continue;
    const int64_t D =
        rows.distance(numbers[r], fetched[r], C.grid.data() + c * rows.p, C.square[c]);
    if (nearest == C.k || D < least) least = D, nearest = c;
  }
  return nearest;
}

void ScoreBlock::bound_others(const PackedCentroids& C, const float* bias, const int32_t* own,
                              float* bounds) {
  float next[BLOCK_ROWS], above[BLOCK_ROWS], below[BLOCK_ROWS];
  uint8_t unused[BLOCK_ROWS];
  rows.simd->best_two(scores.data(), count, C.kp, bias, {winner, best, next});
  for (size_t r = 0; r < count; ++r) best[r] = winner[r] == own[r] ? next[r] : best[r];
  rows.simd->certify(count, norm2, error, best, best, above, below, unused);
  for (size_t r = 0; r < count; ++r) bounds[numbers[r]] = below[r];
}

}  // namespace rekmeans
