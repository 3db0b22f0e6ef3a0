#include "rows.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <new>
#include <stdexcept>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace rekmeans {
namespace {

template <class T>
void read_as(const char* at, ptrdiff_t step, size_t d, double* out) {
  if (step == sizeof(T)) {
    const T* row = reinterpret_cast<const T*>(at);
    for (size_t l = 0; l < d; ++l) out[l] = double(row[l]);
    return;
  }
  for (size_t l = 0; l < d; ++l, at += step) {
    T value;
    std::memcpy(&value, at, sizeof value);
    out[l] = double(value);
  }
}

// ---- a doubtful rounding, settled in double-double arithmetic (about 100 bits) ---------------------------------------

struct Twin { double high, low; };

Twin twin_sum(double a, double b) {
  const double s = a + b, v = s - a;
  return {s, (a - (s - v)) + (b - v)};
}
Twin times(Twin a, Twin b) {
  const double p = a.high * b.high;
  const double e = std::fma(a.high, b.high, -p) + (a.high * b.low + a.low * b.high);
  return twin_sum(p, e);
}
Twin plus(Twin a, Twin b) {
  const Twin s = twin_sum(a.high, b.high);
  return twin_sum(s.high, s.low + a.low + b.low);
}
Twin over(Twin a, double b) {
  const double q = a.high / b;
  const double rest = std::fma(-q, b, a.high) + a.low;
  return twin_sum(q, rest / b);
}

// cos(pi r) or sin(pi r), |r| <= 1/4, by Taylor's series.
Twin series(double r, bool cosine) {
  const Twin half_turn = {3.141592653589793, 1.2246467991473532e-16};
  const Twin x = times(half_turn, {r, 0}), x2 = times(x, x);
  Twin term = cosine ? Twin{1, 0} : x, sum = term;
  for (int i = cosine ? 1 : 2; i < 40; i += 2) {
    term = over(times(term, x2), -double(i) * (i + 1));
    sum = plus(sum, term);
  }
  return sum;
}

int32_t settled(Twin x) {
  const double scaled = x.high * GRID, near = std::rint(scaled);
  const double gap = (scaled - near) + x.low * GRID;  // the first difference is exact
  return int32_t(near) + (gap > 0.5) - (gap < -0.5);
}

void settle(double t, int32_t* cos, int32_t* sin) {
  const double quarter = std::rint(2 * t), r = t - quarter / 2;
  const int32_t c = settled(series(r, true)), s = settled(series(r, false));
  const int turn = int(int64_t(quarter) & 3);
  const int32_t even = turn & 1 ? s : c, odd = turn & 1 ? c : s;
  *cos = turn == 1 || turn == 2 ? -even : even;
  *sin = turn >= 2 ? -odd : odd;
}

double length2(const float* g, size_t p) {
  double sum = 0;
  for (size_t l = 0; l < p; ++l) sum += double(g[l]) * g[l];
  return sum;
}

int64_t square_of(float g, int32_t base) {
  const int64_t f = int64_t(int32_t(g * float(GRID))) + base;
  return f * f;
}

}  // namespace

void Table::read(size_t j, double* out) const {
  const char* at = data + ptrdiff_t(j) * row;
  switch (kind == 'b' ? 'u' * 16 + 1 : kind * 16 + int(bytes)) {
    case 'f' * 16 + 8: return read_as<double>(at, column, d, out);
    case 'f' * 16 + 4: return read_as<float>(at, column, d, out);
    case 'i' * 16 + 1: return read_as<int8_t>(at, column, d, out);
    case 'i' * 16 + 2: return read_as<int16_t>(at, column, d, out);
    case 'i' * 16 + 4: return read_as<int32_t>(at, column, d, out);
    case 'i' * 16 + 8: return read_as<int64_t>(at, column, d, out);
    case 'u' * 16 + 1: return read_as<uint8_t>(at, column, d, out);
    case 'u' * 16 + 2: return read_as<uint16_t>(at, column, d, out);
    case 'u' * 16 + 4: return read_as<uint32_t>(at, column, d, out);
    case 'u' * 16 + 8: return read_as<uint64_t>(at, column, d, out);
  }
  throw std::invalid_argument("cells of this type cannot be read");
}

