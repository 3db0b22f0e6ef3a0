#include "tails.hpp"

#include <algorithm>
#include <cmath>

namespace rekmeans {
namespace {

double piece_start(int piece) { return 0.5 * (std::ldexp(1.0, piece) - 1); }

}  // namespace

double piece_width(int piece) { return std::ldexp(0.5, piece); }

double to_distance(double t, int piece) {
  return piece_start(piece) + piece_width(piece) * (t - piece);
}

double compress(double v) {
  int piece = 0;
  while (piece + 1 < N_PIECES && v >= piece_start(piece + 1)) ++piece;
  return piece + (v - piece_start(piece)) / piece_width(piece);
}

double Side::mass(double first, double end) const {
  const double near = centre + sign * sigma * first, far = centre + sign * sigma * end;
  if (sign > 0) return cells.mass_up_to(far) - cells.mass_up_to(near);
  return cells.mass_below(near) - cells.mass_below(far);
}

Tail tail_beyond(const Side& side, double first, double fall) {
  const Side other{side.cells, side.centre, side.sigma, -side.sign};
  const double row_weight = side.cells.row_weight;
  double end = first, before = side.mass(end / 2, end);
  while (end < MAX_TAIL) {
    const double mass = side.mass(end, 2 * end);
    const double chance = end > first ? std::sqrt(before * row_weight) : 0.0;
    if (!(mass > 0) || mass > fall * before + chance) break;
    if (other.mass(end, 2 * end) > MAX_MIRRORED * mass) break;
    before = mass;
    end *= 2;
  }
  const double least = std::max(MIN_TAIL_CELLS * row_weight, MIN_TAIL_SHARE * side.cells.total());
  return side.mass(first, end) >= least ? Tail{side.sign, 0.0, end} : Tail{};
}

Tail find_tail(const SortedCells& cells, double centre, double sigma) {
  const double reach = TAIL_START * sigma;
  const SortedCells near =
      cells.take(cells.count_below(centre - reach), cells.count_up_to(centre + reach));
  const double low = near.quantile(SHORT_TAIL);
  const double high = near.first_after_mass(near.total() - SHORT_TAIL * near.total());
  for (const int sign : {1, -1}) {
    const double short_end = sign > 0 ? centre - low : high - centre;
    if (!(short_end <= SHORT_SIDE * sigma)) continue;
    const Tail tail = tail_beyond({cells, centre, sigma, sign}, TAIL_START, 1.0);
    if (tail.sign) return {sign, short_end / sigma, tail.end};
  }
  return {};
}

MappedCells map_tail(const SortedCells& cells, double centre, double sigma, const Tail& tail) {
  const double end = centre + tail.sign * sigma * tail.end;
  const SortedCells kept = tail.sign > 0 ? cells.take(0, cells.count_up_to(end))
                                         : cells.take(cells.count_below(end), cells.n);
  MappedCells image{{}, {0.0}, cells.row_weight};
  image.values.reserve(kept.n), image.running.reserve(kept.n + 1);
  for (size_t i = 0; i < kept.n; ++i) {
    const size_t at = tail.sign > 0 ? i : kept.n - 1 - i;
    const double distance = tail.sign * (kept.values[at] - centre) / sigma;
    image.values.push_back(compress(distance + tail.start));
    image.running.push_back(image.running.back() + kept.mass_of(at));
  }
  return image;
}

}  // namespace rekmeans
