// The inner loops. Compiled once for each instruction set (REKMEANS_LANES names it); no inline function of the standard
// library may be used in these files, or the linker could keep a copy that older processors cannot run.
#include "lanes.hpp"

#include "lanes/coarse.hpp"
#include "lanes/few.hpp"
#include "lanes/map.hpp"
#include "lanes/points.hpp"
#include "lanes/scores.hpp"
#include "lanes/shares.hpp"
#include "lanes/thin.hpp"
#include "lanes/winners.hpp"

namespace rekmeans {
namespace {

float dot(const float* a, const float* b, size_t p) {
  float sum = 0;
  for (size_t from = 0; from < p; from += CHUNK) {
    const size_t to = from + CHUNK < p ? from + CHUNK : p;
    vf s0 = {}, s1 = {};
    size_t l = from;
    for (; l + 2 * V <= to; l += 2 * V) {
      s0 += load(a + l) * load(b + l);
      s1 += load(a + l + V) * load(b + l + V);
    }
    if (l + V <= to) s0 += load(a + l) * load(b + l), l += V;
    float part = total(s0 + s1);
    for (; l < to; ++l) part += a[l] * b[l];
    sum += part;
  }
  return sum;
}

int64_t distance(const float* g, const int32_t* h, size_t p) {
  int64_t sum = 0;
  for (size_t l = 0; l < p; ++l) {
    const int32_t gap = int32_t(g[l] * float(GRID)) - h[l];
    sum += int64_t(gap) * gap;
  }
  return sum;
}

void add(int64_t* totals, const float* g, size_t p, bool minus) {
  if (minus)
    for (size_t l = 0; l < p; ++l) totals[l] -= int32_t(g[l] * float(GRID));
  else
    for (size_t l = 0; l < p; ++l) totals[l] += int32_t(g[l] * float(GRID));
}

}  // namespace

const Lanes* REKMEANS_LANES() {
  static const Lanes table = {
      .name = REKMEANS_NAME,
      .width = V,
      .panel = PANEL,
      .phases = phases,
      .nonzero = nonzero,
      .mapped = mapped,
      .turns = turns,
      .scores = scores,
      .winners_of_few = winners_of_few,
      .coarse_row = coarse_row,
      .coarse_scores = coarse_scores,
      .thin_scores = thin_scores,
      .thin_dot = thin_dot,
      .winners = winners,
      .judged = judged,
      .worn = worn,
      .dot = dot,
      .distance = distance,
      .add = add,
      .columns = columns,
      .level = level,
      .apart = apart,
      .scaled = scaled,
      .least = least,
      .pull = pull,
      .memberships = memberships,
      .ranks = ranks,
      .weighed = weighed,
      .gather = gather,
      .spread = spread,
  };
  return &table;
}

}  // namespace rekmeans
