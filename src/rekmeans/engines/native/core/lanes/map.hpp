// A row onto the circle: its cells, their phases, and g = f - base on the grid.
#pragma once
#include "vectors.hpp"

namespace rekmeans {
namespace {

Phases phases(double* x, size_t d, const PhaseMap& map) {
  const double *shift = map.shift, *rate = map.rate, *low = map.low, *high = map.high;
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
    const double t = (x[l] - shift[l]) * rate[l];
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
  REKMEANS_UNROLL(8)
  for (int i = 7; i >= 0; --i) s = s * x2 + c[i];
  return s;
}

inline vd signed_by(vu parity, vd x) { return number(bits(x) ^ (parity << 63)); }  // -x where the lowest bit is set

size_t mapped(const double* t, size_t d, const double* base, float* g, double* norm2, int64_t* square) {
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
    const vd in = load(at);
    const vl seen = in == in;
    const vd x = select(seen, in, vd{});
    const vd shifted = x * 2.0 + MAGIC, q = shifted - MAGIC;
    const vu quarter = bits(shifted);                             // the low bits of the sum are the integer's
    const vd r = x - q * 0.5, r2 = r * r;                         // exact: |x| < 2^40
    const vd c = series(COS, r2) * GRID, s = series(SIN, r2) * r * GRID;
    const vd cn = rounded(c), sn = rounded(s);
    const vd cg = c - cn, sg = s - sn;
    doubts += (cg > 0.5 - DOUBT) | (cg < DOUBT - 0.5) | (sg > 0.5 - DOUBT) | (sg < DOUBT - 0.5);
    const vl odd = (quarter & uint64_t(1)) != uint64_t(0);
    const vd cos = select(seen, signed_by(quarter ^ (quarter >> 1), select(odd, sn, cn)), vd{});
    const vd sin = select(seen, signed_by(quarter >> 1, select(odd, cn, sn)), vd{});
    const vd gc = select(seen, cos - load(bc), vd{});
    const vd gs = select(seen, sin - load(bs), vd{});
    length += gc * gc + gs * gs;
    exact += cos * cos + sin * sin;                               // at most 2^47 a turn
    if (turn % 32 == 31) whole += integers(exact), exact = vd{};
    const vh oc = narrowed(gc * (1 / GRID)), os = narrowed(gs * (1 / GRID));
    if (here == DV) {
      store(g + i, oc);
      store(g + d + i, os);
    } else {
      for (size_t j = 0; j < here; ++j) g[i + j] = oc[j], g[d + i + j] = os[j];
    }
  }
  whole += integers(exact);
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

}  // namespace
}  // namespace rekmeans
