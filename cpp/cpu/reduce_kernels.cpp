// Reductions [M,size,N] -> [M,1,N] in exactly the order of core/sum_order.h, fast where the order
// leaves room for it: the 64 lanes of adjacent elements, the columns of N > 1, and several rows at
// a time. Halves accumulate as float and round once; to keep that true of a sum which is split over
// tiles, its partials are f32 and the encoder casts before the first and after the last of them.
#include <algorithm>
#include <cstring>
#include <limits>
#include <type_traits>

#include "core/sum_order.h"
#include "cpu/elements.h"
#include "cpu/kernels.h"

namespace dvm::cpu {

namespace {

using core::kSumLanes;
using vm::Insn;
using vm::TileArgs;

// What a reduction accumulates in. Sums of integers wrap, hence unsigned.
template <DType D, bool kWraps>
struct Accumulator {
  using Type = std::conditional_t<D == DType::boolean, uint8_t, typename Element<D>::Compute>;
};
template <DType D>
requires(core::info(D).kind == core::Kind::integer) struct Accumulator<D, true> {
  using Type = std::make_unsigned_t<typename Element<D>::Compute>;
};

// All take scalars and SIMD vectors alike. A quiet one raises no status flags.
struct Sum {
  static constexpr bool kWraps = true;
  static constexpr bool kQuiet = false;
  static constexpr bool kFromZero = true;  // never -0, as in NumPy
  template <typename T>
  static T combine(T x, T y) {
    return x + y;
  }
};
struct Prod {
  static constexpr bool kWraps = true;
  static constexpr bool kQuiet = false;
  static constexpr bool kFromZero = false;
  template <typename T>
  static T combine(T x, T y) {
    return x * y;
  }
};
struct Max {
  static constexpr bool kWraps = false;
  static constexpr bool kQuiet = true;
  static constexpr bool kFromZero = false;
  template <typename T>
  static T combine(T x, T y) {
    return ((x > y) | (x != x)) ? x : y;
  }
};
struct Min {
  static constexpr bool kWraps = false;
  static constexpr bool kQuiet = true;
  static constexpr bool kFromZero = false;
  template <typename T>
  static T combine(T x, T y) {
    return ((x < y) | (x != x)) ? x : y;
  }
};

// Four SIMD vectors of accumulators that go through the additions in step. Vector types of the
// compiler in members of their own, because arrays would live in memory instead of registers.
template <typename A>
struct Block {
  static constexpr int kVectorBytes = 16;
  static constexpr int kWidth = 4 * kVectorBytes / static_cast<int>(sizeof(A));
  typedef A Vector __attribute__((vector_size(kVectorBytes)));
  Vector a, b, c, d;

  // Element i of the block is at(i). By way of memory: that beats inserting into registers.
  template <typename At>
  DVM_ALWAYS_INLINE static Block load(At at) {
    alignas(kVectorBytes) A values[kWidth];
    for (int i = 0; i < kWidth; ++i) values[i] = at(i);
    return load_packed(values);
  }
  // The same of elements in memory, without alignment.
  DVM_ALWAYS_INLINE static Block load_packed(const void* p) {
    typedef A Packed __attribute__((vector_size(kVectorBytes), aligned(1), may_alias));
    const auto* v = static_cast<const Packed*>(p);
    return {v[0], v[1], v[2], v[3]};
  }
  void store(A* out) const {
    const Vector all[] = {a, b, c, d};
    std::memcpy(out, all, sizeof(all));
  }
  template <typename Op>
  DVM_ALWAYS_INLINE void combine(const Block& y) {
    a = Op::combine(a, y.a);
    b = Op::combine(b, y.b);
    c = Op::combine(c, y.c);
    d = Op::combine(d, y.d);
  }
};

template <typename Op, DType D>
struct Reduce {
  using Storage = typename Element<D>::Storage;
  using A = typename Accumulator<D, Op::kWraps>::Type;
  using B = Block<A>;

