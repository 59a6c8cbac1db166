// Random valid Programs, for any target. What they compute makes no sense; every instruction,
// format, operand mode, memory, tail, view, flag, loop and kind of stream occurs, and every global
// spans exactly the bytes that are touched, found by visiting each tile and step.
#pragma once

#include <algorithm>
#include <limits>
#include <random>
#include <vector>

#include "vm/distinct_targets.h"
#include "vm/encoded_steps.h"
#include "vm/isa/program_builder.h"
#include "vm/isa/reduce_source.h"

namespace dvm::vm {

class ProgramGenerator {
 public:
  explicit ProgramGenerator(uint64_t seed) : rng_(seed) {}

  std::vector<uint64_t> generate() {
    const std::vector<TargetTraits> targets = distinct_targets();
    return generate(*find_target(targets[below(targets.size())].id));
  }

  std::vector<uint64_t> generate(const TargetTraits& target) {
    target_ = &target;
    grid_.clear();
    globals_.clear();
    code_.clear();
    values_.clear();
    loops_.clear();
    open_.clear();
    for (int s = 0; s < kSpaceCount; ++s) {
      ends_[s] = target.memory(static_cast<Space>(s)).reserve;
    }
    for (size_t rank = below(4); grid_.size() < rank;) grid_.push_back(one_to(4));
    for (size_t count = chance(60) ? 0 : one_to(3); loops_.size() < count;) {
      loops_.push_back(one_to(4));
    }
    add_load();
    for (size_t count = below(14); count > 0; --count) add_random();
    while (next_loop() < loops_.size()) add_loop();
    if (chance(80)) add_store(random_value());
    if (target.flags) add_flags();
    return build();
  }

  uint64_t bits() { return rng_(); }
  size_t below(size_t end) { return end == 0 ? 0 : static_cast<size_t>(rng_() % end); }
  bool chance(size_t percent) { return below(100) < percent; }
  int64_t one_to(int64_t last) {
    return 1 + static_cast<int64_t>(below(static_cast<size_t>(last)));
  }

 private:
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

  DType random_dtype(DTypeSet set = DTypeSet::any) {
    DType dtype;
    do {
      dtype = static_cast<DType>(below(core::kDTypeCount));
    } while (!contains(set, dtype));
    return dtype;
  }
  const Value& random_value() { return values_[below(values_.size())]; }

  // False when local memory is full.
  bool take_slot(int64_t bytes, Ref& ref) {
    const Memory memory = target_->memory(ref.space);
    int64_t& end = ends_[static_cast<size_t>(ref.space)];
    const int64_t begin = (end + memory.align - 1) / memory.align * memory.align;
    if (begin + bytes > memory.bytes) return false;
    ref.slot = static_cast<uint32_t>(begin);
    end = begin + bytes;
    return true;
  }

