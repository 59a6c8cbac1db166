// A random Program in the making: its instructions so far, what they may read, and ways through
// memory for those that follow.
#pragma once

#include <algorithm>
#include <limits>
#include <optional>
#include <random>
#include <vector>

#include "vm/isa/program_builder.h"
#include "vm/isa/reduce_source.h"

namespace dvm::vm {

// Every global spans exactly the bytes that are touched, found by visiting each tile and step.
struct ProgramDraft {
  struct Ref {
    Mode mode = Mode::slot;
    Space space = Space::ub;
    uint8_t access = 0;
    uint32_t slot = 0;
    int global = 0;
    int64_t offset = 0;
    std::optional<int64_t> row_stride;
    std::vector<int64_t> strides;
    uint64_t scalar = 0;
  };
  struct Line {
    Instruction fixed;
    std::vector<Ref> operands;
    std::vector<ViewDim> view_dims;
    std::vector<MicroOp> steps;
    AttentionWords attention = {};
    WindowWords windows = {};
    std::vector<Tail> tails;
    std::vector<Sync> waits, sets, carries;
    std::vector<int> loops = {};  // around it, outermost first; of a loop, itself too
    size_t body = 0;              // of a loop: the lines that follow
  };
  struct Value {
    uint32_t slot;
    DType dtype;
    int64_t elements;
  };

  explicit ProgramDraft(uint64_t seed) : rng(seed) {}

  void begin(const TargetTraits& of) {
    target = &of;
    grid.clear();
    globals.clear();
    code.clear();
    values.clear();
    loops.clear();
    open.clear();
    for (int s = 0; s < kSpaceCount; ++s) used[s] = of.memory(static_cast<Space>(s)).reserve;
    for (size_t rank = below(4); grid.size() < rank;) grid.push_back(one_to(4));
    for (size_t steps = chance(60) ? 0 : one_to(3); loops.size() < steps;) {
      loops.push_back(one_to(4));
    }
  }

  uint64_t bits() { return rng(); }
  size_t below(size_t end) { return end == 0 ? 0 : static_cast<size_t>(rng() % end); }
  bool chance(size_t percent) { return below(100) < percent; }
  int64_t one_to(int64_t last) {
    return 1 + static_cast<int64_t>(below(static_cast<size_t>(last)));
  }
  int64_t divisor(int64_t of) {
    int64_t d = one_to(of);
    while (of % d != 0) --d;
    return d;
  }

  DType random_dtype(DTypeSet set = DTypeSet::any) {
    DType dtype;
    do {
      dtype = static_cast<DType>(below(core::kDTypeCount));
    } while (!contains(set, dtype));
    return dtype;
  }
  const Value& random_value() { return values[below(values.size())]; }

  // False when local memory is full.
  bool take_slot(int64_t bytes, Ref& ref) {
    const Memory memory = target->memory(ref.space);
    int64_t& end = used[static_cast<size_t>(ref.space)];
    const int64_t begin = (end + memory.align - 1) / memory.align * memory.align;
    if (begin + bytes > memory.bytes) return false;
    ref.slot = static_cast<uint32_t>(begin);
    end = begin + bytes;
    return true;
  }

  // Axes along which an instruction here may be cut, but the innermost of the grid.
  std::vector<uint8_t> more_axes() const {
    std::vector<uint8_t> axes;
    for (size_t d = 1; d < grid.size(); ++d) axes.push_back(static_cast<uint8_t>(d));
    for (const int loop : open) axes.push_back(static_cast<uint8_t>(kFirstLoopAxis + loop));
    return axes;
  }

  // Tails at the ends of axes, for extents that have none yet.
  void choose_more_tails(Line& line) {
    const Instruction& fixed = line.fixed;
    const std::vector<uint8_t> axes = more_axes();
    if (axes.empty() || chance(60)) return;
    std::vector<int64_t> extents = {fixed.m, fixed.size, fixed.n};
    if (!line.view_dims.empty()) {
      extents.clear();
      for (const ViewDim& dim : line.view_dims) extents.push_back(dim.extent);
    }
    for (size_t k = 0; k < extents.size() && line.tails.size() < kMaxMoreTails; ++k) {
      const auto extent = static_cast<uint8_t>(k + 1);
      if (extents[k] == 1 || extent == fixed.split || chance(50)) continue;
      line.tails.push_back({.extent = extent,
                            .axis = axes[below(axes.size())],
                            .value = static_cast<uint32_t>(one_to(extents[k]))});
    }
  }

