// Sums and products.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/reduce/sum_kernels.cpp"
#include "cpu/for_each_level.h"
// What compiles per level comes after it.
#include "cpu/reduce/reduce_casts-inl.h"
#include "cpu/reduce/reduce_table-inl.h"
#include "cpu/reduce/sum_bytes-inl.h"

#if DVM_LEVEL_IS_HERE

HWY_BEFORE_NAMESPACE();
namespace dvm::cpu::HWY_NAMESPACE {

template <typename Op>
constexpr vm::TileKernel kTo64 = reduce_casts<uint64_t, Reduce<Op, uint64_t>::kernel>;

void fill_sums(vm::KernelTable& table) {
  fill_reduction<Sum>(table, Insn::sum);
  fill_reduction<Prod>(table, Insn::prod);
  for (const DType dtype : {DType::i64, DType::u64}) {
    table.entry(Insn::sum, dtype) = sum_to_64<kTo64<Sum>>;
    table.entry(Insn::prod, dtype) = kTo64<Prod>;
  }
  table.entry(Insn::sum, DType::f64) = reduce_casts<double, Reduce<Sum, double>::kernel>;
}

}  // namespace dvm::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif

#if DVM_CHOOSES_LEVEL
namespace dvm::cpu {
DVM_FILL_BY_LEVEL(fill_sums)
}
#endif
