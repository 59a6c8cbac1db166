// Windows of one channel times one row, for one SIMD level: what a convolution of each channel by
// itself consists of. Elements are read where they lie, with zeros in place of padding: a copy of
// lines would take longer than the sums. A line is read once for all positions along it and for the
// windows of some lines, and moved by a lane from element to element of a window.
#if defined(DVM_CPU_MATMUL_WINDOW_ROW) == defined(HWY_TARGET_TOGGLE)
#ifdef DVM_CPU_MATMUL_WINDOW_ROW
#undef DVM_CPU_MATMUL_WINDOW_ROW
#else
#define DVM_CPU_MATMUL_WINDOW_ROW
#endif

#include <algorithm>
#include <array>
#include <utility>

#include "cpu/matmul/matmul_kernels.h"
#include "cpu/matmul/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dvm::cpu::HWY_NAMESPACE::matmul {

template <typename T>
class WindowSums {
 public:
  // Elements of a window along a line: with more of them few positions are left in a vector.
  static constexpr int kMostAlong = std::min(7, kLanes<T> / 2 + 1);

  static void run(const WindowRow& block) noexcept {
    const WindowSums sums(block);
    const vm::WindowAxis &across = block.words->axes[1], &along = block.words->axes[2];
    int64_t line = block.column / along.positions, from = block.column - line * along.positions;
    std::byte* c = block.c;
    for (int64_t left = block.n; left > 0;) {
      // Whole lines of a plane at a time, but for the first one and the last.
      const int64_t to = std::min(along.positions, from + left);
      const bool is_whole = from == 0 && to == along.positions;
      const int64_t plane = line / across.positions, first = line - plane * across.positions;
      const int64_t lines =
          is_whole ? std::min(across.positions - first, left / along.positions) : 1;
      sums.add_lines(plane, first, lines, from, to, c);
      const int64_t made = lines * (to - from);
      c += made * kElement;
      left -= made;
      line += lines;
      from = 0;
    }
  }

 private:
  static constexpr int64_t kElement = sizeof(T);
  static constexpr int kPer = kLanes<T>;
  static constexpr int kTogether = 4;  // lines

  explicit WindowSums(const WindowRow& block) : block_(block), words_(*block.words) {
    const int64_t elements = words_.elements();
    for (int64_t k = 0; k < elements; ++k) {
      std::memcpy(&weights_[k], block.a + k * block.a_stride, sizeof(T));
    }
  }

  // Of some lines the positions [from, to).
  struct Lines {
    int64_t plane, first, count, from, to;
    std::byte* c;
    int64_t c_stride;
  };

  void add_lines(int64_t plane, int64_t first, int64_t lines, int64_t from, int64_t to,
                 std::byte* c) const {
    using Add = void (WindowSums::*)(const Lines&) const;
    constexpr size_t kCount = 2 * kMostAlong;
    static constexpr auto kAdd = []<size_t... kIndex>(std::index_sequence<kIndex...>) {
      return std::array<Add, kCount>{
          &WindowSums::add_vectors<1 + kIndex % 2, 1 + static_cast<int>(kIndex / 2)>...};
    }
    (std::make_index_sequence<kCount>());
    const vm::WindowAxis& along = words_.axes[2];
    const Add add = kAdd[static_cast<size_t>(2 * (along.window - 1) + along.step - 1)];
    (this->*add)({plane, first, lines, from, to, c, (to - from) * kElement});
  }

