// Plain loops on the calling thread.
#include "runtime/whole/whole_ops.h"

#include <algorithm>
#include <cstring>

#include "core/ops/fp_flags.h"
#include "core/ops/scalar_ops.h"
#include "runtime/whole/by_kernels.h"
#include "runtime/whole/by_programs.h"
#include "runtime/whole/walk.h"

namespace dvm::runtime {

namespace {

using core::DType;
using core::Op;
using core::Storage;
namespace scalar = core::scalar;

// All axes but one of arrays that agree in these.
Walk lines(int axis, const BufferView& a, const BufferView& b, const BufferView& c) {
  Walk walk;
  for (int d = 0; d < a.rank; ++d) {
    if (d != axis) walk.add(a.shape[d], a.strides[d], b.strides[d], c.strides[d]);
  }
  return walk;
}

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

// Where index i of an extent lies; negative ones count from the end.
bool wrap(int64_t& index, int64_t extent) {
  if (index < 0) index += extent;
  return index >= 0 && index < extent;
}

template <typename T>
bool take_along(const BufferView& a, const BufferView& indices, const BufferView& out, int axis,
                vm::Target* by_program) {
  if (!agree_but(axis, a, indices) || !agree_but(-1, indices, out)) return false;
  const int64_t extent = a.shape[axis], count = indices.shape[axis];
  const auto for_each = [&](auto take) {
    return lines(axis, indices, a, out).run([&](const int64_t* at) {
      for (int64_t i = 0; i < count; ++i) {
        int64_t index = element<int64_t>(indices.data, at[0] + i * indices.strides[axis]);
        if (!wrap(index, extent)) return false;
        take(at, i, index);
      }
      return true;
    });
  };
  // All are looked at before anything is written: the result may be an array of the caller.
  if (!for_each([](const int64_t*, int64_t, int64_t) {})) return false;
  if (by_program) return gather_by_program(Op::take_along, a, indices, out, axis, *by_program);
  return for_each([&](const int64_t* at, int64_t i, int64_t index) {
    element<T>(out.data, at[2] + i * out.strides[axis]) =
        element<T>(a.data, at[1] + index * a.strides[axis]);
  });
}

template <typename T>
bool gather(const BufferView& a, const BufferView& indices, const BufferView& out, int axis,
            vm::Target* by_program) {
  Walk outer, chosen, inner;  // offsets: a, out, indices
  bool fits = true;
  const auto add = [&](Walk& walk, int d, int to) {
    fits = fits && out.shape[to] == a.shape[d];
    walk.add(a.shape[d], a.strides[d], out.strides[to]);
  };
  for (int d = 0; d < axis; ++d) add(outer, d, d);
  for (int d = 0; d < indices.rank; ++d) {
    fits = fits && out.shape[axis + d] == indices.shape[d];
    chosen.add(indices.shape[d], 0, out.strides[axis + d], indices.strides[d]);
  }
  for (int d = axis + 1; d < a.rank; ++d) add(inner, d, d + indices.rank - 1);
  // All indices are looked at, whether or not there is anything to take.
  fits = fits && chosen.run([&](const int64_t* at) {
    int64_t index = element<int64_t>(indices.data, at[2]);
    return wrap(index, a.shape[axis]);
  });
  if (!fits) return false;
  if (by_program) return gather_by_program(Op::gather, a, indices, out, axis, *by_program);
  // Of whole rows all bytes move at once.
  int64_t row = static_cast<int64_t>(sizeof(T));
  for (int d = inner.rank; d-- > 0 && row >= 0; row *= inner.shape[d]) {
    const bool dense = inner.strides[d][0] == row && inner.strides[d][1] == row;
    if (inner.shape[d] != 1 && !dense) row = -1;
  }
  return outer.run([&](const int64_t* line) {
    return chosen.run([&](const int64_t* at) {
      int64_t index = element<int64_t>(indices.data, at[2]);
      wrap(index, a.shape[axis]);
      const std::byte* from = a.data + line[0] + index * a.strides[axis];
      std::byte* to = out.data + line[1] + at[1];
      if (row == static_cast<int64_t>(sizeof(T))) {
        element<T>(to, 0) = element<T>(from, 0);
        return true;
      }
      if (row > 0) {
        std::memcpy(to, from, static_cast<size_t>(row));
        return true;
      }
      return inner.run([&](const int64_t* place) {
        std::memcpy(to + place[1], from + place[0], sizeof(T));
        return true;
      });
    });
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
  vm::Target* const by_program = runs_programs(target);
  if (op == Op::gather) {
    return core::dispatch_size(a.dtype, [&]<typename T>() {
      return gather<T>(a, *operands[1], result, axis, by_program);
    });
  }
  if (op == Op::take_along) {
    return core::dispatch_size(a.dtype, [&]<typename T>() {
      return take_along<T>(a, *operands[1], result, axis, by_program);
    });
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
