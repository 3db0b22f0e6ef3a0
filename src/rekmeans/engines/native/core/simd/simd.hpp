// The table of inner loops. They are compiled once for each instruction set.
#pragma once
#include <cstddef>
#include <cstdint>

#include "../grid.hpp"

namespace rekmeans {

// number of features in a partial sum; the partial sums are then added (two-level summation)
constexpr size_t SUM_CHUNK = 128;
// number of centroids whose sums fit into registers for a vector of rows
constexpr size_t FEW_CENTROIDS = 12;
constexpr size_t BLOCK_ROWS = 96;  // rows scored together: a multiple of the rows of every tile

constexpr size_t MAX_LANES = 16;  // number of floats in the widest vector

enum class Beyond { ignore, clip, wrap };

// The map of a row: t = (x - shift) rate, in half-turns, with the interval [low, high] that
// contains x, the first of several. A value outside all intervals is out of range. A column has m
// intervals, and unused ones are NaN. If it has a period, x - shift is reduced modulo the period.
struct PhaseMap {
  const double *low, *high, *shift, *rate;  // (d, m)
  const double* period;                     // (d,)
  size_t m;
  Beyond beyond;
};

// The output of mapping a tile of rows. A tile has as many rows as a vector has floats.
struct MappedTile {
  float* const* g;     // (width,) pointers to (p,)
  double* norm2;       // (width,) |g|^2
  int64_t* square;     // (width,) |f|^2 in grid units
  uint16_t* observed;  // (d,) one bit per row
};

// Properties of a row that were found when its phases were computed.
struct PhaseCheck {
  bool has_value_inside;  // false if all values were clipped
  bool are_all_small;     // true if every phase is a number below SMALL_PHASE
};

// The largest drift in a group of centroids, the centroid that has it, and the largest drift of the
// others.
struct DriftGroup {
  float largest = 0, second = 0;
  int32_t index = -1;

  void add(float moved, int32_t c) {
    if (moved > largest) second = largest, largest = moved, index = c;
    else if (moved > second) second = moved;
  }
};

// The stored cells of a sparse row: their columns, and the cos and sin parts of g.
struct SparseRow {
  const uint32_t* columns;
  const float *cos, *sin;
  size_t count;
};

// The stored cells in 16 bits: g = step (integers) + rest, with the two integers of a cell in one
// value.
struct SparsePairs {
  const uint32_t* columns;
  const int32_t* pairs;
  size_t count;
  float step;
};

// The winner of each scored row, its score, and the second best score.
struct Winners {
  int32_t* index;
  float *best, *second;
};

constexpr size_t TILE_ROWS = 16;  // rows whose distances to points are computed together
// centroids in a panel for these distances; one row of a panel fits into registers
constexpr size_t PANEL_K = 8;

enum class Norm { squared, absolute, product };

// D = gamma sum (f - c)^2, or gamma sum |f - c|, or its root if has_root. The loss is D, or 2 - 2
// exp(-D) if is_bounded.
struct Measure {
  Norm norm;
  bool has_root, is_bounded;
  double gamma;
};

// A table (n, p) of numbers, NaN for missing cells. One of the two pointers is null.
struct FloatTable {
  const float* float32;
  const double* float64;
  size_t p;
};

// Rows [row, row + count) of a table. In arrays (.., TILE_ROWS) of them, lanes without a row are 0.
struct RowTile {
  const FloatTable& table;
  size_t row, count;
};

// Features [from, from + width) of a tile.
struct FeatureRange {
  size_t from, width;
};

struct Simd {
  const char* name;
  size_t width;  // floats in a vector; k is padded to a multiple of it
  size_t panel;  // centroids in a packed panel

  // Exact rows
  // ------------------------------------------------------------------------------------------

  // Compute the phases of a row in place, NaN for missing cells. Requires one interval per column
  // and no periods.
  PhaseCheck (*row_phases)(double* x, size_t d, const PhaseMap& map);

  // Write the columns and values of the nonzero cells of x, and return their number. Both arrays
  // need space for 8 more entries.
  size_t (*nonzero_cells)(const double* x, size_t d, uint32_t* columns, double* values);

