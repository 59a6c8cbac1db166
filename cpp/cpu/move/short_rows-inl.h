// Rows that fit into one vector, for one SIMD level: most of the time a call would go into the
// call.
#if defined(DVM_CPU_MOVE_SHORT_ROWS) == defined(HWY_TARGET_TOGGLE)
#ifdef DVM_CPU_MOVE_SHORT_ROWS
#undef DVM_CPU_MOVE_SHORT_ROWS
#else
#define DVM_CPU_MOVE_SHORT_ROWS
#endif

#include <cstddef>
#include <cstdint>

#include "core/math/basis.h"
#include "cpu/move/copy_elements.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace dvm::cpu::HWY_NAMESPACE {

#if HWY_TARGET == HWY_AVX3
DVM_ALWAYS_INLINE __mmask64 first_bytes(int64_t count) {
  return _bzhi_u64(~uint64_t{0}, static_cast<uint32_t>(count < 0 ? 0 : count));
}
#endif

// Adjacent elements to adjacent places.
template <typename Word>
DVM_ALWAYS_INLINE void copy_row(const std::byte* from, std::byte* to, int64_t count) {
  const int64_t bytes = count * int64_t{sizeof(Word)};
#if HWY_TARGET == HWY_AVX3
  if (bytes <= 64) {
    const __mmask64 lanes = first_bytes(bytes);
    _mm512_mask_storeu_epi8(to, lanes, _mm512_maskz_loadu_epi8(lanes, from));
    return;
  }
#endif
  copy_adjacent(from, to, static_cast<size_t>(bytes));
}

// Every second element, where the level and the size of elements allow it: whether that is done.
template <typename Word>
DVM_ALWAYS_INLINE bool copy_every_second_of_row([[maybe_unused]] const std::byte* from,
                                                [[maybe_unused]] std::byte* to,
                                                [[maybe_unused]] int64_t count) {
#if HWY_TARGET == HWY_AVX3
  if constexpr (sizeof(Word) == 4) {
    if (count <= 16) {
      // Behind the last one nothing is read.
      const int64_t bytes = (2 * count - 1) * 4;
      const __m512i low = _mm512_maskz_loadu_epi8(first_bytes(bytes), from);
      const __m512i high = _mm512_maskz_loadu_epi8(first_bytes(bytes - 64), from + 64);
      const __m512i every_second =
          _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
      _mm512_mask_storeu_epi8(to, first_bytes(count * 4),
                              _mm512_permutex2var_epi32(low, every_second, high));
      return true;
    }
  }
#endif
  return false;
}

}  // namespace dvm::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
