// Reductions [M,size,N] -> [M,1,N] in exactly the order of core/ops/sum_order.h, fast where the
// order leaves room for it: the 64 lanes of adjacent elements, the columns of N > 1, and several
// rows at a time. Halves are cast to f32 a block at a time (reduce_casts-inl.h) and round once; to
// keep that true of a sum which is split over tiles, its partials are f32 and the encoder casts
// before the first and after the last of them. Included inside no namespace by files that
// for_each_level.h compiles, once per level.
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

#include "cpu/reduce/chunk_tree.h"
#include "cpu/reduce/extremes-inl.h"
#include "cpu/reduce/reduce_columns.h"
#include "cpu/reduce/runs-inl.h"
#include "vm/run/tile_kernel.h"

HWY_BEFORE_NAMESPACE();
namespace dvm::cpu::HWY_NAMESPACE {

using core::kSumChunk;
using core::kSumLanes;
using vm::Insn;
using vm::TileArgs;

// The i-th element of each output.
template <typename A>
DVM_ALWAYS_INLINE void gather(const Gathered& outputs, int64_t i, A* out) {
  for (int k = 0; k < kGathered; ++k) {
    out[k] = *reinterpret_cast<const A*>(outputs.starts[k] + i * outputs.step);
  }
}

// Two elements may make a NaN, and NumPy warns of it, unless a NaN is met before in the order of
// additions, which is another one here. So where there is a NaN the flag rises for any such two.
// `load` gives an element as what is computed in.
template <typename Op, typename Storage, typename Load>
[[gnu::noinline]] bool has_hidden(const TileArgs& args, Load load) {
  using A = decltype(load(Storage{}));
  const core::KeepFpFlags keep;  // comparisons with NaN may raise the flag themselves
  const auto* src = reinterpret_cast<const Storage*>(args.src[0]);
  const auto* dst = reinterpret_cast<const Storage*>(args.dst);
  const auto any = [load](const Storage* p, int64_t count, auto test) {
    bool found = false;
    for (int64_t i = 0; i < count; ++i) found |= test(load(p[i]));
    return found;
  };
  if (!any(dst, args.m * args.n, [](A x) { return x != x; })) return false;
  const int64_t rows = args.row_stride ? args.m * args.size : 1;
  const int64_t count = args.m * args.size * args.n / rows;
  const int64_t step = row_step(args, sizeof(Storage)) / int64_t{sizeof(Storage)};
  const auto has = [&](A x) {
    bool found = false;
    for (int64_t row = 0; row < rows && !found; ++row) {
      found = any(src + row * step, count, [x](A e) { return e == x; });
    }
    return found;
  };
  const auto both = [&](A x, A y) { return has(x) && has(y); };
  constexpr A kInf = std::numeric_limits<A>::infinity();
  return Op::kFromZero ? both(kInf, -kInf) : both(kInf, A{0}) || both(-kInf, A{0});
}

template <typename Op, typename A>
struct Reduce {
  using Vectors = Block<Op, A>;
  using Vector = typename Vectors::Vector;
  using Packed = typename Vectors::Packed;
  static constexpr int kPerVector = Vectors::kPerVector;
  static constexpr int kWidth = Vectors::kWidth;
  // Integers come to the same in any order, so that their lanes are as many as fit and a row is one
  // chunk.
  static constexpr bool kAnyOrder = std::is_integral_v<A>;
  static constexpr int64_t kLanes = kAnyOrder ? kWidth : kSumLanes;
  static constexpr int64_t kTree = kAnyOrder ? core::kSumRun * core::kSumRun : kSumChunk;

  static A combine(A x, A y) { return Op::template combine<A>(x, y); }
  static A store(A x) { return Op::kFromZero ? combine(x, A{0}) : x; }

