// Reductions of halves, for one SIMD level: by those of f32, into which a block of elements at a
// time is cast. The totals round once.
#if defined(DVM_CPU_REDUCE_HALVES) == defined(HWY_TARGET_TOGGLE)
#ifdef DVM_CPU_REDUCE_HALVES
#undef DVM_CPU_REDUCE_HALVES
#else
#define DVM_CPU_REDUCE_HALVES
#endif

#include "cpu/elementwise/half_blocks-inl.h"
#include "cpu/reduce/reduce-inl.h"
#include "cpu/reduce/reduce_casts-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dvm::cpu::HWY_NAMESPACE {

template <core::AnyHalf H>
void widen_elements(const std::byte* src, int64_t count, float* dst) {
  widen<H>(reinterpret_cast<const uint16_t*>(src), count, dst);
}
template <core::AnyHalf H>
void store_halves(const float* results, int64_t count, std::byte* dst) {
  narrow<H>(results, count, reinterpret_cast<uint16_t*>(dst));
}

// Rows of adjacent elements that are longer than a block: a chunk at a time.
template <typename Op, core::AnyHalf H>
struct LongHalfRows {
  using Floats = Reduce<Op, float>;
  using Row = const std::byte*;

  template <float (*kOfFloats)(const float*, int64_t)>
  static float chunk(const Row& row, int64_t begin, int64_t count) {
    float room[kSumChunk];
    widen_elements<H>(row + begin * int64_t{sizeof(H)}, count, room);
    return kOfFloats(room, count);
  }

  static void run(const TileArgs& args) {
    const bool lanes = vm::reduce_order(args.aux) == vm::ReduceOrder::lanes;
    for (int64_t m = 0; m < args.m; ++m) {
      const Row row = args.src[0] + m * args.size * int64_t{sizeof(H)};
      const float total =
          lanes ? Floats::template tree_total<Row, chunk<Floats::row_chunk>>(row, args.size)
                : Floats::template tree_total<Row, chunk<Floats::in_order>>(row, args.size);
      const float stored = Floats::store(total);
      store_halves<H>(&stored, 1, args.dst + m * int64_t{sizeof(H)});
    }
  }
};

template <typename Op, core::AnyHalf H>
void reduce_halves(const TileArgs& args) noexcept {
  const auto reduce = [&] {
    using Blocks = CastReduction<float>;
    if (args.n == 1 && !args.row_stride && args.size > Blocks::kRoom) {
      return LongHalfRows<Op, H>::run(args);
    }
    constexpr Casts<float> kCasts{widen_elements<H>, sizeof(H), store_halves<H>, sizeof(H)};
    Blocks(args, kCasts, Reduce<Op, float>::kernel).run();
  };
  if constexpr (Op::kQuiet) {
    const core::KeepFpFlags keep;
    reduce();
  } else {
    reduce();
    // Blocks that each have one of the two elements say nothing of it.
    if (has_hidden<Op, uint16_t>(args, core::half_to_float<H>)) core::raise(core::kInvalid);
  }
}

}  // namespace dvm::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
