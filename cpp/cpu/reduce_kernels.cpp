// Reductions [M,size,N] -> [M,1,N] in exactly the order of core/sum_order.h, fast where the order
// leaves room for it: the 64 lanes of adjacent elements, the columns of N > 1, and several rows at
// a time. Halves accumulate as float and round once; to keep that true of a sum which is split over
// tiles, its partials are f32 and the encoder casts before the first and after the last of them.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/reduce_kernels.cpp"
#include "cpu/for_each_level.h"
// What compiles per level comes after it.
#include <algorithm>
#include <cstring>
#include <limits>
#include <type_traits>

#include "cpu/chunk_tree.h"
#include "cpu/reduce_elements-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dvm::cpu::HWY_NAMESPACE {

using core::kSumChunk;
using core::kSumLanes;
using vm::Insn;
using vm::TileArgs;

template <typename Op, typename Of>
struct Reduce {
  using A = typename Of::Accumulator;
  using Storage = typename Of::Storage;
  typedef A Vector __attribute__((vector_size(kVectorBytes)));
  typedef A Packed __attribute__((vector_size(kVectorBytes), aligned(1), may_alias));
  static constexpr int kPerVector = kVectorBytes / static_cast<int>(sizeof(A));
  static constexpr int kWidth = 4 * kPerVector;
  static constexpr bool kConverts = !std::is_same_v<Of, Plain<A>>;

  static A combine(A x, A y) { return Op::template combine<A>(x, y); }
  static Storage store(A x) { return Of::store(Op::kFromZero ? combine(x, A{0}) : x); }

  // Adds `count` runs of one vector or of four, `step` apart, in order. The four go through the
  // additions together, and are named because an array of them would live in memory.
  template <int kVectors>
  [[gnu::noinline]] static void add_runs(const A* p, int64_t count, int64_t step, A* out) {
    const auto at = [](const A* q, int k) -> Vector {
      return reinterpret_cast<const Packed*>(q)[k];
    };
    if constexpr (kVectors == 1) {
      Vector total = at(p, 0);
      for (int64_t i = 1; i < count; ++i) total = Op::combine(total, at(p += step, 0));
      std::memcpy(out, &total, sizeof(total));
      return;
    } else {
      Vector a = at(p, 0), b = at(p, 1), c = at(p, 2), d = at(p, 3);
      for (int64_t i = 1; i < count; ++i) {
        p += step;
        a = Op::combine(a, at(p, 0));
        b = Op::combine(b, at(p, 1));
        c = Op::combine(c, at(p, 2));
        d = Op::combine(d, at(p, 3));
      }
      const Vector all[] = {a, b, c, d};
      std::memcpy(out, all, sizeof(all));
    }
  }

  // One chunk of at least kSumLanes adjacent elements. Lanes do not depend on each other, so that a
  // block of them runs through the whole chunk in registers before the next one starts.
  [[gnu::noinline]] static A lane_chunk(const Storage* src, int64_t count) {
    A room[kConverts ? kSumChunk : 1] = {};
    alignas(64) A lanes[std::max<int64_t>(kSumLanes, kWidth)];
    const A* p = Of::run(src, count, room);
    const int64_t whole = count / kSumLanes * kSumLanes;
    if constexpr (kWidth <= kSumLanes) {
      for (int64_t lane = 0; lane < kSumLanes; lane += kWidth) {
        add_runs<4>(p + lane, whole / kSumLanes, kSumLanes, lanes + lane);
      }
    } else {
      // Fewer lanes than a block has: bytes, and shorts on wide vectors.
      std::copy_n(p, kSumLanes, lanes);
      for (int64_t i = kSumLanes; i < whole; i += kSumLanes) combine_into(lanes, p + i, kSumLanes);
    }
    combine_into(lanes, p + whole, count - whole);
    for (int64_t half = kSumLanes / 2; half > 0; half /= 2) combine_into(lanes, lanes + half, half);
    return lanes[0];
  }
  DVM_ALWAYS_INLINE static void combine_into(A* totals, const A* more, int64_t count) {
    DVM_INDEPENDENT
    for (int64_t k = 0; k < count; ++k) totals[k] = Op::combine(totals[k], more[k]);
  }