  // One chunk of adjacent elements, at least kSumLanes of floats. Lanes do not depend on each
  // other, so that a block of them runs through the whole chunk in registers before the next one
  // starts.
  [[gnu::noinline]] static A lane_chunk(const A* p, int64_t count) {
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
      return fold(blocks);
    }
  }
  template <size_t kBlocks>
  DVM_ALWAYS_INLINE static A fold(Vectors (&lanes)[kBlocks]) {
    for (size_t half = kBlocks / 2; half > 0; half /= 2) {
      for (size_t k = 0; k < half; ++k) lanes[k] = Vectors::combine(lanes[k], lanes[k + half]);
    }
    return lanes[0].total();
  }
  // Rows that are the lanes of a sum each: what chains leave (chain_rows.h).
  static void fold_rows(const A* src, A* dst, int64_t m) {
    for (; m > 0; --m, src += kLanes) {
      Vectors lanes[kLanes / kWidth];
      for (int64_t k = 0; k < kLanes / kWidth; ++k) lanes[k] = Vectors::load(src + k * kWidth);
      *dst++ = store(fold(lanes));
    }
  }
  // Few, or none that the lanes may have.
  [[gnu::noinline]] static A in_order(const A* p, int64_t count) {
    return combined_runs<kTree>(
        0, count, [p](int64_t i) { return p[i]; }, combine);
  }
  static A row_chunk(const A* p, int64_t count) {
    return kAnyOrder || count >= kSumLanes ? lane_chunk(p, count) : in_order(p, count);
  }

  // The tree above the chunks of one output. `kChunk` gives the total of elements that `context`
  // leads to.
  template <typename Context, A (*kChunk)(const Context&, int64_t begin, int64_t count)>
  static A tree_total(const Context& context, int64_t size) {
    using Total = ChunkTree::Total;
    constexpr size_t kCopies = sizeof(Total) / sizeof(A);
    const auto chunk = [](const void* of, int64_t begin, int64_t count, Total& total) {
      std::fill_n(total.as<A>(), kCopies, kChunk(*static_cast<const Context*>(of), begin, count));
    };
    const auto combine_totals = [](Total& total, Total& more) {
      std::fill_n(total.as<A>(), kCopies, combine(*total.as<A>(), *more.as<A>()));
    };
    Total total = ChunkTree{chunk, combine_totals, &context}.total(size);
    return *total.as<A>();
  }
  using Row = const A*;
  static A part_of_row(const Row& row, int64_t begin, int64_t count) {
    return row_chunk(row + begin, count);
  }
  static A part_in_order(const Row& row, int64_t begin, int64_t count) {
    return in_order(row + begin, count);
  }

  // A row whose order does not matter.
  static bool any_order(const A* src, int64_t size, A& dst) {
    if constexpr (Op::kQuiet && !kAnyOrder) {
      using Fast = AnyOrder<Op, A>;
      return size >= Fast::kLeastSize && Fast::find(src, size, dst);
    } else {
      return false;
    }
  }
  static void rows(const A* src, A* dst, int64_t m, int64_t size) {
    if constexpr (!kAnyOrder && !Op::kQuiet) {
      if (size == kLanes) return fold_rows(src, dst, m);
    }
    for (; m > 0; --m, src += size) {
      if (any_order(src, size, *dst)) {
        ++dst;
      } else if (kAnyOrder || size <= kSumChunk) {
        *dst++ = store(row_chunk(src, size));
      } else {
        *dst++ = store(tree_total<Row, part_of_row>(src, size));
      }
    }
  }

