// Tiles of attentions for one SIMD level, by way of the kernels of products: some rows of k and v
// at a time, whose scores stay in the first caches.
#if defined(DVM_CPU_ATTENTION) == defined(HWY_TARGET_TOGGLE)
#ifdef DVM_CPU_ATTENTION
#undef DVM_CPU_ATTENTION
#else
#define DVM_CPU_ATTENTION
#endif

#include <algorithm>
#include <type_traits>

#include "core/ops/fp_flags.h"
#include "cpu/attention/weigh-inl.h"
#include "cpu/matmul/kinds-inl.h"
#include "cpu/matmul/matmul_kernels.h"
#include "vm/run/tile_kernel.h"

HWY_BEFORE_NAMESPACE();
namespace dvm::cpu::HWY_NAMESPACE::attention {

enum class Mask : uint8_t { none, masked, biased };

inline constexpr SimdLevel kLevel = HWY_TARGET == HWY_AVX3   ? SimdLevel::avx512
                                    : HWY_TARGET == HWY_AVX2 ? SimdLevel::avx2
                                                             : SimdLevel::portable;

template <typename S>
struct Elements;
template <>
struct Elements<float> : matmul::Plain<float> {
  static constexpr MatmulKind kKind = MatmulKind::f32;
};
template <>
struct Elements<double> : matmul::Plain<double> {
  static constexpr MatmulKind kKind = MatmulKind::f64;
};
template <>
struct Elements<core::Half> : matmul::Halves<core::Half> {
  static constexpr MatmulKind kKind = MatmulKind::f16;
};
template <>
struct Elements<core::BFloat16> : matmul::Halves<core::BFloat16> {
  static constexpr MatmulKind kKind = MatmulKind::bf16;
};

// T is what is added up, S what q, k, v and a mask of floats consist of. All but what is done to
// one score is the same for every mask, and compiled once.
template <typename T, typename S>
class Attend {
 public:
  static void run(const vm::TileArgs& args, Mask mask) noexcept {
    const Attend attend(args, mask);
    const int64_t most = attend.is_thin() ? kThin : kWide;
    bool underflow = false;
    for (int64_t i = 0; i < args.m; i += most) {
      underflow |= attend.block(i, std::min(most, args.m - i));
    }
    if (underflow) core::raise(core::kUnderflow);
  }

 private:
  static constexpr int64_t kElement = sizeof(S), kSum = sizeof(T);
  // Rows of q at a time, and rows of k for few or many of them. Elements of both at a time.
  static constexpr int64_t kThin = 4, kWide = 64, kThinKeys = 512, kWideKeys = 96, kDepth = 128;
  static constexpr bool kConverts = !std::is_same_v<T, S>;
  // Columns of v that are converted at a time.
  static constexpr int64_t kColumns = 64;

  struct Matrix {
    const std::byte* data;
    vm::MatrixStrides strides;
    const std::byte* at(int64_t row, int64_t column = 0) const {
      return data + row * strides.row + column * strides.column;
    }
    MatrixView view(int64_t row, int64_t column = 0) const {
      return {at(row, column), strides.row, strides.column};
    }
    // Of rows and columns, the other way round.
    MatrixView turned(int64_t row, int64_t column) const {
      return {at(row, column), strides.column, strides.row};
    }
  };

  Attend(const vm::TileArgs& args, Mask mask)
      : args_(args),
        masks_(mask),
        depth_(args.attention->depth),
        scale_(static_cast<T>(args.attention->scale)),
        kernels_(matmul_kernels(kLevel, Elements<S>::kKind)),
        sums_(matmul_kernels(kLevel, Elements<T>::kKind)),
        q_(matrix(1, args.src[0], kElement)),
        k_(matrix(2, args.src[1], kElement)),
        v_(matrix(3, args.src[2], kElement)) {
    const Matrix d = matrix(0, args.dst, kSum);
    d_row_ = d.strides.row;
    if (mask != Mask::none) {
      mask_ = matrix(vm::kAttentionMask, args.src[3], mask == Mask::masked ? 1 : kElement);
      if (args.insn->operands()[vm::kAttentionMask].mode == vm::Mode::stream) mask_.strides.row = 0;
    }
  }

