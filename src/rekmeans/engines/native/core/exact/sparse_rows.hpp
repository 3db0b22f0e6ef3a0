// Rows of a table with many zeros. The base is f(0), and a row stores only the cells that differ
// from it.
#pragma once
#include <memory>

#include "../large_array.hpp"
#include "rows.hpp"
#include "tables.hpp"

namespace rekmeans {

// The mapped rows of a part.
struct SparsePart {
  std::vector<uint32_t> ends;  // (rows + 1,)
  // for each row: its columns, then its 16-bit pairs, or cos and sin if there are no pairs
  LargeArray cells;
  // are none
  LargeArray values;  // for each row: cos, then sin, if there are pairs
};

struct SparseRows : Rows {
  SparseRows(std::unique_ptr<CellSource> source, ColumnScales scales, const int64_t* weights,
             bool has_unit_weights, size_t threads, const Simd* simd);

  bool has_dense_values() const override { return false; }
  bool should_recheck_own(size_t k, size_t values) const override;
  void fetch(const uint32_t* numbers, size_t count, RowBuffer& buffer,
             const float** out) const override;
  void pack(const float* h, float* lane, size_t span) const override;
  void scores(const uint32_t* numbers, const float* const* fetched, size_t count,
              const float* packed, size_t kp, float* S) const override;
  void pair_scores(const uint32_t* numbers, size_t count, const int16_t* packed, const float* scale,
                   size_t kp, float* S) const override;
  float dot(size_t j, const float* g, const float* h) const override;
  void prefetch_row(size_t j, bool values) const override;
  void add_row(size_t j, const float* g, int64_t w, int64_t* totals) const override;
  void add_row(size_t j, const float* g, int64_t w, int128* totals) const override;
  void phase_sums(const int32_t* labels, size_t k, int128* turns, int64_t* observed) const override;

 protected:
  int64_t full_distance(size_t j, const float* g, const int32_t* h, int64_t h2) const override;
  void add_grid(size_t j, int32_t* out, RowBuffer& buffer) const override;

 private:
  struct Zeros;        // the map of a zero in each column
  struct Workspace;    // the buffers of a thread
  struct PhaseTotals;  // the phase sums of a thread

  SparseRow cells(size_t j) const {
    const SparsePart& part = parts[j / PART_ROWS];
    const size_t i = j % PART_ROWS, from = part.ends[i], count = part.ends[i + 1] - from;
    const float* stored = part.cells.data + (has_pairs ? 2 : 3) * from;
    const float* cos = has_pairs ? part.values.data + 2 * from : stored + count;
    return {reinterpret_cast<const uint32_t*>(stored), cos, cos + count, count};
  }
  double mean_count() const;  // mean number of stored cells in a sample of rows
  template <class Total>
  void add_cells(size_t j, int64_t w, Total* totals) const;

  // Read the cells of row j that must be stored into the workspace. Return their number, and
  // whether any value of the row is in range.
  size_t read_cells(size_t j, const Zeros& zeros, Workspace& workspace, MissingCells& missing,
                    bool* has_value_inside);
  void map_part(size_t part, const Zeros& zeros, Workspace& workspace, uint8_t* has_value_inside,
                int128* square);
  void add_phase_changes(size_t j, size_t label, const Zeros& zeros, Workspace& workspace,
                         PhaseTotals& totals) const;

  std::unique_ptr<CellSource> source;
  std::vector<SparsePart> parts;
  bool has_pairs = false;        // true if rows are long enough for 16-bit scores to be faster
  std::vector<float> pair_step;  // (n,) step of each row in 16 bits
};

}  // namespace rekmeans
