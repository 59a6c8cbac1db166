#include "vm/verify/coverage.h"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "core/error.h"
#include "core/math/byte_range.h"
#include "vm/verify/tile.h"

namespace dvm::vm {

namespace {

// Elements, and positions of a global, up to which they are counted one by one.
constexpr int64_t kMostCounted = int64_t{1} << 22;
// Beyond any memory, and so small that sums of what lies within do not overflow.
constexpr int64_t kBeyondMemory = int64_t{1} << 58;

struct Along {
  int64_t count, stride;  // bytes, above 0
  bool operator==(const Along&) const = default;
};

// Elements of some bytes from `begin` on, as often as the dims say, the largest stride first.
struct StoreBox {
  int64_t begin = 0, element = 0;
  std::vector<Along> dims;
  bool operator==(const StoreBox&) const = default;

  void add(int64_t count, int64_t stride) {
    if (count == 1) return;
    if (stride < 0) {
      begin += (count - 1) * stride;
      stride = -stride;
    }
    dims.push_back({count, stride});
  }
  void sort() {
    std::ranges::sort(dims, std::greater<>(), [](const Along& dim) { return dim.stride; });
  }
  // Behind the last byte of the dims from `first` on.
  int64_t end(size_t first = 0) const {
    int64_t at = begin + element;
    for (size_t d = first; d < dims.size(); ++d) at += (dims[d].count - 1) * dims[d].stride;
    return at;
  }
  bool is_apart() const {
    for (size_t d = 0; d < dims.size(); ++d) {
      if (dims[d].stride < end(d + 1) - begin) return false;
    }
    return true;
  }
  // Dims that both have, and that step over what both have behind them, part them no less and no
  // more than what is behind.
  bool is_apart_from(const StoreBox& other) const {
    for (size_t d = 0;; ++d) {
      if (end(d) <= other.begin || other.end(d) <= begin) return true;
      if (d == dims.size() || d == other.dims.size() || dims[d] != other.dims[d]) return false;
      const int64_t behind = std::max(end(d + 1), other.end(d + 1)) - std::min(begin, other.begin);
      if (behind > dims[d].stride) return false;
    }
  }
};

// One store: an operand of an instruction that is written.
class Store {
 public:
  Store(const Program& program, const Instruction& insn, int operand)
      : program_(program),
        insn_(insn),
        operand_(operand),
        stream_(program.stream(insn.operands()[operand].index)),
        element_(core::byte_size(operand_dtype(insn, operand))) {
    for (int axis = 0; axis < kAxisCount; ++axis) {
      steps_[axis] = steps_along(axis);
      if (steps_[axis] == 1) always_last_ = static_cast<Ends>(always_last_ | 1u << axis);
    }
  }

  int64_t global() const { return stream_.global; }
  int64_t element() const { return element_; }
  bool same_stream(const Store& other) const { return &stream_ == &other.stream_; }

  // An axis of the grid that the store does not move along: its tiles write the same elements.
  bool repeats_tiles() const {
    for (int axis = 0; axis < kFirstLoopAxis; ++axis) {
      if (steps_[axis] > 1 && stride(axis) == 0) return true;
    }
    return false;
  }

  // All that it may reach. Where an axis cuts an extent and goes on where that ends, what they
  // reach together is known to the element; elsewhere every tile is taken to be a full one.
  StoreBox box() const {
    StoreBox box{.begin = stream_.offset, .element = element_, .dims = {}};
    bool met[kAxisCount] = {};
    for (const Part& part : parts(always_last_)) {
      int64_t count = part.count;
      const int axis = part.axis;
      if (axis >= 0 && steps_[axis] > 0 && stride(axis) == part.count * part.stride) {
        met[axis] = true;
        count = (steps_[axis] - 1) * part.count + part.tail;
      }
      box.add(count, part.stride);
    }
    for (int axis = 0; axis < kAxisCount; ++axis) {
      if (!met[axis] && steps_[axis] > 1 && stride(axis) != 0) box.add(steps_[axis], stride(axis));
    }
    box.sort();
    return box;
  }

