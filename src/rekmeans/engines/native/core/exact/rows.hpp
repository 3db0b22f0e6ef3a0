// Mapped rows in memory: f = (cos, sin) on the grid, as the exact float32 difference g = f - base.
#pragma once
#include <vector>

#include "../int128.hpp"
#include "../parallel.hpp"
#include "phase_map.hpp"

namespace rekmeans {

constexpr size_t PART_ROWS = 2048;      // rows of one unit of parallel work
constexpr size_t PREFETCH_WORDS = 128;  // of 32 bits, of a row that is asked for

// The missing cells of a part's rows, by their columns; no ends are stored where there are none.
struct MissingCells {
  std::vector<uint32_t> ends, columns;  // (rows + 1,) into the columns
  void end_row(size_t rows) {           // so many rows are done
    if (columns.empty()) return;
    if (ends.empty()) ends.assign(rows, 0);
    ends.push_back(uint32_t(columns.size()));
  }
};

// Columns of missing cells.
struct ColumnList {
  const uint32_t* columns;
  size_t count;
  const uint32_t* begin() const { return columns; }
  const uint32_t* end() const { return columns + count; }
};

// What a thread works with while rows are mapped; rows fetched into it are valid until it is used
// again.
struct RowBuffer {
  std::vector<float> cells;
  std::vector<double> x, cells_of_row;
  std::vector<float> spare;        // where rows of a tile go that is not full
  std::vector<uint16_t> observed;  // (d,) cells of a tile's rows, a bit each
  std::vector<uint32_t> missing;   // columns of the row mapped last
  double norm2 = 0;                // of that row
  int64_t square = 0;
  bool has_value_inside = true;
};

// What rows have in common; DenseRows and SparseRows say how they are stored. A fetched row is g
// (p,), or null where only some of its cells are stored.
struct Rows {
  virtual ~Rows() = default;

  size_t n, d, p;
  size_t threads;
  const Simd* simd;
  bool has_unit_weights;          // every weight is 0 or 1
  bool is_complete = true;        // no cell is missing
  std::vector<int64_t> weights;   // empty: all 1
  std::vector<int32_t> base;      // (p,)
  std::vector<double> base64;     // the same numbers
  std::vector<float> norm2;       // (n,) |g|^2, nearest float
  int128 square = 0;              // sum of w |f|^2
  std::vector<float> pair_error;  // (n,) |g - g'|, above, of rows g' stored in 16 bits as well;
                                  // empty: they are not

  size_t n_parts() const { return missing_cells.size(); }
  int64_t weight(size_t j) const { return weights.empty() ? 1 : weights[j]; }
  ColumnList missing(size_t j) const {
    if (is_complete) return {nullptr, 0};
    const MissingCells& part = missing_cells[j / PART_ROWS];
    if (part.columns.empty()) return {nullptr, 0};
    const uint32_t from = part.ends[j % PART_ROWS];
    return {part.columns.data() + from, part.ends[j % PART_ROWS + 1] - from};
  }

  // Grid integers of row j, (p,), 0 where a cell is missing.
  void grid(size_t j, int32_t* out, RowBuffer& buffer) const;

  // sum of (g - h)^2 over the coordinates row j observes, in grid units squared; g its fetched row,
  // h integers (p,) of squared length h2.
  int64_t distance(size_t j, const float* g, const int32_t* h, int64_t h2) const;

  // What the two kinds of rows do in their own way
  // ---------------------------------------------------------------------

  // Whether g is fetched, so that it can be scored in 8 bits or against few centroids.
  virtual bool has_dense_values() const = 0;

  // Centroids from which it pays to compute the distance to the own one anew before all are scored,
  // by their values.
  virtual bool should_recheck_own(size_t k, size_t values) const = 0;

  virtual void fetch(const uint32_t* numbers, size_t count, RowBuffer& buffer,
                     const float** out) const = 0;

  // A centroid h (p,) as one lane of a packed panel, `span` lanes wide.
  virtual void pack(const float* h, float* lane, size_t span) const = 0;

  // S[r][c] = g . h_c of fetched rows for all packed centroids.
  virtual void scores(const uint32_t* numbers, const float* const* fetched, size_t count,
                      const float* packed, size_t kp, float* S) const = 0;

  // The same in 16 bits, for centroids packed as pairs; the steps of the rows are in their scores.
  virtual void pair_scores(const uint32_t* numbers, size_t count, const int16_t* packed,
                           const float* scale, size_t kp, float* S) const = 0;

  // g . h for one centroid h (p,).
  virtual float dot(size_t j, const float* g, const float* h) const = 0;

  // Ask for the beginning of a row that is scored soon, or of all its values; the processor itself
  // asks for what follows.
  virtual void prefetch_row(size_t j, bool values) const = 0;

  // totals (p,) += w g, in grid units.
  virtual void add_row(size_t j, const float* g, int64_t w, int64_t* totals) const = 0;
  virtual void add_row(size_t j, const float* g, int64_t w, int128* totals) const = 0;

  // Mean phases of each cluster, as sums on 2^-16 half-turns and weights; both (k, d).
  virtual void phase_sums(const int32_t* labels, size_t k, int128* turns,
                          int64_t* observed) const = 0;

 protected:
  Rows(size_t n, size_t d, ColumnScales scales, const int64_t* weights, bool has_unit_weights,
       size_t threads, const Simd* simd);

  // As distance, over all coordinates.
  virtual int64_t full_distance(size_t j, const float* g, const int32_t* h, int64_t h2) const = 0;

  // out (p,) += g in grid units.
  virtual void add_grid(size_t j, int32_t* out, RowBuffer& buffer) const = 0;

  // A row without a value inside weighs nothing; squares are the sums of w |f|^2 of each thread.
  void finish(const std::vector<uint8_t>& has_value_inside, const std::vector<int128>& squares);

  ColumnScales scales;
  std::vector<MissingCells> missing_cells;  // of each part
};

}  // namespace rekmeans