Large::~Large() { std::free(data); }

void Large::allocate(size_t count) {
  constexpr size_t PAGE = size_t(1) << 21;
  const size_t bytes = (count * sizeof(float) + PAGE - 1) / PAGE * PAGE;
  data = static_cast<float*>(std::aligned_alloc(PAGE, bytes));
  if (!data) throw std::bad_alloc();
#if defined(__linux__)
  madvise(data, bytes, MADV_HUGEPAGE);
#endif
}

void Rows::map_row(size_t j, float* g, Buffer& buffer) const {
  buffer.x.resize(d);
  buffer.absent.clear();
  double* x = buffer.x.data();
  table.read(j, x);
  const Phases phases = lanes->phases(x, d, columns.map());
  buffer.heard = phases.heard;
  if (!phases.plain)
    for (size_t l = 0; l < d; ++l) {
      if (std::fabs(x[l]) >= 0x1p40) x[l] = std::fmod(x[l], 2.0);  // an infinite phase says nothing either
      if (std::isnan(x[l])) buffer.absent.push_back(uint32_t(l));
    }
  if (!lanes->mapped(x, d, base64.data(), g, &buffer.norm2, &buffer.square)) return;
  for (size_t l = 0; l < d; ++l) {  // rare: a rounding was not proven somewhere, so settle the whole row
    if (std::isnan(x[l])) continue;
    int32_t cos, sin;
    settle(x[l], &cos, &sin);
    buffer.square += int64_t(cos) * cos - square_of(g[l], base[l]) + int64_t(sin) * sin - square_of(g[d + l], base[d + l]);
    g[l] = float(cos - base[l]) * float(1 / GRID);
    g[d + l] = float(sin - base[d + l]) * float(1 / GRID);
  }
  buffer.norm2 = length2(g, p);
}

void Rows::centre_on_sample() {
  constexpr size_t SAMPLE = 256;
  Buffer buffer;
  std::vector<float> f(p);
  std::vector<double> sums(p, 0);
  std::vector<size_t> counts(d, 0);
  const size_t step = n > SAMPLE ? n / SAMPLE : 1;
  for (size_t j = 0; j < n; j += step) {
    map_row(j, f.data(), buffer);  // the base is still zero: these are the features themselves
    for (size_t l = 0; l < p; ++l) sums[l] += f[l];
    for (size_t l = 0; l < d; ++l) ++counts[l];
    for (uint32_t l : buffer.absent) --counts[l];
  }
  for (size_t l = 0; l < p; ++l) base[l] = counts[l % d] ? int32_t(sums[l] / counts[l % d] * GRID) : 0;
  base64.assign(base.begin(), base.end());
}

Rows::Rows(Table t, Columns m, const int64_t* w, bool unit_, bool keep, size_t threads_, const Lanes* lanes_)
    : n(t.n), d(t.d), p(2 * t.d), threads(threads_), lanes(lanes_), unit(unit_), base(p, 0), base64(p, 0), norm2(n),
      kept(keep), table(t), columns(std::move(m)), absent_from(n, 0), absent_columns((n + PART - 1) / PART) {
  centre_on_sample();
  if (kept) stored.allocate(n * p);
  std::vector<uint8_t> heard(n, 1);
  if (w) weights.assign(w, w + n);
  std::vector<i128> squares(threads, 0);
  std::vector<Buffer> buffers(threads);
  parallel(threads, absent_columns.size(), [&](size_t thread, size_t part) {
    Buffer& buffer = buffers[thread];
    auto& silent = absent_columns[part];
    buffer.cells.resize(p);
    for (size_t j = part * PART; j < n && j < (part + 1) * PART; ++j) {
      map_row(j, kept ? stored.data + j * p : buffer.cells.data(), buffer);
      heard[j] = buffer.heard;
      absent_from[j] = uint32_t(silent.size());
      silent.insert(silent.end(), buffer.absent.begin(), buffer.absent.end());
      norm2[j] = float(buffer.norm2);
      squares[thread] += i128(buffer.square) * (buffer.heard ? weight(j) : 0);
    }
  });
  for (i128 part : squares) square += part;
  silence(heard);
}

