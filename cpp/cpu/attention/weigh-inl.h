// Scores become weights, for one SIMD level: exp of what they lie below the greatest so far.
#if defined(DVM_CPU_ATTENTION_WEIGH) == defined(HWY_TARGET_TOGGLE)
#ifdef DVM_CPU_ATTENTION_WEIGH
#undef DVM_CPU_ATTENTION_WEIGH
#else
#define DVM_CPU_ATTENTION_WEIGH
#endif

#include <algorithm>

#include "core/math/exp.h"
#include "core/ops/attention.h"
#include "cpu/matmul/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dvm::cpu::HWY_NAMESPACE::attention {

using matmul::broadcast;
using matmul::kLanes;
using matmul::load;
using matmul::load_some;
using matmul::store;
using matmul::store_some;
using matmul::Vec;

// Rows of q: the greatest score so far, the sum of weights, and what sums from before are
// multiplied with where a score is greater than all before it.
template <typename T>
struct Rows {
  T *greatest, *total, *factor;
};

template <typename T>
DVM_ALWAYS_INLINE Vec<T> greater(Vec<T> a, Vec<T> b) {
  return a > b ? a : b;
}

// exp of what is at most 0, but for rounding, as core/math/exp.h computes it; what would be smaller
// than normal numbers is 0.
template <typename T>
DVM_ALWAYS_INLINE Vec<T> exp_below(Vec<T> x) {
  using C = core::math::ExpTable<T>;
  using F = core::math::Format<T>;
  using Integers = Vec<core::math::Bits<T>>;
  const Vec<T> least = broadcast(C::kSmall), round = broadcast(F::kRound);
  const Vec<T> c = least > x ? least : x;
  const Vec<T> t = matmul::mul_add<T>(c, broadcast(C::kLog2E), round);
  const Vec<T> n = t - round;
  Vec<T> r = matmul::mul_add<T>(n, broadcast(-C::kLn2High), c);
  r = matmul::mul_add<T>(n, broadcast(-C::kLn2Low), r);
  constexpr int kCount = static_cast<int>(std::size(C::kQuotient));
  Vec<T> q = broadcast(C::kQuotient[kCount - 1]);
#pragma GCC unroll 16
  for (int i = kCount - 2; i >= 0; --i) q = matmul::mul_add<T>(q, r, broadcast(C::kQuotient[i]));
  const Vec<T> one = matmul::mul_add<T>(q, r * r, r) + T{1};
  const Vec<T> y = reinterpret_cast<Vec<T>>(reinterpret_cast<Integers>(one) +
                                            (reinterpret_cast<Integers>(t) << F::kFraction));
  return x < least ? Vec<T>{} : x == x ? y : x;
}

// What scores are measured from: the greatest, but of rows that have seen nothing so far 0, so that
// their weights are 0 and no difference of infinities.
template <typename T>
DVM_ALWAYS_INLINE Vec<T> pivot_of(Vec<T> greatest) {
  return greatest == broadcast(core::unseen<T>()) ? Vec<T>{} : greatest;
}

// A score, but 0 in place of what is not seen, which raises nothing.
template <typename T>
DVM_ALWAYS_INLINE Vec<T> seen_or_zero(Vec<T> x) {
  return x == broadcast(core::unseen<T>()) ? Vec<T>{} : x;
}

// Whether a weight has been too small for a normal number.
template <typename T>
bool has_underflow(Vec<T> least) {
  for (int i = 0; i < kLanes<T>; ++i) {
    if (least[i] < core::math::ExpTable<T>::kNormal) return true;
  }
  return false;
}