  template <int kBytes>
  static void combine_totals(Totals<kBytes>& totals, Totals<kBytes>& more) {
    combine_into(totals.template as<A>(), more.template as<A>(), kBytes / int{sizeof(A)});
  }

  static A row_chunk(const Storage* p, int64_t count) {
    if (count >= kSumLanes) return lane_chunk(p, count);
    A total = Of::load(p[0]);
    for (int64_t i = 1; i < count; ++i) total = combine(total, Of::load(p[i]));
    return total;
  }
  static void rows(const Storage* src, Storage* dst, int64_t m, int64_t size) {
    constexpr int kBytes = 8;
    const auto chunk = [](const void* row, int64_t begin, int64_t count, Totals<kBytes>& totals) {
      const A total = row_chunk(static_cast<const Storage*>(row) + begin, count);
      std::fill_n(totals.template as<A>(), kBytes / sizeof(A), total);
    };
    for (; m > 0; --m, src += size) {
      if (size <= kSumChunk) {
        *dst++ = store(row_chunk(src, size));
      } else {
        const ChunkTree<kBytes> tree{chunk, combine_totals<kBytes>, src};
        Totals<kBytes> totals = tree.total(size);
        *dst++ = store(*totals.template as<A>());
      }
    }
  }

  // Adjacent columns, one vector or four, in sequential order.
  struct Columns {
    const Storage* src;
    int64_t n;
  };
  template <int kVectors>
  static void column_chunk(const void* context, int64_t begin, int64_t count,
                           Totals<kVectors * kVectorBytes>& totals) {
    constexpr int kColumns = kVectors * kPerVector;
    const auto [start, n] = *static_cast<const Columns*>(context);
    const Storage* src = start + begin * n;
    A* out = totals.template as<A>();
    if constexpr (!kConverts) {
      add_runs<kVectors>(src, count, n, out);
    } else {
      A room[kColumns] = {};
      std::copy_n(Of::run(src, kColumns, room), kColumns, out);
      for (int64_t i = 1; i < count; ++i) {
        combine_into(out, Of::run(src + i * n, kColumns, room), kColumns);
      }
    }
  }
  template <int kVectors>
  static void reduce_columns(const Storage* src, Storage* dst, int64_t size, int64_t n) {
    constexpr int kBytes = kVectors * kVectorBytes;
    const Columns columns{src, n};
    const ChunkTree<kBytes> tree{column_chunk<kVectors>, combine_totals<kBytes>, &columns};
    Totals<kBytes> totals = tree.total(size);
    for (int k = 0; k < kVectors * kPerVector; ++k) dst[k] = store(totals.template as<A>()[k]);
  }

  // Outputs whose elements are anywhere: short rows and columns that fill no vector.
  static constexpr int kGathered = 16;
  using GatheredTotals = Totals<kGathered * 8>;
  struct Gathered {
    const Storage* starts[kGathered];
    int64_t n;
  };
  static void gathered_chunk(const void* context, int64_t begin, int64_t count,
                             GatheredTotals& totals) {
    const auto& [starts, n] = *static_cast<const Gathered*>(context);
    A sums[kGathered] = {};
    for (int64_t i = begin; i < begin + count; ++i) {
      A more[kGathered];
      for (int k = 0; k < kGathered; ++k) more[k] = Of::load(starts[k][i * n]);
      if (i == begin) {
        std::copy_n(more, kGathered, sums);
      } else {
        combine_into(sums, more, kGathered);
      }
    }
    std::fill_n(totals.template as<A>(), sizeof(totals) / sizeof(A), sums[0]);
    std::copy_n(sums, kGathered, totals.template as<A>());
  }

