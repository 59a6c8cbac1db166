// Where in a row a value is: comparisons of the bits of elements, of four vectors at a time.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/reduce/find_kernels.cpp"
#include "cpu/for_each_level.h"
// What compiles per level comes after it.
#include <cstring>

#include "core/math/basis.h"
#include "core/ops/dtype.h"
#include "cpu/reduce/find_kernels.h"
#include "hwy/highway.h"
#include "vm/run/find_kernel.h"

#if DVM_LEVEL_IS_HERE

HWY_BEFORE_NAMESPACE();
namespace dvm::cpu::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using core::DType;

// matches(tag, x): the lanes of x that are looked for, of which there are some.
template <typename Word, typename Matches>
HWY_INLINE int64_t find_first(const Word* p, int64_t count, Matches matches) {
  const hn::ScalableTag<Word> tag;
  const auto lanes = static_cast<int64_t>(hn::Lanes(tag));
  const auto at = [&](int64_t i) HWY_ATTR { return matches(tag, hn::LoadU(tag, p + i)); };
  const auto first = [&](auto found) HWY_ATTR {
    return static_cast<int64_t>(hn::FindKnownFirstTrue(tag, found));
  };
  int64_t i = 0;
  for (; i + 4 * lanes <= count; i += 4 * lanes) {
    const auto a = at(i), b = at(i + lanes), c = at(i + 2 * lanes), d = at(i + 3 * lanes);
    if (hn::AllFalse(tag, hn::Or(hn::Or(a, b), hn::Or(c, d)))) continue;
    if (!hn::AllFalse(tag, a)) return i + first(a);
    if (!hn::AllFalse(tag, b)) return i + lanes + first(b);
    if (!hn::AllFalse(tag, c)) return i + 2 * lanes + first(c);
    return i + 3 * lanes + first(d);
  }
  for (; i + lanes <= count; i += lanes) {
    const auto found = at(i);
    if (!hn::AllFalse(tag, found)) return i + first(found);
  }
  // The last vector may overlap the one before.
  if (count >= lanes) return count - lanes + first(at(count - lanes));
  const hn::CappedTag<Word, 1> one;
  while (hn::AllFalse(one, matches(one, hn::LoadU(one, p + i)))) ++i;
  return i;
}

template <typename Word>
HWY_INLINE int64_t find_word(const Word* p, int64_t count, Word value) {
  return find_first(p, count,
                    [=](auto tag, auto x) HWY_ATTR { return hn::Eq(x, hn::Set(tag, value)); });
}

// Of floats zeros of either sign are equal, and any NaN is one; of others the bits tell.
template <typename Word, Word kInfinity>
HWY_INLINE int64_t find_float(const Word* p, int64_t count, Word value) {
  const auto twice = static_cast<Word>(value << 1);
  if (twice == 0) {
    return find_first(
        p, count, [](auto tag, auto x) HWY_ATTR { return hn::Eq(hn::Add(x, x), hn::Zero(tag)); });
  }
  if (twice > static_cast<Word>(kInfinity << 1)) {
    return find_first(p, count, [](auto tag, auto x) HWY_ATTR {
      return hn::Gt(hn::Add(x, x), hn::Set(tag, static_cast<Word>(kInfinity << 1)));
    });
  }
  return find_word(p, count, value);
}

template <typename T>
constexpr core::math::Bits<T> infinity_of() {
  if constexpr (core::AnyHalf<T>) {
    return T::kInfinity;
  } else {
    return core::math::Format<T>::kInfinity;
  }
}

template <DType D>
void find(const vm::FindArgs& args) noexcept {
  constexpr int kBytes = core::byte_size(D);
  using Word = core::math::Bits<core::Storage<D>>;
  const auto* row = reinterpret_cast<const Word*>(args.rows);
  for (int64_t k = 0; k < args.m; ++k, row += args.size) {
    Word value;
    std::memcpy(&value, args.values + k * kBytes, sizeof(value));
    if constexpr (core::is_floating(D)) {
      args.places[k] = find_float<Word, infinity_of<core::Storage<D>>()>(row, args.size, value);
    } else {
      args.places[k] = find_word(row, args.size, value);
    }
  }
}

vm::FindTable find_table() {
  vm::FindTable table;
  for (int d = 0; d < core::kDTypeCount; ++d) {
    core::dispatch(static_cast<DType>(d), [&]<DType D>() { table.at[d] = find<D>; });
  }
  return table;
}

}  // namespace dvm::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif

#if DVM_CHOOSES_LEVEL
namespace dvm::cpu {
namespace HWY_NAMESPACE {
vm::FindTable find_table();
}
const vm::FindTable& find_table(SimdLevel level) {
  switch (level) {
#if HWY_ARCH_X86
    case SimdLevel::amx:
    case SimdLevel::avx512: {
      static const vm::FindTable table = N_AVX3::find_table();
      return table;
    }
    case SimdLevel::avx2: {
      static const vm::FindTable table = N_AVX2::find_table();
      return table;
    }
#endif
    case SimdLevel::portable: {
      static const vm::FindTable table = HWY_STATIC_DISPATCH(find_table)();
      return table;
    }
  }
  __builtin_unreachable();
}
}  // namespace dvm::cpu
#endif
