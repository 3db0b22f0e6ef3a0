// Rows of a thin table: base f(0), and of each row the cells that differ from it.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "exact.hpp"
#include "rows.hpp"

namespace rekmeans {

size_t Cells::read(size_t j, const Lanes* lanes, double* x, uint32_t* at, double* value) const {
  if (!columns) {
    dense.read(j, x);
    return lanes->nonzero(x, dense.d, at, value);
  }
  const size_t count = size_t(from[j + 1] - from[j]);
  for (size_t i = 0; i < count; ++i) at[i] = uint32_t(columns[from[j] + int64_t(i)]), value[i] = data[from[j] + int64_t(i)];
  return count;
}

namespace {

// What a thread works with: one row's cells before and after the map, and the mapped cells of a part.
struct Desk {
  explicit Desk(size_t d) : x(d), value(d + 8), middle(2 * d), at(d + 8), stored(d, 0), g(2 * d) {}
  std::vector<double> x, value, middle;
  std::vector<uint32_t> at;
  std::vector<uint8_t> stored;
  std::vector<float> g;
  std::vector<float> cells;
};

}  // namespace

Rows::Rows(Cells given_, size_t n_, size_t d_, Columns m, const int64_t* w, bool unit_, size_t threads_, const Lanes* lanes_)
    : n(n_), d(d_), p(2 * d_), threads(threads_), lanes(lanes_), unit(unit_), base(p, 0), base64(p, 0), norm2(n),
      kept(true), sparse(true), given(given_), columns(std::move(m)), parts((n + PART - 1) / PART),
      silent(parts.size()) {
  const PhaseMap map = columns.map();
  auto plain = [](double t) { return std::fabs(t) >= 0x1p40 ? std::fmod(t, 2.0) : t; };
  // the base is f of a row of zeros, (0, 0) where a zero says nothing; `inside` where it does say something
  std::vector<uint8_t> inside(d);
  size_t insides = 0;
  for (size_t l = 0; l < d; ++l) {
    const double t = plain(phase(map, 0, l, map.beyond == Beyond::clip));
    inside[l] = !std::isnan(t), insides += inside[l];
    if (inside[l]) settle(t, &base[l], &base[d + l]);
  }
  base64.assign(base.begin(), base.end());
  int64_t origin = 0;
  for (int32_t b : base) origin += int64_t(b) * b;
  if (w) weights.assign(w, w + n);
  std::vector<uint8_t> heard(n, 1);
  std::vector<i128> squares(threads, 0);
  std::vector<std::unique_ptr<Desk>> desks(threads);
  parallel(threads, parts.size(), [&](size_t thread, size_t part) {
    if (!desks[thread]) desks[thread] = std::make_unique<Desk>(d);
    Desk& desk = *desks[thread];
    auto& absent = silent[part].columns;
    desk.cells.clear();
    parts[part].from.assign(1, 0);
    for (size_t j = part * PART; j < n && j < (part + 1) * PART; ++j) {
      size_t count = given.read(j, lanes, desk.x.data(), desk.at.data(), desk.value.data());
      if (map.beyond == Beyond::ignore) {
        size_t zeros = insides;                     // zero cells of this row that say something
        bool some = false;
        for (size_t i = 0; i < count; ++i) {
          const size_t l = desk.at[i];
          zeros -= inside[l];
          some |= rekmeans::inside(map, desk.value[i], l);
        }
        heard[j] = some || zeros;
      }
      const size_t given_cells = count;
      if (!heard[j] || insides < d) {               // zero cells that are clipped, or say nothing
        for (size_t i = 0; i < given_cells; ++i) desk.stored[desk.at[i]] = 1;
        for (size_t l = 0; l < d; ++l) {
          if (desk.stored[l]) continue;
          if (!heard[j]) desk.at[count] = uint32_t(l), desk.value[count++] = 0;
          else if (!inside[l]) absent.push_back(uint32_t(l));
        }
        for (size_t i = 0; i < given_cells; ++i) desk.stored[desk.at[i]] = 0;
      }
      const bool clip = map.beyond == Beyond::clip || !heard[j];
      int64_t square_j = origin, cells_square;
      for (size_t i = 0; i < count; ++i) {
        const size_t l = desk.at[i];
        desk.value[i] = plain(phase(map, desk.value[i], l, clip));
        if (std::isnan(desk.value[i])) absent.push_back(uint32_t(l));
        desk.middle[i] = base64[l], desk.middle[count + i] = base64[d + l];
        square_j -= int64_t(base[l]) * base[l] + int64_t(base[d + l]) * base[d + l];
      }
      double norm;
      if (lanes->mapped(desk.value.data(), count, desk.middle.data(), desk.g.data(), &norm, &cells_square))
        resettle(desk.value.data(), count, desk.middle.data(), desk.g.data(), &norm, &cells_square);
      const size_t end = desk.cells.size();
      desk.cells.resize(end + 3 * count);
      if (count) std::memcpy(desk.cells.data() + end, desk.at.data(), count * sizeof(float));
      std::copy(desk.g.begin(), desk.g.begin() + ptrdiff_t(2 * count), desk.cells.begin() + ptrdiff_t(end + count));
      parts[part].from.push_back(uint32_t(desk.cells.size() / 3));
      silent[part].close(j % PART + 1);
      norm2[j] = float(norm);
      squares[thread] += i128(square_j + cells_square) * (heard[j] ? weight(j) : 0);
    }
    parts[part].cells.allocate(desk.cells.size());
    std::copy(desk.cells.begin(), desk.cells.end(), parts[part].cells.data);
  });
  for (i128 part : squares) square += part;
  silence(heard);
}

// Every row starts from the zero cells; the stored ones take their place.
void Rows::sparse_phase_sums(const int32_t* labels, size_t k, i128* turns, int64_t* seen) const {
  const PhaseMap map = columns.map();
  const bool clip = map.beyond == Beyond::clip;
  std::vector<int64_t> mass(k, 0);
  for (size_t j = 0; j < n; ++j) mass[size_t(labels[j])] += weight(j);
  std::vector<double> zero(d);
  std::vector<int64_t> zero_turned(d);
  for (size_t l = 0; l < d; ++l) zero[l] = phase(map, 0, l, clip), zero_turned[l] = turned(zero[l]);
  for (size_t i = 0; i < k * d; ++i) {
    turns[i] = i128(zero_turned[i % d]) * mass[i / d];
    seen[i] = std::isnan(zero[i % d]) ? 0 : mass[i / d];
  }
  std::vector<std::vector<int64_t>> sums(threads), counts(threads);
  std::vector<std::vector<i128>> large(threads);
  std::vector<std::unique_ptr<Desk>> desks(threads);
  parallel(threads, parts.size(), [&](size_t thread, size_t part) {
    if (!desks[thread]) desks[thread] = std::make_unique<Desk>(d);
    sums[thread].resize(k * d, 0), counts[thread].resize(k * d, 0);
    Desk& desk = *desks[thread];
    for (size_t j = part * PART; j < n && j < (part + 1) * PART; ++j) {
      const int64_t w = weight(j);
      if (!w) continue;
      const size_t count = given.read(j, lanes, desk.x.data(), desk.at.data(), desk.value.data());
      for (size_t i = 0; i < count; ++i) {
        const size_t l = desk.at[i], to = size_t(labels[j]) * d + l;
        const double t = phase(map, desk.value[i], l, clip);
        const int64_t turn = turned(t) - zero_turned[l];
        const bool small = unit && turn == int32_t(turn);       // 2^31 of them fit into 64 bits
        if (!small && large[thread].empty()) large[thread].resize(k * d, 0);
        if (small) sums[thread][to] += turn;
        else large[thread][to] += i128(turn) * w;
        if (std::isnan(t) != std::isnan(zero[l])) counts[thread][to] += std::isnan(t) ? -w : w;
      }
    }
  });
  for (size_t t = 0; t < threads; ++t) {
    for (size_t i = 0; i < sums[t].size(); ++i) turns[i] += sums[t][i], seen[i] += counts[t][i];
    for (size_t i = 0; i < large[t].size(); ++i) turns[i] += large[t][i];
  }
}

}  // namespace rekmeans