  // From the first byte that is written to behind the last.
  core::ByteRange range() const {
    core::ByteRange all{.low = INT64_MAX, .high = INT64_MIN};
    for_each_ends(insn_, [&](Ends at_end, Ends before_end) {
      if ((before_end & always_last_) != 0) return;
      int64_t low = stream_.offset, high = stream_.offset + element_;
      const auto reach = [&](int64_t from, int64_t to) {
        low += std::min(from, to);
        high += std::max(from, to);
      };
      for (int axis = 0; axis < kAxisCount; ++axis) {
        if (steps_[axis] <= 1) continue;
        reach((at_end >> axis & 1 ? steps_[axis] - 1 : 0) * stride(axis),
              (steps_[axis] - (before_end >> axis & 1 ? 2 : 1)) * stride(axis));
      }
      for (const Part& part : parts(at_end)) reach(0, (part.count - 1) * part.stride);
      all.low = std::min(all.low, low);
      all.high = std::max(all.high, high);
    });
    return all;
  }

  // Elements of all tiles and steps, if none is written twice but by other steps of its tile that
  // do not move.
  int64_t elements() const {
    int64_t sum = 0;
    for_each_case([&](Ends at_end, Ends before_end) {
      int64_t product = elements_at(at_end);
      bool fits = true;
      for (int axis = 0; axis < kAxisCount; ++axis) {
        if (steps_[axis] <= 1 || stride(axis) == 0 || (at_end >> axis & 1) != 0) continue;
        const int64_t times = steps_[axis] - (before_end >> axis & 1);
        fits = fits && !__builtin_mul_overflow(product, times, &product);
      }
      if (!fits || __builtin_add_overflow(sum, product, &sum)) sum = INT64_MAX;
    });
    return sum;
  }

  // Calls f(tile, byte) for every element, in every step.
  template <typename F>
  void for_each_element(F f) const {
    int64_t coord[kAxisCount] = {};
    const auto axes = kAxisCount;
    for (;;) {
      Ends ends = 0;
      int64_t at = stream_.offset, tile = 0;
      for (int axis = axes; axis-- > 0;) {
        if (steps_[axis] == 0) continue;
        at += coord[axis] * stride(axis);
        if (coord[axis] == steps_[axis] - 1) ends = static_cast<Ends>(ends | 1u << axis);
        if (axis < kFirstLoopAxis) tile = tile * steps_[axis] + coord[axis];
      }
      for_each_part_element(parts(ends), 0, at, [&](int64_t byte) { f(tile, byte); });
      int axis = 0;
      // Steps that do not move write the same again.
      while (axis < axes && (steps_[axis] <= 1 || (axis >= kFirstLoopAxis && !matters(axis)) ||
                             ++coord[axis] == steps_[axis])) {
        coord[axis++] = 0;
      }
      if (axis == axes) return;
    }
  }

 private:
  // So many elements of a tile, and what is left of them at the end of the axis that cuts them.
  struct Part {
    int64_t count, stride;
    int axis = -1;
    int64_t tail = 0;
  };

  int64_t steps_along(int axis) const {
    const auto grid = program_.grid();
    const auto loops = program_.loops();
    if (axis < kFirstLoopAxis) {
      const auto dim = static_cast<size_t>(axis);
      return dim < grid.size() ? grid[grid.size() - 1 - dim] : 0;
    }
    const auto loop = static_cast<size_t>(axis - kFirstLoopAxis);
    return loop < loops.size() ? loops[loop] : 0;
  }
  int64_t stride(int axis) const {
    const int rank = program_.header().grid_rank;
    const int column = axis < kFirstLoopAxis ? rank - 1 - axis : rank + axis - kFirstLoopAxis;
    return program_.strides(stream_)[static_cast<size_t>(column)];
  }
  bool matters(int axis) const { return stride(axis) != 0 || (cut_axes(insn_) >> axis & 1) != 0; }