  // As many positions at a time as have the elements of their windows in one vector, or in two
  // where every second one begins a window.
  template <int kStep, int kAlong>
  void add_vectors(const Lines& some) const {
    constexpr int64_t kPositions = kPer - (kAlong - 1) / kStep;
    const vm::WindowAxis& along = words_.axes[2];
    for (int64_t from = some.from; from < some.to; from += kPositions) {
      std::byte* const c_column = some.c + (from - some.from) * kElement;
      const int64_t count = std::min(kPositions, some.to - from);
      const int64_t begin = from * kStep - along.before;
      SomeLanes<T> lanes[kStep];
      for (int64_t part = 0; part < kStep; ++part) {
        lanes[part] = SomeLanes<T>(-begin - part * kPer, along.size - begin - part * kPer);
      }
      const SomeLanes<T> made(0, count);
      const std::byte* const x = block_.x + begin * kElement;
      const auto add = [&]<int kLines>(int64_t i) {
        Vec<T> sums[kLines] = {};
        std::byte* c = c_column + i * some.c_stride;
        add_planes<kAlong>(x, some.plane, some.first + i, lanes, sums);
#pragma GCC unroll 4
        for (int l = 0; l < kLines; ++l, c += some.c_stride) {
          if (block_.adds) sums[l] = made.load(c) + sums[l];
          made.store(sums[l], c);
        }
      };
      int64_t i = 0;
      for (; i + kTogether <= some.count; i += kTogether) add.template operator()<kTogether>(i);
      if (i < some.count && i > 0 && !block_.adds) {
        add.template operator()<kTogether>(some.count - kTogether);  // some of them once more
        continue;
      }
      for (; i < some.count; ++i) add.template operator()<1>(i);
    }
  }

  // The products of all elements of a window, in their order, to the sums of lines from `line` on.
  template <int kAlong, int kLines, int kStep>
  DVM_ALWAYS_INLINE void add_planes(const std::byte* x, int64_t plane, int64_t line,
                                    const SomeLanes<T> (&lanes)[kStep],
                                    Vec<T> (&sums)[kLines]) const {
    const vm::WindowAxis &planes = words_.axes[0], &across = words_.axes[1];
    const int64_t first = line * across.step - across.before;
    const int64_t count = (kLines - 1) * across.step + across.window;
    const T* weights = weights_;
    for (int64_t d = 0; d < planes.window; ++d, weights += across.window * kAlong) {
      const int64_t p = plane * planes.step + d * planes.dilation - planes.before;
      const bool has_plane = p >= 0 && p < planes.size;
      const std::byte* row = x + p * planes.stride + first * across.stride;
      for (int64_t r = 0; r < count; ++r, row += across.stride) {
        // Padding is multiplied, too: what it gives beside an infinity is NaN.
        const bool is_there = has_plane && first + r >= 0 && first + r < across.size;
        Vec<T> parts[kStep] = {};
        if (is_there) {
          for (int part = 0; part < kStep; ++part)
            parts[part] = lanes[part].load(row + part * kBytes);
        }
        Vec<T> elements[kAlong];
        take_elements(parts, elements, std::make_integer_sequence<int, kAlong>());
#pragma GCC unroll 4
        for (int l = 0; l < kLines; ++l) {
          const int64_t j = r - l * across.step;
          if (j < 0 || j >= across.window) continue;
#pragma GCC unroll 8
          for (int k = 0; k < kAlong; ++k) {
            sums[l] = mul_add<T>(broadcast(weights[j * kAlong + k]), elements[k], sums[l]);
          }
        }
      }
    }
  }

  // Element k of the windows of all positions; of what lies behind the last one nobody asks.
  template <int kAlong, int... kIndex>
  DVM_ALWAYS_INLINE static void take_elements(const Vec<T> (&parts)[1], Vec<T> (&elements)[kAlong],
                                              std::integer_sequence<int, kIndex...>) {
    ((elements[kIndex] = chosen_lanes<kIndex, 1>(parts[0], parts[0])), ...);
  }
  template <int kAlong, int... kIndex>
  DVM_ALWAYS_INLINE static void take_elements(const Vec<T> (&parts)[2], Vec<T> (&elements)[kAlong],
                                              std::integer_sequence<int, kIndex...>) {
    ((elements[kIndex] = chosen_lanes<kIndex, 2>(parts[0], parts[1])), ...);
  }

  const WindowRow& block_;
  const vm::WindowWords& words_;
  T weights_[kRun];
};

}  // namespace dvm::cpu::HWY_NAMESPACE::matmul
HWY_AFTER_NAMESPACE();

#endif
