// What is compiled once for each instruction set: the inner loops, as a table of plain functions.
#pragma once
#include <cstddef>
#include <cstdint>

#include "../grid.hpp"

namespace rekmeans {

constexpr size_t SUM_CHUNK =
    128;  // features summed in one go; partial sums are then added up (two-level sums)
constexpr size_t FEW_CENTROIDS =
    12;  // centroids whose sums fit into registers beside a vector's worth of rows
constexpr size_t BLOCK_ROWS = 96;  // rows scored together: a multiple of the rows of every tile

constexpr size_t MOST_WIDTH = 16;  // floats in the widest vector

enum class Beyond { ignore, clip, wrap };

// How a row is mapped: t = (x - shift) rate, in half-turns, in the interval [low, high] that holds
// x; a value in none is beyond. A column has m intervals, those it lacks being NaN; where it has a
// period, x - shift is taken modulo that.
struct PhaseMap {
  const double *low, *high, *shift;  // (d, m)
  const double *rate, *period;       // (d,)
  size_t m;
  Beyond beyond;
};

// Where the map of a tile of rows, as many as a vector has floats, is written.
struct MappedTile {
  float* const* g;     // (width,) pointers to (p,)
  double* norm2;       // (width,) |g|^2
  int64_t* square;     // (width,) |f|^2 in grid units
  uint16_t* observed;  // (d,) a bit for each row
};

// What was found on the way to a row's phases.
struct PhaseCheck {
  bool has_value_inside;  // else all values were clipped
  bool are_all_small;     // every phase is a number below SMALL_PHASE
};

// The largest drift of a group of centroids, whose it is, and the largest of the others.
struct DriftGroup {
  float largest = 0, second = 0;
  int32_t index = -1;

  void add(float moved, int32_t c) {
    if (moved > largest) second = largest, largest = moved, index = c;
    else if (moved > second) second = moved;
  }
};

// The stored cells of a sparse row: their columns, and the cos and sin parts of g there.
struct SparseRow {
  const uint32_t* columns;
  const float *cos, *sin;
  size_t count;
};

// The same in 16 bits: g = step (integers) + rest, the two integers of a cell in one.
struct SparsePairs {
  const uint32_t* columns;
  const int32_t* pairs;
  size_t count;
  float step;
};

// Scored rows: of each the winner, its score, the next best, and what follows for distances.
struct Winners {
  int32_t* index;
  float *best, *second;
};

constexpr size_t TILE_ROWS = 16;  // rows whose distances to points are computed together
constexpr size_t PANEL_K =
    8;  // centroids packed side by side for them: a row of the panel is in registers

enum class Norm { squared, absolute, product };

// D = gamma sum (f - c)^2, or of |f - c|; under a root, if has_root. Loss D, or 2 - 2 exp(-D) if
// is_bounded.
struct Measure {
  Norm norm;
  bool has_root, is_bounded;
  double gamma;
};

// A table (n, p) of numbers, NaN where a cell is missing; one of the two pointers is null.
struct FloatTable {
  const float* float32;
  const double* float64;
  size_t p;
};

// Rows [row, row + count) of a table; in arrays (.., TILE_ROWS) of them, lanes without a row hold
// zeros.
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
  size_t width;  // floats in a vector: k is padded to a multiple of it
  size_t panel;  // centroids side by side in one packed panel

  // Exact rows
  // ------------------------------------------------------------------------------------------

  // Phases of a row in place; NaN where a cell is missing. For one interval a column and no
  // periods.
  PhaseCheck (*row_phases)(double* x, size_t d, const PhaseMap& map);

  // Columns and values of the cells of x that are not 0, both with room for 8 more; their number.
  size_t (*nonzero_cells)(const double* x, size_t d, uint32_t* columns, double* values);

  // Map d phases t (half-turns, below SMALL_PHASE or NaN) to g = f - base, [cos | sin]: exact in
  // float32, 0 where t is NaN. Gives |g|^2 and the integer |f|^2; false where float64 could not
  // prove all roundings.
  bool (*map_phases)(const double* t, size_t d, const double* base, float* g, double* norm2,
                     int64_t* square);

  // The same for `width` rows at once, from their cells x (d, width), for one interval a column and
  // no periods, whose ends have small phases unless cells wrap. Bits of the rows it could map: the
  // others are mapped by themselves.
  uint32_t (*map_tile)(const double* x, size_t d, const PhaseMap& map, const double* base,
                       const MappedTile& out);

  // Cells [0, d) of `width` rows column by column, (d, width).
  void (*transpose_cells)(const double* const* rows, size_t d, double* out);

  // sum += t rounded to 2^-16, as integers, for d phases; false, and nothing done, if one is 2^30
  // or more.
  bool (*add_phases)(const double* t, size_t d, int64_t* sum);

  // S[r][c] = rows[r] . h_c for count rows and all packed centroids; S is (count, padded k),
  // row-major.
  void (*scores)(const float* const* rows, size_t count, size_t p, const float* packed, size_t kp,
                 float* S);

  // Winners as below, of complete rows and at most FEW_CENTROIDS, without scores in between: lanes
  // are rows, not centroids. `rows` has a whole vector's worth behind the last, which may be any.
  // Null where registers are too few.
  void (*best_of_few)(const float* const* rows, size_t count, size_t p, const float* packed,
                      size_t k, const float* bias, const Winners& winners);

  // Which of them score at least the row's bar, a bit each; bars as many as rows.
  void (*few_above)(const float* const* rows, size_t count, size_t p, const float* packed, size_t k,
                    const float* bias, const float* bars, uint16_t* above);

