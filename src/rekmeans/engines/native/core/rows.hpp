// Mapped rows in memory: f = (cos, sin) on the grid, held as the exact float32 difference g = f - base.
#pragma once
#include <atomic>
#include <exception>
#include <limits>
#include <memory>
#include <system_error>
#include <thread>
#include <vector>

#include "compiler.hpp"
#include "lanes.hpp"

namespace rekmeans {

// Run work(thread, i) for i in [0, count) on a number of threads, started here and joined here: nothing outlives the
// call, so a fork finds no thread of ours.
template <class Work>
void parallel(size_t threads, size_t count, const Work& work) {
  threads = threads < count ? threads : count;
  if (threads <= 1) {
    for (size_t i = 0; i < count; ++i) work(size_t(0), i);
    return;
  }
  std::atomic<size_t> next{0};
  std::atomic_flag failed;
  std::exception_ptr error;   // of the first thread that failed
  auto loop = [&](size_t thread) {
    try {
      for (size_t i; (i = next.fetch_add(1)) < count;) work(thread, i);
    } catch (...) {
      next = count;
      if (!failed.test_and_set()) error = std::current_exception();
    }
  };
  std::vector<std::thread> others;
  others.reserve(threads);
  try {
    for (size_t t = 1; t < threads; ++t) others.emplace_back(loop, t);
  } catch (const std::system_error&) {
    // no more threads to be had: those that started share the work
  }
  loop(0);
  for (auto& other : others) other.join();
  if (error) std::rethrow_exception(error);
}

// Many floats, in huge pages where the system has them: touching them first costs less.
struct Large {
  float* data = nullptr;
  Large() = default;
  Large(const Large&) = delete;
  ~Large();
  void allocate(size_t count);
};

// A dense table as the caller has it.
struct Table {
  const char* data;
  char kind;               // 'f', 'i', 'u', 'b'
  size_t bytes;            // of a cell
  size_t n, d;
  ptrdiff_t row, column;   // strides in bytes
  void read(size_t j, double* out) const;
};

// The numbers of a PhaseMap, owned.
struct Columns {
  std::vector<double> low, high, shift, rate, period;
  size_t m;
  Beyond beyond;
  bool simple;                           // one interval a column, no periods
  PhaseMap map() const { return {low.data(), high.data(), shift.data(), rate.data(), period.data(), m, beyond}; }
};

// Whether a value lies in an interval of its column.
inline bool inside(const PhaseMap& map, double x, size_t column) {
  const double *low = map.low + column * map.m, *high = map.high + column * map.m;
  for (size_t i = 0; i < map.m; ++i)
    if (x >= low[i] && x <= high[i]) return true;
  return false;
}

// The phase of one value; NaN where it is missing, or beyond and not to be clipped to the nearest end of an interval.
double general_phase(const PhaseMap& map, double x, size_t column, bool clip);

inline double phase(const PhaseMap& map, double x, size_t column, bool clip) {
  if (map.m > 1 || map.period[column] > 0) return general_phase(map, x, column, clip);
  const double low = map.low[column], high = map.high[column];
  if (clip) x = x < low ? low : x > high ? high : x;
  else if (map.beyond == Beyond::ignore && !(x >= low && x <= high)) return std::numeric_limits<double>::quiet_NaN();
  return (x - map.shift[column]) * map.rate[column];
}

// Where the cells of a thin table come from: CSR arrays as the caller has them, or (columns null) a dense table with many
// zeros. A cell that is not among them is zero.
struct Cells {
  const double* data = nullptr;
  const int64_t *columns = nullptr, *from = nullptr;
  Table dense{};

