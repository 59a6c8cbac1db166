// Sums and products, in 64-bit integers also of narrower elements.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/sum_kernels.cpp"
#include "cpu/for_each_level.h"
// What compiles per level comes after it.
#include <algorithm>
#include <cstring>

#include "cpu/reduce-inl.h"
#include "vm/widening.h"

HWY_BEFORE_NAMESPACE();
namespace dvm::cpu::HWY_NAMESPACE {

// Sign or zero bits in front, whatever the sign of the result.
template <DType From>
[[gnu::noinline]] void widen_integers(const std::byte* src, int64_t count, uint64_t* dst) {
  const auto* p = reinterpret_cast<const typename Element<From>::Storage*>(src);
  DVM_INDEPENDENT
  for (int64_t i = 0; i < count; ++i) dst[i] = static_cast<uint64_t>(Element<From>::load(p[i]));
}

// A reduction of narrow integers: a block of them at a time is widened into the first cache. Any
// order gives the same.
template <typename Op>
class Widening {
 public:
  explicit Widening(const TileArgs& args) : args_(args) {
    const DType from = vm::reduced_dtype(DType::u64, args.aux);
    bytes_ = core::byte_size(from);
    core::dispatch(from, [&]<DType From>() {
      if constexpr (!core::is_floating(From)) widen_ = widen_integers<From>;
    });
  }

  void run() {
    const int64_t row = args_.size * args_.n;
    if (row <= kRoom) return whole(row);
    for (int64_t m = 0; m < args_.m; ++m) {
      const int64_t parts = (args_.n + kMostColumns - 1) / kMostColumns;
      const int64_t most = (args_.n + parts - 1) / parts;
      for (int64_t column = 0; column < args_.n; column += most) {
        columns(args_.src[0] + (m * row + column) * bytes_, std::min(most, args_.n - column),
                args_.dst + (m * args_.n + column) * int64_t{sizeof(uint64_t)});
      }
    }
  }

 private:
  static constexpr int64_t kRoom = 2048, kMostColumns = 256;

  void whole(int64_t row) {
    const int64_t most = kRoom / row;
    for (int64_t m = 0; m < args_.m; m += most) {
      const int64_t count = std::min(most, args_.m - m);
      widen_(args_.src[0] + m * row * bytes_, count * row, room_);
      reduce(count, args_.size, args_.n, args_.dst + m * args_.n * int64_t{sizeof(uint64_t)});
    }
  }

  // What comes of one block is the first row of the next.
  void columns(const std::byte* src, int64_t width, std::byte* dst) {
    const int64_t most = kRoom / width;
    for (int64_t at = 0; at < args_.size;) {
      const int64_t kept = at == 0 ? 0 : 1, count = std::min(most - kept, args_.size - at);
      if (kept != 0) std::memcpy(room_, dst, static_cast<size_t>(width) * sizeof(uint64_t));
      uint64_t* const to = room_ + kept * width;
      if (width == args_.n) {
        widen_(src + at * width * bytes_, count * width, to);
      } else {
        for (int64_t i = 0; i < count; ++i) {
          widen_(src + (at + i) * args_.n * bytes_, width, to + i * width);
        }
      }
      reduce(1, kept + count, width, dst);
      at += count;
    }
  }

  void reduce(int64_t m, int64_t size, int64_t n, std::byte* dst) {
    TileArgs block = args_;
    block.src[0] = reinterpret_cast<const std::byte*>(room_);
    block.dst = dst;
    block.m = m;
    block.size = size;
    block.n = n;
    Reduce<Op, Plain<uint64_t>>::kernel(block);
  }

  const TileArgs& args_;
  void (*widen_)(const std::byte* src, int64_t count, uint64_t* dst) = nullptr;
  int64_t bytes_;
  alignas(64) uint64_t room_[kRoom];
};

template <typename Op>
void reduce_to_64(const TileArgs& args) noexcept {
  if (vm::reduced_dtype(DType::u64, args.aux) == DType::u64) {
    Reduce<Op, Plain<uint64_t>>::kernel(args);
  } else {
    Widening<Op>(args).run();
  }
}

void fill_sums(vm::KernelTable& table) {
  fill_reduction<Sum>(table, Insn::sum);
  fill_reduction<Prod>(table, Insn::prod);
  for (const DType dtype : {DType::i64, DType::u64}) {
    table.entry(Insn::sum, dtype) = reduce_to_64<Sum>;
    table.entry(Insn::prod, dtype) = reduce_to_64<Prod>;
  }
}

}  // namespace dvm::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dvm::cpu {
DVM_FILL_BY_LEVEL(fill_sums)
}
#endif
