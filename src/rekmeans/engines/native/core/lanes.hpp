// What is compiled once for each instruction set: the inner loops, as a table of plain functions.
#pragma once
#include <cstddef>
#include <cstdint>

namespace rekmeans {

constexpr int BITS = 23;                 // grid values are multiples of 2^-23
constexpr double GRID = double(1 << BITS);
constexpr float U = 0x1p-24f;            // half a unit in the last place of 1
constexpr float UP = 1 + 4 * U, DOWN = 1 - 4 * U;  // room for the roundings of a bound
constexpr size_t CHUNK = 128;            // features summed in one go; partial sums are then added up (two-level sums)
constexpr size_t FEW = 12;               // centroids whose sums fit into registers beside a vector's worth of rows
constexpr size_t BLOCK = 96;             // rows scored together: a multiple of every tile's rows

enum class Beyond { ignore, clip, wrap };

// How a row is mapped: t = (x - shift) rate, in half-turns, in the interval [low, high] that holds x; a value in none is
// beyond. A column has m intervals, those it lacks being NaN; where it has a period, x - shift is taken modulo that.
struct PhaseMap {
  const double *low, *high, *shift;      // (d, m)
  const double *rate, *period;           // (d,)
  size_t m;
  Beyond beyond;
};

struct Phases {
  bool heard;   // some value is inside; else the row was clipped
  bool plain;   // every phase is a number below 2^40
};

// The largest drift of a group of centroids, whose it is, and the largest of the others.
struct Group {
  float most = 0, second = 0;
  int32_t which = -1;
};

// The stored cells of a thin row: their columns, and the cos and sin parts of g there.
struct Thin {
  const uint32_t* columns;
  const float *cos, *sin;
  size_t count;
};

constexpr size_t TILE = 16;              // rows whose distances to points are worked out together
constexpr size_t SIDE = 8;               // centroids packed side by side for them: the whole row of a panel is in registers
constexpr double NEAREST = 1e-9;         // a row this near sits on the centroid: it holds it and pulls no more

enum class Norm { squares, absolutes, products };

// D = gamma sum (f - c)^2, or of |f - c|; under a root, if root. Loss D, or 2 - 2 exp(-D) if bounded.
struct Measure {
  Norm norm;
  bool root, bounded;
  double gamma;
};

// A table (n, p) of numbers, NaN where a cell says nothing; one of the two pointers is null.
struct Points {
  const float* narrow;
  const double* wide;
  size_t p;
};

struct Lanes {
  const char* name;
  size_t width;                          // floats in a vector: k is padded to a multiple of it
  size_t panel;                          // centroids side by side in one packed panel

  // Phases of a row in place; NaN where a cell is missing. For one interval a column and no periods.
  Phases (*phases)(double* x, size_t d, const PhaseMap& map);

  // Columns and values of the cells of x that are not 0, both with room for 8 more; their number.
  size_t (*nonzero)(const double* x, size_t d, uint32_t* at, double* value);

  // Map d phases t (half-turns, |t| < 2^40 or NaN) to g = f - base, [cos | sin]: exact in float32, 0 where t is NaN.
  // Leaves |g|^2 and the integer |f|^2; returns how many roundings float64 could not prove.
  size_t (*mapped)(const double* t, size_t d, const double* base, float* g, double* norm2, int64_t* square);

  // sum += t rounded to 2^-16, as integers, for d phases; false, and nothing done, if one is 2^30 or more.
  bool (*turns)(const double* t, size_t d, int64_t* sum);

  // S[r][c] = rows[r] . h_c for count rows and all packed centroids; S is (count, padded k), row-major.
  void (*scores)(const float* const* rows, size_t count, size_t p, const float* packed, size_t kp, float* S);

  // Winners as below, of complete rows and at most FEW centroids, without scores in between: lanes are rows, not centroids.
  // rows has a whole vector's worth behind the last, which may be any. Null where there are too few registers.
  void (*winners_of_few)(const float* const* rows, size_t count, size_t p, const float* packed, size_t k,
                         const float* bias, int32_t* where, float* best, float* second);

  // A row in 8 bits: q = round(g/step) + 128, padded with 128 to a multiple of 4 cells; and |g - step (q - 128)|, above.
  // Null where the processor has no 8-bit dot product.
  void (*coarse_row)(const float* g, size_t p, uint8_t* q, float* step, float* rest);

