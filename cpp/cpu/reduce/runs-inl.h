// core::combine_runs (core/ops/sum_order.h) of vectors, for one SIMD level: loops, whose totals
// stay in registers.
#if defined(DVM_CPU_REDUCE_RUNS) == defined(HWY_TARGET_TOGGLE)
#ifdef DVM_CPU_REDUCE_RUNS
#undef DVM_CPU_REDUCE_RUNS
#else
#define DVM_CPU_REDUCE_RUNS
#endif

#include <algorithm>

#include "core/math/basis.h"
#include "core/ops/sum_order.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace dvm::cpu::HWY_NAMESPACE {

// The values from `begin` on: of a chunk at most, unless their order does not matter.
template <int64_t kSpan = core::kSumChunk, typename Value, typename Combine>
DVM_ALWAYS_INLINE auto combined_runs(int64_t begin, int64_t end, const Value& value,
                                     const Combine& combine) {
  if constexpr (kSpan == 1) {
    return value(begin);
  } else {
    constexpr int64_t kPart = kSpan / core::kSumRun;
    auto total = combined_runs<kPart>(begin, std::min(begin + kPart, end), value, combine);
    for (int64_t at = begin + kPart; at < end; at += kPart) {
      total = combine(total, combined_runs<kPart>(at, std::min(at + kPart, end), value, combine));
    }
    return total;
  }
}

}  // namespace dvm::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