  // Axes along which an instruction here may be cut, but the innermost of the grid.
  std::vector<uint8_t> more_axes() const {
    std::vector<uint8_t> axes;
    for (size_t d = 1; d < grid_.size(); ++d) axes.push_back(static_cast<uint8_t>(d));
    for (const int loop : open_) axes.push_back(static_cast<uint8_t>(kFirstLoopAxis + loop));
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
    if (grid_.empty() || chance(40)) return;
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
    if (ref.row_stride) {
      const auto [m, extent, n] = extents_of(line, ends);
      const bool chain = line.fixed.insn == Insn::chain;
      const int64_t rows = chain ? m : m * extent, columns = chain ? extent : n;
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
  Ref make_stream(const Line& line, DType dtype, bool is_short, bool written) {
    Ref ref;
    ref.mode = Mode::stream;
    const bool chain = line.fixed.insn == Insn::chain;
    const bool adds_rows = info(line.fixed.insn).format == Format::reduce &&
                           reduce_order(line.fixed.aux) == ReduceOrder::sequential;
    if (!written && (chain || adds_rows) && chance(50)) {
      const int64_t columns = chain ? line.fixed.size : line.fixed.n;
      ref.row_stride = one_to(2 * columns + 8) * core::byte_size(dtype);
    }
    ref.offset = (static_cast<int64_t>(below(64)) - 20) * core::byte_size(dtype);
    for (size_t d = 0; d < grid_.size(); ++d) {
      ref.strides.push_back((static_cast<int64_t>(below(4096)) - 1024) * core::byte_size(dtype));
    }
    for (size_t loop = 0; loop < loops_.size(); ++loop) {
      const bool moves = std::ranges::find(open_, static_cast<int>(loop)) != open_.end();
      const auto elements = moves ? static_cast<int64_t>(below(512)) - 128 : 0;
      ref.strides.push_back(elements * core::byte_size(dtype));
    }
    std::vector<int> candidates;
    for (size_t g = 0; g < globals_.size(); ++g) {
      if (globals_[g].dtype == dtype && globals_[g].written == written) {
        candidates.push_back(static_cast<int>(g));
      }
    }
    if (!candidates.empty() && chance(50)) {
      ref.global = candidates[below(candidates.size())];
    } else {
      ref.global = static_cast<int>(globals_.size());
      globals_.push_back({std::numeric_limits<int64_t>::max(),
                          std::numeric_limits<int64_t>::min(),
                          dtype,
                          written,
                          {}});
    }
    grow(globals_[static_cast<size_t>(ref.global)], ref, line, dtype, is_short);
    return ref;
  }

  void grow(Global& global, const Ref& ref, const Line& line, DType dtype, bool is_short) const {
    // The grid, then loops; those that the line is not in have one step.
    std::vector<int64_t> axes = grid_;
    axes.resize(grid_.size() + loops_.size(), 1);
    for (const int loop : open_) {
      axes[grid_.size() + static_cast<size_t>(loop)] = loops_[static_cast<size_t>(loop)];
    }
    std::vector<int64_t> coord(axes.size(), 0);
    while (true) {
      int64_t at = ref.offset;
      Ends ends = 0;
      for (size_t d = 0; d < axes.size(); ++d) {
        at += coord[d] * ref.strides[d];
        const size_t axis =
            d < grid_.size() ? grid_.size() - 1 - d : size_t{kFirstLoopAxis} + d - grid_.size();
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

  void add_load() {
    Line line;
    line.fixed.insn = chance(30) ? Insn::view_load : Insn::load;
    line.fixed.dtype = random_dtype();
    line.fixed.size = static_cast<uint32_t>(one_to(200));
    if (line.fixed.insn == Insn::view_load) make_view(line);
    choose_split(line);
    finish(line, {make_stream(line, line.fixed.dtype, false, false)});
  }

  void add_store(const Value value) {
    Line line;
    line.fixed.insn = chance(30) ? Insn::view_store : Insn::store;
    line.fixed.dtype = value.dtype;
    line.fixed.size = static_cast<uint32_t>(value.elements);
    if (line.fixed.insn == Insn::view_store) line.view_dims = {{value.elements, 24}};
    choose_split(line);
    Ref source;
    source.slot = value.slot;
    Ref stream = make_stream(line, value.dtype, false, true);
    line.operands = {stream, source};
    append(line);
    // Reading back what this tile stored is the one legal way to read a written global.
    if (chance(20) && line.view_dims.empty()) {
      line.fixed.insn = Insn::load;
      finish(line, {stream});
    }
  }

  void add_random() {
    if (chance(20)) return add_load();
    if (chance(15)) return add_store(random_value());
    if (chance(10)) return add_chain();
    if (chance(5)) return add_matmul();
    if (chance(8)) return add_gather();
    if (next_loop() < loops_.size() && chance(20)) return add_loop();
    Line line;
    do {
      line.fixed.insn = static_cast<Insn>(below(kInsnCount));
    } while (info(line.fixed.insn).pipe != Pipe::simd || line.fixed.insn == Insn::chain);
    const InsnInfo& row = info(line.fixed.insn);
    const Value first = random_value();
    line.fixed.dtype = row.format == Format::cast ? random_dtype(row.dtypes) : first.dtype;
    const DType casts[] = {DType::boolean, DType::i64, DType::f64};
    const DType cast = casts[first.dtype == DType::boolean ? 1 : first.elements % 3];
    const bool reduces = row.format == Format::reduce;
    const auto order = static_cast<ReduceOrder>(reduces ? below(2) : 0);
    const bool reads_cast =
        reduces && target_->streams && reads(line.fixed.insn, cast, order, first.dtype);
    if (reads_cast) line.fixed.dtype = cast;
    if (!contains(row.dtypes, line.fixed.dtype)) return;
    if (row.format == Format::cast) line.fixed.aux = static_cast<uint8_t>(first.dtype);
    if (row.format == Format::compare) line.fixed.aux = static_cast<uint8_t>(below(kCompareCount));
    if (reduces) line.fixed.aux = reduce_aux(order, line.fixed.dtype, first.dtype);
    line.fixed.size = static_cast<uint32_t>(first.elements);
    const bool triple = info(row.format).extents == ExtentKind::triple;
    if (triple) choose_triple(line.fixed, first.elements, row.format == Format::broadcast);
    if (!triple && chance(30)) {
      line.fixed.m = static_cast<uint32_t>(divisor(first.elements));
      line.fixed.size /= line.fixed.m;
    }
    choose_split(line);
    // Rows of dense elements are rows only if something cuts them.
    if (!triple && line.fixed.split == 0 && line.tails.empty()) {
      line.fixed.size *= line.fixed.m;
      line.fixed.m = 1;
    }
    std::vector<Ref> sources;
    for (int k = 1; k < row.operands; ++k) sources.push_back(make_source(line, k, first));
    finish(line, std::move(sources));
  }

  int64_t divisor(int64_t of) {
    int64_t d = one_to(of);
    while (of % d != 0) --d;
    return d;
  }

  // Factors a value's elements, which are [m, n] of a broadcast and [m, size, n] of a reduction.
  void choose_triple(Instruction& fixed, int64_t elements, bool broadcast) {
    fixed.m = static_cast<uint32_t>(divisor(elements));
    const int64_t rest = elements / fixed.m;
    const int64_t size = broadcast ? one_to(4) : divisor(rest);
    fixed.size = static_cast<uint32_t>(size);
    fixed.n = static_cast<uint32_t>(broadcast ? rest : rest / size);
  }

  Ref make_source(const Line& line, int k, const Value& first) {
    const InsnInfo& row = info(line.fixed.insn);
    const DType dtype = operand_dtype(line.fixed, k);
    Ref ref;
    std::vector<const Value*> fitting;
    for (const Value& value : values_) {
      if (value.dtype == dtype && value.elements == first.elements) fitting.push_back(&value);
    }
    if (target_->streams && chance(30)) {
      return make_stream(line, dtype, row.format == Format::broadcast, false);
    }
    if (row.scalar_operands && (fitting.empty() || chance(20))) return make_scalar(dtype);
    if (!fitting.empty()) ref.slot = fitting[below(fitting.size())]->slot;
    return ref;
  }

  Ref make_scalar(DType dtype) {
    Ref ref;
    ref.mode = Mode::scalar;
    ref.scalar = bits();
    if (core::byte_size(dtype) < 8) ref.scalar &= (uint64_t{1} << 8 * core::byte_size(dtype)) - 1;
    if (dtype == DType::boolean || chance(30)) ref.scalar &= 1;
    return ref;
  }

  using Held = std::vector<std::pair<uint8_t, DType>>;  // places that may be read

  // Of any steps, or of those that the encoder makes chains of, whose elements have one width.
  void add_chain() {
    static const std::vector<MicroOp> encoded[] = {encoded_steps(4), encoded_steps(8)};
    const std::vector<MicroOp>* steps = chance(65) ? &encoded[below(2)] : nullptr;
    Line line;
    line.fixed.insn = Insn::chain;
    line.fixed.dtype = DType{};
    const int64_t elements = random_value().elements;
    const int64_t rows = chance(50) ? divisor(elements) : 1;
    line.fixed.m = static_cast<uint32_t>(rows);
    line.fixed.size = static_cast<uint32_t>(elements / rows);
    choose_split(line);
    Held held;
    for (int64_t count = one_to(10); count > 0; --count) {
      MicroOp op = steps != nullptr ? (*steps)[below(steps->size())] : random_step();
      const Instruction step{.insn = op.insn, .dtype = op.dtype, .aux = op.aux};
      for (int k = 1; k < info(op.insn).operands; ++k) {
        op.src[k - 1] = chain_source(line, op, operand_dtype(step, k), held, steps != nullptr);
      }
      op.dst = static_cast<uint8_t>(kFirstBank + below(kBanks));
      line.steps.push_back(op);
      set_held(held, op.dst, operand_dtype(step, 0));
    }
    const MicroOp last = line.steps.back();
    const Instruction step{.insn = last.insn, .dtype = last.dtype, .aux = last.aux};
    chain_result(line, last.dst, operand_dtype(step, 0));
    if (chance(40)) add_sum(line, held);
    append(std::move(line));
  }

  // Of the rows of what a bank holds.
  void add_sum(Line& line, const Held& held) {
    for (const auto& [place, dtype] : held) {
      if (place >= kFirstOperand || (dtype != DType::f32 && dtype != DType::f64)) continue;
      Ref ref;
      if (!take_slot(int64_t{line.fixed.m} * core::byte_size(dtype), ref)) return;
      values_.push_back({ref.slot, dtype, line.fixed.m});
      MicroOp sum{.insn = Insn::sum, .dtype = dtype, .src = {place}};
      sum.dst = add_operand(line, ref, dtype, true, Reach::per_row);
      line.steps.push_back(sum);
      return;
    }
  }

  // Casts and comparisons more often than others: they are many, by what they are of.
  MicroOp random_step() {
    MicroOp op;
    do {
      op.insn = static_cast<Insn>(below(kInsnCount));
      if (chance(25)) op.insn = chance(60) ? Insn::cast : Insn::cmp;
    } while (info(op.insn).pipe != Pipe::simd || op.insn == Insn::chain ||
             info(info(op.insn).format).extents != ExtentKind::linear);
    const InsnInfo& row = info(op.insn);
    op.dtype = random_dtype(row.dtypes);
    if (row.format == Format::cast) op.aux = static_cast<uint8_t>(random_dtype());
    if (row.format == Format::compare) op.aux = static_cast<uint8_t>(below(kCompareCount));
    return op;
  }

  static void set_held(Held& held, uint8_t place, DType dtype) {
    std::erase_if(held, [&](const auto& entry) { return entry.first == place; });
    held.emplace_back(place, dtype);
  }

  uint8_t add_operand(Line& line, Ref ref, DType dtype, bool written, Reach reach = Reach::each) {
    ref.access = Access::of(dtype, written, reach);
    line.operands.push_back(std::move(ref));
    return static_cast<uint8_t>(kFirstOperand + line.operands.size() - 1);
  }

  // A place with that dtype for `op` to read. As the encoder does it, narrow elements come from
  // memory, into a bank for anything but a cast.
  uint8_t chain_source(Line& line, const MicroOp& op, DType dtype, Held& held, bool encoded) {
    const bool narrow = encoded && core::byte_size(dtype) < 4;
    std::vector<uint8_t> known;
    for (const auto& [place, type] : held) {
      const bool bank = place < kFirstOperand;
      if (type == dtype && (bank || !narrow)) known.push_back(place);
    }
    if (!known.empty() && chance(70)) return known[below(known.size())];
    Ref ref = make_scalar(dtype);
    std::vector<uint32_t> slots;
    for (const Value& value : values_) {
      const bool fits = value.elements == int64_t{line.fixed.m} * line.fixed.size;
      if (value.dtype == dtype && fits) slots.push_back(value.slot);
    }
    if (target_->streams && (chance(30) || (narrow && slots.empty()))) {
      ref = make_stream(line, dtype, false, false);
    } else if (!slots.empty() && (narrow || chance(80))) {
      ref = {};
      ref.slot = slots[below(slots.size())];
    }
    // Any elements that lie there may stand for others.
    const bool some = ref.mode == Mode::slot && chance(30);
    const Reach reach = some ? static_cast<Reach>(1 + below(3)) : Reach::each;
    const uint8_t place = add_operand(line, ref, dtype, false, reach);
    set_held(held, place, dtype);
    if (!narrow || op.insn == Insn::cast) return place;
    MicroOp load{.insn = Insn::copy, .dtype = dtype, .src = {place}};
    do {
      load.dst = static_cast<uint8_t>(kFirstBank + below(kBanks));
    } while (std::ranges::find(op.src, load.dst) != std::end(op.src));
    line.steps.push_back(load);
    set_held(held, load.dst, dtype);
    return load.dst;
  }

  // Copies what a bank holds to memory, sometimes in place, and sometimes reads it back.
  void chain_result(Line& line, uint8_t bank, DType dtype) {
    Ref ref;
    const int64_t elements = int64_t{line.fixed.m} * line.fixed.size;
    const int64_t bytes = elements * core::byte_size(dtype);
    const auto in_place = std::ranges::find_if(line.operands, [&](const Ref& operand) {
      const bool also_some = std::ranges::any_of(line.operands, [&](const Ref& other) {
        return other.slot == operand.slot && Access::reach(other.access) != Reach::each;
      });
      return operand.mode == Mode::slot && operand.access == Access::of(dtype, false) && !also_some;
    });
    if (target_->streams && chance(40)) {
      ref = make_stream(line, dtype, false, true);
    } else if (in_place != line.operands.end() && chance(40)) {
      ref.slot = in_place->slot;
    } else if (take_slot(bytes, ref)) {
      values_.push_back({ref.slot, dtype, elements});
    } else {
      return;
    }
    MicroOp store{.insn = Insn::copy, .dtype = dtype};
    store.src[0] = bank;
    store.dst = add_operand(line, ref, dtype, true);
    line.steps.push_back(store);
    if (!chance(30)) return;
    store.src[0] = store.dst;
    store.dst = bank;
    line.steps.push_back(store);
  }

  // Gives the instruction its destination, and appends it if there is room.
  void finish(Line line, std::vector<Ref> sources) {
    const InsnInfo& row = info(line.fixed.insn);
    const DType dtype = operand_dtype(line.fixed, 0);
    const bool is_short = row.format == Format::reduce;
    const int64_t elements =
        line.view_dims.empty() ? count(line, is_short, 0) : int64_t{line.fixed.size};
    const int64_t bytes = elements * core::byte_size(dtype);
    Ref dst;
    const bool gathers_whole =
        row.format == Format::gather && line.tails.empty() && line.fixed.split == 0;
    const bool elementwise =
        row.pipe == Pipe::simd && info(row.format).extents == ExtentKind::linear;
    const bool in_place = elementwise && sources[0].mode == Mode::slot && chance(20) &&
                          core::byte_size(dtype) == core::byte_size(operand_dtype(line.fixed, 1));
    if (target_->streams && row.pipe == Pipe::simd && chance(25)) {
      dst = make_stream(line, dtype, is_short, true);
    } else if (target_->streams && gathers_whole && chance(40)) {
      Line dense;
      dense.fixed.size = line.fixed.size;
      dst = make_stream(dense, dtype, false, true);
    } else if (in_place) {
      dst.slot = sources[0].slot;
      std::erase_if(values_, [&](const Value& v) { return v.slot == dst.slot; });
      values_.push_back({dst.slot, dtype, elements});
    } else if (take_slot(bytes, dst)) {
      values_.push_back({dst.slot, dtype, elements});
    } else {
      return;
    }
    line.operands = {dst};
    line.operands.insert(line.operands.end(), sources.begin(), sources.end());
    append(std::move(line));
  }

  void append(Line line) {
    line.loops = open_;
    code_.push_back(std::move(line));
  }

  // The loops begun so far.
  size_t next_loop() const {
    size_t count = 0;
    for (const Line& line : code_) count += line.fixed.insn == Insn::loop;
    return count;
  }

  void add_loop() {
    const size_t at = code_.size();
    Line line;
    line.fixed.insn = Insn::loop;
    line.fixed.dtype = DType{};
    line.fixed.aux = static_cast<uint8_t>(next_loop());
    open_.push_back(line.fixed.aux);
    append(line);
    for (size_t count = below(4); count > 0; --count) add_random();
    add_load();
    // Without room for a load the body would be empty.
    if (code_.size() == at + 1) add_store(random_value());
    code_[at].body = code_.size() - at - 1;
    open_.pop_back();
  }

  // With indices that are loaded, whatever they are: a fault is found where they are not there.
  void add_gather() {
    Line line;
    line.fixed.insn = chance(50) ? Insn::gather : Insn::take_along;
    line.fixed.dtype = random_dtype();
    make_view(line);
    line.fixed.m = static_cast<uint32_t>(1 + below(line.view_dims.size()));
    line.fixed.n = static_cast<uint32_t>(one_to(9));
    choose_split(line);
    const int64_t count = line.fixed.insn == Insn::gather ? line.view_dims[line.fixed.m - 1].extent
                                                          : int64_t{line.fixed.size};
    Ref indices;
    if (!load_to(DType::i64, count, indices)) return;
    finish(line, {make_stream(line, line.fixed.dtype, false, false), indices});
  }

  // A dense load, all of it in every tile.
  bool load_to(DType dtype, int64_t elements, Ref& ref) {
    Line load;
    load.fixed = {.insn = Insn::load, .dtype = dtype};
    load.fixed.size = static_cast<uint32_t>(elements);
    if (!take_slot(elements * core::byte_size(dtype), ref)) return false;
    load.operands = {ref, make_stream(load, dtype, false, false)};
    append(load);
    return true;
  }

  // A product of two loaded matrices, on its way to memory.
  void add_matmul() {
    constexpr std::pair<DType, DType> kKinds[] = {
        {DType::f32, DType::f16}, {DType::f32, DType::f32}, {DType::i32, DType::i8},
        {DType::i64, DType::i64}, {DType::f64, DType::f64}, {DType::i32, DType::i32},
        {DType::u64, DType::u64}};
    const auto [dtype, source] = kKinds[below(std::size(kKinds))];
    Line line;
    line.fixed = {.insn = Insn::matmul, .dtype = dtype};
    line.fixed.m = static_cast<uint32_t>(one_to(9));
    line.fixed.size = static_cast<uint32_t>(one_to(9));
    line.fixed.n = static_cast<uint32_t>(one_to(9));
    MatrixAux aux{.loop = {}, .source = source};
    if (!open_.empty() && chance(70)) aux.loop = open_[below(open_.size())];
    line.fixed.aux = aux.code(dtype);
    choose_split(line);
    Ref d, a, b;
    d.space = Space::l0c;
    const int64_t sums = int64_t{line.fixed.m} * line.fixed.n;
    if (!load_matrix(source, int64_t{line.fixed.m} * line.fixed.size, Space::l0a, a) ||
        !load_matrix(source, int64_t{line.fixed.size} * line.fixed.n, Space::l0b, b) ||
        !take_slot(sums * core::byte_size(dtype), d)) {
      return;
    }
    line.operands = {d, a, b};
    append(line);
    if (chance(30)) {
      line.fixed.aux = MatrixAux{.always = true, .source = source}.code(dtype);
      append(line);
    }
    Line drain;
    drain.fixed = {.insn = Insn::drain, .dtype = dtype};
    drain.fixed.size = static_cast<uint32_t>(sums);
    drain.view_dims = {{sums, 16}};
    choose_split(drain);
    drain.operands = {make_stream(drain, dtype, false, true), d};
    append(drain);
  }

  // At once, or by way of L1.
  bool load_matrix(DType dtype, int64_t elements, Space space, Ref& ref) {
    const int64_t bytes = elements * core::byte_size(dtype);
    ref.space = space;
    Ref first = ref;
    if (target_->memory(Space::l1).bytes != 0 && chance(50)) first.space = Space::l1;
    if (!load_to(dtype, elements, first)) return false;
    if (first.space == space) {
      ref = first;
      return true;
    }
    if (!take_slot(bytes, ref)) return false;
    Line feed;
    feed.fixed = {.insn = Insn::feed, .dtype = dtype};
    feed.fixed.size = static_cast<uint32_t>(elements);
    feed.operands = {ref, first};
    append(feed);
    return true;
  }

  Pipe pipe(size_t line) const { return info(code_[line].fixed.insn).pipe; }
  // Whether they are in the same loops, so that they run equally often.
  bool together(size_t a, size_t b) const { return code_[a].loops == code_[b].loops; }

  void add_flags() {
    loop_flags_ = 0;
    for (size_t tries = below(3 * code_.size()); tries > 0; --tries) {
      const size_t later = below(code_.size()), earlier = below(later + 1);
      if (!has_flags(pipe(earlier), pipe(later)) || !together(earlier, later)) continue;
      const auto event = static_cast<uint8_t>(below(kFirstCarried));
      code_[earlier].sets.push_back({1, pipe(earlier), pipe(later), event, 0});
      code_[later].waits.push_back({0, pipe(earlier), pipe(later), event, 0});
    }
    for (const LoopFlagInfo& row : kLoopFlags) {
      if (chance(50)) continue;
      loop_flags_ |= row.flag;
      const size_t waiter = below(code_.size()), setter = below(code_.size());
      if (waiter > setter || pipe(waiter) != row.dst || pipe(setter) != row.src ||
          !together(waiter, setter) || !code_[waiter].loops.empty()) {
        continue;
      }
      code_[waiter].waits.push_back({0, row.src, row.dst, 0, 0});
      code_[setter].sets.push_back({1, row.src, row.dst, 0, 0});
    }
    for (size_t begin = 0; begin < code_.size(); ++begin) {
      if (code_[begin].fixed.insn == Insn::loop) add_loop_flags(begin);
    }
  }

  // Flags around a loop, and those that its steps hand on.
  void add_loop_flags(size_t begin) {
    Line& loop = code_[begin];
    std::vector<size_t> inside, before, behind;
    const std::vector<int> around(loop.loops.begin(), loop.loops.end() - 1);
    for (size_t i = 0; i < code_.size(); ++i) {
      if (code_[i].fixed.insn == Insn::loop) continue;
      if (code_[i].loops == loop.loops) inside.push_back(i);
      if (code_[i].loops == around) (i < begin ? before : behind).push_back(i);
    }
    const auto any = [&](const std::vector<size_t>& of) { return of[below(of.size())]; };
    const auto event = static_cast<uint8_t>(kFirstCarried + loop.loops.size() - 1);
    if (!inside.empty()) {
      const size_t waiter = any(inside), setter = any(inside);
      if (waiter <= setter && has_flags(pipe(setter), pipe(waiter))) {
        loop.carries.push_back({2, pipe(setter), pipe(waiter), event, 0});
        code_[waiter].waits.push_back({0, pipe(setter), pipe(waiter), event, 0});
        code_[setter].sets.push_back({1, pipe(setter), pipe(waiter), event, 0});
      }
    }
    const auto dst = static_cast<Pipe>(below(kPipeCount));
    if (!before.empty()) {
      const size_t setter = any(before);
      if (has_flags(pipe(setter), dst)) {
        code_[setter].sets.push_back({1, pipe(setter), dst, 1, 0});
        loop.waits.push_back({0, pipe(setter), dst, 1, 0});
      }
    }
    if (!behind.empty()) {
      const size_t waiter = any(behind);
      if (has_flags(dst, pipe(waiter))) {
        loop.sets.push_back({1, dst, pipe(waiter), 2, 0});
        code_[waiter].waits.push_back({0, dst, pipe(waiter), 2, 0});
      }
    }
  }

  std::vector<uint64_t> build() {
    std::vector<uint64_t> words(1 << 14);
    ProgramBuilder builder(*target_, words, grid_, loops_);
    for (const Global& global : globals_) builder.add_global(global);
    std::vector<size_t> loop_ends;  // of the open loops, outermost first
    for (size_t i = 0; i < code_.size(); ++i) {
      const Line& line = code_[i];
      for (; !loop_ends.empty() && loop_ends.back() == i; loop_ends.pop_back()) builder.end_loop();
      std::vector<Operand> operands;
      for (const Ref& ref : line.operands) {
        operands.push_back(ref.mode == Mode::slot ? slot_operand(ref.slot, ref.space)
                           : ref.mode == Mode::scalar
                               ? builder.scalar_bits(ref.scalar)
                               : builder.stream(ref.global, ref.offset, ref.strides));
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
      } else {
        builder.append(line.fixed, operands, syncs, line.view_dims, line.tails);
      }
    }
    for (; !loop_ends.empty(); loop_ends.pop_back()) builder.end_loop();
    const auto local = static_cast<uint32_t>(ends_[static_cast<size_t>(Space::ub)]);
    words.resize(builder.finish(local, target_->flags ? loop_flags_ : 0).words().size());
    return words;
  }

  std::mt19937_64 rng_;
  const TargetTraits* target_ = nullptr;
  std::vector<int64_t> grid_;
  std::vector<Global> globals_;
  std::vector<Line> code_;
  std::vector<Value> values_;
  std::vector<int64_t> loops_;  // steps of each
  std::vector<int> open_;       // the loops around what is added, outermost first
  int64_t ends_[kSpaceCount] = {};
  uint8_t loop_flags_ = 0;
  // Events from here on are for what loops carry; three nested ones have one each.
  static constexpr uint8_t kFirstCarried = kEventIds - 3;
};

}  // namespace dvm::vm
