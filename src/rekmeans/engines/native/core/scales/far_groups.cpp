#include "far_groups.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>

namespace rekmeans {
namespace {

const std::array<double, N_GROWTHS> GROWTHS = [] {
  std::array<double, N_GROWTHS> powers;
  double power = 1.0;
  for (double& each : powers) each = power = power * BIN_GROWTH;
  return powers;
}();

// The smallest difference between two values of a column with few values; empty if it has many.
std::optional<double> category_step(const SortedCells& cells) {
  int n_values = 0;
  double last = 0.0, step = std::numeric_limits<double>::infinity();
  for (int i = 0; i < PLACES; ++i) {
    const double value = cells.quantile((i + 0.5) / PLACES);
    if (n_values && value == last) continue;
    if (n_values) step = std::min(step, value - last);
    last = value;
    if (++n_values > FEW_VALUES) return {};
  }
  return n_values > 1 ? std::optional(step) : std::nullopt;
}

using Corners = std::vector<size_t>;
using Points = std::vector<double>;

// The corners of the least concave majorant of the points (x, y), from index `first`.
Corners majorant(const Points& x, const Points& y, size_t first) {
  Corners corners{first};
  for (size_t i = first + 1; i < x.size(); ++i) {
    while (corners.size() > 1) {
      const size_t a = corners[corners.size() - 2], b = corners.back();
      if ((y[b] - y[a]) * (x[i] - x[b]) > (y[i] - y[b]) * (x[b] - x[a])) break;
      corners.pop_back();
    }
    corners.push_back(i);
  }
  return corners;
}

// The edge where the density of a group that begins at edge `start` falls below a quarter of its
// mean so far.
double group_end(const Points& edges, const Points& mass, size_t start) {
  const Corners corners = majorant(edges, mass, start);
  for (size_t s = 1; s + 1 < corners.size(); ++s) {
    const size_t end = corners[s], after = corners[s + 1];
    const double density = (mass[end] - mass[start]) / (edges[end] - edges[start]);
    if ((mass[after] - mass[end]) / (edges[after] - edges[end]) < GROUP_END * density)
      return edges[end];
  }
  return edges.back();
}

// The interval centre +- 3 sigma, widened by sigma as long as the next interval of width sigma has
// at least half the mass of the previous one.
Interval interval_with_flanks(const SortedCells& cells, double centre, double sigma) {
  double low = centre - GROUP_SIGMAS * sigma, high = centre + GROUP_SIGMAS * sigma;
  for (int i = 0; i < MAX_WIDENING; ++i, high += sigma) {
    const double at = cells.mass_up_to(high), next = cells.mass_up_to(high + sigma) - at;
    if (!(next > 0) || next < (at - cells.mass_up_to(high - sigma)) / 2) break;
  }
  for (int i = 0; i < MAX_WIDENING; ++i, low -= sigma) {
    const double at = cells.mass_below(low), next = at - cells.mass_below(low - sigma);
    if (!(next > 0) || next < (cells.mass_below(low + sigma) - at) / 2) break;
  }
  return {low, high};
}

// One side of a column: the distances from its centre, the mass of the column, and the step between
// its categories.
struct Tail {
  SortedCells cells;
  double total;
  std::optional<double> step;
  double least;

