// Copies of lines with zeros around them (cpu/matmul/window_lines.h), for one SIMD level.
#if defined(DVM_CPU_MATMUL_LINE_COPIES) == defined(HWY_TARGET_TOGGLE)
#ifdef DVM_CPU_MATMUL_LINE_COPIES
#undef DVM_CPU_MATMUL_LINE_COPIES
#else
#define DVM_CPU_MATMUL_LINE_COPIES
#endif

#include <algorithm>

#include "cpu/matmul/matmul_kernels.h"
#include "cpu/matmul/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dvm::cpu::HWY_NAMESPACE::matmul {

// A vector of all lines after the other: in each the same lanes are there.
template <typename T>
void copy_lines(const LineCopy& copy) noexcept {
  constexpr int64_t kElement = sizeof(T), kPer = kLanes<T>;
  const int64_t step = copy.from_step / kElement;
  for (int64_t at = 0; at < copy.pitch; at += kPer) {
    const int64_t first = copy.begin - at, end = first + copy.count;
    const SomeLanes<T> all(0, copy.pitch - at), adjacent(first, end);
    const SomeLanes<T> low(2 * first, 2 * end - 1), high(2 * first - kPer, 2 * end - 1 - kPer);
    const std::byte* from = copy.from - first * copy.from_step;
    std::byte* to = copy.to + at * kElement;
    for (int64_t i = 0; i < copy.lines; ++i, from += copy.from_line, to += copy.to_line) {
      if (step == 1) {
        all.store(adjacent.load(from), to);
      } else if (step == 2) {
        all.store(chosen_lanes<0, 2>(low.load(from), high.load(from + kBytes)), to);
      } else {
        all.store(Vec<T>{}, to);
        for (int64_t l = std::max<int64_t>(first, 0); l < std::min(end, kPer); ++l) {
          std::memcpy(to + l * kElement, from + l * copy.from_step, sizeof(T));
        }
      }
    }
  }
}

}  // namespace dvm::cpu::HWY_NAMESPACE::matmul
HWY_AFTER_NAMESPACE();

#endif
