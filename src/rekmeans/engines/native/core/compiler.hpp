// What GCC and Clang spell differently, and what other compilers lack, by one name each.
#pragma once

#define REKMEANS_PRAGMA(TEXT) _Pragma(#TEXT)
#if defined(__clang__)
#define REKMEANS_UNROLL(COUNT) REKMEANS_PRAGMA(clang loop unroll_count(COUNT))
#elif defined(__GNUC__)
#define REKMEANS_UNROLL(COUNT) REKMEANS_PRAGMA(GCC unroll COUNT)
#else
#define REKMEANS_UNROLL(COUNT)
#endif

namespace rekmeans {

using i128 = __int128;

// Ask for the cache line at this address; nothing is read. Static: each instruction set has its own copy.
static inline void prefetch(const void* at) { __builtin_prefetch(at); }

}  // namespace rekmeans
