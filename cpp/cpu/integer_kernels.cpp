// The rows of tile_ops.h and cmp on integers and bool.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/integer_kernels.cpp"
#include "cpu/for_each_level.h"
// What compiles per level comes after it.
#include "cpu/elementwise-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dvm::cpu::HWY_NAMESPACE {

void fill_integers(vm::KernelTable& table) {
  const auto fill = [&]<DType D>() {
    if constexpr (!core::is_floating(D)) fill_rows<D>(table);
  };
  for (int d = 0; d < core::kDTypeCount; ++d) core::dispatch(static_cast<DType>(d), fill);
}

}  // namespace dvm::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dvm::cpu {
DVM_FILL_BY_LEVEL(fill_integers)
}
#endif