  Points edges(double low, double high) const;
  std::optional<size_t> find_rise(const Points& edges, const Points& mass) const;
  void add_groups(double low, double high, std::vector<Interval>& out) const;
};

// Edges of bins between low and high. If the column has few values, the edges are between the
// values.
Points Tail::edges(double low, double high) const {
  const double first = step ? cells.values[cells.count_up_to(low)] - *step / 2 : low;
  const double width = step ? std::max(BIN, *step) : BIN;
  const double stop = std::min(high, WIDE_BINS), base = std::max(first, WIDE_BINS);
  Points edges{std::min(first, low)};
  for (double i = 0, edge; (edge = first + i * width) < stop; ++i) edges.push_back(edge);
  for (size_t i = 0; i < N_GROWTHS && base * GROWTHS[i] < high; ++i)
    edges.push_back(base * GROWTHS[i]);
  edges.push_back(high);
  edges.erase(std::unique(edges.begin(), edges.end()), edges.end());
  return edges;
}

// The position at which the running mass is farthest below a segment of its least concave majorant,
// if the difference is larger than expected by chance.
std::optional<size_t> Tail::find_rise(const Points& edges, const Points& mass) const {
  const Corners corners = majorant(edges, mass, 0);
  for (size_t s = 0; s + 1 < corners.size(); ++s) {
    const size_t i = corners[s], j = corners[s + 1];
    const double gained = mass[j] - mass[i];
    if (!(gained > 0) || j == i + 1) continue;
    const double slope = gained / (edges[j] - edges[i]);
    size_t at = i + 1;
    double lag = -std::numeric_limits<double>::infinity();
    for (size_t t = i + 1; t < j; ++t) {
      const double behind = (mass[i] + (edges[t] - edges[i]) * slope) - mass[t];
      if (behind > lag) lag = behind, at = t;
    }
    const double chance = RISE_SIGMAS * std::sqrt(gained * cells.row_weight);
    if (lag >= std::max({chance, RISE_SHARE * gained, RISE_OF_ALL * total})) return at;
  }
  return {};
}

// Find groups among the distances in (low, high].
void Tail::add_groups(double low, double high, std::vector<Interval>& out) const {
  const SortedCells inside = cells.take_between(low, high);
  if (!inside.n || inside.total() < least) return;
  const Points edge = edges(low, inside.values[inside.n - 1]);
  Points mass;
  for (double each : edge) mass.push_back(inside.mass_up_to(each));
  const std::optional<size_t> rise = find_rise(edge, mass);
  if (!rise) return;
  const double start = edge[*rise], end = group_end(edge, mass, *rise);
  const SortedCells members = inside.take_between(start, 2 * end - start);
  const auto [centre, sigma] = fenced_moments(members, members.quantile(0.25),
                                              members.quantile(0.5), members.quantile(0.75));
  if (sigma == 0) {  // a single value
    add_groups(low, std::nextafter(centre, -std::numeric_limits<double>::infinity()), out);
    if (step && centre < MAX_CATEGORY_DISTANCE) out.emplace_back(centre, centre);
    return add_groups(centre, high, out);
  }
  const Interval group = interval_with_flanks(inside, centre, sigma);
  const double width = group.second - group.first;
  if (sigma > WIDEST_SIGMA || width > WIDEST ||
      inside.mass_within(group.first, group.second) < least) {
    add_groups(low, start, out);
    return add_groups(end, high, out);
  }
  add_groups(low, group.first, out);
  out.push_back(group);
  add_groups(group.second, high, out);
}

// The distances of the cells on one side of the centre that are beyond NEAREST, with their running
// mass.
struct FarSide {
  Points distances, running{0.0};

  FarSide(const SortedCells& cells, double centre, double sigma, bool is_above) {
    const auto place = [&](size_t from_end) {
      return is_above ? cells.n - 1 - from_end : from_end;
    };
    const auto distance = [&](size_t from_end) {
      const double step = cells.values[place(from_end)] - centre;
      return (is_above ? step : -step) / sigma;
    };
    size_t count = 0;
    while (count < cells.n && distance(count) > NEAREST) ++count;
    distances.reserve(count), running.reserve(count + 1);
    for (size_t i = count; i-- > 0;) {
      distances.push_back(distance(i));
      running.push_back(running.back() + cells.mass_of(place(i)));
    }
  }
};

}  // namespace

double least_mass(double total, double row_weight) {
  return std::max(MIN_RISE_CELLS * row_weight, MIN_GROUP_SHARE * total);
}

Moments fenced_moments(const SortedCells& cells, double q25, double median, double q75) {
  const double fence = FENCE_SIGMAS * (q75 - q25) / NORMAL_IQR;
  return fence > 0 ? cells.moments(median, fence) : Moments{median, 0.0};
}

std::vector<Interval> far_groups(const SortedCells& cells, double centre, double sigma) {
  std::optional<double> step = category_step(cells);
  if (step) *step /= sigma;
  const double total = cells.total(), least = least_mass(total, cells.row_weight);
  std::vector<Interval> found;
  for (const bool is_above : {false, true}) {
    const FarSide side(cells, centre, sigma, is_above);
    const SortedCells far = {side.distances.data(), side.running.data(), side.distances.size(),
                             cells.row_weight};
    Tail{far, total, step, least}.add_groups(NEAREST, MAX_DISTANCE, found);
    if (!is_above)
      for (Interval& group : found) group = {-group.second, -group.first};
  }
  return found;
}

}  // namespace rekmeans
