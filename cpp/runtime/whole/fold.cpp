// One loop serves them all. Every step combines what is there with an element and writes where the
// next step reads: one place further along the result of a scan, the same place of that of a fold.
#include "runtime/whole/fold.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "core/math/basis.h"
#include "core/ops/binary_rows.h"
#include "core/ops/fp_flags.h"
#include "core/ops/reductions.h"
#include "runtime/whole/along_line.h"
#include "runtime/whole/by_kernels.h"
#include "runtime/whole/by_programs.h"
#include "runtime/whole/walk.h"

namespace dvm::runtime {

namespace {

using core::DType;
using core::Op;
namespace scalar = core::scalar;

// Lines whose elements are neighbours, a row of them at a time.
template <typename T, typename Combine>
void by_rows(const Lines& lines, const std::byte* x, std::byte* y, Combine combine) {
  const int64_t side = lines.side;  // bytes that are written may be anything, lines.side too
  for (int64_t i = 0; i < lines.count; ++i, x += lines.from, y += lines.to) {
    const T* last = &element<T>(y, 0);
    const T* row = &element<T>(x, 0);
    T* next = &element<T>(y, lines.to);
    DVM_INDEPENDENT
    for (int64_t j = 0; j < side; ++j) next[j] = combine(last[j], row[j]);
  }
}

// Any lines, and only the elements whose condition holds.
template <typename T, typename Combine>
void where(const Lines& lines, const std::byte* x, std::byte* y, const std::byte* test,
           Combine combine) {
  for (int64_t i = 0; i < lines.count; ++i, x += lines.from, y += lines.to, test += lines.test) {
    for (int64_t j = 0; j < lines.side; ++j) {
      if (element<uint8_t>(test, j * lines.test_side) == 0) continue;
      element<T>(y, j * lines.to_side + lines.to) =
          combine(element<T>(y, j * lines.to_side), element<T>(x, j * lines.from_side));
    }
  }
}

template <typename T, typename Combine>
void combine_lines(const Lines& lines, const std::byte* x, std::byte* y, const std::byte* test) {
  if (test) return where<T>(lines, x, y, test, Combine{});
  if (lines.side == 1) return along<T>(lines, x, y, Combine{});
  const bool rows = lines.from_side == sizeof(T) && lines.to_side == sizeof(T);
  if (rows) return by_rows<T>(lines, x, y, Combine{});
  static constexpr std::byte kTrue{1};
  Lines all = lines;
  all.test = all.test_side = 0;
  where<T>(all, x, y, &kTrue, Combine{});
}

// What combines the elements of neighbouring lines; the conditions may be null. Everything around
// it is compiled once for all ops.
using Loop = void (*)(const Lines& lines, const std::byte* x, std::byte* y, const std::byte* test);

Loop loop_of(Op with, DType dtype) {
  Loop loop = nullptr;
  core::dispatch(dtype, [&]<DType D>() {
    core::with_binary<D>(
        with, [&]<typename Combine>(Combine) { loop = combine_lines<core::Storage<D>, Combine>; });
  });
  return loop;
}

// Floats of a piece are added in the order of any sum.
template <typename T>
void sum_lines(const Lines& lines, const std::byte* x, std::byte* y, const std::byte*) {
  for (int64_t j = 0; j < lines.side; ++j, x += lines.from_side, y += lines.to_side) {
    const auto load = [&](int64_t i) { return element<T>(x, i * lines.from); };
    element<T>(y, 0) = scalar::piece_sum<T>(lines.count, true, load);
  }
}

Loop sum_of(DType dtype) {
  return core::dispatch(dtype, []<DType D>() -> Loop {
    if constexpr (core::is_floating(D)) return sum_lines<core::Storage<D>>;
    return nullptr;
  });
}

// The elements of lines side by side that results start with.
void start(const Lines& lines, const std::byte* x, std::byte* y, DType dtype) {
  const auto bytes = static_cast<size_t>(core::byte_size(dtype));
  for (int64_t j = 0; j < lines.side; ++j) {
    std::memcpy(y + j * lines.to_side, x + j * lines.from_side, bytes);
  }
}

bool sizes_fit(Op op, std::span<const BufferView* const> operands, const BufferView& result,
               int axis) {
  const BufferView& first = *operands[0];
  if (!agree_but(-1, first, result)) return false;
  if (op == Op::scan) return true;
  return first.shape[axis] == 1 && agree_but(axis, first, *operands[1]) &&
         (op == Op::fold || agree_but(-1, *operands[1], *operands[2]));
}

bool are_inside(const BufferView& places, int64_t extent) {
  for (int64_t k = 0; k < places.shape[0]; ++k) {
    const int64_t place = element<int64_t>(places.data, k * places.strides[0]);
    if (place < 0 || place >= extent) return false;
  }
  return true;
}

bool run_pieces(Op with, const BufferView& a, const BufferView& places, const BufferView& result,
                int axis) {
  if (!agree_but(axis, a, result) || result.shape[axis] != places.shape[0] ||
      !are_inside(places, a.shape[axis]))
    return false;
  const bool sums = with == Op::add && core::is_floating(result.dtype);
  const Loop loop = sums ? sum_of(result.dtype) : loop_of(with, result.dtype);
  Lines lines(a, result, axis);
  const int64_t extent = lines.count, to = std::exchange(lines.to, 0);
  const auto place = [&](int64_t k) {
    return k < places.shape[0] ? element<int64_t>(places.data, k * places.strides[0]) : extent;
  };
  return lines.others.run([&](const int64_t* at) {
    for (int64_t k = 0; k < places.shape[0]; ++k) {
      const std::byte* x = a.data + at[0] + place(k) * lines.from;
      std::byte* y = result.data + at[1] + k * to;
      lines.count = std::max<int64_t>(place(k + 1) - place(k), 1);
      if (!sums) {
        start(lines, x, y, result.dtype);
        x += lines.from;
        --lines.count;
      }
      loop(lines, x, y, nullptr);
    }
    return true;
  });
}

// Whether the kernels have combined the lines.
bool combined(const vm::KernelTable& kernels, Op with, DType dtype, const Lines& lines,
              const std::byte* x, std::byte* y) {
  const int64_t bytes = core::byte_size(dtype);
  if (lines.side == 1) {
    return lines.to == 0 && lines.from == bytes &&
           fold_line(kernels, with, dtype, x, lines.count, y);
  }
  constexpr int64_t kLeastSide = 16;
  return lines.from_side == bytes && lines.to_side == bytes && lines.side >= kLeastSide &&
         combine_rows(kernels, with, dtype, {x, lines.from}, {y, lines.to}, lines.count,
                      lines.side);
}

bool run_in_order(Op op, Op with, std::span<const BufferView* const> operands,
                  const BufferView& result, int axis, vm::Target& target) {
  if (!sizes_fit(op, operands, result, axis)) return false;
  const BufferView& first = *operands[0];
  if (op == Op::scan && first.shape[axis] == 0) return true;
  BufferView rest = *operands[op == Op::scan ? 0 : 1];
  if (op == Op::scan) {
    rest.data += rest.strides[axis];
    --rest.shape[axis];
  }
  if (vm::Target* const on = runs_programs(target, rest.shape[axis])) {
    along_by_program(op, with, operands, result, axis, *on);
    return true;
  }
  const vm::KernelTable* const kernels = target.kernels();
  const BufferView* tests = op == Op::fold_where ? operands[2] : nullptr;
  const Loop loop = loop_of(with, result.dtype);
  Lines starts(first, result, axis), lines(rest, result, axis, tests ? *tests : rest);
  if (op != Op::scan) lines.to = 0;
  starts.others.run([&](const int64_t* at) {
    start(starts, first.data + at[0], result.data + at[1], result.dtype);
    return true;
  });
  return lines.others.run([&](const int64_t* at) {
    const std::byte* x = rest.data + at[0];
    std::byte* y = result.data + at[1];
    if (kernels && !tests && combined(*kernels, with, result.dtype, lines, x, y)) return true;
    loop(lines, x, y, tests ? tests->data + at[2] : nullptr);
    return true;
  });
}

}  // namespace

bool run_fold(Op op, Op with, std::span<const BufferView* const> operands, const BufferView& result,
              int axis, vm::Target& target) {
  const auto run = [&] {
    if (op == Op::fold_at) return run_pieces(with, *operands[0], *operands[1], result, axis);
    return run_in_order(op, with, operands, result, axis, target);
  };
  if (core::may_raise(with, result.dtype)) return run();
  const core::KeepFpFlags keep;
  return run();
}

}  // namespace dvm::runtime
