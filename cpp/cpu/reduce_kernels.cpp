// Reductions [M,size,N] -> [M,1,N] in exactly the order of core/sum_order.h, fast where the order
// leaves room for it: the 64 lanes of adjacent elements, the columns of N > 1, and several rows at
// a time. Halves accumulate as float and round once; to keep that true of a sum which is split over
// tiles, its partials are f32 and the encoder casts before the first and after the last of them.
#include <cstring>
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
  using Type = typename Element<D>::Compute;
};
template <>
struct Accumulator<DType::i32, true> {
  using Type = uint32_t;
};
template <>
struct Accumulator<DType::i64, true> {
  using Type = uint64_t;
};

// Both take scalars and SIMD vectors alike.
struct Sum {
  static constexpr bool kWraps = true;
  template <typename T>
  static T combine(T x, T y) {
    return x + y;
  }
};
struct Max {
  static constexpr bool kWraps = false;
  template <typename T>
  static T combine(T x, T y) {
    return (x >= y) | (x != x) ? x : y;
  }
};

// kVectors SIMD vectors of accumulators that go through the additions in step. A vector type of the
// compiler, because an array of scalars would live in memory instead of registers.
template <typename A>
struct Block {
  static constexpr int kVectors = 4, kVectorBytes = 16;
  static constexpr int kWidth = kVectors * kVectorBytes / static_cast<int>(sizeof(A));
  typedef A Vector __attribute__((vector_size(kVectorBytes)));
  Vector v[kVectors];

  // Element i of the block is at(i).
  template <typename At>
  static Block load(At at) {
    alignas(Vector) A values[kWidth];
    for (int i = 0; i < kWidth; ++i) values[i] = at(i);
    return from(values);
  }
  static Block from(const A* values) {
    Block block;
    std::memcpy(&block, values, sizeof(block));
    return block;
  }
  template <typename Op>
  static Block combine(const Block& x, const Block& y) {
    Block result;
#pragma GCC unroll 4
    for (int k = 0; k < kVectors; ++k) result.v[k] = Op::combine(x.v[k], y.v[k]);
    return result;
  }
};

template <typename Op, DType D>
struct Reduce {
  using Storage = core::Storage<D>;
  using A = typename Accumulator<D, Op::kWraps>::Type;
  using B = Block<A>;

  static A load(Storage x) { return static_cast<A>(Element<D>::load(x)); }
  static Storage store(A x) {
    return Element<D>::store(static_cast<typename Element<D>::Compute>(x));
  }
  static B load_block(const Storage* p) {
    if constexpr (std::is_same_v<A, Storage> || (sizeof(A) == sizeof(Storage) && sizeof(A) > 1)) {
      B block;
      std::memcpy(&block, p, sizeof(block));
      return block;
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
        block = B::template combine<Op>(block, load_block(p + i));
      }
      std::memcpy(lanes + lane, &block, sizeof(block));
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

  // Up to kWidth outputs whose elements start at `starts` and are `step` apart, one after the
  // other.
  static void sequential_block(const Storage* const* starts, int outputs, int64_t size,
                               int64_t step, Storage* dst) {
    const auto at = [&](int64_t i) {
      return B::load([&](int k) { return load(starts[k][i * step]); });
    };
    write(core::reduce_canonical<B>(size, false, at, B::template combine<Op>), outputs, dst);
  }
  static void write(const B& block, int outputs, Storage* dst) {
    A values[B::kWidth];
    std::memcpy(values, &block, sizeof(block));
    for (int k = 0; k < outputs; ++k) dst[k] = store(values[k]);
  }

  // Sequential order: outputs are independent, so that a block of them shares every step. Blocks of
  // adjacent columns load whole vectors, all others gather.
  static void sequential(const Storage* src, Storage* dst, int64_t m, int64_t size, int64_t n) {
    int64_t gathered = 0;  // columns at the end of each row, fewer than a block
    if (n >= B::kWidth) {
      gathered = n % B::kWidth;
      for (int64_t row = 0; row < m; ++row) {
        for (int64_t column = 0; column < n - gathered; column += B::kWidth) {
          const Storage* start = src + row * size * n + column;
          const auto at = [&](int64_t i) { return load_block(start + i * n); };
          write(core::reduce_canonical<B>(size, false, at, B::template combine<Op>), B::kWidth,
                dst + row * n + column);
        }
      }
      if (gathered == 0) return;
    } else {
      gathered = n;
    }
    const Storage* starts[B::kWidth];
    Storage results[B::kWidth];
    Storage* targets[B::kWidth];
    int filled = 0;
    const auto flush = [&] {
      for (int k = filled; k < B::kWidth; ++k) starts[k] = starts[0];
      sequential_block(starts, filled, size, n, results);
      for (int k = 0; k < filled; ++k) *targets[k] = results[k];
      filled = 0;
    };
    for (int64_t row = 0; row < m; ++row) {
      for (int64_t column = n - gathered; column < n; ++column) {
        starts[filled] = src + row * size * n + column;
        targets[filled++] = dst + row * n + column;
        if (filled == B::kWidth) flush();
      }
    }
    if (filled > 0) flush();
  }

  static void kernel(const TileArgs& args) noexcept {
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
      table.entry(Insn::max, D) = reduce_kernel<Max, D>();
    });
  }
}

}  // namespace dvm::cpu
