// Detect the instruction sets of the processor.
#include "instruction_set.hpp"

#include <stdexcept>

namespace rekmeans {

const Simd* choose_simd(const std::string& name) {
#if defined(REKMEANS_X86)
  const bool has_avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                          __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq");
  const bool has_avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  const bool best = name.empty();
  if ((best || name == "vnni") && has_avx512 && __builtin_cpu_supports("avx512vnni")) return vnni();
  if ((best || name == "avx512") && has_avx512) return avx512();
  if ((best || name == "avx2") && has_avx2) return avx2();
#endif
  if (name.empty() || name == "baseline") return baseline();
  throw std::invalid_argument("REKMEANS_ISA='" + name +
                              "' is not supported by this processor. Unset REKMEANS_ISA.");
}

}  // namespace rekmeans
