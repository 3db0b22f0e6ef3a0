// One run over shared rows: labels, distance bounds that let rows be skipped, and integer sums kept
// up to date by the rows that change cluster.
#pragma once
#include "row_panels.hpp"
#include "scoring.hpp"
#include "sums.hpp"

namespace rekmeans {

struct Run {
  // With the panels of its rows, every distance is computed; the same answer.
  Run(const Rows& rows, size_t k, bool skip, size_t threads, const RowPanels* panels = nullptr);

  // Assign every row to the centroids C (k, p), bring the sums up to date; the number of rows that
  // changed label.
  size_t assign(const int32_t* C);

  // Assign rows whose labels are -1, or whose labels and bounds are those of these very centroids;
  // the sums that the rows change are the caller's. On one thread, without the loss.
  size_t assign_to_packed(const PackedCentroids& C, ClusterSums& changed_sums);

  const Rows& rows;
  size_t k;
  bool skip;
  size_t threads;
  std::vector<int32_t> labels;  // (n,)

  // (n,) bounds: at most upper to the own centroid; at least lower to any other slow one,
  // lower_fast to any other fast one (empty before there are fast ones)
  std::vector<float> upper, lower, lower_fast;
  ClusterSums sums;
  int128 loss = 0;
  size_t n_passes = 0;

  size_t n_scored = 0;           // rows scored against all centroids in the last pass
  size_t n_scored_fast = 0;      // rows scored against the fast ones
  size_t n_decided_exactly = 0;  // of them, rows decided in integers
  size_t n_refined = 0;          // rows scored in few bits that were scored again
  bool may_quantize = true;      // score in 8 or 16 bits first, where it pays
  bool was_quantized = false;    // the last pass did

 private:
  struct CentroidDrift;  // how far the centroids moved since the last pass
  struct Workspace;      // what one thread works with
  size_t assign_by_panels(const int32_t* C);
  void measure_drift(const int32_t* C);
  void choose_fast();
  void regroup_fast();  // choose the fast ones anew
  void promote_fast();  // more of them
  size_t collect(std::vector<Workspace>& workspaces, const CentroidDrift& drift);
  void assign_part(size_t from, size_t to, const CentroidDrift& drift, Workspace& workspace);
  void recheck_own(const CentroidDrift& drift,
                   Workspace& workspace);  // rows that wait: drop, score_fast or score_all
  void score_fast(const CentroidDrift& drift, Workspace& workspace);
  void score_all(const CentroidDrift& drift, Workspace& workspace);
  void finish_waiting(const CentroidDrift& drift,
                      Workspace& workspace);  // the rows that still wait for any of these
  int32_t decide_exactly(const PackedCentroids& C, size_t j, size_t r, ScoreBlock& block) const;
  float own_upper_bound(const PackedCentroids& C, size_t j, const float* g) const;

  const RowPanels* panels;
  std::vector<int64_t> nearest;  // of each row in the last pass, where there are panels
  bool pairs_pay = true;         // few rows that were scored in 16 bits had to be scored again
  std::vector<size_t>
      fast;  // centroids that moved most when last counted: in passes 2, 4, 8, 16, ...
  std::vector<float> drift;             // (k,)
  std::vector<float> recent_drift;      // (k,) of the last few passes
  std::vector<int32_t> last_centroids;  // (k, p) those of the last pass
};

}  // namespace rekmeans