  // Map d phases t (half-turns, below SMALL_PHASE or NaN) to g = f - base, [cos | sin]: exact in
  // float32, 0 if t is NaN. Also compute |g|^2 and the integer |f|^2. Return false if float64 could
  // not prove all roundings.
  bool (*map_phases)(const double* t, size_t d, const double* base, float* g, double* norm2,
                     int64_t* square);

  // Map `width` rows from their cells x (d, width). Requires columns without periods and, unless
  // values wrap, interval ends with small phases. Return a bit for each row that was mapped. The
  // caller maps the other rows one by one.
  uint32_t (*map_tile)(const double* x, size_t d, const PhaseMap& map, const double* base,
                       const MappedTile& out);

  // Transpose the cells [0, d) of `width` rows to (d, width).
  void (*transpose_cells)(const double* const* rows, size_t d, double* out);

  // Add d phases t, rounded to 2^-16, to sum as integers. Return false and add nothing if a phase
  // is 2^30 or more.
  bool (*add_phases)(const double* t, size_t d, int64_t* sum);

  // S[r][c] = rows[r] . h_c for `count` rows and all packed centroids. S is (count, padded k),
  // row-major.
  void (*scores)(const float* const* rows, size_t count, size_t p, const float* packed, size_t kp,
                 float* S);

  // Find the winners, as best_two does, of complete rows among at most FEW_CENTROIDS centroids
  // without storing scores. Lanes are rows, not centroids. `rows` must have a vector of additional
  // pointers at the end, to any rows. Null if there are too few registers.
  void (*best_of_few)(const float* const* rows, size_t count, size_t p, const float* packed,
                      size_t k, const float* bias, const Winners& winners);

  // Find which centroids score at least the row's bar, one bit each. There is one bar per row.
  void (*few_above)(const float* const* rows, size_t count, size_t p, const float* packed, size_t k,
                    const float* bias, const float* bars, uint16_t* above);

  // Quantize a row to 8 bits: q = round(g/step) + 128, padded with 128 to a multiple of 4 cells.
  // Also compute an upper bound on |g - step (q - 128)|. Null if the processor has no 8-bit dot
  // product.
  void (*quantize_row)(const float* g, size_t p, uint8_t* q, float* step, float* error);

  // S[r][c] = step_r scale_c (q_r . h_c - offset_c), for 8-bit rows and centroids packed four
  // features at a time.
  void (*quantized_scores)(const uint8_t* const* rows, const float* step, size_t count,
                           size_t quads, const int8_t* packed, const float* scale,
                           const int32_t* offset, size_t kp, float* S);

  // S as in `scores`, for sparse rows and panels in which the cos and sin of a column are adjacent.
  void (*sparse_scores)(const SparseRow* rows, size_t count, size_t d, const float* packed,
                        size_t kp, float* S);

  // Quantize the cells of a row to 16 bits, as pairs of cos and sin. Also compute the step and an
  // upper bound on |g - step (integers)|. Null if the processor has no 16-bit dot product.
  void (*quantize_pairs)(const float* cos, const float* sin, size_t count, int16_t* pairs,
                         float* step, float* error);

  // S[r][c] = step_r scale_c (pairs_r . h_c), for centroids packed as pairs. The integers are
  // exact.
  void (*sparse_pair_scores)(const SparsePairs* rows, size_t count, size_t d, const int16_t* packed,
                             const float* scale, size_t kp, float* S);

  // Return g . h for a sparse row and one centroid h (p,).
  float (*sparse_dot)(const SparseRow& row, size_t d, const float* h);

  // Find the largest and second largest s - bias in each row of S, and the index of the largest.
  void (*best_two)(const float* S, size_t count, size_t kp, const float* bias,
                   const Winners& winners);

  // For `count` scored rows, find whether the winner is certain, and bounds on the distance to it
  // and to all other centroids.
  void (*certify)(size_t count, const float* norm2, const float* error, const float* best,
                  const float* second, float* upper, float* lower, uint8_t* certain);