  Matrix matrix(int operand, const std::byte* data, int64_t element) const {
    const int64_t columns =
        vm::attention_size(operand, {args_.m, args_.size, args_.n}, args_.attention->depth).columns;
    return {data, vm::matrix_strides(args_.insn->operands()[operand], columns, element)};
  }

  // Whether rows of q and of k are multiplied as they lie, which pays for few of them.
  bool is_thin() const {
    return args_.m <= kThin && q_.strides.column == kElement && k_.strides.column == kElement &&
           v_.strides.column == kElement;
  }

  // Rows i and so on.
  bool block(int64_t i, int64_t count) const {
    alignas(64) T own[3 * kWide];
    T* const state = reinterpret_cast<T*>(args_.dst) + args_.m * args_.n;
    const Rows<T> rows{args_.carries ? state + i : own,
                       args_.carries ? state + args_.m + i : own + kWide, own + 2 * kWide};
    if (!args_.adds) {
      std::fill_n(rows.greatest, count, core::unseen<T>());
      std::fill_n(rows.total, count, T{});
    }
    const bool underflow = is_thin() ? attend_thin(i, count, rows) : attend_wide(i, count, rows);
    if (args_.ends) divide(i, count, rows.total);
    return underflow;
  }

  // Rows of k from j on that any of these rows of q sees.
  int64_t seen(int64_t i, int64_t count, int64_t j, int64_t most) const {
    return std::clamp<int64_t>(i + count + args_.last - j, 0, std::min(most, args_.size - j));
  }

  [[gnu::noinline]] bool attend_wide(int64_t i, int64_t count, const Rows<T>& rows) const {
    alignas(64) std::byte packed_q[kWide * kDepth * kSum];
    alignas(64) std::byte packed_k[kConverts ? kWideKeys * kDepth * kSum : 1];
    alignas(64) T scores[kWideKeys * kWide];
    constexpr int64_t kLine = kWide;
    const bool packs_once = depth_ <= kDepth;
    bool first = !args_.adds, underflow = false;
    if (packs_once) kernels_.pack_b(q_.turned(i, 0), depth_, count, packed_q);
    for (int64_t j = 0; j < args_.size; j += kWideKeys) {
      const int64_t keys = seen(i, count, j, kWideKeys);
      if (keys == 0) break;
      for (int64_t c = 0; c < depth_; c += kDepth) {
        const int64_t depth = std::min(kDepth, depth_ - c);
        if (!packs_once) kernels_.pack_b(q_.turned(i, c), depth, count, packed_q);
        MatmulBlock block{.m = keys,
                          .k = depth,
                          .n = count,
                          .packed_b = packed_q,
                          .c = reinterpret_cast<std::byte*>(scores),
                          .c_row_stride = kLine * kSum,
                          .adds = c != 0};
        if constexpr (kConverts) {
          kernels_.pack_a(k_.view(j, c), keys, depth, packed_k);
          block.packed_a = packed_k;
        } else {
          block.a = k_.view(j, c);
        }
        kernels_.multiply(block);
      }
      const T scale = prepare(scores, 1, kLine, i, count, j, keys);
      underflow |= weigh_side_by_side<T>(scores, kLine, keys, count, scale, rows);
      if (!first) enlarge(i, count, rows.factor);
      add_rows(i, count, j, keys, {reinterpret_cast<std::byte*>(scores), kSum, kLine * kSum},
               !first);
      first = false;
    }
    if (first) clear(i, count);
    return underflow;
  }

  [[gnu::noinline]] bool attend_thin(int64_t i, int64_t count, const Rows<T>& rows) const {
    constexpr int64_t kLine = kThinKeys;
    alignas(64) T scores[kThin * kLine];
    bool first = !args_.adds, underflow = false;
    for (int64_t j = 0; j < args_.size; j += kThinKeys) {
      const int64_t keys = seen(i, count, j, kThinKeys);
      if (keys == 0) break;
      kernels_.dots({.m = count,
                     .k = depth_,
                     .n = keys,
                     .a = q_.view(i),
                     .b = k_.turned(j, 0),
                     .c = reinterpret_cast<std::byte*>(scores),
                     .c_row_stride = kLine * kSum,
                     .c_column_stride = kSum,
                     .adds = false});
      const T scale = prepare(scores, kLine, 1, i, count, j, keys);
      for (int64_t row = 0; row < count; ++row) {
        underflow |= weigh_line<T>(scores + row * kLine, keys, scale,
                                   {rows.greatest + row, rows.total + row, rows.factor + row});
      }
      if (!first) enlarge(i, count, rows.factor);
      add_rows(i, count, j, keys, {reinterpret_cast<std::byte*>(scores), kLine * kSum, kSum},
               !first);
      first = false;
    }
    if (first) clear(i, count);
    return underflow;
  }