  static void gather(const Storage* src, Storage* dst, int64_t m, int64_t size, int64_t n) {
    for (int64_t begin = 0; begin < m * n; begin += kGathered) {
      const int64_t outputs = std::min<int64_t>(kGathered, m * n - begin);
      Gathered gathered{{}, n};
      for (int64_t k = 0; k < kGathered; ++k) {
        const int64_t o = begin + std::min(k, outputs - 1);
        gathered.starts[k] = src + o / n * size * n + o % n;
      }
      const ChunkTree<kGathered * 8> tree{gathered_chunk, combine_totals<kGathered * 8>, &gathered};
      GatheredTotals totals = tree.total(size);
      for (int64_t k = 0; k < outputs; ++k) dst[begin + k] = store(totals.template as<A>()[k]);
    }
  }

  // Sequential order: outputs are independent, so that a block of them shares every step. Adjacent
  // columns load whole vectors, the last of which may overlap the one before.
  static void sequential(const Storage* src, Storage* dst, int64_t m, int64_t size, int64_t n) {
    if (n < kPerVector) return gather(src, dst, m, size, n);
    for (; m > 0; --m, src += size * n, dst += n) {
      int64_t column = 0;
      for (; column + kWidth <= n; column += kWidth) {
        reduce_columns<4>(src + column, dst + column, size, n);
      }
      for (; column < n; column += kPerVector) {
        const int64_t at = std::min(column, n - kPerVector);
        reduce_columns<1>(src + at, dst + at, size, n);
      }
    }
  }

  // The lane rule on elements that are not adjacent: no encoder asks for it, but the ISA allows it.
  static void lane_columns(const Storage* src, Storage* dst, int64_t m, int64_t size, int64_t n) {
    for (int64_t o = 0; o < m * n; ++o) {
      const Storage* start = src + o / n * size * n + o % n;
      dst[o] = store(core::reduce_canonical<A>(
          size, true, [&](int64_t i) { return Of::load(start[i * n]); }, combine));
    }
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

  static void kernel(const TileArgs& args) noexcept {
    if constexpr (Op::kQuiet) {
      const core::KeepFpFlags keep;
      reduce(args);
    } else {
      reduce(args);
      if constexpr (std::is_floating_point_v<A>) raise_if_hidden(args);
    }
  }

  // Two elements may make a NaN, and NumPy warns of it, unless a NaN is met before in the order of
  // additions, which is another one here. So where there is a NaN the flag rises for any such two.
  static void raise_if_hidden(const TileArgs& args) {
    if (has_hidden(args)) core::raise(core::kInvalid);
  }

  [[gnu::noinline]] static bool has_hidden(const TileArgs& args) {
    const core::KeepFpFlags keep;  // comparisons with NaN may raise the flag themselves
    const auto* src = reinterpret_cast<const Storage*>(args.src[0]);
    const auto* dst = reinterpret_cast<const Storage*>(args.dst);
    const auto any = [](const Storage* p, int64_t count, auto test) {
      bool found = false;
      for (int64_t i = 0; i < count; ++i) found |= test(Of::load(p[i]));
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
};

template <typename Op, DType D>
constexpr vm::TileKernel reduce_kernel() {
  if constexpr (D == DType::boolean) {
    // Sums of bool are not in the ISA.
    if constexpr (!Op::kWraps) return Reduce<Op, Bool>::kernel;
    return nullptr;
  } else if constexpr (D == DType::f16) {
    return Reduce<Op, Halves>::kernel;
  } else {
    using T = typename Element<D>::Compute;
    if constexpr (Op::kWraps && std::is_integral_v<T>) {
      return Reduce<Op, Plain<std::make_unsigned_t<T>>>::kernel;
    } else {
      return Reduce<Op, Plain<T>>::kernel;
    }
  }
}

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

}  // namespace dvm::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dvm::cpu {
DVM_FILL_BY_LEVEL(fill_reduce)
}
#endif