  DVM_ALWAYS_INLINE static A load(Storage x) { return static_cast<A>(Element<D>::load(x)); }
  static Storage store(A x) {
    if constexpr (Op::kFromZero) x = combine(x, A{0});
    const auto value = static_cast<typename Element<D>::Compute>(x);
    RoundingFlags<D> rounding;
    rounding.note(value);
    core::raise(rounding.flags());
    return Element<D>::store(value);
  }
  DVM_ALWAYS_INLINE static B load_block(const Storage* p) {
    if constexpr (sizeof(A) == sizeof(Storage) && D != DType::boolean) {
      return B::load_packed(p);
    } else {
      return B::load([p](int i) { return load(p[i]); });
    }
  }
  static A combine(A x, A y) { return Op::template combine<A>(x, y); }

  // One chunk of at least kSumLanes adjacent elements. Lanes do not depend on each other, so that a
  // block of them runs through the whole chunk in registers before the next one starts.
  static A lane_chunk(const Storage* p, int64_t count) {
    alignas(64) A lanes[kSumLanes];
    const int64_t whole = count / kSumLanes * kSumLanes;
    for (int64_t lane = 0; lane < kSumLanes; lane += B::kWidth) {
      B block = load_block(p + lane);
      for (int64_t i = lane + kSumLanes; i < whole; i += kSumLanes) {
        block.template combine<Op>(load_block(p + i));
      }
      block.store(lanes + lane);
    }
    for (int64_t i = whole; i < count; ++i) {
      lanes[i - whole] = combine(lanes[i - whole], load(p[i]));
    }
    for (int64_t half = kSumLanes / 2; half > 0; half /= 2) {
      for (int64_t i = 0; i < half; ++i) lanes[i] = combine(lanes[i], lanes[i + half]);
    }
    return lanes[0];
  }

  static void rows(const Storage* src, Storage* dst, int64_t m, int64_t size) {
    for (; m > 0; --m, src += size) {
      const auto chunk = [src](int64_t begin, int64_t count) {
        if (count >= kSumLanes) return lane_chunk(src + begin, count);
        return core::reduce_chunk<A>(
            count, false, [p = src + begin](int64_t i) { return load(p[i]); }, combine);
      };
      *dst++ = store(core::combine_chunks<A>(size, chunk, combine));
    }
  }

  // The outputs of a block in sequential order, where at(i) is the block of their elements i.
  template <typename At>
  DVM_ALWAYS_INLINE static void sequential_block(int64_t size, At at, A* results) {
    const auto chunk = [&at](int64_t begin, int64_t count) {
      B total = at(begin);
      for (int64_t i = begin + 1; i < begin + count; ++i) total.template combine<Op>(at(i));
      return total;
    };
    const auto combine_blocks = [](B x, const B& y) {
      x.template combine<Op>(y);
      return x;
    };
    core::combine_chunks<B>(size, chunk, combine_blocks).store(results);
  }

  // Sequential order: outputs are independent, so that a block of them shares every step. Blocks of
  // adjacent columns load whole vectors; the columns that remain, from all rows, gather.
  static void sequential(const Storage* src, Storage* dst, int64_t m, int64_t size, int64_t n) {
    A results[B::kWidth];
    const int64_t packed = n / B::kWidth * B::kWidth;
    for (int64_t row = 0; row < m; ++row) {
      for (int64_t column = 0; column < packed; column += B::kWidth) {
        const Storage* start = src + row * size * n + column;
        sequential_block(
            size, [&](int64_t i) { return load_block(start + i * n); }, results);
        Storage* out = dst + row * n + column;
        for (int k = 0; k < B::kWidth; ++k) out[k] = store(results[k]);
      }
    }
    const int64_t rest = n - packed;
    for (int64_t begin = 0; begin < m * rest; begin += B::kWidth) {
      const int64_t outputs = std::min<int64_t>(B::kWidth, m * rest - begin);
      const Storage* starts[B::kWidth];
      for (int64_t k = 0; k < B::kWidth; ++k) {
        const int64_t o = begin + std::min(k, outputs - 1);
        starts[k] = src + o / rest * size * n + packed + o % rest;
      }
      const auto gather = [&](int64_t i) {
        return B::load([&](int k) { return load(starts[k][i * n]); });
      };
      sequential_block(size, gather, results);
      for (int64_t k = 0; k < outputs; ++k) {
        const int64_t o = begin + k;
        dst[o / rest * n + packed + o % rest] = store(results[k]);
      }
    }
  }

