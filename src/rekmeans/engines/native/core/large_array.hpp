// A large array of floats, in huge pages if the system has them, which makes the first access
// faster.
#pragma once
#include <cstddef>

namespace rekmeans {

struct LargeArray {
  float* data = nullptr;
  LargeArray() = default;
  LargeArray(const LargeArray&) = delete;
  ~LargeArray();
  void allocate(size_t count);  // call once
};

}  // namespace rekmeans
