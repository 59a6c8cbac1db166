#include "cpu/kernels.h"

#include <memory>

#include "cpu/attention/attention_kernels.h"

namespace dvm::cpu {

namespace {

std::unique_ptr<const vm::KernelTable> filled(SimdLevel level) {
  auto table = std::make_unique<vm::KernelTable>();
  fill_floats(level, *table);
  fill_scalings(level, *table);  // after fill_floats, whose ldexp takes all powers
  fill_halves(level, *table);
  fill_integers(level, *table);
  fill_divisions(level, *table);  // after fill_integers, whose reciprocal is one by one
  fill_divisors(level, *table);
  fill_integer_powers(level, *table);
  fill_math_f32(level, *table);
  fill_math_f64(level, *table);
  fill_plain(*table);
  fill_cast(level, *table);
  fill_move(level, *table);
  fill_sums(level, *table);
  fill_extremes(level, *table);
  fill_matmul(level, *table);
  fill_attention(level, *table);
  return table;
}

// A table of its own for each level, so that all but one cost nothing.
template <int kLevel>
const vm::KernelTable& table_of() {
  static const auto table = filled(static_cast<SimdLevel>(kLevel));
  return *table;
}

}  // namespace

const vm::KernelTable& kernel_table(SimdLevel level) {
  switch (level) {
#if defined(__x86_64__)
#define DVM_SIMD_LEVEL(name, features) \
  case SimdLevel::name:                \
    return table_of<static_cast<int>(SimdLevel::name)>();
#include "cpu/simd_levels.def"
#undef DVM_SIMD_LEVEL
#endif
    case SimdLevel::portable:
      return table_of<static_cast<int>(SimdLevel::portable)>();
  }
  __builtin_unreachable();
}

}  // namespace dvm::cpu
