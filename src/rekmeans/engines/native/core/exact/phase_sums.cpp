#include "phase_sums.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "../parallel.hpp"

namespace rekmeans {
namespace {

constexpr size_t PIECE_ROWS = 2048;  // rows of a unit of parallel work

struct PhaseSums {
  std::vector<int128> turns;
  std::vector<int64_t> observed;
};

// Add the phases of rows [first, last).
void add_piece(const WeightedTable& rows, const ColumnScales& scales, const Simd* simd,
               const int32_t* labels, size_t k, size_t first, size_t last, PhaseSums& sums) {
  const size_t d = rows.table.d;
  std::vector<double> x(d);
  std::vector<int64_t> small(rows.has_unit_weights ? k * d : 0, 0),
      counts(k, 0);  // number of rows with small phases
  for (size_t j = first; j < last; ++j) {
    const int64_t w = rows.weights ? rows.weights[j] : 1;
    if (!w) continue;
    const size_t c = size_t(labels[j]);
    rows.table.read(j, x.data());
    const PhaseCheck check = scales.row_phases(x.data(), d, simd);
    if (!check.has_value_inside) continue;
    if (check.are_all_small && rows.has_unit_weights &&
        simd->add_phases(x.data(), d, small.data() + c * d)) {
      ++counts[c];
      continue;
    }
    for (size_t l = 0; l < d; ++l) {
      sums.turns[c * d + l] += int128(phase_to_turns(x[l])) * w;
      sums.observed[c * d + l] += std::isnan(x[l]) ? 0 : w;
    }
  }
  for (size_t i = 0; i < small.size(); ++i)
    sums.turns[i] += small[i], sums.observed[i] += counts[i / d];
}

}  // namespace

void add_phase_sums(const WeightedTable& rows, const ColumnScales& scales, const int32_t* labels,
                    size_t k, const Workers& workers, int128* turns, int64_t* observed) {
  const size_t n = rows.table.n, d = rows.table.d, threads = std::max<size_t>(1, workers.threads);
  std::vector<PhaseSums> found(threads);
  parallel(threads_for(n * d, threads), (n + PIECE_ROWS - 1) / PIECE_ROWS,
           [&](size_t thread, size_t i) {
             found[thread].turns.resize(k * d, 0), found[thread].observed.resize(k * d, 0);
             add_piece(rows, scales, workers.simd, labels, k, i * PIECE_ROWS,
                       std::min(n, (i + 1) * PIECE_ROWS), found[thread]);
           });
  std::fill(turns, turns + k * d, int128(0));
  std::fill(observed, observed + k * d, 0);
  for (const PhaseSums& one : found)
    for (size_t i = 0; i < one.turns.size(); ++i)
      turns[i] += one.turns[i], observed[i] += one.observed[i];
}

}  // namespace rekmeans