  void choose_split(Line& line) {
    choose_innermost_tail(line);
    choose_more_tails(line);
  }

  void choose_innermost_tail(Line& line) {
    Instruction& fixed = line.fixed;
    if (grid.empty() || chance(40)) return;
    int64_t extent = fixed.size;
    fixed.split = static_cast<uint8_t>(Split::size);
    const ExtentKind kind = info(info(fixed.insn).format).extents;
    if (kind == ExtentKind::triple) {
      const int64_t extents[] = {fixed.m, fixed.size, fixed.n};
      fixed.split = static_cast<uint8_t>(1 + below(3));
      extent = extents[fixed.split - 1];
    } else if (kind == ExtentKind::view) {
      fixed.split = static_cast<uint8_t>(1 + below(line.view_dims.size()));
      extent = line.view_dims[fixed.split - 1u].extent;
    } else if (fixed.insn == Insn::chain && fixed.m > 1 && chance(50)) {
      fixed.split = static_cast<uint8_t>(Split::m);
      extent = fixed.m;
    }
    fixed.tail = static_cast<uint32_t>(one_to(extent));
  }

  // Bytes the operand touches from where its stream points, in one tile.
  std::pair<int64_t, int64_t> touched(const Line& line, const Ref& ref, int64_t elements,
                                      DType dtype, Ends ends) const {
    const int64_t size = core::byte_size(dtype);
    if (ref.mode == Mode::windows) return {0, x_bytes(line) + size};
    if (ref.row_stride) {
      const auto [m, extent, n] = extents_of(line, ends);
      const bool whole = line.fixed.insn == Insn::chain || reduces_lines(line.fixed);
      const int64_t rows = whole ? m : m * extent, columns = whole ? extent : n;
      return {0, (rows - 1) * *ref.row_stride + columns * size};
    }
    if (line.view_dims.empty()) return {0, elements * size};
    int64_t low = 0, high = size;
    for (size_t d = 0; d < line.view_dims.size(); ++d) {
      const ViewDim& dim = line.view_dims[d];
      const bool indexed = info(line.fixed.insn).format == Format::gather && d + 1 == line.fixed.m;
      const int64_t extent =
          indexed ? int64_t{line.fixed.n} : cut(line, static_cast<int>(d) + 1, dim.extent, ends);
      low += std::min<int64_t>(0, (extent - 1) * dim.stride);
      high += std::max<int64_t>(0, (extent - 1) * dim.stride);
    }
    return {low, high};
  }

  // To the last element of what windows move in.
  static int64_t x_bytes(const Line& line) {
    const WindowWords& words = line.windows;
    int64_t bytes = (line.fixed.size / words.elements() - 1) * words.channel_stride;
    for (const WindowAxis& axis : words.axes) bytes += (axis.size - 1) * axis.stride;
    return bytes;
  }

  // Whether what it reduces are lines of adjacent elements, which may lie apart.
  static bool reduces_lines(const Instruction& fixed) {
    return info(fixed.insn).format == Format::reduce && fixed.n == 1 &&
           reduce_order(fixed.aux) == ReduceOrder::lanes;
  }

  // Elements of an operand in a tile; `is_short` for the reduced side of triples.
  static int64_t count(const Line& line, bool is_short, Ends ends) {
    const auto [m, size, n] = extents_of(line, ends);
    return is_short ? m * n : m * size * n;
  }
  static int64_t cut(const Line& line, int extent, int64_t whole, Ends ends) {
    if ((ends & 1) != 0 && line.fixed.split == extent) return line.fixed.tail;
    for (const Tail& tail : line.tails) {
      if (tail.extent == extent && (ends >> tail.axis & 1) != 0) return tail.value;
    }
    return whole;
  }
  static Extents extents_of(const Line& line, Ends ends) {
    const Instruction& fixed = line.fixed;
    return {cut(line, 1, fixed.m, ends), cut(line, 2, fixed.size, ends),
            cut(line, 3, fixed.n, ends)};
  }