  // Columns and values of row j; both have room for all columns and 8 more. x is for a dense row. Gives their number.
  size_t read(size_t j, const Lanes* lanes, double* x, uint32_t* at, double* value) const;
};

constexpr size_t PART = 2048;  // rows of one unit of parallel work

// The cells of a part's rows that say nothing, by their columns; no borders are kept where there are none.
struct Silent {
  std::vector<uint32_t> from, columns;   // (rows + 1,) into the columns
  void close(size_t rows) {              // so many rows are done
    if (columns.empty()) return;
    if (from.empty()) from.assign(rows, 0);
    from.push_back(uint32_t(columns.size()));
  }
};

// Mapped rows of a part of a thin table: the cells where f differs from f(0), which is the base.
struct ThinPart {
  std::vector<uint32_t> from;    // (rows + 1,)
  Large cells;                   // of each row its columns, then cos, then sin
};

// Correctly rounded g of phases t for which `mapped` could not prove all roundings, and what it summed.
void resettle(const double* t, size_t d, const double* base, float* g, double* norm2, int64_t* square);

// A phase on the grid of 2^-16 half-turns; 0 for a cell that says nothing.
int64_t turned(double t);

struct Rows {
  Rows(Cells cells, size_t n, size_t d, Columns columns, const int64_t* weights, bool unit, size_t threads,
       const Lanes* lanes);
  Rows(Table table, Columns columns, const int64_t* weights, bool unit, bool keep, size_t threads, const Lanes* lanes);

  size_t n, d, p;
  size_t threads;
  const Lanes* lanes;
  bool unit;                           // every weight is 0 or 1
  bool complete;                       // no cell says nothing
  std::vector<int64_t> weights;        // empty: all 1
  std::vector<int32_t> base;           // (p,)
  std::vector<double> base64;          // the same numbers
  std::vector<float> norm2;            // (n,) |g|^2, nearest float
  i128 square = 0;                     // sum of w |f|^2
  bool kept;

  int64_t weight(size_t j) const { return weights.empty() ? 1 : weights[j]; }

  // The rows of `at`, mapped now or long ago; valid until the buffer is used again.
  struct Buffer {
    std::vector<float> cells;
    std::vector<double> x;
    std::vector<uint32_t> absent;      // columns that say nothing, of the row mapped last
    double norm2 = 0;                  // of that row
    int64_t square = 0;
    bool heard = true;
  };
  void fetch(const uint32_t* at, size_t count, Buffer& buffer, const float** out) const;

  const uint32_t* absent_begin(size_t j) const {
    const Silent& part = silent[j / PART];
    return part.columns.empty() ? nullptr : part.columns.data() + part.from[j % PART];
  }
  size_t absent_count(size_t j) const {
    if (complete || silent[j / PART].columns.empty()) return 0;
    const Silent& part = silent[j / PART];
    return part.from[j % PART + 1] - part.from[j % PART];
  }

  // Grid integers of row j, (p,).
  void grid(size_t j, int32_t* out, Buffer& buffer) const;

  // sum of (g - h)^2 over the coordinates row j observes, in grid units squared; g its fetched row (null if sparse), h
  // integers (p,) of squared length h2.
  int64_t distance(size_t j, const float* g, const int32_t* h, int64_t h2) const;

  bool sparse = false;
  Thin thin(size_t j) const {
    const ThinPart& part = parts[j / PART];
    const size_t i = j % PART, from = part.from[i], count = part.from[i + 1] - from;
    const float* cells = part.cells.data + 3 * from;
    return {reinterpret_cast<const uint32_t*>(cells), cells + count, cells + 2 * count, count};
  }

  // Mean phases of each cluster, as sums on 2^-16 half-turns and weights; both (k, d).
  void phase_sums(const int32_t* labels, size_t k, i128* turns, int64_t* seen) const;

 private:
  Table table{};
  Cells given{};
  Columns columns;
  Large stored;                                          // (n, p) if kept
  std::vector<ThinPart> parts;                           // of a thin table
  std::vector<Silent> silent;                            // of each part

  void map_row(size_t j, float* g, Buffer& buffer) const;
  Phases phases(double* x) const;                        // of a row, in place
  void centre_on_sample();
  void silence(const std::vector<uint8_t>& heard);       // rows that say nothing weigh nothing
  void sparse_phase_sums(const int32_t* labels, size_t k, i128* turns, int64_t* seen) const;
};

}  // namespace rekmeans
