// The rows of tile_ops.h and cmp on f32 and f64.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/elementwise/float_kernels.cpp"
#include "cpu/for_each_level.h"
// What compiles per level comes after it.
#include "cpu/elementwise/elementwise-inl.h"

#if DVM_LEVEL_IS_HERE

HWY_BEFORE_NAMESPACE();
namespace dvm::cpu::HWY_NAMESPACE {

void fill_floats(vm::KernelTable& table) {
  fill_rows<DType::f32>(table);
  fill_rows<DType::f64>(table);
}

}  // namespace dvm::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif

#if DVM_CHOOSES_LEVEL
namespace dvm::cpu {
DVM_FILL_BY_LEVEL(fill_floats)
}
#endif