// Scores of some rows of q side by side, those of one row of k in each line, `line` elements apart.
// They are still to be multiplied with `scale`, which is positive. `lanes` of a vector are there,
// fewer than all only of a single one.
template <typename T, int kN>
DVM_ALWAYS_INLINE void weigh_vectors(T* scores, int64_t line, int64_t count, T scale,
                                     const Rows<T>& rows, int64_t lanes, Vec<T>& least) {
  const bool whole = kN > 1 || lanes == kLanes<T>;
  const auto get = [&](const T* p) { return whole ? load<T>(p) : load_some<T>(p, lanes); };
  const auto put = [&](Vec<T> x, T* p) { whole ? store(x, p) : store_some<T>(x, p, lanes); };
  Vec<T> most[kN], pivot[kN], total[kN];
#pragma GCC unroll 4
  for (int v = 0; v < kN; ++v) most[v] = broadcast(core::unseen<T>());
  for (int64_t j = 0; j < count; ++j) {
#pragma GCC unroll 4
    for (int v = 0; v < kN; ++v) {
      most[v] = greater<T>(get(scores + j * line + v * kLanes<T>), most[v]);
    }
  }
#pragma GCC unroll 4
  for (int v = 0; v < kN; ++v) {
    const Vec<T> before = get(rows.greatest + v * kLanes<T>);
    const Vec<T> next = greater<T>(most[v] * scale, before);
    pivot[v] = pivot_of<T>(next);
    const Vec<T> factor = exp_below<T>(before - pivot[v]);
    total[v] = get(rows.total + v * kLanes<T>) * factor;
    put(next, rows.greatest + v * kLanes<T>);
    put(factor, rows.factor + v * kLanes<T>);
  }
  const Vec<T> scales = broadcast(scale);
  for (int64_t j = 0; j < count; ++j) {
#pragma GCC unroll 4
    for (int v = 0; v < kN; ++v) {
      T* const p = scores + j * line + v * kLanes<T>;
      const Vec<T> x = matmul::mul_add<T>(get(p), scales, -pivot[v]);
      const Vec<T> seen = seen_or_zero<T>(x);
      least = least > seen ? seen : least;
      const Vec<T> weight = exp_below<T>(x);
      total[v] = total[v] + weight;
      put(weight, p);
    }
  }
#pragma GCC unroll 4
  for (int v = 0; v < kN; ++v) put(total[v], rows.total + v * kLanes<T>);
}

// Returns whether a weight was too small for a normal number.
template <typename T>
[[gnu::noinline]] bool weigh_side_by_side(T* scores, int64_t line, int64_t count, int64_t width,
                                          T scale, const Rows<T>& rows) {
  Vec<T> least{};
  const auto at = [&](int64_t i) {
    return Rows<T>{rows.greatest + i, rows.total + i, rows.factor + i};
  };
  int64_t i = 0;
  for (constexpr int64_t kFour = 4 * kLanes<T>; i + kFour <= width; i += kFour) {
    weigh_vectors<T, 4>(scores + i, line, count, scale, at(i), kLanes<T>, least);
  }
  for (; i < width; i += kLanes<T>) {
    const int64_t lanes = std::min<int64_t>(kLanes<T>, width - i);
    weigh_vectors<T, 1>(scores + i, line, count, scale, at(i), lanes, least);
  }
  return has_underflow<T>(least);
}

// Folded in halves.
template <typename T, typename Combine>
DVM_ALWAYS_INLINE T folded(Vec<T> x, Combine combine) {
  T lane[kLanes<T>];
  store(x, lane);
#pragma GCC unroll 4
  for (int half = kLanes<T> / 2; half > 0; half /= 2) {
    for (int i = 0; i < half; ++i) lane[i] = combine(lane[i], lane[i + half]);
  }
  return lane[0];
}

// Scores of one row of q, which have room for whole vectors.
template <typename T>
[[gnu::noinline]] bool weigh_line(T* scores, int64_t count, T scale, const Rows<T>& row) {
  const int64_t end = (count + kLanes<T> - 1) / kLanes<T> * kLanes<T>;
  std::fill(scores + count, scores + end, core::unseen<T>());
  Vec<T> most = broadcast(core::unseen<T>());
  for (int64_t j = 0; j < end; j += kLanes<T>) most = greater<T>(load<T>(scores + j), most);
  const auto max = [](T a, T b) { return a > b ? a : b; };
  const T before = *row.greatest, next = max(folded<T>(most, max) * scale, before);
  const T pivot = next == core::unseen<T>() ? T{} : next;
  const T factor = exp_below<T>(broadcast(before - pivot))[0];
  const Vec<T> pivots = broadcast(pivot), scales = broadcast(scale);
  Vec<T> total{}, least{};
  for (int64_t j = 0; j < end; j += kLanes<T>) {
    const Vec<T> x = matmul::mul_add<T>(load<T>(scores + j), scales, -pivots);
    const Vec<T> seen = seen_or_zero<T>(x);
    least = least > seen ? seen : least;
    const Vec<T> weight = exp_below<T>(x);
    total = total + weight;
    store(weight, scores + j);
  }
  *row.total = *row.total * factor + folded<T>(total, [](T a, T b) { return a + b; });
  *row.greatest = next;
  *row.factor = factor;
  return has_underflow<T>(least);
}

}  // namespace dvm::cpu::HWY_NAMESPACE::attention
HWY_AFTER_NAMESPACE();

#endif
