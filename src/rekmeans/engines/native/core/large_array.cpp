#include "large_array.hpp"

#include <new>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace rekmeans {
namespace {

constexpr size_t HUGE_PAGE = size_t(1) << 21;
constexpr std::align_val_t ALIGNMENT{
    64};  // bytes of a cache line; the part that fills huge pages is requested as huge pages

}  // namespace

LargeArray::~LargeArray() { ::operator delete(data, ALIGNMENT); }

void LargeArray::allocate(size_t count) {
  const size_t bytes = count * sizeof(float) + 1;
  data = static_cast<float*>(::operator new(bytes, ALIGNMENT));
#if defined(__linux__)
  const size_t first = (reinterpret_cast<size_t>(data) + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE;
  const size_t last = (reinterpret_cast<size_t>(data) + bytes) / HUGE_PAGE * HUGE_PAGE;
  if (first < last) madvise(reinterpret_cast<void*>(first), last - first, MADV_HUGEPAGE);
#endif
}

}  // namespace rekmeans
