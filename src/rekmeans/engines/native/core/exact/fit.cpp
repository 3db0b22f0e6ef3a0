#include "fit.hpp"

#include <algorithm>
#include <chrono>
#include <limits>
#include <memory>

#include "panel_seeding.hpp"
#include "scored_seeding.hpp"

namespace rekmeans {
namespace {

// with fewer products in a pass of all starts, one thread is faster
constexpr size_t SERIAL_STARTS = 1 << 18;
constexpr size_t SERIAL_PRODUCTS = 1 << 21;  // with fewer products in a pass, one thread is as fast

// Return the row farthest from its nearest centroid, the first if several are equal, or n if all
// rows are at distance 0.
size_t farthest_row(const Rows& rows, const std::vector<int32_t>& C, RowBuffer& buffer) {
  const size_t p = rows.p, k = C.size() / p;
  Run run(rows, k, false, 1);
  run.assign(C.data());
  const PackedCentroids packed(rows, C.data(), k);
  int64_t most = 0;
  size_t farthest = rows.n;
  for (size_t j = 0; j < rows.n; ++j) {
    if (!rows.weight(j)) continue;
    const uint32_t number = uint32_t(j);
    const size_t own = size_t(run.labels[j]);
    const float* g;
    rows.fetch(&number, 1, buffer, &g);
    const int64_t D = rows.distance(j, g, packed.grid.data() + own * p, packed.square[own]);
    if (D > most) most = D, farthest = j;
  }
  return farthest;
}

// Move each empty cluster to the row farthest from all others, and return their number. If all
// clusters are empty because no row has weight, nothing moves.
size_t relocate_empty_clusters(const Rows& rows, std::vector<int32_t>& C,
                               const std::vector<int64_t>& mass) {
  const size_t p = rows.p, d = rows.d, k = mass.size();
  std::vector<uint8_t> has_rows(k);
  for (size_t c = 0; c < k; ++c) has_rows[c] = mass[c] > 0;
  if (std::find(has_rows.begin(), has_rows.end(), 1) == has_rows.end()) return 0;
  RowBuffer buffer;
  std::vector<int32_t> f(p), others;
  size_t n_relocated = 0;
  for (size_t c = 0; c < k; ++c) {
    if (has_rows[c]) continue;
    others.clear();
    for (size_t q = 0; q < k; ++q)
      if (has_rows[q])
        others.insert(others.end(), C.begin() + ptrdiff_t(q * p),
                      C.begin() + ptrdiff_t((q + 1) * p));
    const size_t farthest = farthest_row(rows, others, buffer);
    if (farthest == rows.n) break;
    rows.grid(farthest, f.data(), buffer);
    for (size_t l = 0; l < d; ++l)
      if (f[l] | f[d + l]) C[c * p + l] = f[l], C[c * p + d + l] = f[d + l];
    has_rows[c] = 1;
    ++n_relocated;
  }
  return n_relocated;
}

Fit fit_start(const Rows& rows, std::vector<int32_t> C, size_t k, const FitOptions& options,
              size_t threads, const RowPanels* panels) {
  using Clock = std::chrono::steady_clock;
  Run run(rows, k, options.skip, threads, panels);
  Fit fit;
  for (size_t t = 0; t <= options.max_iter; ++t) {
    const auto started = Clock::now();
    const size_t n_changed = run.assign(C.data());
    const bool first = fit.losses.empty();
    if (!first && run.loss >= fit.loss) break;
    const double fall = first ? std::numeric_limits<double>::infinity()
                              : double(fit.loss - run.loss) / double(fit.loss);
    fit.centroids = C, fit.labels = run.labels, fit.loss = run.loss;
    size_t n_relocated = 0;
    if (t < options.max_iter && fall > options.tol) {
      run.sums.centroids(rows, options.rectified, fit.centroids.data(), C.data(), threads);
      n_relocated = relocate_empty_clusters(rows, C, run.sums.mass);
    }
    fit.losses.push_back(run.loss);
    fit.n_changed.push_back(int64_t(n_changed));
    fit.n_relocated.push_back(int64_t(n_relocated));
    fit.seconds.push_back(std::chrono::duration<double>(Clock::now() - started).count());
    if (C == fit.centroids) break;
  }
  fit.n_iter = std::min(fit.losses.size(), options.max_iter);
  return fit;
}

std::vector<int32_t> draw_start(Seeding& seeding, const uint64_t* words, const SeedingPlan& plan) {
  seeding.add_rows(words, 1, 1);
  seeding.add_rows(++words, plan.k - 1, plan.candidates);
  words += (plan.k - 1) * plan.candidates;
  if (plan.k > 1) seeding.swap_rows(words, plan.batches, plan.swap_candidates, plan.patience);
  return std::move(seeding.C);
}

// Return the best of m fits, the first if several are equal. They run in parallel, each on one
// thread. A single fit uses all threads.
template <class Start>
Fit best_fit(const Rows& rows, size_t m, size_t k, const FitOptions& options, const Start& start) {
  const std::unique_ptr<RowPanels> panels(RowPanels::is_faster(rows) ? new RowPanels(rows)
                                                                     : nullptr);
  if (m == 1) {
    const size_t threads = rows.n * rows.p * k < SERIAL_PRODUCTS ? 1 : rows.threads;
    const ThreadPool pool(threads);
    return fit_start(rows, start(0, panels.get()), k, options, threads, panels.get());
  }
  std::vector<Fit> fits(m);
  parallel(m * rows.n * rows.p * k < SERIAL_STARTS ? 1 : rows.threads, m, [&](size_t, size_t i) {
    fits[i] = fit_start(rows, start(i, panels.get()), k, options, 1, panels.get());
  });
  return *std::min_element(fits.begin(), fits.end(),
                           [](const Fit& a, const Fit& b) { return a.loss < b.loss; });
}

}  // namespace

Fit fit_starts(const Rows& rows, const int32_t* starts, size_t m, size_t k,
               const FitOptions& options) {
  const size_t size = k * rows.p;
  return best_fit(rows, m, k, options, [&](size_t i, const RowPanels*) {
    return std::vector<int32_t>(starts + i * size, starts + (i + 1) * size);
  });
}

Fit fit_drawn_starts(const Rows& rows, const std::vector<int32_t>& overall, const uint64_t* words,
                     size_t m, const SeedingPlan& plan, const FitOptions& options) {
  return best_fit(rows, m, plan.k, options, [&](size_t i, const RowPanels* panels) {
    const uint64_t* own = words + i * plan.n_words();
    if (!panels) {
      ScoredSeeding seeding(rows, overall, 1);
      return draw_start(seeding, own, plan);
    }
    PanelSeeding seeding(*panels, overall);
    return draw_start(seeding, own, plan);
  });
}

}  // namespace rekmeans
