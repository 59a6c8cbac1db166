// The kernel of a reduction for each dtype, for one SIMD level.
#if defined(DVM_CPU_REDUCE_TABLE) == defined(HWY_TARGET_TOGGLE)
#ifdef DVM_CPU_REDUCE_TABLE
#undef DVM_CPU_REDUCE_TABLE
#else
#define DVM_CPU_REDUCE_TABLE
#endif

#include "cpu/elementwise/same_bits.h"
#include "cpu/reduce/reduce-inl.h"
#include "cpu/reduce/reduce_halves-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dvm::cpu::HWY_NAMESPACE {

// Any byte but 0 counts as true, which the extreme of bytes tells as well.
template <typename Op>
void reduce_bools(const TileArgs& args) noexcept {
  Reduce<Op, uint8_t>::kernel(args);
  auto* dst = reinterpret_cast<uint8_t*>(args.dst);
  const int64_t count = args.m * args.n;  // which bytes that are stored might else change
  for (int64_t i = 0; i < count; ++i) dst[i] = dst[i] != 0;
}

template <typename Op, DType D>
constexpr vm::TileKernel reduce_kernel() {
  if constexpr (Op::kOfFloats && !core::is_floating(D)) {
    return nullptr;
  } else if constexpr (D == DType::boolean) {
    // Sums of bool are not in the ISA.
    if constexpr (!Op::kWraps) return reduce_bools<Op>;
    return nullptr;
  } else if constexpr (core::is_half(D)) {
    return reduce_halves<Op, core::Storage<D>>;
  } else {
    // Integers that wrap do so alike for both signs.
    return Reduce<Op, typename Element<Op::kWraps ? unsigned_of(D) : D>::Compute>::kernel;
  }
}

template <typename Op>
void fill_reduction(vm::KernelTable& table, Insn insn) {
  for (int d = 0; d < core::kDTypeCount; ++d) {
    core::dispatch(static_cast<DType>(d),
                   [&]<DType D>() { table.entry(insn, D) = reduce_kernel<Op, D>(); });
  }
}

}  // namespace dvm::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