  // What cpu/reduce/reduce_columns.h asks for.
  template <int kVectors>
  static void columns(const void* context, int64_t begin, int64_t count, GroupTotals& totals) {
    static_assert(kVectors == 1 || kVectors == 4);
    const auto& [start, step] = *static_cast<const Columns*>(context);
    const std::byte* const first = start + begin * step;
    const auto load = [first, step](int64_t i) {
      const auto* const p = reinterpret_cast<const A*>(first + i * step);
      if constexpr (kVectors == 1) {
        return Vector(*reinterpret_cast<const Packed*>(p));
      } else {
        return Vectors::load(p);
      }
    };
    const auto total = combined_runs<kTree>(0, count, load, [](const auto& x, const auto& y) {
      if constexpr (kVectors == 1) {
        return Op::combine(x, y);
      } else {
        return Vectors::combine(x, y);
      }
    });
    std::memcpy(&totals, &total, sizeof(total));
  }
#if HWY_TARGET == HWY_AVX3
  // Elements that are not there are 0 in each step; nobody asks for their totals.
  static void narrow_columns(const void* context, int64_t begin, int64_t count,
                             GroupTotals& totals) {
    const auto& outputs = *static_cast<const NarrowColumns*>(context);
    const __mmask64 there = _bzhi_u64(~uint64_t{0}, outputs.count * sizeof(A));
    const std::byte* const first = outputs.src + begin * outputs.step;
    const auto load = [&](int64_t i) {
      return reinterpret_cast<Vector>(_mm512_maskz_loadu_epi8(there, first + i * outputs.step));
    };
    const Vector total =
        combined_runs<kTree>(0, count, load, [](Vector x, Vector y) { return Op::combine(x, y); });
    std::memcpy(&totals, &total, sizeof(total));
  }
  static constexpr GroupKernels::Chunk kNarrowColumns = narrow_columns;
#else
  static constexpr GroupKernels::Chunk kNarrowColumns = nullptr;
#endif
  // Long rows, a vector of columns at least and a run of them at a time: memory is read as it lies,
  // and the totals of runs, of runs of runs, and of all stay in the first cache.
  static void run_of_rows(const A* rows, int64_t step, int64_t size, int64_t count, A* totals) {
    const auto whole = [=](int64_t k) {
      return combined_runs<core::kSumRun>(
          0, size,
          [=](int64_t row) -> Vector {
            return *reinterpret_cast<const Packed*>(rows + row * step + k);
          },
          [](Vector x, Vector y) { return Op::combine(x, y); });
    };
    // The last vector may overlap the one before.
    for (int64_t k = 0; k < count; k += kPerVector) {
      const int64_t at = std::min(k, count - kPerVector);
      const Vector total = whole(at);
      std::memcpy(totals + at, &total, sizeof(total));
    }
  }
  template <int64_t kSpan = kSumChunk>
  static void span_of_rows(const A* rows, int64_t step, int64_t size, int64_t count, A* totals) {
    if constexpr (kSpan == core::kSumRun) {
      run_of_rows(rows, step, size, count, totals);
    } else {
      constexpr int64_t kPart = kSpan / core::kSumRun;
      A more[kMostOfRow];
      for (int64_t row = 0; row < size; row += kPart) {
        span_of_rows<kPart>(rows + row * step, step, std::min(kPart, size - row), count,
                            row == 0 ? totals : more);
        if (row > 0) combine_into(totals, more, count);
      }
    }
  }
  static void combine_into(A* totals, const A* more, int64_t count) {
    DVM_INDEPENDENT
    for (int64_t k = 0; k < count; ++k) totals[k] = Op::combine(totals[k], more[k]);
  }
  static void long_rows(const A* src, int64_t step, A* dst, int64_t size, int64_t n) {
    for (int64_t next = 0; next < n; next += kMostOfRow) {
      const int64_t begin = std::min<int64_t>(next, n - kPerVector);
      const int64_t count = std::min(kMostOfRow, n - begin);
      A* const totals = dst + begin;
      span_of_rows(src + begin, step, size, count, totals);
      if constexpr (Op::kFromZero && !kAnyOrder) {
        for (int64_t k = 0; k < count; ++k) totals[k] = store(totals[k]);
      }
    }
  }
  static constexpr int64_t kMostOfRow = 16384 / sizeof(A);
  // Whether they are long, and more than the first cache holds.
  static bool has_long_rows(const TileArgs& args) {
    constexpr int64_t kLong = 2048, kNear = 32768;
    const int64_t bytes = args.n * int64_t{sizeof(A)};
    return bytes >= kLong && args.size * bytes > kNear && (kAnyOrder || args.size <= kSumChunk);
  }

