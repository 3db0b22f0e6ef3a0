// Vectors with the extensions that GCC and Clang share, and wrappers where they differ.
#pragma once
#include <utility>

#if defined(__x86_64__) || defined(__i386__)
#include <immintrin.h>
#elif defined(__ARM_NEON)
#include <arm_neon.h>
#endif

namespace rekmeans {
namespace {

typedef float vf __attribute__((vector_size(V * 4), aligned(4), may_alias));
typedef int32_t vi __attribute__((vector_size(V * 4), aligned(4), may_alias));
typedef double vd __attribute__((vector_size(V * 4), aligned(8), may_alias));
typedef int64_t vl __attribute__((vector_size(V * 4), aligned(8), may_alias));
typedef uint64_t vu __attribute__((vector_size(V * 4), aligned(8), may_alias));
typedef float vh __attribute__((vector_size(V * 2), aligned(4), may_alias));
typedef uint8_t vb __attribute__((vector_size(V), aligned(1), may_alias));

inline vf load(const float* from) { return *reinterpret_cast<const vf*>(from); }
inline vd load(const double* from) { return *reinterpret_cast<const vd*>(from); }
inline void store(float* to, vf x) { *reinterpret_cast<vf*>(to) = x; }
inline void store(float* to, vh x) { *reinterpret_cast<vh*>(to) = x; }
inline void store(double* to, vd x) { *reinterpret_cast<vd*>(to) = x; }
inline void store(int64_t* to, vl x) { *reinterpret_cast<vl*>(to) = x; }
inline void store(uint8_t* to, vb x) { *reinterpret_cast<vb*>(to) = x; }

inline vf select(vi mask, vf yes, vf no) { return mask ? yes : no; }
inline vi select(vi mask, vi yes, vi no) { return mask ? yes : no; }
inline vd select(vl mask, vd yes, vd no) { return mask ? yes : no; }
inline vl select(vl mask, vl yes, vl no) { return mask ? yes : no; }

inline vd to_double(const float* from) {
  return __builtin_convertvector(*reinterpret_cast<const vh*>(from), vd);
}
inline vh to_float(vd x) { return __builtin_convertvector(x, vh); }
inline vl to_integer(vd x) { return __builtin_convertvector(x, vl); }
inline vb low_bytes(vi x) { return __builtin_convertvector(x, vb); }
inline vi bits(vf x) { return vi(x); }
inline vu bits(vd x) { return vu(x); }
inline vd number(vu x) { return vd(x); }

#if defined(__AVX512F__)
inline vf fused(vf a, vf b, vf c) { return vf(_mm512_fmadd_ps(__m512(a), __m512(b), __m512(c))); }
inline vd fused(vd a, vd b, vd c) {
  return vd(_mm512_fmadd_pd(__m512d(a), __m512d(b), __m512d(c)));
}
#elif defined(__FMA__)
inline vf fused(vf a, vf b, vf c) { return vf(_mm256_fmadd_ps(__m256(a), __m256(b), __m256(c))); }
inline vd fused(vd a, vd b, vd c) {
  return vd(_mm256_fmadd_pd(__m256d(a), __m256d(b), __m256d(c)));
}
#elif defined(__aarch64__)
inline vf fused(vf a, vf b, vf c) {
  return vf(vfmaq_f32(float32x4_t(c), float32x4_t(a), float32x4_t(b)));
}
inline vd fused(vd a, vd b, vd c) {
  return vd(vfmaq_f64(float64x2_t(c), float64x2_t(a), float64x2_t(b)));
}
#else
inline vf fused(vf a, vf b, vf c) { return a * b + c; }
inline vd fused(vd a, vd b, vd c) { return a * b + c; }
#endif
#if defined(__AVX512F__)
typedef __mmask8 LaneMask;
inline LaneMask all_lanes() { return 0xFF; }
inline LaneMask is_number(vd x) { return _mm512_cmp_pd_mask(__m512d(x), __m512d(x), _CMP_ORD_Q); }
inline LaneMask is_between(vd x, double low, double high) {
  const __mmask8 above = _mm512_cmp_pd_mask(__m512d(x), _mm512_set1_pd(low), _CMP_GE_OQ);
  return _mm512_mask_cmp_pd_mask(above, __m512d(x), _mm512_set1_pd(high), _CMP_LE_OQ);
}
inline vd zero_unless(LaneMask mask, vd x) { return vd(_mm512_maskz_mov_pd(mask, __m512d(x))); }
inline vd fused_where(LaneMask mask, vd a, vd b, vd c) {
  return vd(_mm512_mask3_fmadd_pd(__m512d(a), __m512d(b), __m512d(c), mask));
}
inline uint32_t lane_bits(LaneMask mask) { return mask; }
inline vd larger(vd a, vd b) { return vd(_mm512_max_pd(__m512d(a), __m512d(b))); }
#else
typedef vl LaneMask;
inline LaneMask all_lanes() { return vl{} - 1; }
inline LaneMask is_number(vd x) { return x == x; }
inline LaneMask is_between(vd x, double low, double high) { return (x >= low) & (x <= high); }
inline vd zero_unless(LaneMask mask, vd x) { return vd(vl(x) & mask); }
inline vd fused_where(LaneMask mask, vd a, vd b, vd c) { return select(mask, fused(a, b, c), c); }
inline uint32_t lane_bits(LaneMask mask) {
#if defined(__AVX2__)
  return uint32_t(_mm256_movemask_pd(__m256d(mask)));
#else
  return uint32_t(mask[0] & 1) | uint32_t(mask[1] & 2);
#endif
}
inline vd larger(vd a, vd b) { return select(a > b, a, b); }
#endif

#if defined(__FMA__) || defined(__aarch64__)
inline float fused(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
#else
inline float fused(float a, float b, float c) { return a * b + c; }
#endif

template <class T>
inline void copy_bytes(T* to, const void* from) {
  __builtin_memcpy(to, from, sizeof *to);
}
constexpr double MISSING = __builtin_nan("");

#if defined(__clang__)
#define REKMEANS_SHUFFLE(MASK, A, B, ...) __builtin_shufflevector(A, B, __VA_ARGS__)
#else
#define REKMEANS_SHUFFLE(MASK, A, B, ...) __builtin_shuffle(A, B, MASK{__VA_ARGS__})
#endif

template <int (*SOURCE)(int), int... LANE>
inline vf shuffle_lanes(vf a, vf b, std::integer_sequence<int, LANE...>) {
  return REKMEANS_SHUFFLE(vi, a, b, SOURCE(LANE)...);
}
template <int (*SOURCE)(int), int... LANE>
inline vi shuffle_lanes(vi a, vi b, std::integer_sequence<int, LANE...>) {
  return REKMEANS_SHUFFLE(vi, a, b, SOURCE(LANE)...);
}
template <int (*SOURCE)(int), int... LANE>
inline vd shuffle_lanes(vd a, vd b, std::integer_sequence<int, LANE...>) {
  return REKMEANS_SHUFFLE(vl, a, b, SOURCE(LANE)...);
}
// Overloads, because a vector type as a template argument would lose its alignment.
template <int (*SOURCE)(int)>
inline vf shuffle(vf a, vf b) {
  return shuffle_lanes<SOURCE>(a, b, std::make_integer_sequence<int, int(V)>());
}
template <int (*SOURCE)(int)>
inline vi shuffle(vi a, vi b) {
  return shuffle_lanes<SOURCE>(a, b, std::make_integer_sequence<int, int(V)>());
}
template <int (*SOURCE)(int)>
inline vd shuffle(vd a, vd b) {
  return shuffle_lanes<SOURCE>(a, b, std::make_integer_sequence<int, int(DV)>());
}

}  // namespace
}  // namespace rekmeans
