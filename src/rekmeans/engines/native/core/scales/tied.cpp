#include "tied.hpp"

#include <algorithm>
#include <vector>

namespace rekmeans {
namespace {

// A value other than the tie.
struct OtherValue {
  double distance, mass;
  bool is_below, is_repeated, is_usual;
};

using OtherValues = std::vector<OtherValue>;  // sorted by distance, then by value

// The values on both sides of the tie, merged by their distance from it.
OtherValues other_values(const SortedCells& cells, size_t tie) {
  const double least = std::max(REPEATED_CELLS * cells.row_weight, REPEATED * cells.total());
  const auto distance = [&](size_t i) { return std::fabs(cells.values[i] - cells.values[tie]); };
  OtherValues found;
  found.reserve(cells.n);
  const auto add = [&](size_t i, bool is_below) {
    found.push_back({distance(i), cells.mass_of(i), is_below, cells.mass_of(i) >= least, true});
  };
  for (size_t below = tie, above = tie + 1; below > 0 || above < cells.n;) {
    if (below == 0 || (above < cells.n && distance(above) < distance(below - 1))) {
      add(above++, false);
      continue;
    }
    size_t first = below - 1;
    while (first > 0 && distance(first - 1) == distance(below - 1)) --first;
    for (size_t i = first; i < below; ++i) add(i, true);
    below = first;
  }
  return found;
}

double mass_of_usual(const OtherValues& values) {
  double mass = 0.0;
  for (const OtherValue& value : values) mass += value.is_usual ? value.mass : 0.0;
  return mass;
}

// The smallest distance such that this share of the usual mass is at or below it.
double quantile(const OtherValues& values, double share) {
  const double goal = share * mass_of_usual(values);
  double running = 0.0, last = 0.0;
  for (const OtherValue& value : values) {
    if (!value.is_usual) continue;
    last = value.distance;
    if ((running += value.mass) >= goal) break;
  }
  return last;
}

// Mark codes for "unknown" as unusual. The search starts at the farthest value.
void leave_out_codes(OtherValues& values) {
  size_t n_usual = values.size();
  for (size_t end = values.size(); end > 0;) {
    size_t start = end - 1;
    while (start > 0 && values[start - 1].distance == values[end - 1].distance) --start;
    for (size_t i = start; i < end; ++i) {  // at equal distances, the lower value comes first
      OtherValue& value = values[i];
      if (!value.is_repeated) continue;
      value.is_usual = false;
      if (n_usual == 1 || mass_of_usual(values) < CODE_REST * value.mass ||
          value.distance <= CODE_DISTANCE * quantile(values, USUAL)) {
        value.is_usual = true;
        return;
      }
      --n_usual;
    }
    end = start;
  }
}

// The largest usual distance. If values do not repeat, it is estimated from the lower half, because
// errors are large.
double largest_distance(const OtherValues& values, bool is_discrete) {
  if (is_discrete) return quantile(values, LARGEST);
  const double median = quantile(values, 0.5), quartile = quantile(values, 0.25);
  return std::min(2 * median - quartile, quantile(values, 1.0));
}

}  // namespace

TiedColumn tied_column(const SortedCells& cells) {
  size_t tie = 0;
  for (size_t i = 1; i < cells.n; ++i)
    if (cells.mass_of(i) > cells.mass_of(tie)) tie = i;
  if (cells.n == 1) return {cells.values[tie], 0.0, 0.0, 0.0, {}};
  OtherValues others = other_values(cells, tie);
  leave_out_codes(others);
  double repeated = 0.0;
  size_t n_repeated = 0;
  for (const OtherValue& value : others)
    if (value.is_usual && value.is_repeated) repeated += value.mass, ++n_repeated;
  const bool is_discrete = repeated >= REPEATED_SHARE * mass_of_usual(others);
  if (is_discrete)
    for (OtherValue& value : others) value.is_usual &= value.is_repeated;
  const double largest = largest_distance(others, is_discrete), kept = KEPT * largest;
  double below = 0.0, near = 0.0;
  for (const OtherValue& value : others) {
    if (!value.is_usual || !(value.distance <= kept)) continue;
    near += value.mass;
    below += value.is_below ? value.mass : 0.0;
  }
  const double share = below / near;
  const bool is_two_sided = BOTH_SIDES < share && share < 1 - BOTH_SIDES;
  const double other_mass = cells.total() - cells.mass_of(tie);
  const bool is_rare_count = other_mass < RARE * cells.total() && n_repeated > 1;
  TiedColumn column{cells.values[tie],
                    kept,
                    is_two_sided ? 1.0 : UNIT_DISTANCES / KEPT,
                    is_rare_count ? RARE_UNITS : 1.0,
                    {}};
  if (!is_two_sided && !is_discrete)
    column.tail = tail_beyond({cells, column.tie, 2 * kept, share < 0.5 ? 1 : -1}, 0.5, TAIL_FALL);
  return column;
}

}  // namespace rekmeans
