// One run over shared rows: labels, distance bounds that allow passes to skip rows, and integer
// sums that are updated with the rows whose labels change.
#pragma once
#include "row_panels.hpp"
#include "scoring.hpp"
#include "sums.hpp"

namespace rekmeans {

struct Run {
  // With panels of its rows, a pass computes every distance. The result is the same.
  Run(const Rows& rows, size_t k, bool skip, size_t threads, const RowPanels* panels = nullptr);

  // Assign every row to the centroids C (k, p), and update the sums. Return the number of changed
  // labels.
  size_t assign(const int32_t* C);

  // Assign rows whose labels are -1, or whose labels and bounds belong to these centroids, on one
  // thread and without the loss. Add the changes of the sums to `changed_sums`.
  size_t assign_to_packed(const PackedCentroids& C, ClusterSums& changed_sums);

  const Rows& rows;
  size_t k;
  bool skip;
  size_t threads;
  std::vector<int32_t> labels;  // (n,)

  // (n,) bounds on distances: `upper` to its own centroid, `lower` to all other slow centroids,
  // `lower_fast` to all other fast centroids (empty if there are none)
  std::vector<float> upper, lower, lower_fast;
  ClusterSums sums;
  int128 loss = 0;
  size_t n_passes = 0;

  size_t n_scored = 0;           // rows scored against all centroids in the last pass
  size_t n_scored_fast = 0;      // rows scored only against the fast centroids
  size_t n_decided_exactly = 0;  // scored rows that integers decided
  size_t n_refined = 0;          // rows that were scored in few bits and scored again in float32
  bool may_quantize = true;      // allow scores in 8 or 16 bits first if that is faster
  bool was_quantized = false;    // true if the last pass used them

 private:
  struct CentroidDrift;  // the movement of the centroids since the last pass
  struct Workspace;      // the buffers of a thread
  size_t assign_by_panels(const int32_t* C);
  void measure_drift(const int32_t* C);
  void choose_fast();
  void regroup_fast();  // choose the fast centroids again
  void promote_fast();  // add more fast centroids
  size_t collect(std::vector<Workspace>& workspaces, const CentroidDrift& drift);
  void assign_part(size_t from, size_t to, const CentroidDrift& drift, Workspace& workspace);
  // pending rows: finish, or pass on to score_fast or score_all
  void recheck_own(const CentroidDrift& drift, Workspace& workspace);
  void score_fast(const CentroidDrift& drift, Workspace& workspace);
  void score_all(const CentroidDrift& drift, Workspace& workspace);
  void finish_waiting(const CentroidDrift& drift,
                      Workspace& workspace);  // process all rows that are still pending
  int32_t decide_exactly(const PackedCentroids& C, size_t j, size_t r, ScoreBlock& block) const;
  float own_upper_bound(const PackedCentroids& C, size_t j, const float* g) const;

  const RowPanels* panels;
  // nearest centroid of each row in the last pass, if there are panels
  std::vector<int64_t> nearest;
  bool pairs_pay = true;  // true if few rows scored in 16 bits had to be scored again
  // centroids that moved most when they were last chosen: in passes 2, 4, 8, 16, ...
  std::vector<size_t> fast;
  std::vector<float> drift;             // (k,)
  std::vector<float> recent_drift;      // (k,) drift in the last few passes
  std::vector<int32_t> last_centroids;  // (k, p) centroids of the last pass
};

}  // namespace rekmeans
