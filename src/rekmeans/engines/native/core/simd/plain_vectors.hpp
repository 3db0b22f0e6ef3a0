// Vectors as plain arrays, with the operations of vectors.hpp, for compilers without vector
// extensions.
#pragma once
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace rekmeans {
namespace {

template <class T>
using MaskOf = std::conditional_t<sizeof(T) == 8, int64_t, int32_t>;

template <class T, size_t N>
struct Vector {
  T lane[N];
  constexpr T operator[](size_t i) const { return lane[i]; }
  constexpr T& operator[](size_t i) { return lane[i]; }
};

template <class T, size_t N>
Vector<T, N> broadcast_lanes(T x) {
  Vector<T, N> out;
  for (size_t i = 0; i < N; ++i) out[i] = x;
  return out;
}

// Element-wise operators, with a vector or a number on either side.
#define REKMEANS_OPERATOR(OP)                                           \
  template <class T, size_t N>                                          \
  Vector<T, N> operator OP(Vector<T, N> a, Vector<T, N> b) {            \
    for (size_t i = 0; i < N; ++i) a[i] = T(a[i] OP b[i]);              \
    return a;                                                           \
  }                                                                     \
  template <class T, size_t N>                                          \
  Vector<T, N> operator OP(Vector<T, N> a, std::type_identity_t<T> b) { \
    return a OP broadcast_lanes<T, N>(b);                               \
  }                                                                     \
  template <class T, size_t N>                                          \
  Vector<T, N> operator OP(std::type_identity_t<T> a, Vector<T, N> b) { \
    return broadcast_lanes<T, N>(a) OP b;                               \
  }                                                                     \
  template <class T, size_t N, class Other>                             \
  Vector<T, N>& operator OP##=(Vector<T, N>& a, Other b) {              \
    return a = a OP b;                                                  \
  }
#define REKMEANS_COMPARISON(OP)                                                 \
  template <class T, size_t N>                                                  \
  Vector<MaskOf<T>, N> operator OP(Vector<T, N> a, Vector<T, N> b) {            \
    Vector<MaskOf<T>, N> out;                                                   \
    for (size_t i = 0; i < N; ++i) out[i] = a[i] OP b[i] ? -1 : 0;              \
    return out;                                                                 \
  }                                                                             \
  template <class T, size_t N>                                                  \
  Vector<MaskOf<T>, N> operator OP(Vector<T, N> a, std::type_identity_t<T> b) { \
    return a OP broadcast_lanes<T, N>(b);                                       \
  }
REKMEANS_OPERATOR(+)
REKMEANS_OPERATOR(-)
REKMEANS_OPERATOR(*)
REKMEANS_OPERATOR(/)
REKMEANS_OPERATOR(&)
REKMEANS_OPERATOR(|)
REKMEANS_OPERATOR(^)
REKMEANS_OPERATOR(<<)
REKMEANS_OPERATOR(>>)
REKMEANS_COMPARISON(==)
REKMEANS_COMPARISON(!=)
REKMEANS_COMPARISON(<)
REKMEANS_COMPARISON(<=)
REKMEANS_COMPARISON(>)
REKMEANS_COMPARISON(>=)
#undef REKMEANS_OPERATOR
#undef REKMEANS_COMPARISON

template <class T, size_t N>
Vector<T, N> operator-(Vector<T, N> a) {
  for (size_t i = 0; i < N; ++i) a[i] = -a[i];
  return a;
}

using vf = Vector<float, V>;
using vi = Vector<int32_t, V>;
using vd = Vector<double, DV>;
using vl = Vector<int64_t, DV>;
using vu = Vector<uint64_t, DV>;
using vh = Vector<float, DV>;
using vb = Vector<uint8_t, V>;

template <class To, class From>
To same_bits(const From& x) {
  static_assert(sizeof(To) == sizeof(From));
  To out;
  std::memcpy(&out, &x, sizeof out);
  return out;
}
template <class To, class From>
To same_values(const From& x) {
  To out;
  for (size_t i = 0; i < sizeof x.lane / sizeof x.lane[0]; ++i)
    out[i] = std::remove_reference_t<decltype(out[0])>(x[i]);
  return out;
}

inline vf load(const float* from) {
  vf x;
  std::memcpy(&x, from, sizeof x);
  return x;
}
inline vd load(const double* from) {
  vd x;
  std::memcpy(&x, from, sizeof x);
  return x;
}
inline vh load_half(const float* from) {
  vh x;
  std::memcpy(&x, from, sizeof x);
  return x;
}
template <class T, size_t N>
inline void store(T* to, Vector<T, N> x) {
  std::memcpy(to, &x, sizeof x);
}

template <class Mask, class T, size_t N>
inline Vector<T, N> select(Vector<Mask, N> mask, Vector<T, N> yes, Vector<T, N> no) {
  for (size_t i = 0; i < N; ++i) yes[i] = mask[i] ? yes[i] : no[i];
  return yes;
}

inline vd to_double(const float* from) { return same_values<vd>(load_half(from)); }
inline vh to_float(vd x) { return same_values<vh>(x); }
inline vl to_integer(vd x) { return same_values<vl>(x); }
inline vb low_bytes(vi x) { return same_values<vb>(x); }
inline vi bits(vf x) { return same_bits<vi>(x); }
inline vu bits(vd x) { return same_bits<vu>(x); }
inline vd number(vu x) { return same_bits<vd>(x); }

inline vf fused(vf a, vf b, vf c) { return a * b + c; }
inline vd fused(vd a, vd b, vd c) { return a * b + c; }
inline float fused(float a, float b, float c) { return a * b + c; }

using LaneMask = vl;
inline LaneMask all_lanes() { return broadcast_lanes<int64_t, DV>(-1); }
inline LaneMask is_number(vd x) { return x == x; }
inline LaneMask is_between(vd x, double low, double high) { return (x >= low) & (x <= high); }
inline vd zero_unless(LaneMask mask, vd x) { return select(mask, x, vd{}); }
inline vd fused_where(LaneMask mask, vd a, vd b, vd c) { return select(mask, fused(a, b, c), c); }
inline uint32_t lane_bits(LaneMask mask) {
  uint32_t bits = 0;
  for (size_t i = 0; i < DV; ++i) bits |= uint32_t(mask[i] & 1) << i;
  return bits;
}
inline vd larger(vd a, vd b) { return select(a > b, a, b); }

template <class T>
inline void copy_bytes(T* to, const void* from) {
  std::memcpy(to, from, sizeof *to);
}
constexpr double MISSING = NAN;

template <int (*SOURCE)(int), class T, size_t N>
inline Vector<T, N> shuffle(Vector<T, N> a, Vector<T, N> b) {
  Vector<T, N> out;
  for (int i = 0; i < int(N); ++i) {
    const int source = SOURCE(i);
    out[size_t(i)] = source < int(N) ? a[size_t(source)] : b[size_t(source) - N];
  }
  return out;
}

}  // namespace
}  // namespace rekmeans
