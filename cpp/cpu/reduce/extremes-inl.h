// The extreme of adjacent floats in one pass that keeps no order, for one SIMD level: an extreme
// that is neither zero nor NaN has the same bits in any order. Where the order decides there is no
// answer.
#if defined(DVM_CPU_EXTREMES) == defined(HWY_TARGET_TOGGLE)
#ifdef DVM_CPU_EXTREMES
#undef DVM_CPU_EXTREMES
#else
#define DVM_CPU_EXTREMES
#endif

#include <bit>

#include "core/math/basis.h"
#include "cpu/reduce/reduce_blocks-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dvm::cpu::HWY_NAMESPACE {

// Op is an Extreme.
template <typename Op, typename A>
struct AnyOrder {
  using Vectors = Block<Closest<Op>, A>;
  using Vector = typename Vectors::Vector;
  static constexpr int64_t kWidth = Vectors::kWidth, kLeastSize = 2 * kWidth;

  // Raises flags where elements are NaN.
  [[gnu::noinline]] static bool find(const A* p, int64_t size, A& found) {
    Vectors low = Vectors::all(Op::template kLeast<A>), high = low;
    Nans nans[2];
    int64_t i = 0;
    for (; i + kLeastSize <= size; i += kLeastSize) take(p + i, low, high, nans);
    // An extreme may meet elements twice.
    if (i < size) take(p + size - kLeastSize, low, high, nans);
    if (Op::kWinsByNan && (nans[0].any() || nans[1].any())) return false;
    found = Vectors::combine(low, high).total();
    if (found == A{0}) return is_one_zero(p, size, found);
    return Op::kWinsByNan || found != Op::template kLeast<A>;
  }

 private:
#if HWY_TARGET == HWY_AVX3
  // A bit per lane. Masks that go through a comparison cost no instructions of their own.
  struct Nans {
    using Lanes = std::conditional_t<sizeof(A) == 4, uint16_t, uint8_t>;
    static constexpr Lanes kAll = std::numeric_limits<Lanes>::max();
    Lanes ordered = kAll;
    DVM_ALWAYS_INLINE void note(const Vectors& x) {
      ordered = still_ordered(still_ordered(ordered, x.a, x.b), x.c, x.d);
    }
    bool any() const { return ordered != kAll; }
  };
#else
  struct Nans {
    decltype(Vector{} != Vector{}) found{};
    DVM_ALWAYS_INLINE void note(const Vectors& x) {
      found |= (x.a != x.a) | (x.b != x.b) | (x.c != x.c) | (x.d != x.d);
    }
    bool any() const {
      bool some = false;
      for (int k = 0; k < Vectors::kPerVector; ++k) some |= found[k] != 0;
      return some;
    }
  };
#endif

  DVM_ALWAYS_INLINE static void take(const A* p, Vectors& low, Vectors& high, Nans* nans) {
    const Vectors x = Vectors::load(p), y = Vectors::load(p + kWidth);
    if constexpr (Op::kWinsByNan) {
      nans[0].note(x);
      nans[1].note(y);
    }
    low = Vectors::combine(x, low);
    high = Vectors::combine(y, high);
  }

  static bool holds(const A* p, int64_t size, A value) {
    using Bits = core::math::Bits<A>;
    const auto wanted = std::bit_cast<Bits>(value);
    Bits found = 0;
    for (int64_t i = 0; i < size; ++i) found |= std::bit_cast<Bits>(p[i]) == wanted ? 1 : 0;
    return found != 0;
  }
  // Where all zeros have one sign, the order does not matter.
  static bool is_one_zero(const A* p, int64_t size, A& found) {
    const bool negative = holds(p, size, A(-0.0));
    found = negative ? A(-0.0) : A{0};
    return !negative || !holds(p, size, A{0});
  }
};

}  // namespace dvm::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
