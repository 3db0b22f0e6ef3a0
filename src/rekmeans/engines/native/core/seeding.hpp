// Starting centroids as they are chosen: every row's two nearest so far, exact; float32 only says where to look.
#pragma once
#include "walk.hpp"

namespace rekmeans {

struct Seeding {
  explicit Seeding(const Rows& rows);

  // Weighted sums of the distance to the nearest centroid (of the weights alone before there is one), a part each.
  std::vector<i128> masses() const;
  // The first row of the part whose running sum exceeds `goal`.
  size_t row(size_t part, i128 goal) const;

  // Candidates P (count, p) in grid units, complete. Take the one that leaves the least loss as a new centroid.
  void extend(const int32_t* P, size_t count);
  // Put the best candidate in the place of the best centroid to lose, if that lowers the loss.
  bool exchange(const int32_t* P, size_t count);

  const Rows& rows;
  std::vector<int32_t> C;            // (k, p)
  size_t k = 0;

 private:
  // Calls seen(thread, j, i, D) for every row and candidate whose exact distance D is below limit(j).
  template <class Limit, class Seen>
  void visit(const Centroids& P, const Limit& limit, const Seen& seen) const;
  std::vector<double> reach(const Centroids& P) const;  // (k,) at least so far lies the nearest candidate
  void recount(const Centroids& all, size_t j, Block& block, size_t r);
  bool flat() const;                 // no row is away from its centroid

  std::vector<int64_t> near, next;   // (n,) distances to the nearest and the second nearest
  std::vector<int32_t> owner, second;
};

}  // namespace rekmeans
