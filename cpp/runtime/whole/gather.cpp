#include "runtime/whole/gather.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <optional>
#include <type_traits>
#include <utility>

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
// elements, or back. False where an index is out of range.
enum class To : uint8_t { elements, table };
template <To kTo, size_t kRun>
bool move_line(const Line& line) {
  bool stray = false;
  const int64_t count = line.dim.size;
  const auto run = kRun == 0 ? static_cast<size_t>(line.run) : kRun;
  const auto move = [&](const Line& from, int64_t i) {
    std::byte *place = from.place(i, stray), *element = from.element(i);
    std::memcpy(kTo == To::elements ? element : place, kTo == To::elements ? place : element, run);
  };
  if constexpr (kRun == 0) {
    bool looks_ahead = false;
    for (int64_t i = 0; i + kAhead < count; ++i) {
      __builtin_prefetch(line.place(i + kAhead, looks_ahead));
      move(line, i);
    }
    for (int64_t i = std::max<int64_t>(count - kAhead, 0); i < count; ++i) move(line, i);
  } else if (line.dim.index == sizeof(int64_t) && line.dim.table == 0 && line.step == kRun &&
             line.dim.elements == kRun) {
    // Adjacent indices of adjacent elements, which is nearly all of them.
    Line dense = line;
    dense.dim = {count, 0, sizeof(int64_t), kRun};
    dense.step = kRun;
    for (int64_t i = 0; i < count; ++i) move(dense, i);
  } else {
    for (int64_t i = 0; i < count; ++i) move(line, i);
  }
  return !stray;
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

// Where the indices of a line lie in the table, looked at once for all lines.
class PlacesOfLine {
 public:
  static constexpr int64_t kMost = 1024;

  // Nothing where another thread has written an index that is out of range.
  static std::optional<PlacesOfLine> of(const Indexed& all) {
    std::optional<PlacesOfLine> places(std::in_place);
    bool is_first = true, stray = false;
    all.for_each_line([&](const Line& line) {
      if (!std::exchange(is_first, false)) return;
      places->indices_ = line.indices;
      for (int64_t i = 0; i < line.dim.size; ++i) {
        places->offsets_[i] = line.place(i, stray) - line.table;
      }
    });
    if (stray) places.reset();
    return places;
  }

  // Of a line of all or some of the indices.
  template <int64_t kRun>
  void take(const Line& line) const {
    const int64_t first = (line.indices - indices_) / int64_t{sizeof(int64_t)};
    const int64_t* const offsets = offsets_ + first;
    // By what it begins with, so that an index may have been counted from the first of all.
    const std::byte* const table = line.table - first * line.dim.table;
    const int64_t count = line.dim.size, step = line.dim.elements;
    std::byte* to = line.elements;
    if (step == kRun) {
      for (int64_t i = 0; i < count; ++i) std::memcpy(to + i * kRun, table + offsets[i], kRun);
    } else {
      for (int64_t i = 0; i < count; ++i) std::memcpy(to + i * step, table + offsets[i], kRun);
    }
  }

 private:
  const std::byte* indices_ = nullptr;
  int64_t offsets_[kMost];
};

// Combines what is there with the elements of each index. False as above.
template <typename T, typename Combine>
bool combine_line(const Line& line, Combine combine) {
  bool stray = false;
  const int64_t row = line.run / static_cast<int64_t>(sizeof(T));
  for (int64_t i = 0; i < line.dim.size; ++i) {
    T* const to = reinterpret_cast<T*>(line.place(i, stray));
    const T* const from = reinterpret_cast<const T*>(line.element(i));
    if (row == 1) {
      *to = combine(*to, *from);
    } else {
      for (int64_t j = 0; j < row; ++j) to[j] = combine(to[j], from[j]);
    }
  }
  return !stray;
}

// Whether f(line) is true of all lines, each of which it is called for.
template <typename F>
bool all_lines(const Indexed& all, F f) {
  bool done = true;
  all.for_each_line([&](const Line& line) { done &= f(line); });
  return done;
}

// Most ops are called, not inlined, so that their loop is compiled once for all of them.
template <typename T>
[[gnu::noinline]] bool combine_by_calls(const Indexed& all, T (*combine)(T, T)) {
  return all_lines(all, [combine](const Line& line) { return combine_line<T>(line, combine); });
}

template <typename Combine, typename... Any>
constexpr bool kIsOneOf = (std::is_same_v<Combine, Any> || ...);

bool combine_all(const Indexed& all, Op with, DType dtype) {
  namespace scalar = core::scalar;
  bool done = true;
  core::dispatch(dtype, [&]<DType D>() {
    using T = Storage<D>;
    core::with_binary<D>(with, [&]<typename Combine>(Combine) {
      if constexpr (kIsOneOf<Combine, scalar::add, scalar::sub, scalar::mul, scalar::maximum,
                             scalar::minimum>) {
        done = all_lines(all, [](const Line& line) { return combine_line<T>(line, Combine{}); });
      } else {
        done = combine_by_calls<T>(all, [](T a, T b) -> T { return Combine{}(a, b); });
      }
    });
  });
  return done;
}

}  // namespace

// Indices are looked at before anything is written. Where another thread has written one since,
// what was made, which nobody has seen, is given up.
bool run_gather(Op op, const BufferView& table, const BufferView& indices, const BufferView& result,
                int axis, vm::Target& target) {
  const auto all = Indexed::of(per_of(op), table, indices, result, axis);
  if (!all || !all->in_range()) return false;
  if (vm::Target* const on = runs_programs(target)) {
    return gather_by_program(op, table, indices, result, axis, *on);
  }
  const bool is_element = all->run() == 4 || all->run() == 8;
  if (is_element && all->repeats_indices() && all->indices_of_line() <= PlacesOfLine::kMost) {
    const std::optional<PlacesOfLine> places = PlacesOfLine::of(*all);
    if (!places) return false;
    const bool is_wide = all->run() == 8;
    all->share_lines(
        target, [&](const Line& line) { is_wide ? places->take<8>(line) : places->take<4>(line); });
    return true;
  }
  const auto move = mover_of<To::elements>(all->run());
  std::atomic<bool> done{true};
  all->share_lines(target, [move, &done](const Line& line) {
    if (!move(line)) done.store(false, std::memory_order_relaxed);
  });
  return done.load(std::memory_order_relaxed);
}

bool run_scatter(Op op, std::optional<Op> with, const BufferView& indices,
                 const BufferView& elements, const BufferView& table, int axis) {
  const auto all = Indexed::of(per_of(op), table, indices, elements, axis, true);
  if (!all || !all->in_range()) return false;
  if (!with) return all_lines(*all, mover_of<To::table>(all->run()));
  const auto run = [&] { return combine_all(*all, *with, table.dtype); };
  if (core::may_raise(*with, table.dtype)) return run();
  const core::KeepFpFlags keep;
  return run();
}

}  // namespace dvm::runtime
