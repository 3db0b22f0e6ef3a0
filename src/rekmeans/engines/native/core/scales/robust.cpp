#include "robust.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <memory>
#include <optional>

#include "../parallel.hpp"
#include "far_groups.hpp"
#include "tails.hpp"
#include "tied.hpp"

namespace rekmeans {
namespace {

constexpr size_t SORTING_STEPS = 4;  // approximate number of operations per cell

using Intervals = std::vector<Interval>;

// The record of one column.
struct Place {
  Intervals ends;
  std::vector<double> shifts, units;
  double left_out;

  void write(double* out, size_t stride) const;
};

void Place::write(double* out, size_t stride) const {
  for (size_t i = 0; i < ends.size(); ++i) {
    out[(LOW + i) * stride] = ends[i].first;
    out[(HIGH + i) * stride] = ends[i].second;
    out[(SHIFT + i) * stride] = shifts[i];
    out[(UNIT + i) * stride] = units[i];
  }
  out[LEFT_OUT * stride] = left_out;
  if (units[0] > MIN_WIDTH) return;
  out[LOW * stride] = shifts[0] - 1, out[HIGH * stride] = shifts[0] + 1, out[UNIT * stride] = 1.0;
}

// The record of a column with a tail, computed from the record of t, or none if a unit is too small
// or too large.
std::optional<Place> place_pieces(const SortedCells& cells, double centre, double sigma,
                                  const Tail& tail, const Place& image) {
  const double step = tail.sign * sigma, cut = compress(tail.end + tail.start);
  const auto value_at = [&](double t, int piece) {
    return centre + step * (to_distance(t, piece) - tail.start);
  };
  std::vector<std::array<double, 4>> found;  // low, high, shift, unit
  double kept = 0.0;
  for (size_t i = 0; i < image.ends.size(); ++i) {
    double low = image.ends[i].first;
    if (!(low < cut)) continue;
    const double high = std::min(image.ends[i].second, cut);
    int piece = int(std::min(std::max(std::floor(low), 0.0), N_PIECES - 1.0));
    Interval own{INFINITY, -INFINITY};
    for (bool is_last = false; !is_last; ++piece) {
      is_last = !(piece + 1 < N_PIECES && piece + 1 < high);
      const double end = is_last ? high : piece + 1.0;
      const auto [one, two] = std::minmax({value_at(low, piece), value_at(end, piece)});
      found.push_back({one, two, value_at(image.shifts[i], piece),
                       image.units[i] * piece_width(piece) * sigma});
      own = {std::min(own.first, one), std::max(own.second, two)};
      low = end;
    }
    kept += cells.mass_within(own.first, own.second);
  }
  std::sort(found.begin(), found.end());
  Place place{{}, {}, {}, 1 - kept / cells.total()};
  for (const auto& [low, high, shift, unit] : found) {
    if (!(unit > MIN_WIDTH && std::isfinite(shift + unit))) return std::nullopt;
    place.ends.emplace_back(low, high);
    place.shifts.push_back(shift), place.units.push_back(unit);
  }
  return place;
}

// Place a column in which at least half of the cells are equal.
Place place_tied(const SortedCells& cells) {
  const TiedColumn column = tied_column(cells);
  const double tie = column.tie, kept = column.kept;
  if (column.tail.sign) {
    const double width = kept / piece_width(0), extent = compress(column.tail.end);
    const MappedCells image = map_tail(cells, tie, width, column.tail);
    const double unit = column.unit(image.view().moments(0.0, 1.0).sigma, extent);
    const Place place{{{-1.0, extent}}, {0.0}, {unit}, 0.0};
    if (auto found = place_pieces(cells, tie, width, column.tail, place)) return *found;
  }
  const double unit = column.unit(cells.moments(tie, kept > 0 ? kept : 1.0).sigma, kept);
  const double low = tie - kept, high = tie + kept;
  return {{{low, high}}, {tie}, {unit}, 1 - cells.mass_within(low, high) / cells.total()};
}

// The extent of the cells between the running masses `start` and `end`, without 2 % and the given
// mass of errors at either end.
double extent_without_tails(const SortedCells& cells, double start, double end, double below,
                            double above) {
  const double tail = TAIL * (end - start);
  return cells.last_before_mass(end - tail - above) - cells.first_after_mass(start + tail + below);
}

// The mass of the cells just outside [low, high] on either side.
struct ErrorsNear {
  double below, above;