  // Masks scores, which lie `of_q` and `of_k` elements apart. Returns what they are still to be
  // multiplied with: something positive.
  T prepare(T* scores, int64_t of_q, int64_t of_k, int64_t i, int64_t count, int64_t j,
            int64_t keys) const {
    const bool scales = masks_ != Mask::none || !(scale_ > 0);
    if (scales) {
      const auto apply = masks_ == Mask::none     ? &Attend::apply_mask<Mask::none>
                         : masks_ == Mask::masked ? &Attend::apply_mask<Mask::masked>
                                                  : &Attend::apply_mask<Mask::biased>;
      (this->*apply)(scores, of_q, of_k, i, count, j, keys);
    }
    for (int64_t key = std::max<int64_t>(i + args_.last + 1 - j, 0); key < keys; ++key) {
      const int64_t unseen_by = std::min(count, j + key - args_.last - i);
      for (int64_t row = 0; row < unseen_by; ++row) {
        scores[row * of_q + key * of_k] = core::unseen<T>();
      }
    }
    return scales ? T{1} : scale_;
  }

  // A mask of numbers is turned round as B is for products, a row of k in each line of a panel.
  [[gnu::noinline]] void add_mask(T* scores, int64_t i, int64_t count, int64_t j,
                                  int64_t keys) const {
    alignas(64) T turned[kWide * kWideKeys];
    sums_.pack_b(mask_.turned(i, j), keys, count, reinterpret_cast<std::byte*>(turned));
    const int64_t width = sums_.nr;
    for (int64_t row = 0; row < count; row += width) {
      const int64_t some = std::min(width, count - row);
      const T* from = turned + row * keys;
      T* line = scores + row;
      for (int64_t key = 0; key < keys; ++key, from += width, line += kWide) {
        DVM_INDEPENDENT
        for (int64_t r = 0; r < some; ++r) line[r] = line[r] * scale_ + from[r];
      }
    }
  }

  template <Mask kMask>
  [[gnu::noinline]] void apply_mask(T* scores, int64_t of_q, int64_t of_k, int64_t i, int64_t count,
                                    int64_t j, int64_t keys) const {
    if constexpr (kMask == Mask::biased && !kConverts) {
      if (of_q == 1) return add_mask(scores, i, count, j, keys);
    }
    // The inner loop is along lines of scores where the mask does not move along them.
    if (of_q == 1 && mask_.strides.row == 0) {
      for (int64_t key = 0; key < keys; ++key) {
        T* const line = scores + key * of_k;
        DVM_INDEPENDENT
        for (int64_t row = 0; row < count; ++row) line[row] = masked<kMask>(line[row], i, j + key);
      }
      return;
    }
    for (int64_t row = 0; row < count; ++row) {
      T* const line = scores + row * of_q;
      for (int64_t key = 0; key < keys; ++key) {
        line[key * of_k] = masked<kMask>(line[key * of_k], i + row, j + key);
      }
    }
  }
  template <Mask kMask>
  DVM_ALWAYS_INLINE T masked(T score, int64_t row, int64_t key) const {
    const T x = score * scale_;
    if constexpr (kMask == Mask::none) {
      return x;
    } else if constexpr (kMask == Mask::masked) {
      return *mask_.at(row, key) != std::byte{0} ? x : static_cast<T>(args_.attention->fill);
    } else {
      return x + Elements<S>::sum(mask_.at(row, key));
    }
  }

  std::byte* sums(int64_t i) const { return args_.dst + i * d_row_; }

