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

// The values from `begin` on: of a chunk at most, unless their order does not matter. A level's
// first run goes through its loop like the others, so that there is one copy of what is below.
template <int64_t kSpan, typename Value, typename Combine>
DVM_ALWAYS_INLINE auto combined_runs(int64_t begin, int64_t end, const Value& value,
                                     const Combine& combine) {
  if constexpr (kSpan == core::kSumRun) {
    auto total = value(begin);
    for (int64_t at = begin + 1; at < end; ++at) total = combine(total, value(at));
    return total;
  } else {
    constexpr int64_t kPart = kSpan / core::kSumRun;
    decltype(value(begin)) total{};
    for (int64_t at = begin; at < end; at += kPart) {
      const auto run = combined_runs<kPart>(at, std::min(at + kPart, end), value, combine);
      total = at == begin ? run : combine(total, run);
    }
    return total;
  }
}

}  // namespace dvm::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
