// Reductions that cast what they read, for one SIMD level: a block of elements at a time is cast
// into the first cache, and reduced there by the kernel of its dtype. Some instructions say so
// (vm/isa/reduce_source.h); halves are always read so, and their results are cast back.
#if defined(DVM_CPU_REDUCE_CASTS) == defined(HWY_TARGET_TOGGLE)
#ifdef DVM_CPU_REDUCE_CASTS
#undef DVM_CPU_REDUCE_CASTS
#else
#define DVM_CPU_REDUCE_CASTS
#endif

#include <algorithm>
#include <cstring>

#include "core/ops/sum_order.h"
#include "cpu/move/elements.h"
#include "cpu/reduce/reduce_columns.h"
#include "vm/isa/reduce_source.h"
#include "vm/run/tile_kernel.h"

HWY_BEFORE_NAMESPACE();
namespace dvm::cpu::HWY_NAMESPACE {

using vm::TileArgs;

// Of integers the cast is the sign or zero bits in front, whatever the sign of A.
template <typename A, bool kTruth, DType From>
[[gnu::noinline]] void cast_elements(const std::byte* src, int64_t count, A* dst) {
  const auto* p = reinterpret_cast<const typename Element<From>::Storage*>(src);
  DVM_INDEPENDENT
  for (int64_t i = 0; i < count; ++i) {
    const auto x = Element<From>::load(p[i]);
    if constexpr (kTruth) {
      dst[i] = static_cast<A>(x != decltype(x){0});
    } else if constexpr (From == DType::boolean) {
      dst[i] = static_cast<A>(static_cast<int32_t>(x));  // of bools GCC 12 makes floats one by one
    } else {
      dst[i] = static_cast<A>(x);
    }
  }
}

// How elements become what is reduced, and results what is stored. A result of A itself is made
// where it belongs.
template <typename A>
struct Casts {
  void (*cast)(const std::byte* src, int64_t count, A* dst);
  int64_t bytes;  // of an element
  void (*store)(const A* results, int64_t count, std::byte* dst) = nullptr;
  int64_t stored_bytes = sizeof(A);
};

// kTruth: whether an element is not 0.
template <typename A, bool kTruth>
Casts<A> casts_from(DType from) {
  Casts<A> casts{nullptr, core::byte_size(from)};
  core::dispatch(from, [&]<DType From>() {
    if constexpr (kTruth || !core::is_floating(From)) casts.cast = cast_elements<A, kTruth, From>;
  });
  return casts;
}

// A: what is reduced, by `kernel`.
template <typename A>
class CastReduction {
 public:
  CastReduction(const TileArgs& args, const Casts<A>& casts, vm::TileKernel kernel)
      : args_(args), casts_(casts), step_(row_step(args, casts.bytes)), kernel_(kernel) {}

  // For all that are reduced as A: compiled once.
  [[gnu::noinline]] void run() {
    const int64_t row = args_.size * args_.n;
    if (row <= kRoom) return whole(row);
    for (int64_t m = 0; m < args_.m; ++m) {
      // The order of lanes is one of whole chunks.
      const bool lanes = vm::reduce_order(args_.aux) == vm::ReduceOrder::lanes;
      const int64_t room = lanes ? kRoom / core::kSumChunk : kMostColumns;
      const int64_t parts = (args_.n + room - 1) / room;
      const int64_t most = (args_.n + parts - 1) / parts;
      for (int64_t column = 0; column < args_.n; column += most) {
        const int64_t width = std::min(most, args_.n - column);
        columns(args_.src[0] + m * args_.size * step_ + column * casts_.bytes, width,
                m * args_.n + column);
      }
    }
  }

  static constexpr int64_t kBytes = 16384, kRoom = kBytes / int64_t{sizeof(A)};

 private:
  static constexpr int64_t kMostColumns = kRoom / core::kSumRun;

