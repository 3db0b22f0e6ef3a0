// Macros and functions for features that compilers name differently. Without vector extensions, or
// if REKMEANS_PLAIN is defined, the same code runs on plain arrays (simd/plain_vectors.hpp) and on
// two 64-bit words (int128.hpp).
#pragma once

#if !defined(__GNUC__) && !defined(REKMEANS_PLAIN)
#define REKMEANS_PLAIN
#endif

#define REKMEANS_PRAGMA(TEXT) _Pragma(#TEXT)
#if defined(__clang__)
#define REKMEANS_UNROLL(COUNT) REKMEANS_PRAGMA(clang loop unroll_count(COUNT))
#elif defined(__GNUC__)
#define REKMEANS_UNROLL(COUNT) REKMEANS_PRAGMA(GCC unroll COUNT)
#else
#define REKMEANS_UNROLL(COUNT)
#endif

#if defined(REKMEANS_PLAIN)
#include <cmath>
#endif

namespace rekmeans {

// In an anonymous namespace, so that each instruction set has its own copy.
namespace {

#if defined(REKMEANS_PLAIN)
inline float magnitude(float x) { return std::fabs(x); }
inline double magnitude(double x) { return std::fabs(x); }
inline float square_root(float x) { return std::sqrt(x); }
inline double square_root(double x) { return std::sqrt(x); }
#else
inline float magnitude(float x) { return __builtin_fabsf(x); }
inline double magnitude(double x) { return __builtin_fabs(x); }
inline float square_root(float x) { return __builtin_sqrtf(x); }
inline double square_root(double x) { return __builtin_sqrt(x); }
#endif

}  // namespace

// Prefetch the cache line at this address without reading it. Static, so that each instruction set
// has its own copy.
#if defined(REKMEANS_PLAIN)
static inline void prefetch(const void*) {}
#else
static inline void prefetch(const void* address) { __builtin_prefetch(address); }
#endif

}  // namespace rekmeans
