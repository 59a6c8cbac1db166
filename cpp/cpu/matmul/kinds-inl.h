// What the kinds of products have of their own, for one SIMD level: how elements lie in panels, and
// what one step along k is.
#if defined(DVM_CPU_MATMUL_KINDS) == defined(HWY_TARGET_TOGGLE)
#ifdef DVM_CPU_MATMUL_KINDS
#undef DVM_CPU_MATMUL_KINDS
#else
#define DVM_CPU_MATMUL_KINDS
#endif

#include "cpu/matmul/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dvm::cpu::HWY_NAMESPACE::matmul {

// Elements of Stored become Units, of which panels consist; Units are multiplied into Sums.
template <typename T>
struct Plain {
  using Stored = T;
  using Unit = T;
  using Sum = T;
  static constexpr bool kConverts = false;

  DVM_ALWAYS_INLINE static Unit unit(const std::byte* p) {
    T x;
    std::memcpy(&x, p, sizeof(x));
    return x;
  }
  // As many adjacent elements as the result has lanes; or `count` of them, and zeros.
  template <int kSize = kBytes>
  DVM_ALWAYS_INLINE static Vec<Unit, kSize> units(const std::byte* p) {
    return load<T, kSize>(p);
  }
  DVM_ALWAYS_INLINE static Vec<Unit> some_units(const std::byte* p, int64_t count) {
    return load_some<T>(p, count);
  }
  DVM_ALWAYS_INLINE static Vec<Sum> step(Vec<Unit> a, Vec<Unit> b, Vec<Sum> c) {
    return mul_add<T>(a, b, c);
  }
};

}  // namespace dvm::cpu::HWY_NAMESPACE::matmul
HWY_AFTER_NAMESPACE();

#endif
