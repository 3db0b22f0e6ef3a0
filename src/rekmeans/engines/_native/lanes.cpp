// The inner loops. Compiled once for each instruction set (REKMEANS_LANES names it); no inline function of the standard
// library may be used here, or the linker could keep a copy that older processors cannot run.
#include "lanes.hpp"

#if defined(__AVX512F__)
#include <immintrin.h>
#endif

namespace rekmeans {
namespace {

#if defined(__AVX512F__)
constexpr size_t V = 16;
constexpr int WIDE = 4, TALL[] = {0, 16, 12, 8, 6};    // vectors in a panel; rows of a tile for 1..4 vectors
#elif defined(__AVX2__)
constexpr size_t V = 8;
constexpr int WIDE = 2, TALL[] = {0, 12, 6, 0, 0};
#else
constexpr size_t V = 4;
constexpr int WIDE = 2, TALL[] = {0, 12, 6, 0, 0};
#endif
constexpr size_t PANEL = V * WIDE;
constexpr size_t HELD = 1 << 15;  // floats of a panel worked on at a time: 128 KiB
constexpr size_t DV = V / 2;

typedef float vf __attribute__((vector_size(V * 4), aligned(4), may_alias));
typedef int32_t vi __attribute__((vector_size(V * 4), aligned(4), may_alias));
typedef double vd __attribute__((vector_size(V * 4), aligned(8), may_alias));
typedef int64_t vl __attribute__((vector_size(V * 4), aligned(8), may_alias));

inline vf load(const float* at) { return *reinterpret_cast<const vf*>(at); }
inline void store(float* at, vf x) { *reinterpret_cast<vf*>(at) = x; }

inline vf larger(vf a, vf b) { return a > b ? a : b; }

// ---- phases ------------------------------------------------------------------------------------------------------

Phases phases(double* x, size_t d, const Map& map) {
  const double *centre = map.centre, *factor = map.factor, *low = map.low, *high = map.high;
  int64_t heard = map.beyond != Beyond::ignore, wild = 0;
  if (map.beyond == Beyond::ignore)
    for (size_t l = 0; l < d; ++l) heard |= int64_t(x[l] >= low[l]) & int64_t(x[l] <= high[l]);
  if (map.beyond == Beyond::clip || !heard)
    for (size_t l = 0; l < d; ++l) x[l] = x[l] < low[l] ? low[l] : x[l] > high[l] ? high[l] : x[l];
  else if (map.beyond == Beyond::ignore)
    for (size_t l = 0; l < d; ++l) {
      const double y = x[l] >= low[l] ? x[l] : __builtin_nan("");
      x[l] = y <= high[l] ? y : __builtin_nan("");
    }
  for (size_t l = 0; l < d; ++l) {
    const double t = (x[l] - centre[l]) * factor[l];
    x[l] = t;
    wild |= int64_t(!(__builtin_fabs(t) < 0x1p40));
  }
  return {heard != 0, wild == 0};
}

size_t nonzero(const double* x, size_t d, uint32_t* at, double* value) {
  size_t count = 0, l = 0;
#if defined(__AVX512F__)
  __m256i columns = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
  for (; l + 8 <= d; l += 8) {
    const __m512d cells = _mm512_loadu_pd(x + l);
    const __mmask8 mask = _mm512_cmp_pd_mask(cells, _mm512_setzero_pd(), _CMP_NEQ_UQ);
    _mm512_storeu_pd(value + count, _mm512_maskz_compress_pd(mask, cells));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(at + count), _mm256_maskz_compress_epi32(mask, columns));
    count += size_t(__builtin_popcount(mask));
    columns = _mm256_add_epi32(columns, _mm256_set1_epi32(8));
  }
#endif
  for (; l < d; ++l) at[count] = uint32_t(l), value[count] = x[l], count += x[l] != 0;
  return count;
}

// ---- cos and sin -------------------------------------------------------------------------------------------------

// Taylor coefficients of cos(pi r) and sin(pi r)/r in r^2; at |r| <= 1/4 the first one left out is below 2^-58.
constexpr double COS[] = {1.0, -4.934802200544679, 4.0587121264167685, -1.3352627688545895, 0.2353306303588932,
                          -0.02580689139001406, 0.0019295743094039231, -0.0001046381049248457, 4.303069587032947e-06};
constexpr double SIN[] = {3.141592653589793, -5.16771278004997, 2.5501640398773455, -0.5992645293207921,
                          0.08214588661112823, -0.0073704309457143504, 0.00046630280576761255, -2.1915353447830217e-05,
                          7.952054001475513e-07};
constexpr double MAGIC = 6755399441055744.0;  // 1.5 * 2^52: adding it rounds to an integer in the low bits
constexpr double DOUBT = 0x1p-24;             // of a grid unit; the series and its rounding err by less than 2^-26

inline vd rounded(vd x) { return (x + MAGIC) - MAGIC; }

template <class T>
inline vd series(const T& c, vd x2) {
  vd s = {};
  s += c[8];
#pragma GCC unroll 8
  for (int i = 7; i >= 0; --i) s = s * x2 + c[i];
  return s;
}

inline vd picked(vl mask, vd yes, vd no) { return mask ? yes : no; }
inline vd signed_by(vl bits, vd x) {  // -x where the lowest bit is set
  vl y;
  __builtin_memcpy(&y, &x, sizeof y);
  y ^= bits << 63;
  __builtin_memcpy(&x, &y, sizeof x);
  return x;
}

size_t mapped(const double* t, size_t d, const double* base, float* g, double* norm2, int64_t* square) {
  typedef float half __attribute__((vector_size(V * 2), aligned(4), may_alias));
  vd length = {}, exact = {};
  vl whole = {}, doubts = {};
  for (size_t i = 0, turn = 0; i < d; i += DV, ++turn) {
    const size_t here = d - i < DV ? d - i : DV;
    double tail[3][DV];
    const double *at = t + i, *bc = base + i, *bs = base + d + i;
    if (here < DV) {
      for (size_t j = 0; j < DV; ++j) {
        tail[0][j] = j < here ? at[j] : __builtin_nan("");
        tail[1][j] = j < here ? bc[j] : 0;
        tail[2][j] = j < here ? bs[j] : 0;
      }
      at = tail[0], bc = tail[1], bs = tail[2];
    }
    const vd in = *reinterpret_cast<const vd*>(at);
    const vl seen = in == in;
    const vd x = picked(seen, in, vd{});
    const vd shifted = x * 2.0 + MAGIC, q = shifted - MAGIC;
    vl quarter;                                                   // the low bits of the sum are the integer's
    __builtin_memcpy(&quarter, &shifted, sizeof quarter);
    const vd r = x - q * 0.5, r2 = r * r;                         // exact: |x| < 2^40
    const vd c = series(COS, r2) * GRID, s = series(SIN, r2) * r * GRID;
    const vd cn = rounded(c), sn = rounded(s);
    const vd cg = c - cn, sg = s - sn;
    doubts += (cg > 0.5 - DOUBT) | (cg < DOUBT - 0.5) | (sg > 0.5 - DOUBT) | (sg < DOUBT - 0.5);
    const vl odd = (quarter & 1) != 0;
    const vd cos = picked(seen, signed_by(quarter ^ (quarter >> 1), picked(odd, sn, cn)), vd{});
    const vd sin = picked(seen, signed_by(quarter >> 1, picked(odd, cn, sn)), vd{});
    const vd gc = picked(seen, cos - *reinterpret_cast<const vd*>(bc), vd{});
    const vd gs = picked(seen, sin - *reinterpret_cast<const vd*>(bs), vd{});
    length += gc * gc + gs * gs;
    exact += cos * cos + sin * sin;                               // at most 2^47 a turn
    if (turn % 32 == 31) whole += __builtin_convertvector(exact, vl), exact = vd{};
    const half oc = __builtin_convertvector(gc * (1 / GRID), half), os = __builtin_convertvector(gs * (1 / GRID), half);
    if (here == DV) {
      *reinterpret_cast<half*>(g + i) = oc;
      *reinterpret_cast<half*>(g + d + i) = os;
    } else {
      for (size_t j = 0; j < here; ++j) g[i + j] = oc[j], g[d + i + j] = os[j];
    }
  }
  whole += __builtin_convertvector(exact, vl);
  size_t doubtful = 0;
  *norm2 = 0, *square = 0;
  for (size_t j = 0; j < DV; ++j) *norm2 += length[j], *square += whole[j], doubtful += size_t(-doubts[j]);
  *norm2 /= GRID * GRID;
  return doubtful;
}

bool turns(const double* t, size_t d, int64_t* sum) {
  double most = 0;
  for (size_t l = 0; l < d; ++l) most = __builtin_fabs(t[l]) > most ? __builtin_fabs(t[l]) : most;
  if (!(most < 0x1p30)) return false;
  int64_t zero;
  __builtin_memcpy(&zero, &MAGIC, sizeof zero);
  for (size_t l = 0; l < d; ++l) {
    const double shifted = t[l] * 65536.0 + MAGIC;
    int64_t bits;
    __builtin_memcpy(&bits, &shifted, sizeof bits);
    sum[l] += bits - zero;
  }
  return true;
}

// ---- scores ------------------------------------------------------------------------------------------------------

template <int ROWS, int VECTORS>
inline void tile(const float* const* rows, size_t from, size_t to, const float* packed, float* S, size_t kp) {
  vf sum[ROWS][VECTORS];
#pragma GCC unroll 16
  for (int r = 0; r < ROWS; ++r)
#pragma GCC unroll 4
    for (int v = 0; v < VECTORS; ++v) sum[r][v] = vf{};
  const float* h = packed + from * VECTORS * V;
  for (size_t l = from; l < to; ++l, h += VECTORS * V) {
    vf b[VECTORS];
    if (VECTORS < 3 && l % 16 == 0)  // few centroids: memory is the limit, so ask for the next tile's rows in time
#pragma GCC unroll 16
      for (int r = 0; r < ROWS; ++r) __builtin_prefetch(rows[r + (ROWS > 1 ? ROWS : 0)] + l);
#pragma GCC unroll 4
    for (int v = 0; v < VECTORS; ++v) b[v] = load(h + v * V);
#pragma GCC unroll 16
    for (int r = 0; r < ROWS; ++r) {
      const float a = rows[r][l];
#pragma GCC unroll 4
      for (int v = 0; v < VECTORS; ++v) sum[r][v] += a * b[v];
    }
  }
#pragma GCC unroll 16
  for (int r = 0; r < ROWS; ++r)
#pragma GCC unroll 4
    for (int v = 0; v < VECTORS; ++v) {
      float* at = S + r * kp + v * V;
      store(at, from ? load(at) + sum[r][v] : sum[r][v]);
    }
}

// Features [from, to) of one panel, a tile of rows at a time: each row is read in one go.
template <int VECTORS>
inline void panel(const float* const* rows, size_t count, size_t from, size_t to, const float* packed, float* S, size_t kp) {
  constexpr int ROWS = TALL[VECTORS];
  size_t r = 0;
  for (; r + ROWS <= count; r += ROWS)
    for (size_t l = from; l < to; l += CHUNK)
      tile<ROWS, VECTORS>(rows + r, l, l + CHUNK < to ? l + CHUNK : to, packed, S + r * kp, kp);
  for (; r < count; ++r)
    for (size_t l = from; l < to; l += CHUNK)
      tile<1, VECTORS>(rows + r, l, l + CHUNK < to ? l + CHUNK : to, packed, S + r * kp, kp);
}

void scores(const float* const* rows, size_t count, size_t p, const float* packed, size_t kp, float* S) {
  for (size_t c = 0; c < kp; c += PANEL) {
    const size_t span = kp - c < PANEL ? kp - c : PANEL;
    const size_t reach = HELD / span / CHUNK * CHUNK;  // features of the panel that stay in the second-level cache
    for (size_t from = 0; from < p; from += reach) {
      const size_t to = from + reach < p ? from + reach : p;
      const float* at = packed + c * p;
      switch (span / V) {
        case 1: panel<1>(rows, count, from, to, at, S + c, kp); break;
        case 2: panel<2>(rows, count, from, to, at, S + c, kp); break;
#if defined(__AVX512F__)
        case 3: panel<3>(rows, count, from, to, at, S + c, kp); break;
        case 4: panel<4>(rows, count, from, to, at, S + c, kp); break;
#endif
      }
    }
  }
}

#if defined(__AVX512F__)

// Blocks of SIZE lanes of a and b change places across the diagonal: what two rows of blocks become.
template <int SIZE, int... LANE>
inline void exchange(vf& a, vf& b) {
  const vf x = a, y = b;
  a = __builtin_shuffle(x, y, vi{(LANE & SIZE ? int(V) + LANE - SIZE : LANE)...});
  b = __builtin_shuffle(x, y, vi{(LANE & SIZE ? int(V) + LANE : LANE + SIZE)...});
}

template <int SIZE>
inline void exchange_all(vf* x) {
#pragma GCC unroll 16
  for (int r = 0; r < int(V); ++r)
    if (!(r & SIZE)) exchange<SIZE, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15>(x[r], x[r + SIZE]);
}

// Rows become columns.
inline void transpose(vf* x) { exchange_all<8>(x), exchange_all<4>(x), exchange_all<2>(x), exchange_all<1>(x); }

template <int K>
inline void few(const float* const* rows, size_t count, size_t p, const float* packed, const float* bias, int32_t* where,
                float* best, float* second) {
  for (size_t from = 0; from < count; from += V) {
    vf all[K];
    for (int c = 0; c < K; ++c) all[c] = vf{} - bias[c];
    for (size_t start = 0; start < p; start += CHUNK) {
      vf sum[K];
      for (int c = 0; c < K; ++c) sum[c] = vf{};
      const size_t end = start + CHUNK < p ? start + CHUNK : p;
      size_t l = start;
      for (; l + V <= end; l += V) {
        vf x[V];
#pragma GCC unroll 16
        for (size_t r = 0; r < V; ++r) x[r] = load(rows[from + r] + l);
#pragma GCC unroll 16
        for (size_t r = 0; r < V; ++r) __builtin_prefetch(rows[from + V + r] + l);
        transpose(x);
#pragma GCC unroll 16
        for (size_t i = 0; i < V; ++i)
#pragma GCC unroll 12
          for (int c = 0; c < K; ++c) sum[c] += x[i] * packed[(l + i) * V + size_t(c)];
      }
      if (l < end) {
        vf x[V];
        const __mmask16 inside = __mmask16((1 << (end - l)) - 1);
#pragma GCC unroll 16
        for (size_t r = 0; r < V; ++r) x[r] = _mm512_maskz_loadu_ps(inside, rows[from + r] + l);
        transpose(x);
        for (size_t i = 0; l + i < end; ++i)
#pragma GCC unroll 12
          for (int c = 0; c < K; ++c) sum[c] += x[i] * packed[(l + i) * V + size_t(c)];
      }
      for (int c = 0; c < K; ++c) all[c] += sum[c];
    }
    vf top = all[0], next = vf{} - 3.0e38f;
    vi at = {};
#pragma GCC unroll 12
    for (int c = 1; c < K; ++c) {
      const vi better = all[c] > top;
      next = larger(next, better ? top : all[c]);
      at = better ? vi{} + c : at;
      top = better ? all[c] : top;
    }
    const size_t here = count - from < V ? count - from : V;
    for (size_t r = 0; r < here; ++r) best[from + r] = top[r], second[from + r] = next[r], where[from + r] = at[r];
  }
}

void winners_of_few(const float* const* rows, size_t count, size_t p, const float* packed, size_t k, const float* bias,
                    int32_t* where, float* best, float* second) {
  switch (k) {
    case 1: return few<1>(rows, count, p, packed, bias, where, best, second);
    case 2: return few<2>(rows, count, p, packed, bias, where, best, second);
    case 3: return few<3>(rows, count, p, packed, bias, where, best, second);
    case 4: return few<4>(rows, count, p, packed, bias, where, best, second);
    case 5: return few<5>(rows, count, p, packed, bias, where, best, second);
    case 6: return few<6>(rows, count, p, packed, bias, where, best, second);
    case 7: return few<7>(rows, count, p, packed, bias, where, best, second);
    case 8: return few<8>(rows, count, p, packed, bias, where, best, second);
    case 9: return few<9>(rows, count, p, packed, bias, where, best, second);
    case 10: return few<10>(rows, count, p, packed, bias, where, best, second);
    case 11: return few<11>(rows, count, p, packed, bias, where, best, second);
    case 12: return few<12>(rows, count, p, packed, bias, where, best, second);
  }
}

#else

constexpr void (*winners_of_few)(const float* const*, size_t, size_t, const float*, size_t, const float*, int32_t*, float*,
                                 float*) = nullptr;

#endif

#if defined(__AVX512VNNI__)

void coarse_row(const float* g, size_t p, uint8_t* q, float* step, float* rest) {
  typedef uint8_t vb __attribute__((vector_size(V), aligned(1), may_alias));
  vf most = {};
  size_t l = 0;
  for (; l + V <= p; l += V) {
    const vf x = load(g + l);
    const vf a = x < 0 ? -x : x;
    most = a > most ? a : most;
  }
  float top = 0;
  for (size_t i = 0; i < V; ++i) top = most[i] > top ? most[i] : top;
  for (size_t i = l; i < p; ++i) top = __builtin_fabsf(g[i]) > top ? __builtin_fabsf(g[i]) : top;
  *step = top / 127;
  const float inverse = top > 0 ? 127 / top : 0;
  constexpr float SHIFT = 12582912.0f;  // 1.5 * 2^23: adding it leaves the rounded integer in the low bits
  vf squares = {};
  for (l = 0; l + V <= p; l += V) {
    const vf x = load(g + l), shifted = x * inverse + SHIFT;
    vi bits;
    __builtin_memcpy(&bits, &shifted, sizeof bits);
    const vf gap = x - (shifted - SHIFT) * *step;
    squares += gap * gap;
    *reinterpret_cast<vb*>(q + l) = __builtin_convertvector(bits + 128, vb);
  }
  float sum = 0;
  for (size_t i = 0; i < V; ++i) sum += squares[i];
  for (; l < p; ++l) {
    const float near = (g[l] * inverse + SHIFT) - SHIFT, gap = g[l] - near * *step;
    sum += gap * gap;
    q[l] = uint8_t(int(near) + 128);
  }
  for (; l % 4; ++l) q[l] = 128;
  *rest = __builtin_sqrtf(sum) * 1.001f;  // 1.001 covers the roundings of up to 2^15 squares summed 16 abreast
}

template <int ROWS, int VECTORS>
inline void coarse_tile(const uint8_t* const* rows, const float* step, size_t quads, const int8_t* packed,
                        const float* scale, const int32_t* offset, float* S, size_t kp) {
  __m512i sum[ROWS][VECTORS];
#pragma GCC unroll 16
  for (int r = 0; r < ROWS; ++r)
#pragma GCC unroll 4
    for (int v = 0; v < VECTORS; ++v) sum[r][v] = _mm512_setzero_si512();
  for (size_t l = 0; l < quads; ++l, packed += VECTORS * V * 4) {
    __m512i b[VECTORS];
#pragma GCC unroll 4
    for (int v = 0; v < VECTORS; ++v) b[v] = _mm512_loadu_si512(packed + v * V * 4);
#pragma GCC unroll 16
    for (int r = 0; r < ROWS; ++r) {
      int32_t four;
      __builtin_memcpy(&four, rows[r] + 4 * l, 4);
      const __m512i a = _mm512_set1_epi32(four);
#pragma GCC unroll 4
      for (int v = 0; v < VECTORS; ++v) sum[r][v] = _mm512_dpbusd_epi32(sum[r][v], a, b[v]);
    }
  }
  for (int r = 0; r < ROWS; ++r)
#pragma GCC unroll 4
    for (int v = 0; v < VECTORS; ++v) {
      const __m512i exact = _mm512_sub_epi32(sum[r][v], _mm512_loadu_si512(offset + v * V));
      const vf s = vf(_mm512_cvtepi32_ps(exact)) * (load(scale + v * V) * step[r]);
      store(S + r * kp + v * V, s);
    }
}

template <int VECTORS>
inline void coarse_panel(const uint8_t* const* rows, const float* step, size_t count, size_t quads, const int8_t* packed,
                         const float* scale, const int32_t* offset, float* S, size_t kp) {
  constexpr int ROWS = TALL[VECTORS];
  size_t r = 0;
  for (; r + ROWS <= count; r += ROWS)
    coarse_tile<ROWS, VECTORS>(rows + r, step + r, quads, packed, scale, offset, S + r * kp, kp);
  for (; r < count; ++r)
    coarse_tile<1, VECTORS>(rows + r, step + r, quads, packed, scale, offset, S + r * kp, kp);
}

void coarse_scores(const uint8_t* const* rows, const float* step, size_t count, size_t quads, const int8_t* packed,
                   const float* scale, const int32_t* offset, size_t kp, float* S) {
  for (size_t c = 0; c < kp; c += PANEL) {
    const int8_t* at = packed + c * quads * 4;
    switch ((kp - c < PANEL ? kp - c : PANEL) / V) {
      case 1: coarse_panel<1>(rows, step, count, quads, at, scale + c, offset + c, S + c, kp); break;
      case 2: coarse_panel<2>(rows, step, count, quads, at, scale + c, offset + c, S + c, kp); break;
      case 3: coarse_panel<3>(rows, step, count, quads, at, scale + c, offset + c, S + c, kp); break;
      case 4: coarse_panel<4>(rows, step, count, quads, at, scale + c, offset + c, S + c, kp); break;
    }
  }
}

#else
constexpr decltype(Lanes::coarse_row) coarse_row = nullptr;
constexpr decltype(Lanes::coarse_scores) coarse_scores = nullptr;
#endif

template <int VECTORS>
inline void thin_panel(const Thin& row, const float* packed, float* S) {
  constexpr size_t WAYS = VECTORS == 1 ? 4 : VECTORS == 2 ? 2 : 1;  // sums side by side, so that none waits for itself
  vf sum[VECTORS] = {};
  for (size_t from = 0; from < row.count; from += WAYS * CHUNK / 2) {
    const size_t to = from + WAYS * CHUNK / 2 < row.count ? from + WAYS * CHUNK / 2 : row.count;
    vf part[WAYS][VECTORS] = {};
    auto add = [&](size_t i, vf* to_) {
      const float *a = packed + row.columns[i] * 2 * VECTORS * V, *b = a + VECTORS * V;
#pragma GCC unroll 4
      for (int v = 0; v < VECTORS; ++v) to_[v] += row.cos[i] * load(a + v * V) + row.sin[i] * load(b + v * V);
    };
    size_t i = from;
    for (; i + WAYS <= to; i += WAYS) {
      if (VECTORS == 1 && i + 16 + WAYS <= row.count)
#pragma GCC unroll 4
        for (size_t w = 0; w < WAYS; ++w) __builtin_prefetch(packed + row.columns[i + 16 + w] * 2 * VECTORS * V);
#pragma GCC unroll 4
      for (size_t w = 0; w < WAYS; ++w) add(i + w, part[w]);
    }
    for (; i < to; ++i) add(i, part[0]);
#pragma GCC unroll 4
    for (size_t w = 0; w < WAYS; ++w)
#pragma GCC unroll 4
      for (int v = 0; v < VECTORS; ++v) sum[v] += part[w][v];
  }
  for (int v = 0; v < VECTORS; ++v) store(S + v * V, sum[v]);
}

void thin_scores(const Thin* rows, size_t count, size_t d, const float* packed, size_t kp, float* S) {
  for (size_t c = 0; c < kp; c += PANEL)  // one panel for all rows, while it is in the cache
    for (size_t r = 0; r < count; ++r) {
      const float* at = packed + c * 2 * d;
      float* out = S + r * kp + c;
      switch ((kp - c < PANEL ? kp - c : PANEL) / V) {
        case 1: thin_panel<1>(rows[r], at, out); break;
        case 2: thin_panel<2>(rows[r], at, out); break;
#if defined(__AVX512F__)
        case 3: thin_panel<3>(rows[r], at, out); break;
        case 4: thin_panel<4>(rows[r], at, out); break;
#endif
      }
    }
}

// The two largest of several scores, lane by lane.
struct Top {
  vf first, next;
  vi at;
};

inline Top merged(const Top& x, const Top& y) {
  const vi better = (y.first > x.first) | ((y.first == x.first) & (y.at < x.at));
  return {better ? y.first : x.first, larger(larger(x.next, y.next), better ? x.first : y.first), better ? y.at : x.at};
}

// Two vectors, each of V/SPAN rows of SPAN lanes, become one of 2V/SPAN rows of SPAN/2 lanes.
template <size_t SPAN>
inline Top folded(const Top& a, const Top& b) {
  vi low, high;
  for (size_t i = 0; i < V; ++i) {
    const size_t row = i / (SPAN / 2), rows = V / SPAN;
    low[i] = int32_t((row < rows ? row * SPAN : V + (row - rows) * SPAN) + i % (SPAN / 2));
    high[i] = low[i] + int32_t(SPAN / 2);
  }
  const Top x = {__builtin_shuffle(a.first, b.first, low), __builtin_shuffle(a.next, b.next, low),
                 __builtin_shuffle(a.at, b.at, low)};
  const Top y = {__builtin_shuffle(a.first, b.first, high), __builtin_shuffle(a.next, b.next, high),
                 __builtin_shuffle(a.at, b.at, high)};
  return merged(x, y);
}

// The tops of V rows, a vector each, side by side in one vector.
template <size_t SPAN>
inline Top gathered(const Top* rows) {
  if constexpr (SPAN == 1) {
    return rows[0];
  } else {
    return folded<V / (SPAN / 2)>(gathered<SPAN / 2>(rows), gathered<SPAN / 2>(rows + SPAN / 2));
  }
}

void winners(const float* S, size_t count, size_t kp, const float* bias, int32_t* where, float* best, float* second) {
  constexpr float NONE = -3.0e38f;
  vi ramp;
  for (size_t i = 0; i < V; ++i) ramp[i] = int32_t(i);
  Top rows[V];
  for (size_t from = 0; from < count; from += V) {
    const size_t here = count - from < V ? count - from : V;
    for (size_t r = 0; r < V; ++r) {
      const float* s = S + (from + (r < here ? r : 0)) * kp;
      Top top = {load(s) - load(bias), vf{} + NONE, ramp};
      for (size_t c = V; c < kp; c += V) {
        const vf x = load(s + c) - load(bias + c);
        const vi better = x > top.first;
        top.next = larger(top.next, better ? top.first : x);
        top.at = better ? ramp + int32_t(c) : top.at;
        top.first = better ? x : top.first;
      }
      rows[r] = top;
    }
    const Top all = gathered<V>(rows);
    for (size_t r = 0; r < here; ++r) best[from + r] = all.first[r], second[from + r] = all.next[r], where[from + r] = all.at[r];
  }
}

void judged(size_t count, const float* norm2, const float* error, const float* best, const float* second, float* upper,
            float* lower, uint8_t* sure) {
  for (size_t r = 0; r < count; ++r) {
    const float e = error[r], own = best[r], other = second[r] < -1e29f ? -1e29f : second[r];
    sure[r] = own - other > 2 * e;
    const float room = 2 * e + 8 * U * (norm2[r] + 2 * __builtin_fabsf(own));
    const float above = norm2[r] - 2 * own + room;
    const float below = norm2[r] - 2 * other - room - 8 * U * __builtin_fabsf(2 * other);
    upper[r] = __builtin_sqrtf(above > 0 ? above : 0) * UP;
    lower[r] = __builtin_sqrtf(below > 0 ? below : 0) * DOWN;
  }
}

inline float total(vf x) {
  float sum[V];
  *reinterpret_cast<vf*>(sum) = x;
#pragma GCC unroll 4
  for (size_t half = V / 2; half; half /= 2)
#pragma GCC unroll 8
    for (size_t i = 0; i < half; ++i) sum[i] += sum[i + half];
  return sum[0];
}

float thin_dot(const Thin& row, size_t d, const float* h) {
  constexpr size_t REACH = CHUNK / 2 * V;  // cells after which each lane has summed CHUNK products
  const float* low = h + d;
  float sum = 0;
  for (size_t from = 0; from < row.count; from += REACH) {
    const size_t to = from + REACH < row.count ? from + REACH : row.count;
    float lane[V] = {};
    size_t i = from;
    for (; i + V <= to; i += V)
      for (size_t v = 0; v < V; ++v) lane[v] += row.cos[i + v] * h[row.columns[i + v]] + row.sin[i + v] * low[row.columns[i + v]];
    for (; i < to; ++i) lane[0] += row.cos[i] * h[row.columns[i]] + row.sin[i] * low[row.columns[i]];
    vf part;
    __builtin_memcpy(&part, lane, sizeof part);
    sum += total(part);
  }
  return sum;
}

float dot(const float* a, const float* b, size_t p) {
  float sum = 0;
  for (size_t from = 0; from < p; from += CHUNK) {
    const size_t to = from + CHUNK < p ? from + CHUNK : p;
    vf s0 = {}, s1 = {};
    size_t l = from;
    for (; l + 2 * V <= to; l += 2 * V) {
      s0 += load(a + l) * load(b + l);
      s1 += load(a + l + V) * load(b + l + V);
    }
    if (l + V <= to) s0 += load(a + l) * load(b + l), l += V;
    float part = total(s0 + s1);
    for (; l < to; ++l) part += a[l] * b[l];
    sum += part;
  }
  return sum;
}

void worn(size_t count, const int32_t* __restrict labels, const float* __restrict drift, const Group& slow,
          const Group& fast, float* __restrict upper, float* __restrict lower, float* __restrict lower_fast,
          uint8_t* __restrict open) {
  const Group s = slow, f = fast;
  for (size_t r = 0; r < count; ++r) {
    const int32_t own = labels[r];
    const float u = (upper[r] + drift[own]) * UP, l = lower[r];
    const float now = l - ((own == s.which ? s.second : s.most) * UP + __builtin_fabsf(l) * (4 * U));
    upper[r] = u, lower[r] = now;
    open[r] = !(u < now);
  }
  if (lower_fast)
    for (size_t r = 0; r < count; ++r) {
      const float l = lower_fast[r];
      const float now = l - ((labels[r] == f.which ? f.second : f.most) * UP + __builtin_fabsf(l) * (4 * U));
      lower_fast[r] = now;
      open[r] |= !(upper[r] < now);
    }
}

int64_t distance(const float* g, const int32_t* h, size_t p) {
  int64_t sum = 0;
  for (size_t l = 0; l < p; ++l) {
    const int32_t gap = int32_t(g[l] * float(GRID)) - h[l];
    sum += int64_t(gap) * gap;
  }
  return sum;
}

void add(int64_t* totals, const float* g, size_t p, bool minus) {
  if (minus)
    for (size_t l = 0; l < p; ++l) totals[l] -= int32_t(g[l] * float(GRID));
  else
    for (size_t l = 0; l < p; ++l) totals[l] += int32_t(g[l] * float(GRID));
}

}  // namespace

const Lanes* REKMEANS_LANES() {
  static const Lanes table = {REKMEANS_NAME, V,     PANEL,  phases, nonzero, mapped, turns, scores, winners_of_few,   coarse_row, coarse_scores, thin_scores,
                              thin_dot,      winners, judged, worn,   dot,    distance, add};
  return &table;
}

}  // namespace rekmeans
