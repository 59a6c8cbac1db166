// The rows of tile_ops.h and cmp on integers and bool.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/elementwise/integer_kernels.cpp"
#include "cpu/for_each_level.h"
// What compiles per level comes after it.
#include "cpu/elementwise/elementwise-inl.h"

#if DVM_LEVEL_IS_HERE

HWY_BEFORE_NAMESPACE();
namespace dvm::cpu::HWY_NAMESPACE {

#if HWY_TARGET == HWY_AVX3

// Instructions that count bits came after AVX-512.
template <typename T>
[[gnu::noinline, gnu::target("avx512vpopcntdq")]] void count_bits(const T* a, T* dst,
                                                                  int64_t size) {
  DVM_INDEPENDENT
  for (int64_t i = 0; i < size; ++i) {
    const auto magnitude = static_cast<std::make_unsigned_t<T>>(tile_ops::magnitude(a[i]));
    if constexpr (sizeof(T) == sizeof(uint64_t)) {
      dst[i] = static_cast<T>(__builtin_popcountll(magnitude));
    } else {
      dst[i] = static_cast<T>(__builtin_popcount(magnitude));
    }
  }
}

template <DType D>
void count_kernel(const TileArgs& args) noexcept {
  using T = core::Storage<D>;
  run_unary(args, kUnarySizes<D>, [](const TileArgs& part) {
    count_bits(reinterpret_cast<const T*>(part.src[0]), reinterpret_cast<T*>(part.dst), part.size);
  });
}

void fill_counts(vm::KernelTable& table) {
  if (!__builtin_cpu_supports("avx512vpopcntdq")) return;
  table.entry(Insn::bitwise_count, DType::i32) = count_kernel<DType::i32>;
  table.entry(Insn::bitwise_count, DType::u32) = count_kernel<DType::u32>;
  table.entry(Insn::bitwise_count, DType::i64) = count_kernel<DType::i64>;
  table.entry(Insn::bitwise_count, DType::u64) = count_kernel<DType::u64>;
}

#else
void fill_counts(vm::KernelTable&) {}
#endif

void fill_integers(vm::KernelTable& table) {
  const auto fill = [&]<DType D>() {
    if constexpr (!core::is_floating(D)) fill_rows<D>(table);
  };
  for (int d = 0; d < core::kDTypeCount; ++d) core::dispatch(static_cast<DType>(d), fill);
  fill_counts(table);
}

}  // namespace dvm::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif

#if DVM_CHOOSES_LEVEL
namespace dvm::cpu {
DVM_FILL_BY_LEVEL(fill_integers)
}
#endif
