// Reductions [M,size,N] -> [M,1,N] in exactly the order of core/sum_order.h, fast where the order
// leaves room for it: the 64 lanes of adjacent elements, the columns of N > 1, and several rows at
// a time. Halves accumulate as float and round once; to keep that true of a sum which is split over
// tiles, its partials are f32 and the encoder casts before the first and after the last of them.
// Included inside no namespace by files that for_each_level.h compiles, once per level.
#if defined(DVM_CPU_REDUCE) == defined(HWY_TARGET_TOGGLE)
#ifdef DVM_CPU_REDUCE
#undef DVM_CPU_REDUCE
#else
#define DVM_CPU_REDUCE
#endif

#include <algorithm>
#include <cstring>
#include <limits>
#include <type_traits>

#include "cpu/chunk_tree.h"
#include "cpu/extremes-inl.h"
#include "vm/tile_kernel.h"

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
  using Vectors = Block<Op, A>;
  using Vector = typename Vectors::Vector;
  using Packed = typename Vectors::Packed;
  static constexpr int kPerVector = Vectors::kPerVector;
  static constexpr int kWidth = Vectors::kWidth;
  // Integers come to the same in any order, so that their lanes are as many as fit and a row is one
  // chunk.
  static constexpr bool kAnyOrder = std::is_integral_v<A>;
  static constexpr int64_t kLanes = kAnyOrder ? kWidth : kSumLanes;
  static constexpr bool kConverts = !std::is_same_v<Of, Plain<A>>;

  static A combine(A x, A y) { return Op::template combine<A>(x, y); }
  static Storage store(A x) { return Of::store(Op::kFromZero ? combine(x, A{0}) : x); }

  // Combines `count` runs of one vector or of four, `step` apart, in order.
  template <int kVectors>
  [[gnu::noinline]] static void add_runs(const A* p, int64_t count, int64_t step, A* out) {
    if constexpr (kVectors == 1) {
      const auto load = [](const A* q) -> Vector { return *reinterpret_cast<const Packed*>(q); };
      Vector total = load(p);
      for (int64_t i = 1; i < count; ++i) total = Op::combine(total, load(p += step));
      std::memcpy(out, &total, sizeof(total));
    } else {
      const Vectors total = Vectors::of_whole_runs(p, count, step);
      std::memcpy(out, &total, sizeof(total));
    }
  }

  // One chunk of adjacent elements, at least kSumLanes of floats. Lanes do not depend on each
  // other, so that a block of them runs through the whole chunk in registers before the next one
  // starts.
  [[gnu::noinline]] static A lane_chunk(const Storage* src, int64_t count) {
    A room[kConverts ? kSumChunk : 1] = {};
    const A* p = Of::run(src, count, room);
    const int64_t runs = count / kLanes, rest = count % kLanes;
    const auto block = [&](int64_t lane) {
      return Vectors::of_runs(p + lane, runs, kLanes, std::min<int64_t>(rest - lane, kWidth));
    };
    constexpr int kBlocks = kLanes / kWidth;
    if constexpr (kBlocks == 1) {
      return block(0).total();
    } else {
      Vectors blocks[kBlocks];
      for (int k = 0; k < kBlocks; ++k) blocks[k] = block(k * kWidth);
      for (int half = kBlocks / 2; half > 0; half /= 2) {
        for (int k = 0; k < half; ++k) blocks[k] = Vectors::combine(blocks[k], blocks[k + half]);
      }
      return blocks[0].total();
    }
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
    if (kAnyOrder || count >= kSumLanes) return lane_chunk(p, count);
    A total = Of::load(p[0]);
    for (int64_t i = 1; i < count; ++i) total = combine(total, Of::load(p[i]));
    return total;
  }
  // A row whose order does not matter.
  static bool any_order(const Storage* src, int64_t size, Storage& dst) {
    if constexpr (Op::kQuiet && std::is_floating_point_v<Storage>) {
      using Fast = AnyOrder<Op, A>;
      return size >= Fast::kLeastSize && Fast::find(src, size, dst);
    } else {
      return false;
    }
  }
  static void rows(const Storage* src, Storage* dst, int64_t m, int64_t size) {
    constexpr int kBytes = 8;
    const auto chunk = [](const void* row, int64_t begin, int64_t count, Totals<kBytes>& totals) {
      const A total = row_chunk(static_cast<const Storage*>(row) + begin, count);
      std::fill_n(totals.template as<A>(), kBytes / sizeof(A), total);
    };
    for (; m > 0; --m, src += size) {
      if (any_order(src, size, *dst)) {
        ++dst;
      } else if (kAnyOrder || size <= kSumChunk) {
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

  // A single output: the last of the partials of a long row, say. Of halves too, an extreme that is
  // neither zero nor NaN is the same in any order.
  static A single(const Storage* src, int64_t size) {
    if constexpr (kAnyOrder) return lane_chunk(src, size);
    if (Storage found{}; any_order(src, size, found)) return Of::load(found);
    if (Op::kQuiet && size >= kSumLanes && size <= kSumChunk) {
      const A total = lane_chunk(src, size);
      if (total == total && total != A{0}) return total;
    }
    return core::reduce_canonical<A>(
        size, false, [&](int64_t i) { return Of::load(src[i]); }, combine);
  }

  // Sequential order: outputs are independent, so that a block of them shares every step. Adjacent
  // columns load whole vectors, the last of which may overlap the one before.
  static void sequential(const Storage* src, Storage* dst, int64_t m, int64_t size, int64_t n) {
    if (m * n == 1) return void(*dst = store(single(src, size)));
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
    if (kAnyOrder && args.n == 1) {
      rows(src, dst, args.m, args.size);
    } else if (!lanes || args.size < kSumLanes) {
      sequential(src, dst, args.m, args.size, args.n);
    } else if (args.n == 1) {
      rows(src, dst, args.m, args.size);
    } else {
      lane_columns(src, dst, args.m, args.size, args.n);
    }
  }

  static void kernel(const TileArgs& args) noexcept {
    if constexpr (Op::kQuiet && std::is_floating_point_v<A>) {
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

// Any byte but 0 counts as true, which the extreme of bytes tells as well.
template <typename Op>
void reduce_bools(const TileArgs& args) noexcept {
  Reduce<Op, Plain<uint8_t>>::kernel(args);
  auto* dst = reinterpret_cast<uint8_t*>(args.dst);
  for (int64_t i = 0; i < args.m * args.n; ++i) dst[i] = dst[i] != 0;
}

template <typename Op, DType D>
constexpr vm::TileKernel reduce_kernel() {
  if constexpr (Op::kOfFloats && !core::is_floating(D)) {
    return nullptr;
  } else if constexpr (D == DType::boolean) {
    // Sums of bool are not in the ISA.
    if constexpr (!Op::kWraps) return reduce_bools<Op>;
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

template <typename Op>
void fill_reduction(vm::KernelTable& table, Insn insn) {
  for (int d = 0; d < core::kDTypeCount; ++d) {
    core::dispatch(static_cast<DType>(d),
                   [&]<DType D>() { table.entry(insn, D) = reduce_kernel<Op, D>(); });
  }
}

}  // namespace dvm::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
