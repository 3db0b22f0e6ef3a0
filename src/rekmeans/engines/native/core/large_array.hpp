// Many floats, in huge pages where the system has them: touching them first costs less.
#pragma once
#include <cstddef>

namespace rekmeans {

struct LargeArray {
  float* data = nullptr;
  LargeArray() = default;
  LargeArray(const LargeArray&) = delete;
  ~LargeArray();
  void allocate(size_t count);  // once
};

}  // namespace rekmeans
