// Elements of a table whose places along one of its axes an array of indices says: what gathers
// take, and what scatters put.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "runtime/host.h"
#include "vm/target/target.h"

namespace dvm::runtime {

// Whether there is an index for each position along the axis, as of a gather and a scatter, or for
// each element, as of take_along and put_along.
enum class IndexPer : uint8_t { position, element };

// Lines of indices, one behind the other: the table has `run` bytes for each of them, which lie
// side by side there and among the elements. Strides are in bytes.
class Indexed {
 public:
  struct Dim {
    int64_t size, table = 0, index = 0, elements = 0;
  };
  // The innermost dim, which is never one of those that follow another one for all three arrays.
  struct Line {
    const std::byte* indices;
    std::byte *table, *elements;
    Dim dim;
    int64_t extent, step, run;  // of the table's axis; bytes that move for each index

    // Where it begins in the table. An index is looked at as it is used, in one read, for another
    // thread may write it at any time: one out of range is `stray`, and stands for the first place.
    std::byte* place(int64_t i, bool& stray) const {
      const auto* const at = reinterpret_cast<const int64_t*>(indices + i * dim.index);
      int64_t index = __atomic_load_n(at, __ATOMIC_RELAXED);
      index += index >> 63 & extent;
      const bool outside = static_cast<uint64_t>(index) >= static_cast<uint64_t>(extent);
      stray = stray || outside;
      return table + (outside ? 0 : index) * step + i * dim.table;
    }
    std::byte* element(int64_t i) const { return elements + i * dim.elements; }
  };

  // Nothing where the sizes do not fit. `elements` may have size 1 where the others have more, if
  // `repeats`: these are the same there.
  static std::optional<Indexed> of(IndexPer per, const BufferView& table, const BufferView& indices,
                                   const BufferView& elements, int axis, bool repeats = false);

  int64_t run() const { return run_; }

  // Whether all indices are in [-extent, extent), whether or not anything moves.
  bool in_range() const;
  bool moves_nothing() const {
    const auto is_empty = [](const Dim& dim) { return dim.size == 0; };
    return run_ == 0 || extent_ == 0 || std::any_of(dims_, dims_ + rank_, is_empty);
  }

  // Whether all lines have the same indices, one behind the other.
  bool repeats_indices() const {
    const auto repeats = [](const Dim& dim) { return dim.index == 0 || dim.size == 1; };
    return rank_ > 1 && std::all_of(dims_, dims_ + rank_ - 1, repeats) &&
           dims_[rank_ - 1].index == int64_t{sizeof(int64_t)};
  }
  int64_t indices_of_line() const { return dims_[rank_ - 1].size; }

  // Calls f(line) in the order of the indices.
  template <typename F>
  void for_each_line(F f) const {
    if (moves_nothing()) return;
    const int last = rank_ - 1;
    Line line{indices_, table_, elements_, dims_[last], extent_, step_, run_};
    int64_t at[core::kMaxRank + 1] = {};
    while (true) {
      f(line);
      int d = last - 1;
      for (; d >= 0; --d) {
        const int64_t steps = ++at[d] < dims_[d].size ? 1 : 1 - dims_[d].size;
        line.indices += steps * dims_[d].index;
        line.table += steps * dims_[d].table;
        line.elements += steps * dims_[d].elements;
        if (steps == 1) break;
        at[d] = 0;
      }
      if (d < 0) return;
    }
  }

  // The same by the threads of the target, in any order, where that is faster.
  template <typename F>
  void share_lines(vm::Target& target, F f) const {
    const Dim* const widest = std::max_element(
        dims_, dims_ + rank_, [](const Dim& a, const Dim& b) { return a.size < b.size; });
    if (moves_nothing()) return;
    int64_t indices = 1;
    for (const Dim* dim = dims_; dim != dims_ + rank_; ++dim) indices *= dim->size;
    struct Shared {
      const Indexed& all;
      int widest;
      F& f;
    } shared{*this, static_cast<int>(widest - dims_), f};
    const auto work = [](void* context, int64_t begin, int64_t end) noexcept {
      const Shared& whole = *static_cast<Shared*>(context);
      whole.all.part(whole.widest, begin, end).for_each_line(whole.f);
    };
    const double index_ns = 1 + static_cast<double>(run_) / 16;
    const int64_t indices_of_item = indices / widest->size;
    const double item_ns = index_ns * static_cast<double>(indices_of_item);
    target.share(widest->size, item_ns, work, &shared);
  }

 private:
  // Those with begin ... end of one dim.
  Indexed part(int dim, int64_t begin, int64_t end) const {
    Indexed some = *this;
    Dim& cut = some.dims_[dim];
    cut.size = end - begin;
    some.indices_ += begin * cut.index;
    some.table_ += begin * cut.table;
    some.elements_ += begin * cut.elements;
    return some;
  }
  void add(const Dim& dim);

  Dim dims_[core::kMaxRank + 1];
  int rank_ = 0;
  const std::byte* indices_ = nullptr;
  std::byte *table_ = nullptr, *elements_ = nullptr;
  int64_t extent_ = 0, step_ = 0, run_ = 0;
  BufferView all_indices_;
};

}  // namespace dvm::runtime
