// Mapped rows in memory: f = (cos, sin) on the grid, stored as the exact float32 difference g = f -
// base.
#pragma once
#include <vector>

#include "../int128.hpp"
#include "../parallel.hpp"
#include "phase_map.hpp"

namespace rekmeans {

constexpr size_t PART_ROWS = 2048;      // rows of a unit of parallel work
constexpr size_t PREFETCH_WORDS = 128;  // number of 32-bit words of a row that are prefetched

// The columns of the missing cells of the rows of a part. `ends` is empty if no cell is missing.
struct MissingCells {
  std::vector<uint32_t> ends, columns;  // (rows + 1,) indices into `columns`
  void end_row(size_t rows) {           // `rows` rows are complete
    if (columns.empty()) return;
    if (ends.empty()) ends.assign(rows, 0);
    ends.push_back(uint32_t(columns.size()));
  }
};

// The columns of missing cells.
struct ColumnList {
  const uint32_t* columns;
  size_t count;
  const uint32_t* begin() const { return columns; }
  const uint32_t* end() const { return columns + count; }
};

// The buffers that a thread needs to map rows. Fetched rows are valid until the buffer is used
// again.
struct RowBuffer {
  std::vector<float> cells;
  std::vector<double> x, cells_of_row;
  std::vector<float> spare;        // the unused rows of an incomplete tile
  std::vector<uint16_t> observed;  // (d,) observed cells of a tile's rows, one bit per row
  std::vector<uint32_t> missing;   // columns of missing cells of the last mapped row
  double norm2 = 0;                // of the last mapped row
  int64_t square = 0;
  bool has_value_inside = true;
};

// The base class of DenseRows and SparseRows, which store rows in different ways. A fetched row is
// g (p,), or null if only some cells are stored.
struct Rows {
  virtual ~Rows() = default;

  size_t n, d, p;
  size_t threads;
  const Simd* simd;
  bool has_unit_weights;         // every weight is 0 or 1
  bool is_complete = true;       // no cell is missing
  std::vector<int64_t> weights;  // empty if all are 1
  std::vector<int32_t> base;     // (p,)
  std::vector<double> base64;    // the same numbers as float64
  std::vector<float> norm2;      // (n,) |g|^2, rounded to the nearest float
  int128 square = 0;             // sum of w |f|^2
  // (n,) upper bounds on |g - g'| for rows g' in 16 bits; empty if there are none
  std::vector<float> pair_error;

  size_t n_parts() const { return missing_cells.size(); }
  int64_t weight(size_t j) const { return weights.empty() ? 1 : weights[j]; }
  ColumnList missing(size_t j) const {
    if (is_complete) return {nullptr, 0};
    const MissingCells& part = missing_cells[j / PART_ROWS];
    if (part.columns.empty()) return {nullptr, 0};
    const uint32_t from = part.ends[j % PART_ROWS];
    return {part.columns.data() + from, part.ends[j % PART_ROWS + 1] - from};
  }

  // Write the grid integers (p,) of row j, 0 for missing cells.
  void grid(size_t j, int32_t* out, RowBuffer& buffer) const;

  // Return the sum of (g - h)^2 over the observed coordinates of row j, in squared grid units. g is
  // the fetched row, and h are integers (p,) of squared length h2.
  int64_t distance(size_t j, const float* g, const int32_t* h, int64_t h2) const;

  // What the two kinds of rows do in their own way
  // ---------------------------------------------------------------------

  // Return whether fetched rows have all values, so that they can be scored in 8 bits or against
  // few centroids.
  virtual bool has_dense_values() const = 0;

  // Return whether it is faster to recompute the distance to its own centroid before all centroids
  // are scored, given their number and number of values.
  virtual bool should_recheck_own(size_t k, size_t values) const = 0;

  virtual void fetch(const uint32_t* numbers, size_t count, RowBuffer& buffer,
                     const float** out) const = 0;

  // Store a centroid h (p,) as one lane of a packed panel that is `span` lanes wide.
  virtual void pack(const float* h, float* lane, size_t span) const = 0;

  // S[r][c] = g . h_c, for fetched rows and all packed centroids.
  virtual void scores(const uint32_t* numbers, const float* const* fetched, size_t count,
                      const float* packed, size_t kp, float* S) const = 0;

  // The same in 16 bits, for centroids packed as pairs. The scores include the steps of the rows.
  virtual void pair_scores(const uint32_t* numbers, size_t count, const int16_t* packed,
                           const float* scale, size_t kp, float* S) const = 0;

  // Return g . h for one centroid h (p,).
  virtual float dot(size_t j, const float* g, const float* h) const = 0;

  // Prefetch the start of a row that is scored soon, or of its values. The hardware prefetches the
  // rest.
  virtual void prefetch_row(size_t j, bool values) const = 0;

  // totals (p,) += w g, in grid units.
  virtual void add_row(size_t j, const float* g, int64_t w, int64_t* totals) const = 0;
  virtual void add_row(size_t j, const float* g, int64_t w, int128* totals) const = 0;

  // Compute the sums of the phases of each cluster, in units of 2^-16 half-turns, and of the
  // observed weights, both (k, d).
  virtual void phase_sums(const int32_t* labels, size_t k, int128* turns,
                          int64_t* observed) const = 0;

 protected:
  Rows(size_t n, size_t d, ColumnScales scales, const int64_t* weights, bool has_unit_weights,
       size_t threads, const Simd* simd);

  // As `distance`, but over all coordinates.
  virtual int64_t full_distance(size_t j, const float* g, const int32_t* h, int64_t h2) const = 0;

  // out (p,) += g, in grid units.
  virtual void add_grid(size_t j, int32_t* out, RowBuffer& buffer) const = 0;

  // Set the weight of rows without a value in range to 0. `squares` are the sums of w |f|^2 of each
  // thread.
  void finish(const std::vector<uint8_t>& has_value_inside, const std::vector<int128>& squares);

  ColumnScales scales;
  std::vector<MissingCells> missing_cells;  // one for each part
};

}  // namespace rekmeans
