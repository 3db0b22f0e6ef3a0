// What compilers spell differently, by one name each. Where there are no vector extensions, or
// REKMEANS_PLAIN asks for it, the same code runs on plain arrays (simd/plain_vectors.hpp) and on
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

namespace rekmeans {

// Ask for the cache line at this address; nothing is read. Static: each instruction set has its own
// copy.
#if defined(REKMEANS_PLAIN)
static inline void prefetch(const void*) {}
#else
static inline void prefetch(const void* address) { __builtin_prefetch(address); }
#endif

}  // namespace rekmeans