  void whole(int64_t row) {
    const int64_t most = kRoom / row;
    for (int64_t m = 0; m < args_.m; m += most) {
      const int64_t count = std::min(most, args_.m - m);
      std::byte* const dst = args_.dst + m * args_.n * casts_.stored_bytes;
      A* const results = casts_.store ? parts_[0] : reinterpret_cast<A*>(dst);
      cast_rows(args_.src[0] + m * args_.size * step_, count * args_.size, args_.n, room_);
      reduce(room_, count, args_.size, args_.n, results);
      if (casts_.store) casts_.store(results, count * args_.n, dst);
    }
  }

  // Of the results from `first` on.
  void columns(const std::byte* src, int64_t width, int64_t first) {
    int64_t leaf = core::kSumRun;  // rows that are cast at once: there is room for a run of any
    while (leaf < core::kSumChunk && leaf * core::kSumRun * width <= kRoom) leaf *= core::kSumRun;
    const auto chunk = [&](int64_t begin, int64_t count) {
      Totals totals;
      reduce_rows(src + begin * step_, count, width, leaf, core::kSumChunk, totals.of);
      return totals;
    };
    const auto combine = [&](const Totals& x, const Totals& y) {
      Totals totals;
      reduce_two(x.of, y.of, width, totals.of);
      return totals;
    };
    const Totals totals = core::combine_chunks<Totals>(args_.size, chunk, combine);
    std::byte* const dst = args_.dst + first * casts_.stored_bytes;
    if (casts_.store) {
      casts_.store(totals.of, width, dst);
    } else {
      std::copy_n(totals.of, width, reinterpret_cast<A*>(dst));
    }
  }

  // Not inlined into each step of the order: what they do takes longer than a call.
  [[gnu::noinline]] void reduce_two(const A* x, const A* y, int64_t width, A* totals) {
    std::copy_n(x, width, room_);
    std::copy_n(y, width, room_ + width);
    reduce(room_, 1, 2, width, totals);
  }
  // As many as `span` at most. The totals of its parts are rows, which are reduced in turn.
  [[gnu::noinline]] void reduce_rows(const std::byte* src, int64_t count, int64_t width,
                                     int64_t leaf, int64_t span, A* totals) {
    if (count <= leaf) {
      cast_rows(src, count, width, room_);
      return reduce(room_, 1, count, width, totals);
    }
    const int64_t part = span / core::kSumRun;
    A* const parts = parts_[span == core::kSumChunk];
    A* next = parts;
    for (int64_t at = 0; at < count; at += part, next += width) {
      reduce_rows(src + at * step_, std::min(part, count - at), width, leaf, part, next);
    }
    reduce(parts, 1, (next - parts) / width, width, totals);
  }

  void cast_rows(const std::byte* src, int64_t rows, int64_t width, A* to) const {
    if (step_ == width * casts_.bytes) return casts_.cast(src, rows * width, to);
    for (int64_t i = 0; i < rows; ++i) casts_.cast(src + i * step_, width, to + i * width);
  }

  void reduce(const A* src, int64_t m, int64_t size, int64_t n, A* dst) {
    TileArgs block = args_;
    block.row_stride = std::nullopt;
    block.src[0] = reinterpret_cast<const std::byte*>(src);
    block.dst = reinterpret_cast<std::byte*>(dst);
    block.m = m;
    block.size = size;
    block.n = n;
    block.aux = static_cast<uint8_t>(vm::reduce_order(args_.aux));
    kernel_(block);
  }

  struct Totals {
    A of[kMostColumns];
  };

  const TileArgs& args_;
  const Casts<A> casts_;
  const int64_t step_;  // from row to row
  const vm::TileKernel kernel_;
  alignas(64) A room_[kRoom];
  A parts_[2][kRoom];
};

// The kernel of a reduction in A, and of whatever is cast to it.
template <typename A, vm::TileKernel kKernel>
void reduce_casts(const TileArgs& args) noexcept {
  if (args.aux < 2) return kKernel(args);
  CastReduction<A>(args, casts_from<A, false>(vm::reduced_dtype(DType{}, args.aux)), kKernel).run();
}

}  // namespace dvm::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