  // S[r][c] = step_r scale_c (q_r . h_c - offset_c), from 8-bit rows and centroids packed four features at a time.
  void (*coarse_scores)(const uint8_t* const* rows, const float* step, size_t count, size_t quads, const int8_t* packed,
                        const float* scale, const int32_t* offset, size_t kp, float* S);

  // S as above, for thin rows and panels with the cos and sin of a column side by side; and g . h for one of them and one centroid h (p,).
  void (*thin_scores)(const Thin* rows, size_t count, size_t d, const float* packed, size_t kp, float* S);
  float (*thin_dot)(const Thin& row, size_t d, const float* h);

  // Largest and second largest of s - bias in each row of S, and where the largest stands.
  void (*winners)(const float* S, size_t count, size_t kp, const float* bias, int32_t* where, float* best, float* second);

  // For count scored rows: is the winner proven (sure), and bounds of its distance and of the distance to any other.
  void (*judged)(size_t count, const float* norm2, const float* error, const float* best, const float* second,
                 float* upper, float* lower, uint8_t* sure);

  // Wear out the bounds of count rows by the drift of the centroids, (k,): upper grows by the own one's, lower shrinks by
  // the largest of any other in the slow group, lower_fast (may be null) in the fast one. Open: they tell no more.
  void (*worn)(size_t count, const int32_t* labels, const float* drift, const Group& slow, const Group& fast,
               float* upper, float* lower, float* lower_fast, uint8_t* open);

  float (*dot)(const float* a, const float* b, size_t p);

  // sum of (g 2^23 - h)^2 in integers.
  int64_t (*distance)(const float* g, const int32_t* h, size_t p);

  // totals += (or -= if minus) g 2^23, in integers.
  void (*add)(int64_t* totals, const float* g, size_t p, bool minus);

  // Below, a tile is `count` rows from `row` on, and arrays of it are (.., TILE) float64; lanes without a row hold zeros.
  // Features [from, from + width) of a tile as columns, (width, TILE); a bit for each row with a missing cell among them.
  uint32_t (*columns)(const Points& F, size_t row, size_t count, size_t from, size_t width, double* out);

  // The same as rows, (TILE, padded), 0 where a cell is missing; seen (may be null) is 1 or 0 there.
  void (*level)(const Points& F, size_t row, size_t count, size_t from, size_t width, size_t padded, double* out,
                double* seen);

  // D (k, TILE) += sums over these features x, of centroids (k, p) in panels of SIDE. Gaps: some x is NaN.
  void (*apart)(Norm norm, bool gaps, const double* x, size_t from, size_t width, size_t p, const double* packed, size_t k,
                double* D);

  // D from those sums, in place.
  void (*scaled)(const Measure& measure, size_t k, double* D);

  // The smallest D in each column and where it stands first.
  void (*least)(const double* D, size_t k, int32_t* where, double* best);

  // Losses of `count` distances (a multiple of TILE), and how strongly they pull: 1, exp(-D) or exp(-D)/r.
  void (*pull)(const Measure& measure, const double* D, size_t count, double* L, double* s);

  // u^m, (k, TILE), of fuzzy memberships u that are as L^(-1/(m - 1)).
  void (*memberships)(const double* L, size_t k, double fuzziness, double* W);

  // How many centroids are nearer, (k, TILE), those of lower index if equally near; by counting pairs.
  void (*ranks)(const double* D, size_t k, int32_t* rank);

  // With w (TILE,) the rows' weights: mass += w W, whole (may be null) += V, loss (TILE,) += w W L; W becomes V = w W s.
  void (*weighed)(const double* w, const double* L, const double* s, size_t k, double* W, double* mass, double* whole,
                  double* loss);

  // totals[own] += v f for each row of a tile; where its bit is set in gaps, over observed cells, and seen[own] += v there.
  void (*gather)(const Points& F, size_t row, size_t count, size_t stride, const int32_t* own, const double* pulls,
                 uint32_t gaps, double* totals, double* seen);

  // totals (k, stride) += V Y for V (k, TILE) and Y (TILE, padded).
  void (*spread)(const double* pulls, size_t k, const double* Y, size_t padded, double* totals, size_t stride);
};

const Lanes* baseline();
const Lanes* avx2();
const Lanes* avx512();
const Lanes* vnni();

}  // namespace rekmeans
