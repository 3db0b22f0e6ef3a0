#include "seeding.hpp"

#include <algorithm>

namespace rekmeans {
namespace {

// with fewer products, threads cost more than they save
constexpr size_t SERIAL_PRODUCTS = 1 << 21;

// Return word * total / 2^64, rounded down. The total must not be negative.
int128 share_of(int128 total, uint64_t word) {
  return join_words(0, word) * int128(high_word(total)) +
         join_words(0, high_word_of_product(low_word(total), word));
}

}  // namespace

Seeding::Seeding(const Rows& rows_, std::vector<int32_t> overall_, size_t threads_,
                 bool has_lengths)
    : rows(rows_),
      threads(threads_),
      nearest(rows_.n, has_lengths),
      second(rows_.n, has_lengths),
      overall(std::move(overall_)) {}

size_t Seeding::threads_for_scores(size_t count) const {
  return rows.n * rows.p * count < SERIAL_PRODUCTS ? 1 : threads;
}

bool Seeding::all_rows_are_centroids() const {
  if (!k) return true;
  for (size_t j = 0; j < rows.n; ++j)
    if (nearest.distance[j] && rows.weight(j)) return false;
  return true;
}

std::vector<size_t> Seeding::sample(const uint64_t* words, size_t count) const {
  const bool by_weight = all_rows_are_centroids();
  auto mass = [&](size_t j) {
    const int64_t D = by_weight ? 1 : nearest.distance[j];
    return rows.weights.empty() ? int128(D) : int128(rows.weights[j]) * int128(D);
  };
  auto end_of = [&](size_t part) { return std::min(rows.n, (part + 1) * PART_ROWS); };
  std::vector<int128> ends(rows.n_parts(), 0);
  parallel(threads_for_scores(1), ends.size(), [&](size_t, size_t part) {
    for (size_t j = part * PART_ROWS; j < end_of(part); ++j) ends[part] += mass(j);
  });
  for (size_t part = 1; part < ends.size(); ++part) ends[part] += ends[part - 1];
  std::vector<size_t> numbers(count);
  for (size_t i = 0; i < count; ++i) {
    const int128 goal = share_of(ends.back(), words[i]);
    const size_t part = std::min(
        size_t(std::upper_bound(ends.begin(), ends.end(), goal) - ends.begin()), ends.size() - 1);
    int128 sum = part ? ends[part - 1] : int128(0);
    size_t j = part * PART_ROWS;
    while (j + 1 < end_of(part) && (sum += mass(j)) <= goal) ++j;
    numbers[i] = j;
  }
  return numbers;
}

std::vector<int32_t> Seeding::centroids_at(const std::vector<size_t>& numbers) const {
  std::vector<int32_t> out(numbers.size() * rows.p);
  RowBuffer buffer;
  for (size_t i = 0; i < numbers.size(); ++i) {
    int32_t* f = out.data() + i * rows.p;
    rows.grid(numbers[i], f, buffer);
    for (uint32_t l : rows.missing(numbers[i]))
      f[l] = overall[l], f[rows.d + l] = overall[rows.d + l];
  }
  return out;
}

void Seeding::add_best(const int32_t* P, size_t count) {
  const size_t best = find_addition(P, count);
  const int32_t* taken = P + best * rows.p;
  add(taken, best);
  C.insert(C.end(), taken, taken + rows.p);
  ++k;
}

bool Seeding::swap_best(const int32_t* P, size_t count) {
  const Swap best = find_swap(P, count);
  if (best.gain <= 0) return false;
  const int32_t* taken = P + best.candidate * rows.p;
  replace(taken, best);
  return true;
}

void Seeding::add_rows(const uint64_t* words, size_t steps, size_t count) {
  for (size_t step = 0; step < steps; ++step)
    add_best(centroids_at(sample(words + step * count, count)).data(), count);
}

void Seeding::swap_rows(const uint64_t* words, size_t steps, size_t count, size_t patience) {
  for (size_t step = 0, n_failed = 0; step < steps && n_failed < patience; ++step)
    n_failed = swap_best(centroids_at(sample(words + step * count, count)).data(), count)
                   ? 0
                   : n_failed + 1;
}

std::vector<int64_t> Seeding::nearest_masses() const {
  std::vector<int64_t> sums(k, 0);
  for (size_t j = 0; j < rows.n; ++j) sums[size_t(nearest.index[j])] += rows.weight(j);
  return sums;
}

}  // namespace rekmeans