  // A row in 8 bits: q = round(g/step) + 128, padded with 128 to a multiple of 4 cells; and |g -
  // step (q - 128)|, above. Null where the processor has no 8-bit dot product.
  void (*quantize_row)(const float* g, size_t p, uint8_t* q, float* step, float* error);

  // S[r][c] = step_r scale_c (q_r . h_c - offset_c), from 8-bit rows and centroids packed four
  // features at a time.
  void (*quantized_scores)(const uint8_t* const* rows, const float* step, size_t count,
                           size_t quads, const int8_t* packed, const float* scale,
                           const int32_t* offset, size_t kp, float* S);

  // S as above, for sparse rows and panels with the cos and sin of a column side by side.
  void (*sparse_scores)(const SparseRow* rows, size_t count, size_t d, const float* packed,
                        size_t kp, float* S);

  // The cells of a row in 16 bits, as pairs of cos and sin, their step, and |g - step (integers)|,
  // above. Null where the processor has no 16-bit dot product.
  void (*quantize_pairs)(const float* cos, const float* sin, size_t count, int16_t* pairs,
                         float* step, float* error);

  // S[r][c] = step_r scale_c (pairs_r . h_c), of centroids packed as pairs; the integers are exact.
  void (*sparse_pair_scores)(const SparsePairs* rows, size_t count, size_t d, const int16_t* packed,
                             const float* scale, size_t kp, float* S);

  // g . h for a sparse row and one centroid h (p,).
  float (*sparse_dot)(const SparseRow& row, size_t d, const float* h);

  // Largest and second largest of s - bias in each row of S, and where the largest stands.
  void (*best_two)(const float* S, size_t count, size_t kp, const float* bias,
                   const Winners& winners);

  // For count scored rows: is the winner certain, and bounds of its distance and of the distance to
  // any other.
  void (*certify)(size_t count, const float* norm2, const float* error, const float* best,
                  const float* second, float* upper, float* lower, uint8_t* certain);

  // Loosen the bounds of count rows by the drift of the centroids, (k,): upper grows by the own
  // one's, lower shrinks by the largest of any other in the slow group, lower_fast (may be null) in
  // the fast one. Open: they prove nothing more.
  void (*loosen_bounds)(size_t count, const int32_t* labels, const float* drift,
                        const DriftGroup& slow, const DriftGroup& fast, float* upper, float* lower,
                        float* lower_fast, uint8_t* open);

  float (*dot)(const float* a, const float* b, size_t p);

  // sum of (g 2^23 - h)^2 in integers.
  int64_t (*grid_distance)(const float* g, const int32_t* h, size_t p);

  // D (count, panels * width) of rows in panels (panels, 2d, width) to points H (count, 2d), in
  // grid units squared.
  void (*grid_distances)(const float* panels, size_t n_panels, size_t d, const double* H,
                         size_t count, int64_t* D);

  // The nearest of k points of each of these rows, the first of several, (panels * width,).
  void (*grid_nearest)(const float* panels, size_t n_panels, size_t d, const double* H, size_t k,
                       int64_t* index);

  // totals += (or -= if minus) g 2^23, in integers.
  void (*add_row)(int64_t* totals, const float* g, size_t p, bool minus);

  // Points in floats
  // ------------------------------------------------------------------------------------------

  // Features of a tile as columns, (width, TILE_ROWS); a bit for each row with a missing cell among
  // them.
  uint32_t (*tile_columns)(const RowTile& tile, FeatureRange features, double* out);

  // The same as rows, (TILE_ROWS, padded), 0 where a cell is missing; observed (may be null) is 1
  // or 0 there.
  void (*tile_cells)(const RowTile& tile, FeatureRange features, size_t padded, double* out,
                     double* observed);

  // D (k, TILE_ROWS) += sums over these features x, of centroids (k, p) in panels of PANEL_K.
  // has_missing: some x is NaN.
  void (*add_distances)(Norm norm, bool has_missing, const double* x, FeatureRange features,
                        size_t p, const double* packed, size_t k, double* D);

  // D from those sums, in place.
  void (*finish_distances)(const Measure& measure, size_t k, double* D);

  // The smallest D in each column and where it stands first.
  void (*nearest)(const double* D, size_t k, int32_t* index, double* least);

  // Losses of `count` distances (a multiple of TILE_ROWS), and how strongly they pull: 1, exp(-D)
  // or exp(-D)/r.
  void (*losses_and_pulls)(const Measure& measure, const double* D, size_t count, double* L,
                           double* pulls);

  // u^m, (k, TILE_ROWS), of fuzzy memberships u that are as L^(-1/(m - 1)).
  void (*memberships)(const double* L, size_t k, double fuzziness, double* W);

  // How many centroids are nearer, (k, TILE_ROWS), those of lower index if equally near; by
  // counting pairs.
  void (*ranks)(const double* D, size_t k, int32_t* rank);

  // With w (TILE_ROWS,) the rows' weights: mass += w W, pull (may be null) += V, loss (TILE_ROWS,)
  // += w W L; W becomes V = w W pulls.
  void (*weight_shares)(const double* w, const double* L, const double* pulls, size_t k, double* W,
                        double* mass, double* pull, double* loss);

  // totals[label] += v f for each row of a tile, rows of totals `stride` apart; where its bit is
  // set in missing, over observed cells, and observed[label] += v there.
  void (*add_rows)(const RowTile& tile, size_t stride, const int32_t* labels, const double* V,
                   uint32_t missing, double* totals, double* observed);

  // totals (k, stride) += V Y for V (k, TILE_ROWS) and Y (TILE_ROWS, padded).
  void (*add_product)(const double* V, size_t k, const double* Y, size_t padded, double* totals,
                      size_t stride);
};

const Simd* baseline();
const Simd* avx2();
const Simd* avx512();
const Simd* vnni();

}  // namespace rekmeans