void Rows::silence(const std::vector<uint8_t>& heard) {
  complete = true;
  for (const auto& silent : absent_columns) complete &= silent.empty();
  for (size_t j = 0; j < n; ++j)
    if (!heard[j]) {
      if (weights.empty()) weights.assign(n, 1);
      weights[j] = 0;
    }
}

Rows::Rows(SparseTable given_, size_t n_, size_t d_, Columns m, const int64_t* w, bool unit_, size_t threads_,
           const Lanes* lanes_)
    : n(n_), d(d_), p(2 * d_), threads(threads_), lanes(lanes_), unit(unit_), base(p, 0), base64(p, 0), norm2(n),
      kept(true), sparse(true), given(given_), columns(std::move(m)), absent_from(n, 0), absent_columns((n + PART - 1) / PART) {
  const Map map = columns.map();
  auto phase = [&](double x, size_t l, bool clip) {  // NaN where the cell says nothing
    if (clip) x = x < map.low[l] ? map.low[l] : x > map.high[l] ? map.high[l] : x;
    else if (map.beyond == Beyond::ignore && !(x >= map.low[l] && x <= map.high[l])) return std::nan("");
    const double t = (x - map.centre[l]) * map.factor[l];
    return std::fabs(t) >= 0x1p40 ? std::fmod(t, 2.0) : t;
  };
  // the base is f of a row of zeros, (0, 0) where a zero says nothing; `inside` where it does say something
  std::vector<uint8_t> inside(d);
  size_t insides = 0;
  for (size_t l = 0; l < d; ++l) {
    const double t = phase(0, l, map.beyond == Beyond::clip);
    inside[l] = !std::isnan(t), insides += inside[l];
    if (inside[l]) settle(t, &base[l], &base[d + l]);
  }
  base64.assign(base.begin(), base.end());
  int64_t origin = 0;
  for (int32_t b : base) origin += int64_t(b) * b;
  if (w) weights.assign(w, w + n);
  std::vector<uint8_t> heard(n, 1);
  std::vector<SparseRows> made(absent_columns.size());
  std::vector<i128> squares(threads, 0);
  parallel(threads, made.size(), [&](size_t thread, size_t part) {
    SparseRows& out = made[part];
    std::vector<uint8_t> stored(d, 0);
    std::vector<uint32_t> at;
    std::vector<double> x, middle;
    std::vector<float> g;
    for (size_t j = part * PART; j < n && j < (part + 1) * PART; ++j) {
      const size_t begin = size_t(given.from[j]), end = size_t(given.from[j + 1]);
      size_t zeros = insides;                       // zero cells of this row that say something
      bool some = map.beyond != Beyond::ignore;
      at.clear(), x.clear();
      for (size_t i = begin; i < end; ++i) {
        const size_t l = size_t(given.columns[i]);
        zeros -= inside[l];
        some |= given.data[i] >= map.low[l] && given.data[i] <= map.high[l];
        at.push_back(uint32_t(l)), x.push_back(given.data[i]);
      }
      heard[j] = some || zeros;
      const bool clip = map.beyond == Beyond::clip || !heard[j];
      if (!heard[j] || insides < d) {               // zero cells that differ from the base, or say nothing
        for (uint32_t l : at) stored[l] = 1;
        const size_t count = at.size();
        for (size_t l = 0; l < d; ++l)
          if (!stored[l] && (!heard[j] || !inside[l])) at.push_back(uint32_t(l)), x.push_back(0);
        for (size_t i = 0; i < count; ++i) stored[at[i]] = 0;
      }
      const size_t count = at.size();
      middle.resize(2 * count), g.resize(2 * count);
      int64_t square_j = origin;
      for (size_t i = 0; i < count; ++i) {
        const size_t l = at[i];
        x[i] = phase(x[i], l, clip);
        middle[i] = base64[l], middle[count + i] = base64[d + l];
        square_j -= int64_t(base[l]) * base[l] + int64_t(base[d + l]) * base[d + l];
      }
      double norm;
      int64_t cells_square;
      if (lanes->mapped(x.data(), count, middle.data(), g.data(), &norm, &cells_square))
        for (size_t i = 0; i < count; ++i) {
          if (std::isnan(x[i])) continue;
          int32_t cos, sin;
          settle(x[i], &cos, &sin);
          const int32_t a = base[at[i]], b = base[d + at[i]];
          cells_square += int64_t(cos) * cos - square_of(g[i], a) + int64_t(sin) * sin - square_of(g[count + i], b);
          g[i] = float(cos - a) * float(1 / GRID), g[count + i] = float(sin - b) * float(1 / GRID);
          norm = length2(g.data(), 2 * count);
        }
      auto& silent = absent_columns[part];
      absent_from[j] = uint32_t(silent.size());
      for (size_t i = 0; i < count; ++i) {
        if (std::isnan(x[i])) silent.push_back(at[i]);
        else out.columns.push_back(at[i]), out.cos.push_back(g[i]), out.sin.push_back(g[count + i]);
      }
      out.from.push_back(out.columns.size());
      norm2[j] = float(norm);
      squares[thread] += i128(square_j + cells_square) * (heard[j] ? weight(j) : 0);
    }
  });
  for (i128 part : squares) square += part;
  cells.from.push_back(0);
  for (const SparseRows& part : made) {
    const size_t shift = cells.columns.size();
    for (size_t end : part.from) cells.from.push_back(shift + end);
    cells.columns.insert(cells.columns.end(), part.columns.begin(), part.columns.end());
    cells.cos.insert(cells.cos.end(), part.cos.begin(), part.cos.end());
    cells.sin.insert(cells.sin.end(), part.sin.begin(), part.sin.end());
  }
  silence(heard);
}