  // A way through a new or known global, whose range grows to what every tile touches.
  Ref make_stream(const Line& line, DType dtype, bool is_short, bool written,
                  Mode mode = Mode::stream) {
    Ref ref;
    ref.mode = mode;
    const bool chain = line.fixed.insn == Insn::chain;
    const bool lines = reduces_lines(line.fixed);
    const bool adds_rows = info(line.fixed.insn).format == Format::reduce &&
                           reduce_order(line.fixed.aux) == ReduceOrder::sequential;
    if (!written && (chain || lines || adds_rows) && chance(50)) {
      const int64_t columns = chain || lines ? line.fixed.size : line.fixed.n;
      ref.row_stride = one_to(2 * columns + 8) * core::byte_size(dtype);
    } else if (written && chain && chance(50)) {
      const int64_t columns = line.fixed.size;
      ref.row_stride = (columns - 1 + one_to(columns + 8)) * core::byte_size(dtype);
    }
    ref.offset = (static_cast<int64_t>(below(64)) - 20) * core::byte_size(dtype);
    const auto moves = [&](size_t loop) {
      return std::ranges::find(open, static_cast<int>(loop)) != open.end();
    };
    for (size_t d = 0; d < grid.size(); ++d) {
      ref.strides.push_back((static_cast<int64_t>(below(4096)) - 1024) * core::byte_size(dtype));
    }
    for (size_t loop = 0; loop < loops.size(); ++loop) {
      const auto elements = moves(loop) ? static_cast<int64_t>(below(512)) - 128 : 0;
      ref.strides.push_back(elements * core::byte_size(dtype));
    }
    if (written) part_tiles(ref, line, dtype, is_short);
    std::vector<int> candidates;
    for (size_t g = 0; g < globals.size() && !written; ++g) {
      if (globals[g].dtype == dtype && globals[g].written == written) {
        candidates.push_back(static_cast<int>(g));
      }
    }
    if (!candidates.empty() && chance(50)) {
      ref.global = candidates[below(candidates.size())];
    } else {
      ref.global = static_cast<int>(globals.size());
      globals.push_back({std::numeric_limits<int64_t>::max(),
                         std::numeric_limits<int64_t>::min(),
                         dtype,
                         written,
                         {}});
    }
    grow(globals[static_cast<size_t>(ref.global)], ref, line, dtype, is_short);
    return ref;
  }

  // Strides beyond all that smaller ones reach, in any order of the axes and either direction, with
  // gaps here and there: no two tiles write the same. Some steps of loops write again what is
  // there.
  void part_tiles(Ref& ref, const Line& line, DType dtype, bool is_short) {
    const int64_t size = core::byte_size(dtype);
    const int64_t elements = line.view_dims.empty() ? count(line, is_short, 0) : 0;
    const auto [low, high] = touched(line, ref, elements, dtype, 0);
    int64_t reach = high - low;
    std::vector<size_t> axes(ref.strides.size());
    for (size_t a = 0; a < axes.size(); ++a) axes[a] = a;
    std::shuffle(axes.begin(), axes.end(), rng);
    for (const size_t a : axes) {
      if (a >= grid.size() && (ref.strides[a] == 0 || chance(30))) {
        ref.strides[a] = 0;
        continue;
      }
      const int64_t steps = a < grid.size() ? grid[a] : loops[a - grid.size()];
      const int64_t stride = reach + (chance(50) ? 0 : static_cast<int64_t>(below(9)) * size);
      ref.strides[a] = chance(30) ? -stride : stride;
      reach += (steps - 1) * stride;
    }
  }

  void grow(Global& global, const Ref& ref, const Line& line, DType dtype, bool is_short) const {
    // The grid, then loops; those that the line is not in have one step.
    std::vector<int64_t> axes = grid;
    axes.resize(grid.size() + loops.size(), 1);
    for (const int loop : open) {
      axes[grid.size() + static_cast<size_t>(loop)] = loops[static_cast<size_t>(loop)];
    }
    std::vector<int64_t> coord(axes.size(), 0);
    while (true) {
      int64_t at = ref.offset;
      Ends ends = 0;
      for (size_t d = 0; d < axes.size(); ++d) {
        at += coord[d] * ref.strides[d];
        const size_t axis =
            d < grid.size() ? grid.size() - 1 - d : size_t{kFirstLoopAxis} + d - grid.size();
        if (coord[d] == axes[d] - 1) ends = static_cast<Ends>(ends | 1u << axis);
      }
      const int64_t elements = line.view_dims.empty() ? count(line, is_short, ends) : 0;
      const auto [low, high] = touched(line, ref, elements, dtype, ends);
      global.low = std::min(global.low, at + low);
      global.high = std::max(global.high, at + high);
      size_t d = axes.size();
      while (d > 0 && ++coord[d - 1] == axes[d - 1]) coord[--d] = 0;
      if (d == 0) return;
    }
  }

