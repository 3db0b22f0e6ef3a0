#include "soft_pass.hpp"

#include <algorithm>
#include <memory>
#include <numeric>

#include "../parallel.hpp"

namespace rekmeans {
namespace {

constexpr size_t MAX_PARTS = 64, MIN_PART_ROWS = 4096;
// largest number of float64 sums in all parts together: 256 MiB
constexpr size_t MAX_SUMS = size_t(1) << 25;
// float64 values in the widest vector; rows of sums are padded to a multiple of it
constexpr size_t WIDEST_VECTOR = 8;
// with fewer float64 sums in all parts, one thread adds them
constexpr size_t PARALLEL_SUMS = 1 << 18;

size_t pad(size_t p) { return (p + WIDEST_VECTOR - 1) / WIDEST_VECTOR * WIDEST_VECTOR; }

// The sums of a part. Lanes are added last. `pull` counts complete rows, `pull_observed` the
// observed cells of incomplete rows.
struct PartSums {
  std::vector<double> totals, pull_observed;  // (k, padded p)
  std::vector<double> mass, pull;             // (k, TILE_ROWS)
  std::vector<double> mass_at_centroid;       // (k,)
  double loss[TILE_ROWS] = {};

  void allocate(size_t k, size_t stride) {
    totals.resize(k * stride), mass.resize(k * TILE_ROWS), pull.resize(k * TILE_ROWS),
        mass_at_centroid.resize(k);
  }
};

// Compute the distances of a tile to all centroids, and a mask of its rows with missing cells.
void measure_tile(const SoftPass& pass, const RowTile& rows, Tile& tile) {
  const size_t p = pass.F.p;
  std::fill(tile.D.begin(), tile.D.end(), 0.0);
  tile.missing = 0;
  for (size_t from = 0; from < p; from += TILE_FEATURES) {
    const FeatureRange features{from, std::min(TILE_FEATURES, p - from)};
    const uint32_t missing = pass.simd->tile_columns(rows, features, tile.x.data());
    pass.simd->add_distances(pass.measure.norm, missing != 0, tile.x.data(), features, p,
                             pass.packed.data(), pass.k, tile.D.data());
    tile.missing |= missing;
  }
  pass.simd->finish_distances(pass.measure, pass.k, tile.D.data());
  for (size_t r = 0; r < TILE_ROWS; ++r)
    tile.w[r] = r >= rows.count ? 0 : pass.w ? pass.w[rows.row + r] : 1;
}

void add_hard(const SoftPass& pass, const RowTile& rows, Tile& tile, PartSums& sums, double* V) {
  pass.simd->nearest(tile.D.data(), pass.k, tile.labels, tile.least);
  double L[TILE_ROWS], v[TILE_ROWS];
  pass.simd->losses_and_pulls(pass.measure, tile.least, TILE_ROWS, L, v);
  for (size_t r = 0; r < rows.count; ++r) {
    const size_t own = size_t(tile.labels[r]), lane = own * TILE_ROWS + r;
    const double w = tile.w[r];
    v[r] *= w;
    sums.mass[lane] += w;
    if (!(tile.missing >> r & 1)) sums.pull[lane] += v[r];
    if (w != 0) sums.loss[r] += w * L[r];
    if (pass.measure.has_root && tile.least[r] <= AT_CENTROID * pass.measure.gamma)
      sums.mass_at_centroid[own] += w;
    if (V) V[rows.row + r] = v[r];
  }
  pass.simd->add_rows(rows, pad(pass.F.p), tile.labels, v, tile.missing, sums.totals.data(),
                      sums.pull_observed.data());
}

void add_soft(const SoftPass& pass, const RowTile& rows, Tile& tile, PartSums& sums, double* V) {
  const size_t p = pass.F.p, k = pass.k, stride = pad(p);
  pass.simd->losses_and_pulls(pass.measure, tile.D.data(), k * TILE_ROWS, tile.L.data(),
                              tile.pulls.data());
  pass.share(pass, tile);
  for (size_t i = 0; pass.measure.has_root && i < k * TILE_ROWS; ++i)
    if (tile.D[i] <= AT_CENTROID * pass.measure.gamma)
      sums.mass_at_centroid[i / TILE_ROWS] += tile.W[i] * tile.w[i % TILE_ROWS];
  pass.simd->weight_shares(tile.w, tile.L.data(), tile.pulls.data(), k, tile.W.data(),
                           sums.mass.data(), tile.missing ? nullptr : sums.pull.data(), sums.loss);
  for (size_t from = 0; from < p; from += TILE_FEATURES) {
    const FeatureRange features{from, std::min(TILE_FEATURES, p - from)};
    const size_t padded = pad(features.width);
    double* observed = tile.missing ? tile.observed.data() : nullptr;
    pass.simd->tile_cells(rows, features, padded, tile.Y.data(), observed);
    pass.simd->add_product(tile.W.data(), k, tile.Y.data(), padded, sums.totals.data() + from,
                           stride);
    if (observed)
      pass.simd->add_product(tile.W.data(), k, observed, padded, sums.pull_observed.data() + from,
                             stride);
  }
  for (size_t r = 0; V && r < rows.count; ++r)
    for (size_t c = 0; c < k; ++c) V[(rows.row + r) * k + c] = tile.W[c * TILE_ROWS + r];
}

// The number of rows in a part, which depends only on the sizes.
size_t rows_of_part(const SoftPass& pass) {
  const size_t most =
      std::max<size_t>(1, std::min(MAX_PARTS, MAX_SUMS / (2 * pass.k * pad(pass.F.p))));
  const size_t parts =
      std::max<size_t>(1, std::min(most, (pass.n + MIN_PART_ROWS - 1) / MIN_PART_ROWS));
  return std::max(TILE_ROWS,
                  ((pass.n + parts - 1) / parts + TILE_ROWS - 1) / TILE_ROWS * TILE_ROWS);
}

void add_up(const std::vector<PartSums>& parts, size_t c, size_t p, SoftSums& out) {
  const size_t stride = pad(p);
  double pull = 0;
  for (const PartSums& part : parts) {
    const double *mass = part.mass.data() + c * TILE_ROWS,
                 *lanes = part.pull.data() + c * TILE_ROWS;
    out.mass[c] += std::accumulate(mass, mass + TILE_ROWS, 0.0);
    out.mass_at_centroid[c] += part.mass_at_centroid[c];
    pull += std::accumulate(lanes, lanes + TILE_ROWS, 0.0);
    for (size_t l = 0; l < p; ++l) out.totals[c * p + l] += part.totals[c * stride + l];
    for (size_t l = 0; l < p && !part.pull_observed.empty(); ++l)
      out.pull[c * p + l] += part.pull_observed[c * stride + l];
  }
  for (size_t l = 0; l < p; ++l) out.pull[c * p + l] += pull;
}

}  // namespace

Tile::Tile(const SoftPass& pass)
    : x(std::min(TILE_FEATURES, pass.F.p) * TILE_ROWS),
      D(pass.k * TILE_ROWS),
      L(D.size()),
      pulls(D.size()),
      W(D.size()),
      rank(pass.rank_share.empty() ? 0 : D.size()),
      order(pass.rank_share.empty() ? 0 : pass.k) {
  if (!pass.share) return;
  Y.resize(TILE_ROWS * pad(std::min(TILE_FEATURES, pass.F.p)));
  observed.resize(Y.size());
}

SoftSums soft_pass(const SoftPass& pass, bool with_V) {
  const size_t n = pass.n, p = pass.F.p, k = pass.k, stride = pad(p);
  const size_t rows = rows_of_part(pass), n_parts = (n + rows - 1) / rows;
  SoftSums out;
  out.labels.resize(n), out.totals.resize(k * p), out.pull.resize(k * p);
  out.mass.resize(k), out.mass_at_centroid.resize(k);
  if (with_V) out.V.resize(pass.share ? n * k : n);
  double* V = with_V ? out.V.data() : nullptr;
  const auto add = pass.share ? add_soft : add_hard;
  std::vector<PartSums> parts(n_parts);
  std::vector<std::unique_ptr<Tile>> tiles(std::min(pass.threads, std::max<size_t>(1, n_parts)));
  parallel(tiles.size(), n_parts, [&](size_t thread, size_t part) {
    if (!tiles[thread]) tiles[thread] = std::make_unique<Tile>(pass);
    Tile& tile = *tiles[thread];
    PartSums& sums = parts[part];
    sums.allocate(k, stride);
    for (size_t row = part * rows; row < std::min(n, (part + 1) * rows); row += TILE_ROWS) {
      const RowTile here{pass.F, row, std::min(TILE_ROWS, n - row)};
      measure_tile(pass, here, tile);
      if (tile.missing && sums.pull_observed.empty()) sums.pull_observed.resize(k * stride);
      add(pass, here, tile, sums, V);
      std::copy_n(tile.labels, here.count, out.labels.data() + row);
    }
  });
  const bool is_small = n_parts * k * stride < PARALLEL_SUMS;
  parallel(is_small ? 1 : pass.threads, k, [&](size_t, size_t c) { add_up(parts, c, p, out); });
  for (const PartSums& part : parts)
    out.loss += std::accumulate(part.loss, part.loss + TILE_ROWS, 0.0);
  return out;
}

}  // namespace rekmeans