void Rows::fetch(const uint32_t* at, size_t count, Buffer& buffer, const float** out) const {
  if (sparse) return std::fill(out, out + count, nullptr);
  if (kept) {
    for (size_t i = 0; i < count; ++i) out[i] = stored.data + size_t(at[i]) * p;
    return;
  }
  buffer.cells.resize(count * p);
  for (size_t i = 0; i < count; ++i) {
    float* g = buffer.cells.data() + i * p;
    map_row(at[i], g, buffer);
    out[i] = g;
  }
}

void Rows::grid(size_t j, int32_t* out, Buffer& buffer) const {
  const uint32_t at = uint32_t(j);
  std::copy(base.begin(), base.end(), out);
  if (sparse) {
    for (size_t i = cells.from[j]; i < cells.from[j + 1]; ++i) {
      out[cells.columns[i]] += int32_t(cells.cos[i] * float(GRID));
      out[d + cells.columns[i]] += int32_t(cells.sin[i] * float(GRID));
    }
  } else {
    const float* g;
    fetch(&at, 1, buffer, &g);
    for (size_t l = 0; l < p; ++l) out[l] += int32_t(g[l] * float(GRID));
  }
  const uint32_t* absent = complete ? nullptr : absent_begin(j);
  for (size_t i = 0; i < absent_count(j); ++i) out[absent[i]] = out[d + absent[i]] = 0;
}

int64_t Rows::distance(size_t j, const float* g, const int32_t* h, int64_t h2) const {
  int64_t sum = sparse ? h2 : lanes->distance(g, h, p);
  auto gap2 = [](float a, int32_t b) {
    const int64_t gap = int64_t(int32_t(a * float(GRID))) - b;
    return gap * gap;
  };
  if (sparse)
    for (size_t i = cells.from[j]; i < cells.from[j + 1]; ++i) {
      const int32_t a = h[cells.columns[i]], b = h[d + cells.columns[i]];
      sum += gap2(cells.cos[i], a) + gap2(cells.sin[i], b) - int64_t(a) * a - int64_t(b) * b;
    }
  const uint32_t* absent = complete ? nullptr : absent_begin(j);
  for (size_t i = 0; i < absent_count(j); ++i)
    sum -= int64_t(h[absent[i]]) * h[absent[i]] + int64_t(h[d + absent[i]]) * h[d + absent[i]];
  return sum;
}

