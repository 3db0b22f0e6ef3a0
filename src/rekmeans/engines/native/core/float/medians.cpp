#include "medians.hpp"

#include <algorithm>
#include <cmath>

#include "../compiler.hpp"
#include "../parallel.hpp"

namespace rekmeans {
namespace {

constexpr size_t MILESTONE_ROWS = 1024;  // rows between two stored sums
constexpr size_t PREFETCH_ROWS = 32;     // distance of prefetched rows

// A label and a weight, stored together so that a row needs one memory access.
struct LabelledWeight {
  double v;
  size_t c;
};

double cell(const FloatTable& F, size_t j, size_t l) {
  return F.float32 ? double(F.float32[j * F.p + l]) : F.float64[j * F.p + l];
}

// Running sums of the weights of each cluster along one sorted column.
struct Column {
  Column(const RowWeights& weights_, const std::vector<LabelledWeight>& labelled_,
         const int32_t* sorted_, size_t count)
      : weights(weights_),
        labelled(labelled_),
        sorted(sorted_),
        observed(count),
        totals(weights_.k, 0) {
    for (size_t i = 0; i < observed; ++i) {
      if (i % MILESTONE_ROWS == 0)
        milestones.insert(milestones.end(), totals.begin(), totals.end());
      const size_t j = size_t(sorted[i]),
                   later = size_t(sorted[std::min(i + PREFETCH_ROWS, observed - 1)]);
      if (weights.labels) {
        prefetch(&labelled[later]);
        totals[labelled[j].c] += labelled[j].v;
      } else {
        prefetch(weights.V + later * weights.k);
        for (size_t c = 0; c < weights.k; ++c) totals[c] += weights.V[j * weights.k + c];
      }
    }
  }

  double weight(size_t j, size_t c) const {
    if (weights.labels) return labelled[j].c == c ? labelled[j].v : 0;
    return weights.V[j * weights.k + c];
  }

  // The first row at which the running sum reaches half the weight of a cluster of positive weight.
  size_t median_row(size_t c) const {
    const size_t k = weights.k;
    size_t mark = 0;
    while ((mark + 1) * k < milestones.size() && 2 * milestones[(mark + 1) * k + c] < totals[c])
      ++mark;
    // still below half: the median is in the next MILESTONE_ROWS rows
    double sum = milestones[mark * k + c];
    size_t i = mark * MILESTONE_ROWS;
    for (; i + 1 < observed; ++i) {
      sum += weight(size_t(sorted[i]), c);
      if (2 * sum >= totals[c]) break;
    }
    return size_t(sorted[i]);
  }

  const RowWeights& weights;
  const std::vector<LabelledWeight>& labelled;
  const int32_t* sorted;
  size_t observed;
  // (k,), and (milestones, k) the sums before each milestone
  std::vector<double> totals, milestones;
};

}  // namespace

std::vector<double> medians(const FloatTable& F, const RowWeights& weights, const int32_t* order,
                            const double* C, size_t threads) {
  const size_t p = F.p, k = weights.k, n = weights.n;
  std::vector<double> out(C, C + k * p);
  std::vector<LabelledWeight> labelled(weights.labels ? n : 0);
  for (size_t j = 0; j < labelled.size(); ++j)
    labelled[j] = {weights.V[j], size_t(weights.labels[j])};
  parallel(threads, p, [&](size_t, size_t l) {
    const int32_t* sorted = order + l * n;
    auto is_observed = [&](int32_t j) { return !std::isnan(cell(F, size_t(j), l)); };
    const Column column(weights, labelled, sorted,
                        size_t(std::partition_point(sorted, sorted + n, is_observed) - sorted));
    for (size_t c = 0; c < k; ++c)
      if (column.totals[c] > 0) out[c * p + l] = cell(F, column.median_row(c), l);
  });
  return out;
}

}  // namespace rekmeans
