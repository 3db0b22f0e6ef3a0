// Rows with all their values. They are mapped once and stored, or mapped again each time they are
// used.
#pragma once
#include <stdexcept>

#include "../large_array.hpp"
#include "rows.hpp"
#include "tables.hpp"

namespace rekmeans {

struct DenseRows : Rows {
  // `given_base` (p,) is the base of g. If it is null, the base is the mean of a sample of rows.
  DenseRows(DenseTable table, ColumnScales scales, const int64_t* weights, bool has_unit_weights,
            bool is_stored, size_t threads, const Simd* simd, const int32_t* given_base = nullptr);

  bool has_dense_values() const override { return true; }
  bool should_recheck_own(size_t k, size_t values) const override;
  void fetch(const uint32_t* numbers, size_t count, RowBuffer& buffer,
             const float** out) const override;
  void pack(const float* h, float* lane, size_t span) const override;
  void scores(const uint32_t* numbers, const float* const* fetched, size_t count,
              const float* packed, size_t kp, float* S) const override;
  void pair_scores(const uint32_t*, size_t, const int16_t*, const float*, size_t,
                   float*) const override {
    throw std::logic_error("dense rows are not stored in 16 bits");
  }
  float dot(size_t j, const float* g, const float* h) const override;
  void prefetch_row(size_t j, bool values) const override;
  void add_row(size_t j, const float* g, int64_t w, int64_t* totals) const override;
  void add_row(size_t j, const float* g, int64_t w, int128* totals) const override;
  void phase_sums(const int32_t* labels, size_t k, int128* turns, int64_t* observed) const override;

 protected:
  int64_t full_distance(size_t j, const float* g, const int32_t* h, int64_t h2) const override;
  void add_grid(size_t j, int32_t* out, RowBuffer& buffer) const override;

 private:
  void map_row(size_t j, float* g, RowBuffer& buffer) const;
  // maps the cells x (d,) of a row; x is replaced by its phases
  void map_cells(double* x, float* g, RowBuffer& buffer) const;

  // Map the rows with these numbers, at most a vector of them, to g, `count` pointers to (p,).
  // After each row, `each(i)` is called with the buffer in the state after map_row.
  template <class Each>
  void map_tile(const uint32_t* numbers, size_t count, float* const* g, RowBuffer& buffer,
                const Each& each) const;
  void centre_on_sample();

  DenseTable table;
  LargeArray stored;  // (n, p), or empty
};

}  // namespace rekmeans