  // Calls f(vector, row) for every vector of the sums of some rows.
  template <typename F>
  DVM_ALWAYS_INLINE void each_sum(int64_t i, int64_t count, F f) const {
    for (int64_t row = 0; row < count; ++row) {
      std::byte* const line = sums(i + row);
      int64_t c = 0;
      for (; c + kLanes<T> <= args_.n; c += kLanes<T>) {
        store(f(load<T>(line + c * kSum), row), line + c * kSum);
      }
      if (const int64_t rest = args_.n - c; rest != 0) {
        store_some<T>(f(load_some<T>(line + c * kSum, rest), row), line + c * kSum, rest);
      }
    }
  }
  [[gnu::noinline]] void clear(int64_t i, int64_t count) const {
    each_sum(i, count, [](Vec<T>, int64_t) { return Vec<T>{}; });
  }
  [[gnu::noinline]] void divide(int64_t i, int64_t count, const T* totals) const {
    each_sum(i, count, [&](Vec<T> x, int64_t row) { return x / totals[row]; });
  }
  // Sums from before, where the greatest score is another by now.
  [[gnu::noinline]] void enlarge(int64_t i, int64_t count, const T* factors) const {
    if (std::all_of(factors, factors + count, [](T factor) { return factor == 1; })) return;
    each_sum(i, count, [&](Vec<T> x, int64_t row) { return x * factors[row]; });
  }

  // Rows of v, weighed.
  void add_rows(int64_t i, int64_t count, int64_t j, int64_t keys, const MatrixView& weights,
                bool adds) const {
    MatmulBlock block{.m = count,
                      .k = keys,
                      .n = args_.n,
                      .a = weights,
                      .c = nullptr,
                      .c_row_stride = d_row_,
                      .adds = adds};
    const bool adjacent = v_.strides.column == kElement;
    if (!kConverts && adjacent) {
      block.b = v_.view(j);
      block.c = sums(i);
      return is_thin() ? sums_.multiply_few_rows(block) : sums_.multiply(block);
    }
    constexpr int64_t kKeys = std::max(kWideKeys, kThinKeys / 4);
    alignas(64) T floats[kKeys * kColumns];
    for (int64_t key = 0; key < keys; key += kKeys) {
      for (int64_t c = 0; c < args_.n; c += kColumns) {
        block.k = std::min(kKeys, keys - key);
        block.n = std::min(kColumns, args_.n - c);
        convert(j + key, block.k, c, block.n, floats);
        block.a.data = weights.data + key * weights.column_stride;
        block.b = {reinterpret_cast<const std::byte*>(floats), kColumns * kSum, kSum};
        block.c = sums(i) + c * kSum;
        is_thin() ? sums_.multiply_few_rows(block) : sums_.multiply(block);
      }
      block.adds = true;
    }
  }
  void convert(int64_t j, int64_t keys, int64_t c, int64_t columns, T* floats) const {
    for (int64_t key = 0; key < keys; ++key, floats += kColumns) {
      const std::byte* const from = v_.at(j + key, c);
      int64_t at = 0;
      if (v_.strides.column == kElement) {
        for (; at + kLanes<T> <= columns; at += kLanes<T>) {
          store(Elements<S>::sums(from + at * kElement), floats + at);
        }
      }
      for (; at < columns; ++at) floats[at] = Elements<S>::sum(from + at * v_.strides.column);
    }
  }

  const vm::TileArgs& args_;
  const Mask masks_;
  const int64_t depth_;
  const T scale_;
  const MatmulKernels &kernels_, &sums_;
  const Matrix q_, k_, v_;
  Matrix mask_ = {};
  int64_t d_row_ = 0;
};

// By the dtype of q, k and v.
template <core::DType D, Mask kMask>
void attend_kernel(const vm::TileArgs& args) noexcept {
  using T = core::Storage<D>;
  core::dispatch(vm::MatrixAux::of(D, args.aux).source, [&]<core::DType From>() {
    if constexpr (core::is_floating(From) && core::computes_in(From) == D) {
      Attend<T, core::Storage<From>>::run(args, kMask);
    }
  });
}

}  // namespace dvm::cpu::HWY_NAMESPACE::attention
HWY_AFTER_NAMESPACE();

#endif