  // The axis that cuts an extent (Tail::extent); -1: none.
  int axis_of(int extent) const {
    if (insn_.split == extent) return 0;
    for (const Tail& tail : insn_.more_tails()) {
      if (tail.extent == extent) return tail.axis;
    }
    return -1;
  }
  Part part(int64_t count, int64_t stride, int extent, uint32_t full, Ends ends) const {
    const int axis = axis_of(extent);
    if (axis < 0 || (ends >> axis & 1) != 0) return Part{count, stride};
    const auto last = static_cast<Ends>(ends | 1u << axis);
    return {count, stride, axis, tail_of(insn_, extent, last, full)};
  }

  // What a tile at these ends writes.
  std::vector<Part> parts(Ends ends) const {
    const Operand& lies = insn_.operands()[operand_];
    const Format format = info(insn_.insn).format;
    if (insn_.is_view() && (is_store(format) || insn_.insn == Insn::drain)) {
      std::vector<Part> made;
      int extent = 1;
      for (const ViewDim& dim : insn_.view_dims()) {
        const auto full = static_cast<uint32_t>(dim.extent);
        made.push_back(part(tail_of(insn_, extent, ends, full), dim.stride, extent, full, ends));
        ++extent;
      }
      return made;
    }
    const Extents e = plain_extents(insn_, ends);
    const auto m = [&](int64_t stride) {
      return part(e.m, stride, static_cast<int>(Split::m), insn_.m, ends);
    };
    const auto n = [&](int64_t stride) {
      return part(e.n, stride, static_cast<int>(Split::n), insn_.n, ends);
    };
    const bool is_matrix = format == Format::matrix || is_attention(format);
    if (is_matrix && lies.mode == Mode::rows) return {m(lies.offset), n(element_)};
    if (is_matrix && lies.mode == Mode::columns) return {n(lies.offset), m(element_)};
    if (lies.mode == Mode::rows) {
      return {m(lies.offset),
              part(e.size, element_, static_cast<int>(Split::size), insn_.size, ends)};
    }
    return {dense(ends)};
  }

  // All of the operand's elements in one run. Of an extent that is the last one in memory, or the
  // only one above 1, the cut is that of the run.
  Part dense(Ends ends) const {
    Part made{elements_at(ends), element_};
    for (int axis = 0; axis < kAxisCount; ++axis) {
      const auto last = static_cast<Ends>(1u << axis);
      if (((cut_axes(insn_) & ~ends) >> axis & 1) == 0) continue;
      const int64_t tail = elements_at(static_cast<Ends>(ends | last));
      if (tail == made.count) continue;
      if (made.axis >= 0) return {made.count, element_};  // cut along two axes
      made.axis = axis;
      made.tail = tail;
    }
    return made;
  }
  int64_t elements_at(Ends ends) const { return operand_elements(insn_, operand_, ends); }

  // Each choice of the axes that cut being at their end or before it, that there is. Of steps that
  // do not move the largest counts, which is not the last.
  template <typename F>
  void for_each_case(F f) const {
    for_each_ends(insn_, [&](Ends at_end, Ends before_end) {
      for (int axis = 0; axis < kAxisCount; ++axis) {
        const bool one = steps_[axis] <= 1, stays = !one && stride(axis) == 0;
        if ((before_end >> axis & 1) != 0 && one) return;
        if ((at_end >> axis & 1) != 0 && stays) return;
      }
      f(at_end, before_end);
    });
  }

  template <typename F>
  static void for_each_part_element(const std::vector<Part>& parts, size_t part, int64_t at, F f) {
    if (part == parts.size()) return f(at);
    for (int64_t i = 0; i < parts[part].count; ++i, at += parts[part].stride) {
      for_each_part_element(parts, part + 1, at, f);
    }
  }

