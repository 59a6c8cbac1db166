// Panels of A and B: kWidth lines (rows of A, columns of B) side by side, one k after the other,
// for one SIMD level. Which of the two an operand is, its strides say.
#if defined(DVM_CPU_MATMUL_PACK) == defined(HWY_TARGET_TOGGLE)
#ifdef DVM_CPU_MATMUL_PACK
#undef DVM_CPU_MATMUL_PACK
#else
#define DVM_CPU_MATMUL_PACK
#endif

#include <algorithm>
#include <utility>

#include "cpu/matmul/kinds-inl.h"
#include "cpu/matmul/matmul_kernels.h"

HWY_BEFORE_NAMESPACE();
namespace dvm::cpu::HWY_NAMESPACE::matmul {

// Rows become columns: the first and second halves of them are interleaved until each has met all.
// Arrays stay in registers where every loop over them is unrolled.
template <size_t kMet = 1, typename V, size_t kCount, size_t... kIndex>
DVM_ALWAYS_INLINE void transpose(V (&rows)[kCount], std::index_sequence<kIndex...> all) {
  if constexpr (kMet < kCount) {
    V mixed[kCount];
#pragma GCC unroll 16
    for (size_t i = 0; i < kCount / 2; ++i) {
      const V x = rows[i], y = rows[i + kCount / 2];
      mixed[2 * i] = __builtin_shufflevector(x, y, (kIndex / 2 + kIndex % 2 * kCount)...);
      mixed[2 * i + 1] =
          __builtin_shufflevector(x, y, (kCount / 2 + kIndex / 2 + kIndex % 2 * kCount)...);
    }
    transpose<2 * kMet>(mixed, all);
#pragma GCC unroll 16
    for (size_t i = 0; i < kCount; ++i) rows[i] = mixed[i];
  }
}

template <typename Kind, int kWidth>
class Pack {
 public:
  using Stored = typename Kind::Stored;
  using Unit = typename Kind::Unit;

  // `line`: bytes from line to line, `step`: from k to k.
  static void run(const std::byte* src, int64_t line, int64_t step, int64_t lines, int64_t k,
                  std::byte* packed) {
    auto* dst = reinterpret_cast<Unit*>(packed);
    const int64_t panel = (k + kDepth - 1) / kDepth * kWidth;
    const int64_t width = kWidth * (line == kStored ? kTogether : 1);
    for (int64_t i = 0; i < lines; i += width, src += width * line, dst += width / kWidth * panel) {
      const int64_t count = std::min(width, lines - i);
      if (line == kStored) {
        side_by_side(src, step, count, k, dst, panel);
      } else if (step == kStored) {
        along_k(src, line, count, k, dst);
      } else {
        one_by_one(src, line, step, count, k, dst);
      }
    }
  }

 private:
  static constexpr int64_t kStored = sizeof(Stored), kDepth = Kind::kDepth;
  static constexpr int kPer = kLanes<Unit>;
  // Blocks of this many lines and Units are transposed in registers of 16 bytes.
  static constexpr int kSquare = 16 / sizeof(Unit);
  using Row = Vec<Unit, 16>;
  // Panels of lines that are adjacent: memory likes runs longer than a row of one.
  static constexpr int64_t kTogether = std::max<int64_t>(1, 512 / (kWidth * kStored));

  static void one_by_one(const std::byte* src, int64_t line, int64_t step, int64_t count, int64_t k,
                         Unit* dst) {
    for (; k > 0; k -= kDepth, src += kDepth * step, dst += kWidth) {
      for (int64_t i = 0; i < count; ++i) dst[i] = Kind::unit(src + i * line, step, k);
      std::fill(dst + count, dst + kWidth, Unit{});
    }
  }

  static void side_by_side(const std::byte* src, int64_t step, int64_t count, int64_t k, Unit* dst,
                           int64_t panel) {
    alignas(kBytes) static constexpr std::byte kNone[kTogether * kWidth * kStored] = {};
    for (; k > 0; k -= kDepth, src += kDepth * step, dst += kWidth) {
      const std::byte* const behind = k >= kDepth ? src + step : kNone;
      int64_t i = 0;
      Unit* to = dst;
      for (; i + kWidth <= count; i += kWidth, to += panel) {
        whole_row(src + i * kStored, behind + i * kStored, to);
      }
      if (i < count) part_of_row(src + i * kStored, behind + i * kStored, count - i, to);
    }
  }
  DVM_ALWAYS_INLINE static void whole_row(const std::byte* src, const std::byte* behind,
                                          Unit* dst) {
    if constexpr (!Kind::kConverts) {
      std::memcpy(dst, src, kWidth * sizeof(Unit));
    } else if constexpr (kWidth % kPer == 0) {
#pragma GCC unroll 8
      for (int64_t i = 0; i < kWidth; i += kPer) {
        store(Kind::units_across(src + i * kStored, behind + i * kStored), dst + i);
      }
    } else {
      part_of_row(src, behind, kWidth, dst);
    }
  }
  static void part_of_row(const std::byte* src, const std::byte* behind, int64_t count, Unit* dst) {
    for (int64_t i = 0; i < kWidth; i += kPer) {
      const int64_t there = std::clamp<int64_t>(count - i, 0, kPer);
      const int64_t room = std::min<int64_t>(kPer, kWidth - i);
      store_some<Unit>(Kind::some_units_across(src + i * kStored, behind + i * kStored, there),
                       dst + i, room);
    }
  }

  // A cache line's worth of every line at a time, so that lines which lie a power of two apart do
  // not push each other out of the cache.
  static void along_k(const std::byte* src, int64_t line, int64_t count, int64_t k, Unit* dst) {
    constexpr int64_t kUnits = 64 / sizeof(Unit), kElements = kUnits * kDepth;
    for (; k >= kElements; k -= kElements, src += kElements * kStored, dst += kUnits * kWidth) {
      for (int64_t i = 0; i < kWidth; i += kSquare) {
        for (int64_t d = 0; d < kUnits; d += kSquare) {
          square(src + i * line + d * kDepth * kStored, line, count - i,
                 std::min<int64_t>(kSquare, kWidth - i), dst + d * kWidth + i);
        }
      }
    }
    one_by_one(src, line, kStored, count, k, dst);
  }
  // Of the lines `count` are there, at most, and `room` have a place.
  DVM_ALWAYS_INLINE static void square(const std::byte* src, int64_t line, int64_t count,
                                       int64_t room, Unit* dst) {
    Row rows[kSquare];
#pragma GCC unroll 4
    for (int i = 0; i < kSquare; ++i) {
      rows[i] = i < count ? Kind::template units_along<16>(src + i * line) : Row{};
    }
    transpose(rows, std::make_index_sequence<kSquare>());
#pragma GCC unroll 4
    for (int d = 0; d < kSquare; ++d) {
      if (room >= kSquare) {
        store(rows[d], dst + d * kWidth);
      } else {
        std::memcpy(dst + d * kWidth, &rows[d], kWidth % kSquare * sizeof(Unit));
      }
    }
  }
};

}  // namespace dvm::cpu::HWY_NAMESPACE::matmul
HWY_AFTER_NAMESPACE();

#endif
