// 128-bit integers: the compiler's type, or two words if it has none.
#pragma once
#include <cmath>
#include <cstdint>

#include "compiler.hpp"

namespace rekmeans {

#if !defined(REKMEANS_PLAIN)

using int128 = __int128;

inline int64_t high_word(int128 x) { return int64_t(x >> 64); }
inline uint64_t low_word(int128 x) { return uint64_t(x); }
inline int128 join_words(int64_t high, uint64_t low) {
  return int128(high) * (int128(1) << 64) + int128(low);
}
inline uint64_t high_word_of_product(uint64_t x, uint64_t y) {
  return uint64_t((static_cast<unsigned __int128>(x) * y) >> 64);
}

#else

// Two's complement in two words. Sums and products wrap, like those of the compiler's type.
struct int128 {
  uint64_t low = 0;
  int64_t high = 0;

  constexpr int128() = default;
  constexpr int128(int64_t x) : low(uint64_t(x)), high(x < 0 ? -1 : 0) {}
  constexpr int128(int x) : int128(int64_t(x)) {}
  constexpr int128(int64_t high_, uint64_t low_) : low(low_), high(high_) {}

  explicit operator double() const;  // rounded to nearest, like the compiler's conversion
  explicit constexpr operator int64_t() const { return int64_t(low); }

  constexpr int128 operator-() const {
    return {int64_t(~uint64_t(high) + (low == 0 ? 1u : 0u)), ~low + 1};
  }
  constexpr int128& operator+=(int128 y) {
    low += y.low;
    high = int64_t(uint64_t(high) + uint64_t(y.high) + (low < y.low ? 1u : 0u));
    return *this;
  }
  constexpr int128& operator-=(int128 y) { return *this += -y; }
  friend constexpr int128 operator+(int128 x, int128 y) { return x += y; }
  friend constexpr int128 operator-(int128 x, int128 y) { return x -= y; }
  friend constexpr bool operator==(int128 x, int128 y) {
    return x.low == y.low && x.high == y.high;
  }
  friend constexpr bool operator<(int128 x, int128 y) {
    return x.high != y.high ? x.high < y.high : x.low < y.low;
  }
  friend constexpr bool operator>(int128 x, int128 y) { return y < x; }
  friend constexpr bool operator<=(int128 x, int128 y) { return !(y < x); }
  friend constexpr bool operator>=(int128 x, int128 y) { return !(x < y); }
};

// The 128-bit product of two words, computed from halves of 32 bits.
constexpr int128 product_of_words(uint64_t x, uint64_t y) {
  const uint64_t x0 = uint32_t(x), x1 = x >> 32, y0 = uint32_t(y), y1 = y >> 32;
  const uint64_t lowest = x0 * y0, cross = x1 * y0 + (lowest >> 32),
                 middle = x0 * y1 + uint32_t(cross);
  return {int64_t(x1 * y1 + (cross >> 32) + (middle >> 32)), (middle << 32) | uint32_t(lowest)};
}

constexpr int128 operator*(int128 x, int128 y) {
  int128 out = product_of_words(x.low, y.low);
  out.high = int64_t(uint64_t(out.high) + uint64_t(x.high) * y.low + x.low * uint64_t(y.high));
  return out;
}

inline int128::operator double() const {
  if (high < 0) return -double(-*this);  // 2^127 does not occur
  if (high == 0) return double(low);
  int shift = 0;
  while (!((uint64_t(high) << shift) >> 63)) ++shift;
  const uint64_t top = shift ? (uint64_t(high) << shift) | (low >> (64 - shift)) : uint64_t(high);
  // the upper 64 bits include the 53 that are kept; a sticky bit represents all lower bits
  const bool more = (low << shift) != 0;
  return std::ldexp(double(top | uint64_t(more)), 64 - shift);
}

inline int64_t high_word(int128 x) { return x.high; }
inline uint64_t low_word(int128 x) { return x.low; }
inline int128 join_words(int64_t high, uint64_t low) { return {high, low}; }
inline uint64_t high_word_of_product(uint64_t x, uint64_t y) {
  return uint64_t(product_of_words(x, y).high);
}

#endif

}  // namespace rekmeans