// A phase on the grid of 2^-16 half-turns; 0 for a cell that says nothing.
static int64_t turned(double t) {
  return std::isnan(t) ? 0 : int64_t(std::rint(std::min(std::max(t, -0x1p46), 0x1p46) * 65536.0));
}

// Phases so small that 2048 of them add inside 64 bits.
static bool tame(const double* t, size_t d) {
  double most = 0;
  for (size_t l = 0; l < d; ++l) most = std::max(most, std::fabs(t[l]));
  return most < 0x1p30;
}

// Every row starts from the zero cells; the stored ones take their place.
void Rows::sparse_middles(const int32_t* labels, size_t k, i128* turns, int64_t* seen) const {
  const Map map = columns.map();
  auto phase = [&](double x, size_t l) {
    if (map.beyond == Beyond::clip) x = x < map.low[l] ? map.low[l] : x > map.high[l] ? map.high[l] : x;
    const bool here = map.beyond != Beyond::ignore || (x >= map.low[l] && x <= map.high[l]);
    return here ? (x - map.centre[l]) * map.factor[l] : std::nan("");
  };
  std::vector<int64_t> mass(k, 0);
  for (size_t j = 0; j < n; ++j) mass[size_t(labels[j])] += weight(j);
  std::vector<double> zero(d);
  for (size_t l = 0; l < d; ++l) zero[l] = phase(0, l);
  for (size_t i = 0; i < k * d; ++i) {
    turns[i] = i128(turned(zero[i % d])) * mass[i / d];
    seen[i] = std::isnan(zero[i % d]) ? 0 : mass[i / d];
  }
  for (size_t j = 0; j < n; ++j)
    for (size_t i = size_t(given.from[j]); weight(j) && i < size_t(given.from[j + 1]); ++i) {
      const size_t l = size_t(given.columns[i]), at = size_t(labels[j]) * d + l;
      const double t = phase(given.data[i], l);
      turns[at] += i128(turned(t) - turned(zero[l])) * weight(j);
      seen[at] += (int64_t(!std::isnan(t)) - int64_t(!std::isnan(zero[l]))) * weight(j);
    }
}

void Rows::middles(const int32_t* labels, size_t k, i128* turns, int64_t* seen) const {
  if (sparse) return sparse_middles(labels, k, turns, seen);
  std::vector<std::vector<i128>> sums(threads);
  std::vector<std::vector<int64_t>> counts(threads);
  parallel(threads, absent_columns.size(), [&](size_t thread, size_t part) {
    sums[thread].resize(k * d, 0);
    counts[thread].resize(k * d, 0);
    std::vector<double> x(d);
    std::vector<int64_t> small(unit ? k * d : 0, 0), rows_of(k, 0);  // sums of this part's plain rows
    for (size_t j = part * PART; j < n && j < (part + 1) * PART; ++j) {
      const int64_t w = weight(j);
      if (!w) continue;
      table.read(j, x.data());
      const Phases phases = lanes->phases(x.data(), d, columns.map());
      if (phases.plain && unit && tame(x.data(), d)) {
        int64_t* sum = small.data() + size_t(labels[j]) * d;
        for (size_t l = 0; l < d; ++l) sum[l] += int64_t(std::rint(x[l] * 65536.0));
        ++rows_of[size_t(labels[j])];
        continue;
      }
      i128* sum = sums[thread].data() + size_t(labels[j]) * d;
      int64_t* count = counts[thread].data() + size_t(labels[j]) * d;
      for (size_t l = 0; l < d; ++l) {
        sum[l] += i128(turned(x[l])) * w;
        count[l] += std::isnan(x[l]) ? 0 : w;
      }
    }
    for (size_t i = 0; i < small.size(); ++i) sums[thread][i] += small[i], counts[thread][i] += rows_of[i / d];
  });
  for (size_t i = 0; i < k * d; ++i) {
    turns[i] = 0, seen[i] = 0;
    for (size_t t = 0; t < threads; ++t)
      if (!sums[t].empty()) turns[i] += sums[t][i], seen[i] += counts[t][i];
  }
}

}  // namespace rekmeans
