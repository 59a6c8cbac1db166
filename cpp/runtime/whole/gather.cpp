#include "runtime/whole/gather.h"

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "core/ops/binary_rows.h"
#include "core/ops/fp_flags.h"
#include "runtime/whole/by_programs.h"
#include "runtime/whole/indexed.h"

namespace dvm::runtime {

namespace {

using core::DType;
using core::Op;
using core::Storage;
using Line = Indexed::Line;

IndexPer per_of(Op op) {
  return op == Op::gather || op == Op::scatter ? IndexPer::position : IndexPer::element;
}

// How far ahead of its turn a row is asked for.
constexpr int64_t kAhead = 8;

// Moves the run of each index, of a size that the compiler knows or any: from the table to the
// elements, or back.
enum class To : uint8_t { elements, table };
template <To kTo, size_t kRun>
void move_line(const Line& line) {
  const int64_t count = line.dim.size;
  const auto run = kRun == 0 ? static_cast<size_t>(line.run) : kRun;
  const auto move = [&](int64_t i) {
    std::byte *place = line.place(i), *element = line.element(i);
    std::memcpy(kTo == To::elements ? element : place, kTo == To::elements ? place : element, run);
  };
  if constexpr (kRun == 0) {
    for (int64_t i = 0; i + kAhead < count; ++i) {
      __builtin_prefetch(line.place(i + kAhead));
      move(i);
    }
    for (int64_t i = std::max<int64_t>(count - kAhead, 0); i < count; ++i) move(i);
  } else if (line.dim.index == sizeof(int64_t) && line.dim.table == 0 && line.step == kRun &&
             line.dim.elements == kRun) {
    // Adjacent indices of adjacent elements, which is nearly all of them.
    Line dense = line;
    dense.dim = {count, 0, sizeof(int64_t), kRun};
    dense.step = kRun;
    for (int64_t i = 0; i < count; ++i) {
      std::byte *place = dense.place(i), *element = dense.element(i);
      std::memcpy(kTo == To::elements ? element : place, kTo == To::elements ? place : element,
                  kRun);
    }
  } else {
    for (int64_t i = 0; i < count; ++i) move(i);
  }
}

template <To kTo>
auto mover_of(int64_t run) {
  switch (run) {
    case 1:
      return move_line<kTo, 1>;
    case 2:
      return move_line<kTo, 2>;
    case 4:
      return move_line<kTo, 4>;
    case 8:
      return move_line<kTo, 8>;
    case 16:
      return move_line<kTo, 16>;
    default:
      return move_line<kTo, 0>;
  }
}

// Combines what is there with the elements of each index.
template <typename T, typename Combine>
void combine_line(const Line& line, Combine combine) {
  const int64_t row = line.run / static_cast<int64_t>(sizeof(T));
  for (int64_t i = 0; i < line.dim.size; ++i) {
    T* const to = reinterpret_cast<T*>(line.place(i));
    const T* const from = reinterpret_cast<const T*>(line.element(i));
    if (row == 1) {
      *to = combine(*to, *from);
    } else {
      for (int64_t j = 0; j < row; ++j) to[j] = combine(to[j], from[j]);
    }
  }
}

// Most ops are called, not inlined, so that their loop is compiled once for all of them.
template <typename T>
[[gnu::noinline]] void combine_by_calls(const Indexed& all, T (*combine)(T, T)) {
  all.for_each_line([combine](const Line& line) { combine_line<T>(line, combine); });
}

template <typename Combine, typename... Any>
constexpr bool kIsOneOf = (std::is_same_v<Combine, Any> || ...);

void combine_all(const Indexed& all, Op with, DType dtype) {
  namespace scalar = core::scalar;
  core::dispatch(dtype, [&]<DType D>() {
    using T = Storage<D>;
    core::with_binary<D>(with, [&]<typename Combine>(Combine) {
      if constexpr (kIsOneOf<Combine, scalar::add, scalar::sub, scalar::mul, scalar::maximum,
                             scalar::minimum>) {
        all.for_each_line([](const Line& line) { combine_line<T>(line, Combine{}); });
      } else {
        combine_by_calls<T>(all, [](T a, T b) -> T { return Combine{}(a, b); });
      }
    });
  });
}

}  // namespace

bool run_gather(Op op, const BufferView& table, const BufferView& indices, const BufferView& result,
                int axis, vm::Target& target) {
  const auto all = Indexed::of(per_of(op), table, indices, result, axis);
  if (!all || !all->in_range()) return false;
  if (vm::Target* const on = runs_programs(target)) {
    return gather_by_program(op, table, indices, result, axis, *on);
  }
  const auto move = mover_of<To::elements>(all->run());
  all->share_lines(target, [move](const Line& line) { move(line); });
  return true;
}

bool run_scatter(Op op, std::optional<Op> with, const BufferView& indices,
                 const BufferView& elements, const BufferView& table, int axis) {
  const auto all = Indexed::of(per_of(op), table, indices, elements, axis, true);
  if (!all || !all->in_range()) return false;
  if (!with) {
    all->for_each_line(mover_of<To::table>(all->run()));
    return true;
  }
  const auto run = [&] { combine_all(*all, *with, table.dtype); };
  if (core::may_raise(*with, table.dtype)) {
    run();
  } else {
    const core::KeepFpFlags keep;
    run();
  }
  return true;
}

}  // namespace dvm::runtime