  // Loosen the bounds of `count` rows by the drift (k,) of the centroids: upper grows by the drift
  // of its own centroid, lower shrinks by the largest drift of another centroid in the slow group,
  // and lower_fast (may be null) by that in the fast group. `open` marks the rows whose labels the
  // bounds no longer prove.
  void (*loosen_bounds)(size_t count, const int32_t* labels, const float* drift,
                        const DriftGroup& slow, const DriftGroup& fast, float* upper, float* lower,
                        float* lower_fast, uint8_t* open);

  float (*dot)(const float* a, const float* b, size_t p);

  // Return the sum of (g 2^23 - h)^2 in integers.
  int64_t (*grid_distance)(const float* g, const int32_t* h, size_t p);

  // D (count, panels * width) = squared distances, in grid units, of rows in panels (panels, 2d,
  // width) to points H (count, 2d).
  void (*grid_distances)(const float* panels, size_t n_panels, size_t d, const double* H,
                         size_t count, int64_t* D);

  // Find the nearest of k points for each of these rows, (panels * width,). Ties go to the lowest
  // index.
  void (*grid_nearest)(const float* panels, size_t n_panels, size_t d, const double* H, size_t k,
                       int64_t* index);

  // Add g 2^23 to totals, or subtract it if `minus`, in integers.
  void (*add_row)(int64_t* totals, const float* g, size_t p, bool minus);

  // Points in floats
  // ------------------------------------------------------------------------------------------

  // Write the features of a tile as columns, (width, TILE_ROWS). Return one bit for each row with a
  // missing cell among them.
  uint32_t (*tile_columns)(const RowTile& tile, FeatureRange features, double* out);

  // Write the features of a tile as rows, (TILE_ROWS, padded), 0 for missing cells. `observed` (may
  // be null) is 1 for observed and 0 for missing cells.
  void (*tile_cells)(const RowTile& tile, FeatureRange features, size_t padded, double* out,
                     double* observed);

  // Add the sums over these features x to D (k, TILE_ROWS), for centroids (k, p) in panels of
  // PANEL_K. has_missing: some x are NaN.
  void (*add_distances)(Norm norm, bool has_missing, const double* x, FeatureRange features,
                        size_t p, const double* packed, size_t k, double* D);

  // Compute D from these sums, in place.
  void (*finish_distances)(const Measure& measure, size_t k, double* D);

  // Find the smallest D in each column and its first index.
  void (*nearest)(const double* D, size_t k, int32_t* index, double* least);

  // Compute the losses of `count` distances (a multiple of TILE_ROWS) and their pulls: 1, exp(-D)
  // or exp(-D)/r.
  void (*losses_and_pulls)(const Measure& measure, const double* D, size_t count, double* L,
                           double* pulls);

  // Compute u^m (k, TILE_ROWS) for fuzzy memberships u, which are proportional to L^(-1/(m - 1)).
  void (*memberships)(const double* L, size_t k, double fuzziness, double* W);

  // Count how many centroids are nearer, (k, TILE_ROWS), by comparing all pairs. Of equally near
  // centroids, the lower index counts as nearer.
  void (*ranks)(const double* D, size_t k, int32_t* rank);

  // With the weights w (TILE_ROWS,) of the rows: mass += w W, pull (may be null) += V, loss
  // (TILE_ROWS,) += w W L. W becomes V = w W pulls.
  void (*weight_shares)(const double* w, const double* L, const double* pulls, size_t k, double* W,
                        double* mass, double* pull, double* loss);

  // totals[label] += v f for each row of a tile. Rows of totals are `stride` apart. For rows whose
  // bit is set in `missing`, add only observed cells, and observed[label] += v for these cells.
  void (*add_rows)(const RowTile& tile, size_t stride, const int32_t* labels, const double* V,
                   uint32_t missing, double* totals, double* observed);

  // totals (k, stride) += V Y, for V (k, TILE_ROWS) and Y (TILE_ROWS, padded).
  void (*add_product)(const double* V, size_t k, const double* Y, size_t padded, double* totals,
                      size_t stride);
};

const Simd* baseline();
const Simd* avx2();
const Simd* avx512();
const Simd* vnni();

}  // namespace rekmeans
