// Reductions that cast what they read (vm/isa/reduce_source.h), for one SIMD level: a block of
// elements at a time is cast into the first cache, and reduced there by the kernel of its dtype.
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

// A: what is reduced, by `kernel`. kTruth: whether an element is not 0.
template <typename A, bool kTruth>
class CastReduction {
 public:
  CastReduction(const TileArgs& args, DType from, vm::TileKernel kernel)
      : args_(args), bytes_(core::byte_size(from)), step_(row_step(args, bytes_)), kernel_(kernel) {
    core::dispatch(from, [&]<DType From>() {
      if constexpr (kTruth || !core::is_floating(From)) cast_ = cast_elements<A, kTruth, From>;
    });
  }

  void run() {
    const int64_t row = args_.size * args_.n;
    if (row <= kRoom) return whole(row);
    for (int64_t m = 0; m < args_.m; ++m) {
      const int64_t parts = (args_.n + kMostColumns - 1) / kMostColumns;
      const int64_t most = (args_.n + parts - 1) / parts;
      for (int64_t column = 0; column < args_.n; column += most) {
        const int64_t width = std::min(most, args_.n - column);
        columns(args_.src[0] + m * args_.size * step_ + column * bytes_, width,
                reinterpret_cast<A*>(args_.dst) + m * args_.n + column);
      }
    }
  }

 private:
  static constexpr int64_t kBytes = 16384, kRoom = kBytes / int64_t{sizeof(A)};
  static constexpr int64_t kMostColumns = kRoom / 8;
  static constexpr bool kInOrder = std::is_floating_point_v<A>;

  void whole(int64_t row) {
    const int64_t most = kRoom / row;
    for (int64_t m = 0; m < args_.m; m += most) {
      const int64_t count = std::min(most, args_.m - m);
      cast_rows(args_.src[0] + m * args_.size * step_, count * args_.size, args_.n, room_);
      reduce(count, args_.size, args_.n, reinterpret_cast<A*>(args_.dst) + m * args_.n);
    }
  }

  void columns(const std::byte* src, int64_t width, A* dst) {
    const auto chunk = [&](int64_t begin, int64_t count) {
      Totals totals;
      rows(src + begin * step_, count, width, totals.of);
      return totals;
    };
    const auto combine = [&](const Totals& x, const Totals& y) {
      Totals totals;
      std::copy_n(x.of, width, room_);
      std::copy_n(y.of, width, room_ + width);
      reduce(1, 2, width, totals.of);
      return totals;
    };
    if (!kInOrder || args_.size <= core::kSumChunk) return rows(src, args_.size, width, dst);
    std::copy_n(core::combine_chunks<Totals>(args_.size, chunk, combine).of, width, dst);
  }

  // One after the other: what comes of one block is the first row of the next.
  void rows(const std::byte* src, int64_t size, int64_t width, A* totals) {
    const int64_t most = kRoom / width;
    for (int64_t at = 0; at < size;) {
      const int64_t kept = at == 0 ? 0 : 1, count = std::min(most - kept, size - at);
      if (kept != 0) std::memcpy(room_, totals, static_cast<size_t>(width) * sizeof(A));
      cast_rows(src + at * step_, count, width, room_ + kept * width);
      reduce(1, kept + count, width, totals);
      at += count;
    }
  }

  void cast_rows(const std::byte* src, int64_t rows, int64_t width, A* to) const {
    if (step_ == width * bytes_) return cast_(src, rows * width, to);
    for (int64_t i = 0; i < rows; ++i) cast_(src + i * step_, width, to + i * width);
  }

  void reduce(int64_t m, int64_t size, int64_t n, A* dst) {
    TileArgs block = args_;
    block.row_stride = std::nullopt;
    block.src[0] = reinterpret_cast<const std::byte*>(room_);
    block.dst = reinterpret_cast<std::byte*>(dst);
    block.m = m;
    block.size = size;
    block.n = n;
    block.aux = static_cast<uint8_t>(vm::reduce_order(args_.aux));
    kernel_(block);
  }

  struct Totals {
    A of[kInOrder ? kMostColumns : 1];
  };

  const TileArgs& args_;
  const int64_t bytes_, step_;  // of an element; from row to row
  const vm::TileKernel kernel_;
  void (*cast_)(const std::byte* src, int64_t count, A* dst) = nullptr;
  alignas(64) A room_[kRoom];
};

// The kernel of a reduction in A, and of whatever is cast to it.
template <typename A, vm::TileKernel kKernel>
void reduce_casts(const TileArgs& args) noexcept {
  if (args.aux < 2) return kKernel(args);
  CastReduction<A, false>(args, vm::reduced_dtype(DType{}, args.aux), kKernel).run();
}

}  // namespace dvm::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
