#include "runtime/by_kernels.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "core/fp_flags.h"
#include "core/scalar_ops.h"
#include "vm/kernel.h"

namespace dvm::runtime {

namespace {

using core::DType;
using core::Op;
using vm::Insn;
using vm::TileArgs;
namespace scalar = core::scalar;

constexpr int64_t kBlock = 512;

vm::TileKernel kernel_of(const vm::KernelTable& kernels, Insn insn, DType dtype) {
  return kernels.at[static_cast<int>(insn)][static_cast<int>(dtype)];
}

// y[i] = y[i] with x[i]
void combine(vm::TileKernel kernel, std::byte* y, const std::byte* x, int64_t size,
             uint8_t aux = 0) {
  TileArgs args{};
  args.dst = y;
  args.src[0] = y;
  args.src[1] = x;
  args.m = args.n = 1;
  args.size = size;
  args.aux = aux;
  kernel(args);
}

// Extremes of `rows` adjacent rows of one size.
void reduce(vm::TileKernel kernel, const std::byte* x, std::byte* y, int64_t rows, int64_t size) {
  TileArgs args{};
  args.dst = y;
  args.src[0] = x;
  args.m = rows;
  args.size = size;
  args.n = 1;
  args.aux = static_cast<uint8_t>(vm::ReduceOrder::lanes);
  kernel(args);
}

// Where in a block the value is, which may be NaN.
template <typename T>
int64_t find(vm::TileKernel compare, const T* block, int64_t count, T value) {
  int64_t i = 0;
  if (!scalar::eq{}(value, value)) {
    while (scalar::eq{}(block[i], block[i])) ++i;
    return i;
  }
  if (count > 32) {
    uint8_t equal[kBlock];
    TileArgs args{};
    args.dst = reinterpret_cast<std::byte*>(equal);
    args.src[0] = reinterpret_cast<const std::byte*>(block);
    args.src[1] = reinterpret_cast<const std::byte*>(&value);
    args.m = args.n = 1;
    args.size = count;
    args.scalar_mask = 2;
    args.aux = static_cast<uint8_t>(vm::Compare::eq);
    compare(args);
    return static_cast<const uint8_t*>(std::memchr(equal, 1, sizeof(equal))) - equal;
  }
  while (!scalar::eq{}(block[i], value)) ++i;
  return i;
}

template <typename T, typename Beats>
int64_t find_extreme(vm::TileKernel extreme, vm::TileKernel compare, const T* line, int64_t count,
                     Beats beats) {
  constexpr int64_t kRows = 64;
  T extremes[kRows], value{};
  int64_t at = -1;
  for (int64_t begin = 0; begin < count;) {
    const int64_t size = std::min(kBlock, count - begin);
    const int64_t rows = std::min(kRows, (count - begin) / size);
    reduce(extreme, reinterpret_cast<const std::byte*>(line + begin),
           reinterpret_cast<std::byte*>(extremes), rows, size);
    for (int64_t k = 0; k < rows; ++k, begin += size) {
      const bool ordered = scalar::eq{}(extremes[k], extremes[k]);
      if (at >= 0 && ordered && !beats(extremes[k], value)) continue;
      at = begin;
      value = extremes[k];
      if (!ordered) return at + find(compare, line + at, size, value);
    }
  }
  return at + find(compare, line + at, std::min(kBlock, count - at), value);
}

// Bools stop at the first that is one thing or the other.
int64_t find_bool(const uint8_t* line, int64_t count, bool wanted) {
  if (!wanted) {
    const void* found = std::memchr(line, 0, static_cast<size_t>(count));
    return found ? static_cast<const uint8_t*>(found) - line : 0;
  }
  constexpr int64_t kWord = sizeof(uint64_t);
  int64_t i = 0;
  for (uint64_t word = 0; i + kWord <= count; i += kWord) {
    std::memcpy(&word, line + i, sizeof(word));
    if (word != 0) break;
  }
  for (; i < count; ++i) {
    if (line[i] != 0) return i;
  }
  return 0;
}

// What commutes and associates with any elements of the dtype; extremes of floats do but for their
// NaNs and zeros.
bool is_free_of_order(Op with, DType dtype) {
  switch (with) {
    case Op::maximum:
    case Op::minimum:
    case Op::fmax:
    case Op::fmin:
      return true;
    case Op::add:
    case Op::sub:
    case Op::mul:
    case Op::bitwise_and:
    case Op::bitwise_or:
    case Op::bitwise_xor:
    case Op::logical_and:
    case Op::logical_or:
    case Op::logical_xor:
      return !core::is_floating(dtype);
    default:
      return false;
  }
}

template <typename T>
bool is_zero_or_nan(const std::byte* at) {
  T x;
  std::memcpy(&x, at, sizeof(x));
  return scalar::eq{}(x, scalar::cast<T>(0)) || !scalar::eq{}(x, x);
}

}  // namespace

int64_t find_extreme(const vm::KernelTable& kernels, Op op, DType dtype, const std::byte* line,
                     int64_t count) {
  const bool largest = op == Op::argmax;
  if (dtype == DType::boolean) {
    return find_bool(reinterpret_cast<const uint8_t*>(line), count, largest);
  }
  const vm::TileKernel extreme = kernel_of(kernels, largest ? Insn::max : Insn::min, dtype);
  const vm::TileKernel compare = kernel_of(kernels, Insn::cmp, dtype);
  return core::dispatch(dtype, [&]<DType D>() {
    const auto* x = reinterpret_cast<const core::Storage<D>*>(line);
    return largest ? find_extreme(extreme, compare, x, count, scalar::gt{})
                   : find_extreme(extreme, compare, x, count, scalar::lt{});
  });
}

bool fold_rows(const vm::KernelTable& kernels, Op with, DType dtype, const std::byte* rows,
               int64_t count, int64_t side, int64_t step, std::byte* y) {
  const auto [insn, aux] = vm::insn_of(with).value();
  const vm::TileKernel kernel = kernel_of(kernels, insn, dtype);
  if (!kernel) return false;
  for (int64_t i = 0; i < count; ++i, rows += step) combine(kernel, y, rows, side, aux);
  return true;
}

bool fold_line(const vm::KernelTable& kernels, Op with, DType dtype, const std::byte* line,
               int64_t count, std::byte* y) {
  constexpr int64_t kLeast = 128;
  if (count < kLeast || !is_free_of_order(with, dtype)) return false;
  // What is subtracted one after the other is subtracted together.
  const vm::TileKernel last = kernel_of(kernels, vm::insn_of(with).value().insn, dtype);
  const vm::TileKernel kernel = with == Op::sub ? kernel_of(kernels, Insn::add, dtype) : last;
  const int64_t bytes = core::byte_size(dtype);
  alignas(64) std::byte totals[kBlock * 8];
  int64_t width =
      std::min(kBlock, static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(count))));
  std::memcpy(totals, line, static_cast<size_t>(width * bytes));
  for (int64_t i = width; i < count; i += width) {
    combine(kernel, totals, line + i * bytes, std::min(width, count - i));
  }
  while ((width /= 2) > 0) combine(kernel, totals, totals + width * bytes, width);
  std::byte total[8];
  std::memcpy(total, y, static_cast<size_t>(bytes));
  combine(last, total, totals, 1);
  const bool is_float = core::is_floating(dtype);
  if (is_float &&
      core::dispatch(dtype, [&]<DType D>() { return is_zero_or_nan<core::Storage<D>>(total); }))
    return false;
  std::memcpy(y, total, static_cast<size_t>(bytes));
  return true;
}

}  // namespace dvm::runtime