  ErrorsNear(const SortedCells& cells, double low, double high, double sigma) {
    double under[3], upto[3];
    for (int i = 0; i < 3; ++i) {
      under[i] = cells.mass_below(low - REACHES[i] * sigma);
      upto[i] = cells.mass_up_to(high + REACHES[i] * sigma);
    }
    below = std::min(under[0] - under[1], under[1] - under[2]);
    above = std::min(upto[1] - upto[0], upto[2] - upto[1]);
  }
};

// Sort the intervals and merge those that overlap. Close the smallest gaps until at most MAX_GROUPS
// are left.
Intervals merge(Intervals intervals) {
  std::sort(intervals.begin(), intervals.end());
  Intervals merged;
  for (const Interval& each : intervals) {
    if (merged.empty() || each.first > merged.back().second) merged.push_back(each);
    else merged.back().second = std::max(each.second, merged.back().second);
  }
  while (merged.size() > MAX_GROUPS) {
    size_t at = 0;
    const auto gap = [&](size_t i) { return merged[i + 1].first - merged[i].second; };
    for (size_t i = 1; i + 1 < merged.size(); ++i)
      if (gap(i) < gap(at)) at = i;
    merged[at].second = merged[at + 1].second;
    merged.erase(merged.begin() + ptrdiff_t(at) + 1);
  }
  return merged;
}

// The shift of each interval, such that no gap is wider than WIDEST_GAP and the middle of all
// intervals is 0.
std::vector<double> folding_shifts(const Intervals& intervals) {
  std::vector<double> folded{0.0};
  for (size_t i = 0; i + 1 < intervals.size(); ++i)
    folded.push_back(folded.back() +
                     std::max(0.0, intervals[i + 1].first - intervals[i].second - WIDEST_GAP));
  const double middle = (intervals.front().first + intervals.back().second - folded.back()) / 2;
  for (double& shift : folded) shift += middle;
  return folded;
}

// The cells in the intervals, minus the shift of their interval.
struct FoldedCells {
  std::vector<double> values, running{0.0};

  FoldedCells(const SortedCells& cells, const Intervals& ends, const std::vector<double>& shifts) {
    for (size_t i = 0; i < ends.size(); ++i) {
      const size_t last = cells.count_up_to(ends[i].second);
      for (size_t at = cells.count_below(ends[i].first); at < last; ++at) {
        values.push_back(cells.values[at] - shifts[i]);
        running.push_back(running.back() + cells.mass_of(at));
      }
    }
  }
};

// Place a column with groups: keep several intervals and fold the gaps between them.
Place place_groups(const SortedCells& cells, Moments bulk, Intervals groups) {
  const auto [centre, sigma] = bulk;
  groups.emplace_back(-BULK_SIGMAS, BULK_SIGMAS);
  const Intervals intervals = merge(std::move(groups));
  Intervals ends;
  for (const auto& [low, high] : intervals)
    ends.emplace_back(centre + sigma * low, centre + sigma * high);
  std::vector<double> shifts = folding_shifts(intervals);
  for (double& shift : shifts) shift = centre + sigma * shift;
  const FoldedCells folded(cells, ends, shifts);
  const SortedCells image{folded.values.data(), folded.running.data(), folded.values.size(),
                          cells.row_weight};
  const ErrorsNear errors(cells, ends.front().first, ends.back().second, sigma);
  const double inner = extent_without_tails(image, 0.0, image.total(), errors.below, errors.above);
  const double whole = (ends.back().second - shifts.back()) - (ends.front().first - shifts.front());
  const double share = ends.size() == 1 ? 1.0 : FOLDED_SHARE;
  const double unit = std::max(whole / 2, share * std::max(BULK_SIGMAS * sigma, inner));
  std::vector<double> units(ends.size(), unit);
  return {ends, shifts, std::move(units), 1 - image.total() / cells.total()};
}

// Find the bulk of a column, the groups beyond it and the unit.
Place place_bulk_and_groups(const SortedCells& cells, Moments bulk) {
  const auto [centre, sigma] = bulk;
  const double total = cells.total();
  const double below = cells.mass_below(centre - NEAREST * sigma);
  const double above = total - cells.mass_up_to(centre + NEAREST * sigma);
  if (std::max(below, above) >= least_mass(total, cells.row_weight) && sigma > MIN_WIDTH) {
    const Intervals groups = far_groups(cells, centre, sigma);
    if (!groups.empty()) return place_groups(cells, bulk, groups);
  }
  const double low = centre - BULK_SIGMAS * sigma, high = centre + BULK_SIGMAS * sigma;
  const ErrorsNear errors(cells, low, high, sigma);
  const double start = cells.mass_below(low), end = cells.mass_up_to(high);
  const double inner = extent_without_tails(cells, start, end, errors.below, errors.above);
  const double unit = std::max(BULK_SIGMAS * sigma, inner);
  return {{{low, high}}, {centre}, {unit}, 1 - (end - start) / total};
}

// The values at PLACES quantiles.
struct ValueCounts {
  int n_values = 0;
  int n_repeated = 0;         // distinct values at two quantiles or more
  int n_repeated_places = 0;  // quantiles with these values

