// Plain loops on the calling thread.
#include "runtime/whole/whole_ops.h"

#include <algorithm>
#include <optional>

#include "core/ops/fp_flags.h"
#include "core/ops/scalar_ops.h"
#include "runtime/whole/by_kernels.h"
#include "runtime/whole/by_programs.h"
#include "runtime/whole/gather.h"
#include "runtime/whole/masks.h"
#include "runtime/whole/walk.h"

namespace dvm::runtime {

namespace {

using core::DType;
using core::Op;
using core::Storage;
namespace scalar = core::scalar;

template <typename T>
bool iota(const BufferView& out) {
  for (int64_t i = 0; i < out.shape[0]; ++i) {
    element<T>(out.data, i * out.strides[0]) = scalar::cast<T>(i);
  }
  return true;
}

// Whether the kernels have found the extremes: of dense rows, or of columns side by side.
bool found(const vm::Target& target, Op op, const BufferView& a, const BufferView& out,
           const Lines& lines) {
  const int64_t bytes = core::byte_size(a.dtype);
  // Elements of what a kernel pays for.
  constexpr int64_t kLeastSide = 16, kLeast = 64;
  if (lines.side != 1) {
    const bool dense = lines.from == lines.side * bytes && lines.count * lines.side >= kLeast;
    if (lines.from_side != bytes || (lines.side < kLeastSide && !dense)) return false;
    return lines.others.run([&](const int64_t* at) {
      find_in_columns(*target.kernels(), op, a.dtype, a.data + at[0], lines.count, lines.side,
                      lines.from, {out.data + at[1], lines.to_side});
      return true;
    });
  }
  // Rows that follow one another are looked at together.
  Walk outer = lines.others;
  int64_t rows = 1, step = 0;
  if (outer.rank > 0 && outer.strides[outer.rank - 1][0] == lines.count * bytes) {
    rows = outer.shape[--outer.rank];
    step = outer.strides[outer.rank][1];
  }
  if (lines.from != bytes || rows * lines.count < kLeast) return false;
  return outer.run([&](const int64_t* at) {
    find_in_rows(target, op, a.dtype, a.data + at[0], rows, lines.count, {out.data + at[1], step});
    return true;
  });
}

// The first element that no other beats; the first NaN beats all.
template <typename T, typename Beats>
bool arg(const BufferView& a, const BufferView& out, const Lines& lines, Beats beats) {
  return lines.others.run([&](const int64_t* at) {
    const std::byte* x = a.data + at[0];
    std::byte* y = out.data + at[1];
    if (lines.side == 1) {
      int64_t best = 0;
      T value = element<T>(x, 0);
      for (int64_t i = 1; i < lines.count && scalar::eq{}(value, value); ++i) {
        const T other = element<T>(x, i * lines.from);
        if (!beats(other, value) && scalar::eq{}(other, other)) continue;
        value = other;
        best = i;
      }
      element<int64_t>(y, 0) = best;
      return true;
    }
    constexpr int64_t kColumns = 64;
    for (int64_t first = 0; first < lines.side; first += kColumns) {
      const int64_t width = std::min(kColumns, lines.side - first);
      int64_t best[kColumns] = {};
      T values[kColumns];
      for (int64_t j = 0; j < width; ++j) {
        values[j] = element<T>(x, (first + j) * lines.from_side);
      }
      for (int64_t i = 1; i < lines.count; ++i) {
        const std::byte* row = x + i * lines.from + first * lines.from_side;
        for (int64_t j = 0; j < width; ++j) {
          const T other = element<T>(row, j * lines.from_side);
          const T value = values[j];
          const bool wins = beats(other, value) | !scalar::eq{}(other, other);
          const bool takes = wins & scalar::eq{}(value, value);
          values[j] = takes ? other : value;
          best[j] = takes ? i : best[j];
        }
      }
      for (int64_t j = 0; j < width; ++j) {
        element<int64_t>(y, (first + j) * lines.to_side) = best[j];
      }
    }
    return true;
  });
}

template <typename T>
bool arg(Op op, const BufferView& a, const BufferView& out, const Lines& lines) {
  return op == Op::argmax ? arg<T>(a, out, lines, scalar::gt{})
                          : arg<T>(a, out, lines, scalar::lt{});
}

}  // namespace

bool run_whole(Op op, std::span<const BufferView* const> operands, const BufferView& result,
               int axis, vm::Target& target) {
  if (op == Op::iota) {
    if (vm::Target* const on = runs_programs(target, result.shape[0])) {
      iota_by_programs(result, *on);
      return true;
    }
    return core::dispatch(result.dtype, [&]<DType D>() { return iota<Storage<D>>(result); });
  }
  const BufferView& a = *operands[0];
  if (op == Op::nonzero) return run_nonzero(a, result, target);
  if (op == Op::compress) return run_compress(a, *operands[1], result, axis, target);
  if (op == Op::gather || op == Op::take_along) {
    return run_gather(op, a, *operands[1], result, axis, target);
  }
  if (op == Op::scatter || op == Op::put_along) {
    return run_scatter(op, std::nullopt, a, *operands[1], result, axis);
  }
  if (op != Op::argmax && op != Op::argmin) return false;
  if (a.shape[axis] == 0 || result.shape[axis] != 1 || !agree_but(axis, a, result)) return false;
  const core::KeepFpFlags keep;  // comparisons of NaN raise one that NumPy does not
  if (vm::Target* const on = runs_programs(target, a.shape[axis])) {
    along_by_program(op, op, operands, result, axis, *on);
    return true;
  }
  const Lines lines(a, result, axis);
  if (target.kernels() && found(target, op, a, result, lines)) return true;
  return core::dispatch(a.dtype, [&]<DType D>() { return arg<Storage<D>>(op, a, result, lines); });
}

}  // namespace dvm::runtime
