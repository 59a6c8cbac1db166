// Four vectors that go through a row together, for one SIMD level: named because an array of them
// would live in memory. What is left over at the end of a row meets what changes nothing, and the
// lanes fold by halves in registers.
#if defined(DVM_CPU_REDUCE_BLOCKS) == defined(HWY_TARGET_TOGGLE)
#ifdef DVM_CPU_REDUCE_BLOCKS
#undef DVM_CPU_REDUCE_BLOCKS
#else
#define DVM_CPU_REDUCE_BLOCKS
#endif

#include <algorithm>
#include <cstring>
#include <utility>

#include "cpu/reduce/reduce_elements-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dvm::cpu::HWY_NAMESPACE {

template <typename Op, typename A>
struct Block {
  typedef A Vector __attribute__((vector_size(kVectorBytes)));
  typedef A Packed __attribute__((vector_size(kVectorBytes), aligned(1), may_alias));
  static constexpr int kPerVector = kVectorBytes / static_cast<int>(sizeof(A));
  static constexpr int kWidth = 4 * kPerVector;

  Vector a, b, c, d;

  DVM_ALWAYS_INLINE static Block load(const A* p) {
    const auto* q = reinterpret_cast<const Packed*>(p);
    return {q[0], q[1], q[2], q[3]};
  }
  DVM_ALWAYS_INLINE static Block all(A x) {
    const Vector v = x - Vector{};
    return {v, v, v, v};
  }
  DVM_ALWAYS_INLINE static Block combine(const Block& x, const Block& y) {
    return {Op::combine(x.a, y.a), Op::combine(x.b, y.b), Op::combine(x.c, y.c),
            Op::combine(x.d, y.d)};
  }

  // `runs` blocks, the first at p and each `step` further along, in order, and `rest` elements
  // behind them: as many as a block has, or fewer.
  DVM_ALWAYS_INLINE static Block of_runs(const A* p, int64_t runs, int64_t step, int64_t rest) {
    if (rest <= 0) return of_whole_runs(p, runs, step);
    const Block last = load_some(p + runs * step, rest);
    return runs == 0 ? last : combine(of_whole_runs(p, runs, step), last);
  }
  DVM_ALWAYS_INLINE static Block of_whole_runs(const A* p, int64_t runs, int64_t step) {
    Block total = load(p);
    for (int64_t i = 1; i < runs; ++i) total = combine(total, load(p += step));
    return total;
  }

  DVM_ALWAYS_INLINE A total() const {
    return fold(Op::combine(Op::combine(a, c), Op::combine(b, d)));
  }

 private:
  // `count` elements, and the identity behind them.
#if HWY_TARGET == HWY_AVX3
  DVM_ALWAYS_INLINE static Block load_some(const A* p, int64_t count) {
    const Vector identity = Op::template kIdentity<A> - Vector{};
    const auto vector = [&](int k) -> Vector {
      const int64_t bytes = (count - k * kPerVector) * int64_t{sizeof(A)};
      const auto there = static_cast<uint32_t>(std::clamp<int64_t>(bytes, 0, kVectorBytes));
      return reinterpret_cast<Vector>(_mm512_mask_loadu_epi8(
          reinterpret_cast<__m512i>(identity), _bzhi_u64(~uint64_t{0}, there), p + k * kPerVector));
    };
    return {vector(0), vector(1), vector(2), vector(3)};
  }
#else
  DVM_ALWAYS_INLINE static Block load_some(const A* p, int64_t count) {
    A some[kWidth];
    std::fill_n(some, kWidth, Op::template kIdentity<A>);
    std::memcpy(some, p, static_cast<size_t>(count) * sizeof(A));
    return load(some);
  }
#endif

  template <typename V>
  DVM_ALWAYS_INLINE static A fold(V x) {
    constexpr int kCount = sizeof(V) / sizeof(A);
    if constexpr (sizeof(V) > 16) {
      return fold(Op::combine(half<0>(x, std::make_index_sequence<kCount / 2>()),
                              half<kCount / 2>(x, std::make_index_sequence<kCount / 2>())));
    } else {
      return fold_within<kCount / 2>(x, std::make_index_sequence<kCount>());
    }
  }
  template <int kFrom, typename V, size_t... kIndex>
  DVM_ALWAYS_INLINE static auto half(V x, std::index_sequence<kIndex...>) {
    return __builtin_shufflevector(x, x, (kFrom + kIndex)...);
  }
  // Halves swap places, so that both sides come to the same and raise nothing of their own.
  template <size_t kHalf, typename V, size_t... kIndex>
  DVM_ALWAYS_INLINE static A fold_within(V x, std::index_sequence<kIndex...> all) {
    if constexpr (kHalf == 0) {
      return x[0];
    } else {
      const V swapped = __builtin_shufflevector(x, x, (kIndex ^ kHalf)...);
      return fold_within<kHalf / 2>(Op::combine(x, swapped), all);
    }
  }
};

}  // namespace dvm::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