  static void kernel(const TileArgs& args) noexcept {
    if constexpr (Op::kQuiet) {
      const core::KeepFpFlags keep;
      reduce(args);
    } else {
      reduce(args);
      if constexpr (core::is_floating(D)) raise_if_hidden(args);
    }
  }

  // Two elements may make a NaN, and NumPy warns of it, unless a NaN is met before in the order of
  // additions, which is another one here. So where there is a NaN the flag rises for any such two.
  static void raise_if_hidden(const TileArgs& args) {
    if (has_hidden(args)) core::raise(core::kInvalid);
  }

  static bool has_hidden(const TileArgs& args) {
    const core::KeepFpFlags keep;  // comparisons with NaN may raise the flag themselves
    const auto* src = reinterpret_cast<const Storage*>(args.src[0]);
    const auto* dst = reinterpret_cast<const Storage*>(args.dst);
    const auto any = [](const Storage* p, int64_t count, auto test) {
      bool found = false;
      for (int64_t i = 0; i < count; ++i) found |= test(load(p[i]));
      return found;
    };
    if (!any(dst, args.m * args.n, [](A x) { return x != x; })) return false;
    const int64_t count = args.m * args.size * args.n;
    const auto both = [&](A x, A y) {
      return any(src, count, [x](A e) { return e == x; }) &&
             any(src, count, [y](A e) { return e == y; });
    };
    constexpr A kInf = std::numeric_limits<A>::infinity();
    return Op::kFromZero ? both(kInf, -kInf) : both(kInf, A{0}) || both(-kInf, A{0});
  }

  [[gnu::noinline]] static void reduce(const TileArgs& args) {
    const auto* src = reinterpret_cast<const Storage*>(args.src[0]);
    auto* dst = reinterpret_cast<Storage*>(args.dst);
    const bool lanes = args.aux == static_cast<uint8_t>(vm::ReduceOrder::lanes);
    if (!lanes || args.size < kSumLanes) {
      sequential(src, dst, args.m, args.size, args.n);
    } else if (args.n == 1) {
      rows(src, dst, args.m, args.size);
    } else {
      lane_columns(src, dst, args.m, args.size, args.n);
    }
  }

  // The lane rule on elements that are not adjacent: no encoder asks for it, but the ISA allows it.
  static void lane_columns(const Storage* src, Storage* dst, int64_t m, int64_t size, int64_t n) {
    for (int64_t o = 0; o < m * n; ++o) {
      const Storage* start = src + o / n * size * n + o % n;
      dst[o] = store(core::reduce_canonical<A>(
          size, true, [&](int64_t i) { return load(start[i * n]); }, combine));
    }
  }
};

template <typename Op, DType D>
constexpr vm::TileKernel reduce_kernel() {
  if constexpr (Op::kWraps && D == DType::boolean) {
    return nullptr;  // sums of bool are not in the ISA
  } else {
    return Reduce<Op, D>::kernel;
  }
}

}  // namespace

void fill_reduce(vm::KernelTable& table) {
  for (int d = 0; d < core::kDTypeCount; ++d) {
    core::dispatch(static_cast<DType>(d), [&]<DType D>() {
      table.entry(Insn::sum, D) = reduce_kernel<Sum, D>();
      table.entry(Insn::prod, D) = reduce_kernel<Prod, D>();
      table.entry(Insn::max, D) = reduce_kernel<Max, D>();
      table.entry(Insn::min, D) = reduce_kernel<Min, D>();
    });
  }
}

}  // namespace dvm::cpu
