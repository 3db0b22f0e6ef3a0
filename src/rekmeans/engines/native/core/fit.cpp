#include "fit.hpp"

#include <chrono>
#include <limits>

namespace rekmeans {
namespace {

// Each empty cluster moved to the row farthest from all standing ones; how many were.
size_t refill(const Rows& rows, std::vector<int32_t>& C, const std::vector<int64_t>& mass) {
  const size_t p = rows.p, d = rows.d, k = mass.size();
  std::vector<uint8_t> standing(k);
  size_t filled = 0;
  bool empty = false;
  for (size_t c = 0; c < k; ++c) standing[c] = mass[c] > 0, empty |= !standing[c];
  if (!empty) return 0;
  Rows::Buffer buffer;
  std::vector<int32_t> f(p), some;
  for (size_t c = 0; c < k; ++c) {
    if (standing[c]) continue;
    some.clear();
    for (size_t q = 0; q < k; ++q)
      if (standing[q]) some.insert(some.end(), C.begin() + ptrdiff_t(q * p), C.begin() + ptrdiff_t((q + 1) * p));
    Walk walk(rows, some.size() / p, false, 1);
    walk.step(some.data());
    const Centroids ready(rows, some.data(), some.size() / p);
    int64_t most = -1;
    size_t farthest = 0;
    for (size_t j = 0; j < rows.n; ++j) {
      if (!rows.weight(j)) continue;
      const uint32_t at = uint32_t(j);
      const size_t own = size_t(walk.labels[j]);
      const float* g;
      rows.fetch(&at, 1, buffer, &g);
      const int64_t D = rows.distance(j, g, ready.whole.data() + own * p, ready.square[own]);
      if (D > most) most = D, farthest = j;
    }
    if (most <= 0) break;
    rows.grid(farthest, f.data(), buffer);
    for (size_t l = 0; l < d; ++l)
      if (f[l] | f[d + l]) C[c * p + l] = f[l], C[c * p + d + l] = f[d + l];
    standing[c] = 1;
    ++filled;
  }
  return filled;
}

}  // namespace

Fit fitted(const Rows& rows, std::vector<int32_t> C, size_t k, const Limits& limits) {
  using Clock = std::chrono::steady_clock;
  Walk walk(rows, k, limits.skip, 1);
  Fit fit;
  for (size_t t = 0; t <= limits.max_iter; ++t) {
    const auto started = Clock::now();
    const size_t moved = walk.step(C.data());
    const bool first = fit.losses.empty();
    if (!first && walk.loss >= fit.loss) break;
    const double fall = first ? std::numeric_limits<double>::infinity() : double(fit.loss - walk.loss) / double(fit.loss);
    fit.centroids = C, fit.labels = walk.labels, fit.loss = walk.loss;
    size_t filled = 0;
    if (t < limits.max_iter && fall > limits.tol) {
      walk.centroids(limits.rectified, fit.centroids.data(), C.data());
      filled = refill(rows, C, walk.mass);
    }
    fit.losses.push_back(walk.loss);
    fit.moved.push_back(int64_t(moved));
    fit.refilled.push_back(int64_t(filled));
    fit.seconds.push_back(std::chrono::duration<double>(Clock::now() - started).count());
    if (C == fit.centroids) break;
  }
  fit.n_iter = std::min(fit.losses.size(), limits.max_iter);
  return fit;
}

Fit fit_starts(const Rows& rows, const int32_t* starts, size_t m, size_t k, const Limits& limits) {
  std::vector<Fit> fits(m);
  const size_t size = k * rows.p;
  parallel(rows.threads, m, [&](size_t, size_t i) {
    fits[i] = fitted(rows, std::vector<int32_t>(starts + i * size, starts + (i + 1) * size), k, limits);
  });
  size_t least = 0;
  for (size_t i = 1; i < m; ++i)
    if (fits[i].loss < fits[least].loss) least = i;
  return fits[least];
}

}  // namespace rekmeans