  explicit ValueCounts(const SortedCells& cells) {
    double last = 0.0;
    int run = 0;
    for (int i = 0; i <= PLACES; ++i) {
      const double value = i < PLACES ? cells.quantile((i + 0.5) / PLACES) : 0.0;
      if (run && i < PLACES && value == last) {
        ++run;
        continue;
      }
      if (run > 1) ++n_repeated, n_repeated_places += run;
      n_values += i < PLACES;
      run = 1, last = value;
    }
  }

  // The minimum unit of a column with few values, in standard deviations; 0 for other columns.
  double few_values_unit() const {
    if (n_repeated_places < FEW_PLACES || n_repeated > FEW_VALUES) return 0.0;
    return BULK_SIGMAS + FEW_SIGMAS * (FEW_VALUES + 1 - n_repeated) / (FEW_VALUES - 1);
  }
};

// Place a column with a tail. Empty if its mapped cells have equal quartiles, if half of them are
// equal, or if a unit is too small or too large.
std::optional<Place> place_tail(const SortedCells& cells, Moments bulk, const Tail& tail) {
  const MappedCells mapped = map_tail(cells, bulk.mean, bulk.sigma, tail);
  const SortedCells image = mapped.view();
  const double q25 = image.quantile(0.25), median = image.quantile(0.5), q75 = image.quantile(0.75);
  if (!(q75 - q25 > MIN_WIDTH) || 2 * image.mass_within(median, median) >= image.total())
    return std::nullopt;
  const Place place = place_bulk_and_groups(image, fenced_moments(image, q25, median, q75));
  return place_pieces(cells, bulk.mean, bulk.sigma, tail, place);
}

// Place a column whose quartiles differ.
Place place_spread(const SortedCells& cells, Moments bulk) {
  Place place = place_bulk_and_groups(cells, bulk);
  if (place.ends.size() > 1 || !(bulk.sigma > MIN_WIDTH)) return place;
  const ValueCounts counts(cells);
  if (const double unit = counts.few_values_unit(); unit > 0) {
    place.units[0] = std::max(place.units[0], unit * bulk.sigma);
    return place;
  }
  if (counts.n_values < MIN_TAIL_VALUES) return place;
  const Tail tail = find_tail(cells, bulk.mean, bulk.sigma);
  return tail.sign ? place_tail(cells, bulk, tail).value_or(place) : place;
}

Place place_column(const SortedCells& cells) {
  if (!cells.n) return {{{0.0, 0.0}}, {0.0}, {0.0}, 0.0};
  const double q25 = cells.quantile(0.25), median = cells.quantile(0.5), q75 = cells.quantile(0.75);
  const bool has_spread =
      q75 - q25 > MIN_WIDTH && 2 * cells.mass_within(median, median) < cells.total();
  return has_spread ? place_spread(cells, fenced_moments(cells, q25, median, q75))
                    : place_tied(cells);
}

template <class Cell, class Columns>
void place_tiles(const Columns& columns, const int64_t* weights, double row_weight, size_t threads,
                 double* out) {
  if (!columns.d) return;
  threads = threads_for(columns.n * columns.d, std::max<size_t>(1, threads));
  // each thread processes one tile per round
  const size_t rounds = (columns.d + MAX_TILE_COLUMNS * threads - 1) / (MAX_TILE_COLUMNS * threads);
  const size_t width = (columns.d + rounds * threads - 1) / (rounds * threads);
  std::vector<std::unique_ptr<ColumnTile<Cell>>> tiles(threads);
  parallel(threads_for(SORTING_STEPS * columns.n * columns.d, threads),
           (columns.d + width - 1) / width, [&](size_t thread, size_t i) {
             const size_t first = i * width, count = std::min(width, columns.d - first);
             if (!tiles[thread])
               tiles[thread] = std::make_unique<ColumnTile<Cell>>(columns.n, width);
             columns.gather(first, count, weights, *tiles[thread]);
             for (size_t c = 0; c < count; ++c)
               place_column(tiles[thread]->sort(c, row_weight)).write(out + first + c, columns.d);
           });
}

}  // namespace

template <class Columns>
std::vector<double> place_columns(const Columns& columns, const int64_t* weights, double row_weight,
                                  size_t threads) {
  std::vector<double> out(RECORD * columns.d, std::numeric_limits<double>::quiet_NaN());
  if (weights) place_tiles<WeightedCell>(columns, weights, row_weight, threads, out.data());
  else place_tiles<PlainCell>(columns, weights, row_weight, threads, out.data());
  return out;
}

template std::vector<double> place_columns(const DenseColumns&, const int64_t*, double, size_t);
template std::vector<double> place_columns(const SparseColumns&, const int64_t*, double, size_t);

}  // namespace rekmeans