  void make_view(Line& line) {
    line.fixed.size = 1;
    for (size_t rank = 1 + below(4); line.view_dims.size() < rank;) {
      const int64_t extent = one_to(5);
      const int64_t stride = static_cast<int64_t>(below(100)) - 30;
      line.view_dims.push_back({extent, stride * core::byte_size(line.fixed.dtype)});
      line.fixed.size *= static_cast<uint32_t>(extent);
    }
  }

  Ref make_scalar(DType dtype) {
    Ref ref;
    ref.mode = Mode::scalar;
    ref.scalar = bits();
    if (core::byte_size(dtype) < 8) ref.scalar &= (uint64_t{1} << 8 * core::byte_size(dtype)) - 1;
    if (dtype == DType::boolean || chance(30)) ref.scalar &= 1;
    return ref;
  }

  void append(Line line) {
    line.loops = open;
    code.push_back(std::move(line));
  }

  // The loops begun so far.
  size_t next_loop() const {
    size_t count = 0;
    for (const Line& line : code) count += line.fixed.insn == Insn::loop;
    return count;
  }

  std::vector<uint64_t> build() {
    std::vector<uint64_t> words(1 << 14);
    ProgramBuilder builder(*target, words, grid, loops);
    for (const Global& global : globals) builder.add_global(global);
    std::vector<size_t> loop_ends;  // of the open loops, outermost first
    for (size_t i = 0; i < code.size(); ++i) {
      const Line& line = code[i];
      for (; !loop_ends.empty() && loop_ends.back() == i; loop_ends.pop_back()) builder.end_loop();
      std::vector<Operand> operands;
      for (const Ref& ref : line.operands) {
        operands.push_back(ref.mode == Mode::slot ? slot_operand(ref.slot, ref.space)
                           : ref.mode == Mode::scalar
                               ? builder.scalar_bits(ref.scalar)
                               : builder.stream(ref.global, ref.offset, ref.strides));
        if (ref.mode == Mode::windows) operands.back().mode = Mode::windows;
        operands.back().access = ref.access;
        if (ref.row_stride) {
          operands.back() = rows_operand(operands.back(), static_cast<uint32_t>(*ref.row_stride));
        }
      }
      std::vector<Sync> syncs = line.waits;
      syncs.insert(syncs.end(), line.sets.begin(), line.sets.end());
      syncs.insert(syncs.end(), line.carries.begin(), line.carries.end());
      if (line.fixed.insn == Insn::loop) {
        builder.begin_loop(syncs);
        loop_ends.push_back(i + 1 + line.body);
      } else if (line.fixed.insn == Insn::chain) {
        builder.append_chain(line.fixed, operands, line.steps, syncs, line.tails);
      } else if (line.fixed.is_attention()) {
        builder.append_attention(line.fixed, operands, line.attention, syncs, line.tails);
      } else if (!line.operands.empty() && line.operands.back().mode == Mode::windows) {
        builder.append_product(line.fixed, operands, line.windows, syncs, line.tails);
      } else {
        builder.append(line.fixed, operands, syncs, line.view_dims, line.tails);
      }
    }
    for (; !loop_ends.empty(); loop_ends.pop_back()) builder.end_loop();
    const auto local = static_cast<uint32_t>(used[static_cast<size_t>(Space::ub)]);
    words.resize(builder.finish(local, target->flags ? loop_flags : 0).words().size());
    return words;
  }

  std::mt19937_64 rng;
  const TargetTraits* target = nullptr;
  std::vector<int64_t> grid;
  std::vector<Global> globals;
  std::vector<Line> code;
  std::vector<Value> values;
  std::vector<int64_t> loops;  // steps of each
  std::vector<int> open;       // the loops around what is added, outermost first
  int64_t used[kSpaceCount] = {};
  uint8_t loop_flags = 0;
};

}  // namespace dvm::vm
