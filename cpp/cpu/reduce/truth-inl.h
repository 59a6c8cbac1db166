// Whether any or all elements of adjacent rows are true, for one SIMD level: what is in memory is
// read as it is, whatever its dtype, and no further than a block behind the element that decides.
#if defined(DVM_CPU_TRUTH) == defined(HWY_TARGET_TOGGLE)
#ifdef DVM_CPU_TRUTH
#undef DVM_CPU_TRUTH
#else
#define DVM_CPU_TRUTH
#endif

#include <algorithm>
#include <utility>

#include "core/math/basis.h"
#include "cpu/reduce/reduce_elements-inl.h"
#include "cpu/reduce/shared_search.h"
#include "vm/run/tile_kernel.h"

HWY_BEFORE_NAMESPACE();
namespace dvm::cpu::HWY_NAMESPACE {

// Looks for an element that decides: of any the first that is true, of all the first that is not.
// Words are the bits of elements; all bits of a false one are 0, but for the sign of a float.
template <typename Word, bool kFloat, bool kAny, int kBytes>
struct Deciding {
  typedef Word Vector __attribute__((vector_size(kBytes)));
  typedef Word Packed __attribute__((vector_size(kBytes), aligned(1), may_alias));
  static constexpr int64_t kPerVector = kBytes / int64_t{sizeof(Word)};
  static constexpr int64_t kBlock = 32 * kPerVector;

  // At least a vector of them, here as there.
  [[gnu::noinline]] static bool found(const std::byte* row, int64_t count) {
    const auto* p = reinterpret_cast<const Word*>(row);
    for (; count > kBlock; p += kBlock, count -= kBlock) {
      if (is_in(p, kBlock)) return true;
    }
    const int64_t again = std::max<int64_t>(0, kPerVector - count);
    return is_in(p - again, count + again);
  }
  DVM_ALWAYS_INLINE static bool is_in(const Word* p, int64_t count) {
    Vector a = at(p);
    int64_t i = kPerVector;
    if (count >= 4 * kPerVector) {
      Vector b = at(p + i), c = at(p + 2 * i), d = at(p + 3 * i);
      for (i *= 4; i + 4 * kPerVector <= count; i += 4 * kPerVector) {
        a = both(a, at(p + i));
        b = both(b, at(p + i + kPerVector));
        c = both(c, at(p + i + 2 * kPerVector));
        d = both(d, at(p + i + 3 * kPerVector));
      }
      a = both(both(a, b), both(c, d));
    }
    for (; i + kPerVector <= count; i += kPerVector) a = both(a, at(p + i));
    // The last vector may overlap the one before.
    if (i < count) a = both(a, at(p + count - kPerVector));
    return decides(a);
  }

 private:
  // The least word says whether one is 0, where an instruction finds it; else so do comparisons.
  static constexpr bool kByLeast = !kAny && (HWY_TARGET == HWY_AVX3 || sizeof(Word) == 1);

  DVM_ALWAYS_INLINE static Vector magnitude(Vector x) {
    if constexpr (kFloat) x = x << 1;
    return x;
  }
  DVM_ALWAYS_INLINE static Vector at(const Word* p) {
    const Vector x = *reinterpret_cast<const Packed*>(p);
    if constexpr (kAny) return x;
    if constexpr (kByLeast) return magnitude(x);
    return reinterpret_cast<Vector>(magnitude(x) == Vector{});
  }
  DVM_ALWAYS_INLINE static Vector both(Vector x, Vector y) {
    if constexpr (kByLeast) return Min::combine(x, y);
    return x | y;
  }
  DVM_ALWAYS_INLINE static bool decides(Vector x) {
    if constexpr (kAny) x = magnitude(x);
    if constexpr (kByLeast) x = reinterpret_cast<Vector>(x == Vector{});
    typedef uint64_t Words __attribute__((vector_size(kBytes)));
    return has_bits(reinterpret_cast<Words>(x));
  }
  template <typename V>
  DVM_ALWAYS_INLINE static bool has_bits(V x) {
    if constexpr (sizeof(V) == 16) {
      return (x[0] | x[1]) != 0;
    } else {
      constexpr size_t kHalf = sizeof(V) / 16;
      return has_bits(half<0>(x, std::make_index_sequence<kHalf>()) |
                      half<kHalf>(x, std::make_index_sequence<kHalf>()));
    }
  }
  template <size_t kFrom, typename V, size_t... kIndex>
  DVM_ALWAYS_INLINE static auto half(V x, std::index_sequence<kIndex...>) {
    return __builtin_shufflevector(x, x, (kFrom + kIndex)...);
  }
};

template <typename Word, bool kFloat, bool kAny>
void find_truth(const TileArgs& args) {
  using Wide = Deciding<Word, kFloat, kAny, kVectorBytes>;
  using Narrow = Deciding<Word, kFloat, kAny, 16>;
  const int64_t m = args.m, size = args.size;
  const std::byte* row = args.src[0];
  auto* dst = reinterpret_cast<uint8_t*>(args.dst);
  const auto each = [&](auto found) {
    for (int64_t i = 0; i < m; ++i, row += size * int64_t{sizeof(Word)}) {
      dst[i] = found(row) ? kAny : !kAny;
    }
  };
  if (m == 1 && size >= kLeastShared / int64_t{sizeof(Word)}) {
    each([=](const std::byte* at) { return shared_search(at, size, sizeof(Word), Wide::found); });
  } else if (size > Wide::kBlock) {
    each([=](const std::byte* at) { return Wide::found(at, size); });
  } else if (size >= Wide::kPerVector) {
    each([=](const std::byte* at) { return Wide::is_in(reinterpret_cast<const Word*>(at), size); });
  } else if (size >= Narrow::kPerVector) {
    each([=](const std::byte* at) {
      return Narrow::is_in(reinterpret_cast<const Word*>(at), size);
    });
  } else {
    each([=](const std::byte* at) {
      bool found = false;
      for (int64_t i = 0; i < size; ++i) {
        const Word word = reinterpret_cast<const Word*>(at)[i];
        found |= (static_cast<Word>(kFloat ? word << 1 : word) != 0) == kAny;
      }
      return found;
    });
  }
}

template <bool kAny>
void find_truth_of(DType from, const TileArgs& args) {
  core::dispatch(from, [&]<DType From>() {
    find_truth<core::math::Bits<core::Storage<From>>, core::is_floating(From), kAny>(args);
  });
}

}  // namespace dvm::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