  static constexpr int kGatheredBytes = kGathered * static_cast<int>(sizeof(A));
  static constexpr int kGatheredVectors = std::max(1, kGatheredBytes / kVectorBytes);
  static constexpr int kPartBytes = std::min(kVectorBytes, kGatheredBytes);
  static constexpr int kParts = kGatheredBytes / kPartBytes;
  typedef A GatheredVector __attribute__((vector_size(kPartBytes)));
  typedef A GatheredPart __attribute__((vector_size(kPartBytes), aligned(1), may_alias));
  struct GatheredSums {
    GatheredVector parts[kParts];
  };
  static void gathered(const void* context, int64_t begin, int64_t count, GroupTotals& totals) {
    const auto& outputs = *static_cast<const Gathered*>(context);
    const auto load = [&](int64_t i) {
      A elements[kGathered];
      gather(outputs, i, elements);
      GatheredSums sums;
      std::memcpy(&sums, elements, sizeof(sums));
      return sums;
    };
    const auto combined = [](const GatheredSums& x, const GatheredSums& y) {
      GatheredSums sums;
      for (int k = 0; k < kParts; ++k) {
        sums.parts[k] = Op::template combine<GatheredVector>(x.parts[k], y.parts[k]);
      }
      return sums;
    };
    const GatheredSums sums = combined_runs<kTree>(begin, begin + count, load, combined);
    std::fill_n(totals.as<A>(), kGatheredVectors * kPerVector, A{});
    std::memcpy(totals.as<A>(), &sums, sizeof(sums));
  }
  static void combine_groups(GroupTotals& totals, const GroupTotals& more, int vectors) {
    auto* x = reinterpret_cast<Packed*>(totals.bytes);
    const auto* y = reinterpret_cast<const Packed*>(more.bytes);
    for (int k = 0; k < vectors; ++k) x[k] = Op::template combine<Vector>(x[k], y[k]);
  }
  static void store_group(const GroupTotals& totals, int count, std::byte* dst) {
    if constexpr (Op::kFromZero && !kAnyOrder) {
      for (int k = 0; k < count; ++k) reinterpret_cast<A*>(dst)[k] = store(totals.as<A>()[k]);
    } else {
      std::memcpy(dst, totals.bytes, static_cast<size_t>(count) * sizeof(A));
    }
  }
  static constexpr GroupKernels kGroups{.element_bytes = sizeof(A),
                                        .per_vector = kPerVector,
                                        .gathered_vectors = kGatheredVectors,
                                        .any_order = kAnyOrder,
                                        .columns = columns<1>,
                                        .wide_columns = columns<4>,
                                        .gathered = gathered,
                                        .narrow_columns = kNarrowColumns,
                                        .combine = combine_groups,
                                        .store = store_group};

  // A single output: the last of the partials of a long row, say.
  static A single(const A* src, int64_t size) {
    if (A found{}; any_order(src, size, found)) return found;
    return tree_total<Row, part_in_order>(src, size);
  }

  // The lane rule on elements that are not adjacent: no encoder asks for it, but the ISA allows it.
  struct Column {
    const A* start;
    int64_t step;
  };
  static A part_of_column(const Column& column, int64_t begin, int64_t count) {
    A room[kSumChunk];
    for (int64_t i = 0; i < count; ++i) room[i] = column.start[(begin + i) * column.step];
    return row_chunk(room, count);
  }
  static void lane_columns(const A* src, A* dst, int64_t m, int64_t size, int64_t n) {
    for (int64_t o = 0; o < m * n; ++o) {
      const Column column{src + o / n * size * n + o % n, n};
      dst[o] = store(tree_total<Column, part_of_column>(column, size));
    }
  }

  [[gnu::noinline]] static void reduce(const TileArgs& args) {
    const auto* src = reinterpret_cast<const A*>(args.src[0]);
    auto* dst = reinterpret_cast<A*>(args.dst);
    const bool lanes = args.aux == static_cast<uint8_t>(vm::ReduceOrder::lanes);
    const bool strided = args.row_stride.has_value();
    if (!strided && args.n == 1 && (kAnyOrder || (lanes && args.size >= kSumLanes))) {
      rows(src, dst, args.m, args.size);
    } else if (!strided && !kAnyOrder && args.m * args.n == 1) {
      *dst = store(single(src, args.size));
    } else if (!kAnyOrder && lanes && args.size >= kSumLanes) {
      lane_columns(src, dst, args.m, args.size, args.n);
    } else {
      if (!has_long_rows(args)) return reduce_columns(kGroups, args);
      const int64_t step = row_step(args, sizeof(A)) / int64_t{sizeof(A)};
      for (int64_t m = 0; m < args.m; ++m) {
        long_rows(src + m * args.size * step, step, dst + m * args.n, args.size, args.n);
      }
    }
  }

  static void kernel(const TileArgs& args) noexcept {
    if constexpr (Op::kQuiet && std::is_floating_point_v<A>) {
      const core::KeepFpFlags keep;
      reduce(args);
    } else {
      reduce(args);
      if constexpr (std::is_floating_point_v<A>) {
        if (has_hidden<Op, A>(args, [](A x) { return x; })) core::raise(core::kInvalid);
      }
    }
  }
};

}  // namespace dvm::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
