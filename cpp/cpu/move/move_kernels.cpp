// Instructions that move elements without computing: loads, stores, views, copies, broadcasts and
// select. One body per element size.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/move/move_kernels.cpp"
#include "cpu/for_each_level.h"
// What compiles per level comes after it.
#include <algorithm>
#include <cstring>

#include "cpu/move/elements.h"
#include "cpu/move/short_rows-inl.h"
#include "hwy/highway.h"

#if DVM_LEVEL_IS_HERE

HWY_BEFORE_NAMESPACE();
namespace dvm::cpu::HWY_NAMESPACE {

using vm::Insn;
using vm::TileArgs;
using vm::ViewDim;

constexpr int64_t kLineBytes = 64;

// TileArgs carries no dtype, so that a kernel's element size is a template parameter.
template <typename Word>
void copy_kernel(const TileArgs& args) noexcept {
  auto* dst = reinterpret_cast<Word*>(args.dst);
  const auto* src = reinterpret_cast<const Word*>(args.src[0]);
  if (args.scalar_mask) {
    std::fill_n(dst, args.size, *src);
  } else if (args.dst != args.src[0]) {
    std::memcpy(dst, src, static_cast<size_t>(args.size) * sizeof(Word));
  }
}

// Past the caches: a line that is written as a whole need not be read first, and what is large does
// not push out what is not. The caller orders such stores before others.
void store_kernel(const TileArgs& args) noexcept {
  const hwy::HWY_NAMESPACE::ScalableTag<uint8_t> tag;
  const auto lanes = static_cast<int64_t>(hwy::HWY_NAMESPACE::Lanes(tag));
  auto* dst = reinterpret_cast<uint8_t*>(args.dst);
  const auto* src = reinterpret_cast<const uint8_t*>(args.src[0]);
  int64_t bytes = args.size;
  const auto beyond = static_cast<int64_t>(reinterpret_cast<uintptr_t>(dst) % kLineBytes);
  const int64_t head = std::min(bytes, (kLineBytes - beyond) % kLineBytes);
  std::memcpy(dst, src, static_cast<size_t>(head));
  dst += head;
  src += head;
  bytes -= head;
  const int64_t whole = bytes / kLineBytes * kLineBytes;
  for (int64_t i = 0; i < whole; i += lanes) {
    hwy::HWY_NAMESPACE::Stream(hwy::HWY_NAMESPACE::LoadU(tag, src + i), tag, dst + i);
  }
  std::memcpy(dst + whole, src + whole, static_cast<size_t>(bytes - whole));
}

template <typename Word>
void store_words_kernel(const TileArgs& args) noexcept {
  TileArgs bytes = args;
  bytes.size *= sizeof(Word);
  store_kernel(bytes);
}

template <typename Word>
void broadcast_kernel(const TileArgs& args) noexcept {
  auto* dst = reinterpret_cast<Word*>(args.dst);
  const auto* src = reinterpret_cast<const Word*>(args.src[0]);
  const int64_t m = args.m, size = args.size, n = args.n;
  if (args.scalar_mask) {
    std::fill_n(dst, m * size * n, *src);
    return;
  }
  for (int64_t row = 0; row < m; ++row, src += n) {
    if (n == 1) {
      std::fill_n(dst, size, *src);
      dst += size;
      continue;
    }
    for (int64_t i = 0; i < size; ++i, dst += n) {
      copy_row<Word>(reinterpret_cast<const std::byte*>(src), reinterpret_cast<std::byte*>(dst), n);
    }
  }
}

// Runs row(dense, strided) for every innermost row of a view: `dense` walks on, `strided` follows
// the outer dims. The odometer adds and takes back strides, it never multiplies.
template <typename Row>
void for_each_row(const ViewDim* dims, int rank, int64_t dense_step, Row row) {
  int64_t index[vm::kMaxRank] = {};
  int64_t dense = 0, strided = 0;
  for (;;) {
    row(dense, strided);
    dense += dense_step;
    int d = rank - 2;
    for (; d >= 0; --d) {
      strided += dims[d].stride;
      if (++index[d] < dims[d].extent) break;
      strided -= dims[d].extent * dims[d].stride;
      index[d] = 0;
    }
    if (d < 0) return;
  }
}

// Every kStep-th word: what the compiler knows, it makes shuffles of.
template <int kStep, typename Word>
[[gnu::noinline]] void load_steps(const Word* src, int64_t count, Word* dst) {
  DVM_INDEPENDENT
  for (int64_t i = 0; i < count; ++i) dst[i] = src[i * kStep];
}

template <typename Word>
void load_row(const std::byte* from, int64_t stride, int64_t count, Word* dst) {
  const auto* src = reinterpret_cast<const Word*>(from);
  switch (stride) {
    case 0:
      std::fill_n(dst, count, *src);
      return;
    case 2 * sizeof(Word):
      return load_steps<2>(src, count, dst);
    case 3 * sizeof(Word):
      return load_steps<3>(src, count, dst);
    case 4 * sizeof(Word):
      return load_steps<4>(src, count, dst);
    case -static_cast<int64_t>(sizeof(Word)):
      return load_steps<-1>(src, count, dst);
    default:
      for (int64_t i = 0; i < count; ++i, from += stride) {
        dst[i] = *reinterpret_cast<const Word*>(from);
      }
  }
}

template <typename Word>
void view_load_kernel(const TileArgs& args) noexcept {
  const int64_t extent = args.dims[args.aux - 1].extent, stride = args.dims[args.aux - 1].stride;
  const auto row_bytes = extent * static_cast<int64_t>(sizeof(Word));
  const auto for_each = [&](auto row) {
    for_each_row(args.dims, args.aux, row_bytes, [&](int64_t dense, int64_t strided) {
      row(args.src[0] + strided, args.dst + dense);
    });
  };
  if (stride == sizeof(Word)) {
    return for_each([&](auto* from, auto* to) { copy_row<Word>(from, to, extent); });
  }
  const bool is_every_second = stride == 2 * sizeof(Word);
  for_each([&](auto* from, auto* to) {
    if (is_every_second && copy_every_second_of_row<Word>(from, to, extent)) return;
    load_row(from, stride, extent, reinterpret_cast<Word*>(to));
  });
}

template <typename Word>
void view_store_kernel(const TileArgs& args) noexcept {
  const int64_t extent = args.dims[args.aux - 1].extent, stride = args.dims[args.aux - 1].stride;
  const auto row_bytes = extent * static_cast<int64_t>(sizeof(Word));
  for_each_row(args.dims, args.aux, row_bytes, [&](int64_t dense, int64_t strided) {
    const auto* src = reinterpret_cast<const Word*>(args.src[0] + dense);
    std::byte* dst = args.dst + strided;
    if (stride == sizeof(Word)) {
      copy_row<Word>(args.src[0] + dense, dst, extent);
    } else {
      for (int64_t i = 0; i < extent; ++i, dst += stride) *reinterpret_cast<Word*>(dst) = src[i];
    }
  });
}

// Like Source, for words that are not interpreted.
template <typename Word, bool kScalar>
struct Words {
  explicit Words(const std::byte* bytes) : data(reinterpret_cast<const Word*>(bytes)) {
    if constexpr (kScalar) value = *data;
  }
  Word operator[](int64_t i) const { return kScalar ? value : data[i]; }
  const Word* data;
  Word value{};
};

template <typename Word, int kMask>
void select_loop(const TileArgs& args) noexcept {
  const Words<uint8_t, (kMask & 1) != 0> c(args.src[0]);
  const Words<Word, (kMask & 2) != 0> a(args.src[1]);
  const Words<Word, (kMask & 4) != 0> b(args.src[2]);
  auto* dst = reinterpret_cast<Word*>(args.dst);
  const int64_t size = args.size;
  DVM_INDEPENDENT
  for (int64_t i = 0; i < size; ++i) {
    // Both are read in any case: that makes the choice a blend.
    const Word x = a[i], y = b[i];
    dst[i] = c[i] != 0 ? x : y;
  }
}

template <typename Word>
void select_kernel(const TileArgs& args) noexcept {
  static constexpr vm::TileKernel kLoops[] = {
      select_loop<Word, 0>, select_loop<Word, 1>, select_loop<Word, 2>, select_loop<Word, 3>,
      select_loop<Word, 4>, select_loop<Word, 5>, select_loop<Word, 6>, select_loop<Word, 7>};
  kLoops[args.scalar_mask](args);
}

void fill_move(vm::KernelTable& table) {
  for (int d = 0; d < core::kDTypeCount; ++d) {
    const auto dtype = static_cast<DType>(d);
    core::dispatch_size(dtype, [&]<typename Word>() {
      table.entry(Insn::load, dtype) = table.entry(Insn::copy, dtype) = copy_kernel<Word>;
      table.entry(Insn::feed, dtype) = copy_kernel<Word>;
      table.entry(Insn::store, dtype) = store_words_kernel<Word>;
      table.entry(Insn::view_load, dtype) = view_load_kernel<Word>;
      table.entry(Insn::view_store, dtype) = view_store_kernel<Word>;
      table.entry(Insn::drain, dtype) = view_store_kernel<Word>;
      table.entry(Insn::broadcast, dtype) = broadcast_kernel<Word>;
      table.entry(Insn::select, dtype) = select_kernel<Word>;
    });
  }
}

}  // namespace dvm::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif

#if DVM_CHOOSES_LEVEL
namespace dvm::cpu {
DVM_FILL_BY_LEVEL(fill_move)
}
#endif