  const Program& program_;
  const Instruction& insn_;
  const int operand_;
  const Stream& stream_;
  const int64_t element_;
  int64_t steps_[kAxisCount];
  Ends always_last_ = 0;  // axes of one step
};

std::vector<Store> stores_to(const Program& program, int64_t global) {
  std::vector<Store> stores;
  for (auto rest = program.code(); !rest.empty();) {
    const auto& insn = *reinterpret_cast<const Instruction*>(rest.data());
    rest = rest.subspan(insn.words);
    if (insn.is_loop()) continue;
    for (int k = 0; k < insn.operand_count(); ++k) {
      if (!is_stream(insn.operands()[k]) || !writes(insn, k)) continue;
      Store store(program, insn, k);
      if (store.global() == global) stores.push_back(store);
    }
  }
  return stores;
}

// What is written to one global.
class Coverage {
 public:
  Coverage(const Program& program, int64_t global)
      : global_(program.globals()[static_cast<size_t>(global)]),
        name_("global g" + number(global)),
        stores_(stores_to(program, global)) {
    if (global_.low < -kBeyondMemory || global_.high > kBeyondMemory) {
      fail(name_ + " lies beyond all memory");
    }
  }

  // How many elements are written. Throws where tiles meet.
  int64_t count() const {
    if (std::ranges::any_of(stores_, &Store::repeats_tiles)) fail_meeting();
    const auto proved = prove();
    return proved ? *proved : count_each();
  }

  // That the first and the last byte are written.
  void check_ends() const {
    if (stores_.empty()) {
      if (global_.low != global_.high) fail(name_ + " is written by no instruction");
      return;
    }
    core::ByteRange all = stores_.front().range();
    for (const Store& store : stores_) {
      const core::ByteRange range = store.range();
      all.low = std::min(all.low, range.low);
      all.high = std::max(all.high, range.high);
    }
    if (all.low > global_.low || all.high < global_.high) {
      fail("of " + name_ + " bytes [" + number(all.low) + ", " + number(all.high) +
           ") are written, but it has [" + number(global_.low) + ", " + number(global_.high) + ")");
    }
  }

 private:
  [[noreturn]] static void fail(const std::string& message) {
    core::fail(core::ErrorCode::bytecode_invalid, message);
  }
  [[noreturn]] void fail_meeting() const { fail("tiles write the same bytes of " + name_); }

  // Stores through one stream of the same elements write them again, in the same tile.
  std::optional<int64_t> prove() const {
    std::vector<StoreBox> boxes;
    int64_t elements = 0;
    for (size_t k = 0; k < stores_.size(); ++k) {
      const StoreBox box = stores_[k].box();
      if (!box.is_apart()) return std::nullopt;
      bool again = false;
      for (size_t j = 0; j < k && !again; ++j) {
        again = stores_[j].same_stream(stores_[k]) && boxes[j] == box &&
                stores_[j].elements() == stores_[k].elements();
        if (!again && !boxes[j].is_apart_from(box)) return std::nullopt;
      }
      boxes.push_back(box);
      if (!again) elements += stores_[k].elements();
    }
    return elements;
  }

  int64_t count_each() const {
    const int64_t element = core::byte_size(global_.dtype);
    const int64_t bytes = global_.high - global_.low;
    const bool fits =
        bytes / element <= kMostCounted && std::ranges::all_of(stores_, [](const Store& store) {
          return store.elements() <= kMostCounted;
        });
    if (!fits) {
      fail("it cannot be told whether tiles write the same bytes of " + name_);
    }
    std::vector<int64_t> writer(static_cast<size_t>(bytes / element), -1);
    int64_t written = 0;
    for (const Store& store : stores_) {
      store.for_each_element([&](int64_t tile, int64_t byte) {
        int64_t& by = writer[static_cast<size_t>((byte - global_.low) / element)];
        if (by >= 0 && by != tile) fail_meeting();
        written += by < 0;
        by = tile;
      });
    }
    return written;
  }

  const Global& global_;
  const std::string name_;
  const std::vector<Store> stores_;
};

}  // namespace

void check_coverage(const Program& program, int own) {
  for (int g = 0; g < program.header().globals; ++g) {
    if (g == own || program.globals()[static_cast<size_t>(g)].written == 0) continue;
    const Coverage coverage(program, g);
    static_cast<void>(coverage.count());  // throws where tiles meet
    coverage.check_ends();
  }
}

int64_t written_elements(const Program& program, int global) {
  return Coverage(program, global).count();
}

}  // namespace dvm::vm
