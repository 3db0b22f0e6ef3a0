#include "rows.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <new>
#include <stdexcept>

#include "exact.hpp"

#if defined(__linux__)
#include <malloc.h>
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

}  // namespace

// Each value is within a grid unit of the right one: settle them all, and what was summed of them.
void resettle(const double* t, size_t d, const double* base, float* g, double* norm2, int64_t* square) {
  *norm2 = 0, *square = 0;
  for (size_t l = 0; l < d; ++l) {
    if (std::isnan(t[l])) continue;
    int32_t f[2];
    settle(t[l], f, f + 1);
    for (size_t part = 0; part < 2; ++part) {
      const double gap = f[part] - base[part * d + l];
      g[part * d + l] = float(gap) * float(1 / GRID);
      *norm2 += gap * gap, *square += int64_t(f[part]) * f[part];
    }
  }
  *norm2 /= GRID * GRID;
}

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
  if (count * sizeof(float) < PAGE / 2) {
    data = static_cast<float*>(std::malloc(count * sizeof(float) + 1));
    if (!data) throw std::bad_alloc();
    return;
  }
#if defined(__GLIBC__)
  if (bytes > 32 * PAGE) malloc_trim(0);  // what reading the table has left behind goes back to the system first
#endif
  data = static_cast<float*>(std::aligned_alloc(PAGE, bytes));
  if (!data) throw std::bad_alloc();
#if defined(__linux__)
  madvise(data, bytes, MADV_HUGEPAGE);
#endif
}

double general_phase(const PhaseMap& map, double x, size_t column, bool clip) {
  const double *low = map.low + column * map.m, *high = map.high + column * map.m;
  size_t at = 0;
  if (map.beyond != Beyond::wrap) {
    while (at < map.m && !(x >= low[at] && x <= high[at])) ++at;
    if (at == map.m) {
      if (!clip || std::isnan(x)) return NAN;
      double least = INFINITY, end = x;
      for (size_t i = 0; i < map.m; ++i) {
        const double y = x < low[i] ? low[i] : x > high[i] ? high[i] : x;
        if (std::fabs(y - x) < least && !std::isnan(low[i])) least = std::fabs(y - x), end = y, at = i;
      }
      if (at == map.m) return NAN;
      x = end;
    }
  }
  double step = x - map.shift[column * map.m + at];
  if (map.period[column] > 0) step = std::fmod(step, map.period[column]);
  return step * map.rate[column];
}

Phases Rows::phases(double* x) const {
  const PhaseMap map = columns.map();
  if (columns.simple) return lanes->phases(x, d, map);
  bool heard = map.beyond != Beyond::ignore, plain = true;
  for (size_t l = 0; l < d && !heard; ++l) heard = inside(map, x[l], l);
  const bool clip = map.beyond == Beyond::clip || !heard;
  for (size_t l = 0; l < d; ++l) {
    x[l] = phase(map, x[l], l, clip);
    plain &= std::fabs(x[l]) < 0x1p40;
  }
  return {heard, plain};
}

void Rows::map_row(size_t j, float* g, Buffer& buffer) const {
  buffer.x.resize(d);
  buffer.absent.clear();
  double* x = buffer.x.data();
  table.read(j, x);
  const Phases found = phases(x);
  buffer.heard = found.heard;
  if (!found.plain)
    for (size_t l = 0; l < d; ++l) {
      if (std::fabs(x[l]) >= 0x1p40) x[l] = std::fmod(x[l], 2.0);  // an infinite phase says nothing either
      if (std::isnan(x[l])) buffer.absent.push_back(uint32_t(l));
    }
  if (!lanes->mapped(x, d, base64.data(), g, &buffer.norm2, &buffer.square)) return;
  resettle(x, d, base64.data(), g, &buffer.norm2, &buffer.square);
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
      kept(keep), table(t), columns(std::move(m)), silent((n + PART - 1) / PART) {
  centre_on_sample();
  if (kept) stored.allocate(n * p);
  std::vector<uint8_t> heard(n, 1);
  if (w) weights.assign(w, w + n);
  std::vector<i128> squares(threads, 0);
  std::vector<Buffer> buffers(threads);
  parallel(threads, silent.size(), [&](size_t thread, size_t part) {
    Buffer& buffer = buffers[thread];
    buffer.cells.resize(p);
    for (size_t j = part * PART; j < n && j < (part + 1) * PART; ++j) {
      map_row(j, kept ? stored.data + j * p : buffer.cells.data(), buffer);
      heard[j] = buffer.heard;
      silent[part].columns.insert(silent[part].columns.end(), buffer.absent.begin(), buffer.absent.end());
      silent[part].close(j % PART + 1);
      norm2[j] = float(buffer.norm2);
      squares[thread] += i128(buffer.square) * (buffer.heard ? weight(j) : 0);
    }
  });
  for (i128 part : squares) square += part;
  silence(heard);
}

void Rows::silence(const std::vector<uint8_t>& heard) {
  complete = true;
  for (const Silent& part : silent) complete &= part.columns.empty();
  for (size_t j = 0; j < n; ++j)
    if (!heard[j]) {
      if (weights.empty()) weights.assign(n, 1);
      weights[j] = 0;
    }
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
    const Thin row = thin(j);
    for (size_t i = 0; i < row.count; ++i) {
      out[row.columns[i]] += int32_t(row.cos[i] * float(GRID));
      out[d + row.columns[i]] += int32_t(row.sin[i] * float(GRID));
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
  const Thin row = sparse ? thin(j) : Thin{};
  for (size_t i = 0; i < row.count; ++i) {
    const int32_t a = h[row.columns[i]], b = h[d + row.columns[i]];
    sum += gap2(row.cos[i], a) + gap2(row.sin[i], b) - int64_t(a) * a - int64_t(b) * b;
  }
  const uint32_t* absent = complete ? nullptr : absent_begin(j);
  for (size_t i = 0; i < absent_count(j); ++i)
    sum -= int64_t(h[absent[i]]) * h[absent[i]] + int64_t(h[d + absent[i]]) * h[d + absent[i]];
  return sum;
}

int64_t turned(double t) {
  constexpr double MAGIC = 0x1.8p52;  // adding it rounds to an integer
  if (std::fabs(t) < 0x1p30) return int64_t((t * 65536.0 + MAGIC) - MAGIC);
  return std::isnan(t) ? 0 : int64_t(std::rint(std::min(std::max(t, -0x1p46), 0x1p46) * 65536.0));
}

void Rows::phase_sums(const int32_t* labels, size_t k, i128* turns, int64_t* seen) const {
  if (sparse) return sparse_phase_sums(labels, k, turns, seen);
  std::vector<std::vector<i128>> sums(threads);
  std::vector<std::vector<int64_t>> counts(threads);
  parallel(threads, silent.size(), [&](size_t thread, size_t part) {
    sums[thread].resize(k * d, 0);
    counts[thread].resize(k * d, 0);
    std::vector<double> x(d);
    std::vector<int64_t> small(unit ? k * d : 0, 0), rows_of(k, 0);  // sums of this part's plain rows
    for (size_t j = part * PART; j < n && j < (part + 1) * PART; ++j) {
      const int64_t w = weight(j);
      if (!w) continue;
      table.read(j, x.data());
      const Phases found = phases(x.data());
      if (found.plain && unit && lanes->turns(x.data(), d, small.data() + size_t(labels[j]) * d)) {
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
