// Random valid Programs, for any target. What they compute makes no sense; every instruction,
// format, operand mode, memory, tail, view, flag, loop and kind of stream occurs, and every global
// spans exactly the bytes that are touched, found by visiting each tile and step.
#pragma once

#include <cmath>
#include <vector>

#include "vm/distinct_targets.h"
#include "vm/program_draft.h"
#include "vm/random_chain.h"
#include "vm/random_flags.h"

namespace dvm::vm {

class ProgramGenerator {
 public:
  explicit ProgramGenerator(uint64_t seed) : draft_(seed) {}

  std::vector<uint64_t> generate() {
    const std::vector<TargetTraits> targets = distinct_targets();
    return generate(*find_target(targets[draft_.below(targets.size())].id));
  }

  std::vector<uint64_t> generate(const TargetTraits& target) {
    draft_.begin(target);
    add_load();
    for (size_t count = draft_.below(14); count > 0; --count) add_random();
    while (draft_.next_loop() < draft_.loops.size()) add_loop();
    if (draft_.chance(80)) add_store(draft_.random_value());
    if (target.flags) RandomFlags(draft_).add();
    return draft_.build();
  }

  uint64_t bits() { return draft_.bits(); }
  size_t below(size_t end) { return draft_.below(end); }
  bool chance(size_t percent) { return draft_.chance(percent); }
  int64_t one_to(int64_t last) { return draft_.one_to(last); }

 private:
  using Line = ProgramDraft::Line;
  using Ref = ProgramDraft::Ref;
  using Value = ProgramDraft::Value;

  void add_load() {
    Line line;
    line.fixed.insn = draft_.chance(30) ? Insn::view_load : Insn::load;
    line.fixed.dtype = draft_.random_dtype();
    line.fixed.size = static_cast<uint32_t>(draft_.one_to(200));
    if (line.fixed.insn == Insn::view_load) draft_.make_view(line);
    draft_.choose_split(line);
    finish(line, {draft_.make_stream(line, line.fixed.dtype, false, false)});
  }

  void add_store(const Value value) {
    Line line;
    line.fixed.insn = draft_.chance(30) ? Insn::view_store : Insn::store;
    line.fixed.dtype = value.dtype;
    line.fixed.size = static_cast<uint32_t>(value.elements);
    if (line.fixed.insn == Insn::view_store) line.view_dims = {{value.elements, 24}};
    draft_.choose_split(line);
    Ref source;
    source.slot = value.slot;
    Ref stream = draft_.make_stream(line, value.dtype, false, true);
    line.operands = {stream, source};
    draft_.append(line);
    // Reading back what this tile stored is the one legal way to read a written global.
    if (draft_.chance(20) && line.view_dims.empty()) {
      line.fixed.insn = Insn::load;
      finish(line, {stream});
    }
  }

  void add_random() {
    if (draft_.chance(20)) return add_load();
    if (draft_.chance(15)) return add_store(draft_.random_value());
    if (draft_.chance(10)) return RandomChain(draft_).add();
    if (draft_.chance(5)) return add_matmul();
    if (draft_.chance(5)) return add_attention();
    if (draft_.chance(8)) return add_gather();
    if (draft_.next_loop() < draft_.loops.size() && draft_.chance(20)) return add_loop();
    Line line;
    do {
      line.fixed.insn = static_cast<Insn>(draft_.below(kInsnCount));
    } while (info(line.fixed.insn).pipe != Pipe::simd || line.fixed.insn == Insn::chain ||
             line.fixed.is_attention());
    const InsnInfo& row = info(line.fixed.insn);
    const Value first = draft_.random_value();
    line.fixed.dtype = row.format == Format::cast ? draft_.random_dtype(row.dtypes) : first.dtype;
    const DType casts[] = {DType::boolean, DType::i64, DType::f64};
    const DType cast = casts[first.dtype == DType::boolean ? 1 : first.elements % 3];
    const bool reduces = row.format == Format::reduce;
    const auto order = static_cast<ReduceOrder>(reduces ? draft_.below(2) : 0);
    const bool reads_cast =
        reduces && draft_.target->streams && reads(line.fixed.insn, cast, order, first.dtype);
    if (reads_cast) line.fixed.dtype = cast;
    if (!contains(row.dtypes, line.fixed.dtype)) return;
    if (row.format == Format::cast) line.fixed.aux = static_cast<uint8_t>(first.dtype);
    if (row.format == Format::compare)
      line.fixed.aux = static_cast<uint8_t>(draft_.below(kCompareCount));
    if (reduces) line.fixed.aux = reduce_aux(order, line.fixed.dtype, first.dtype);
    line.fixed.size = static_cast<uint32_t>(first.elements);
    const bool triple = info(row.format).extents == ExtentKind::triple;
    if (triple) choose_triple(line.fixed, first.elements, row.format == Format::broadcast);
    if (!triple && draft_.chance(30)) {
      line.fixed.m = static_cast<uint32_t>(draft_.divisor(first.elements));
      line.fixed.size /= line.fixed.m;
    }
    draft_.choose_split(line);
    // Rows of dense elements are rows only if something cuts them.
    if (!triple && line.fixed.split == 0 && line.tails.empty()) {
      line.fixed.size *= line.fixed.m;
      line.fixed.m = 1;
    }
    std::vector<Ref> sources;
    for (int k = 1; k < row.operands; ++k) sources.push_back(make_source(line, k, first));
    finish(line, std::move(sources));
  }

  // Factors a value's elements, which are [m, n] of a broadcast and [m, size, n] of a reduction.
  void choose_triple(Instruction& fixed, int64_t elements, bool broadcast) {
    fixed.m = static_cast<uint32_t>(draft_.divisor(elements));
    const int64_t rest = elements / fixed.m;
    const int64_t size = broadcast ? draft_.one_to(4) : draft_.divisor(rest);
    fixed.size = static_cast<uint32_t>(size);
    fixed.n = static_cast<uint32_t>(broadcast ? rest : rest / size);
  }

  Ref make_source(const Line& line, int k, const Value& first) {
    const InsnInfo& row = info(line.fixed.insn);
    const DType dtype = operand_dtype(line.fixed, k);
    Ref ref;
    std::vector<const Value*> fitting;
    for (const Value& value : draft_.values) {
      if (value.dtype == dtype && value.elements == first.elements) fitting.push_back(&value);
    }
    if (draft_.target->streams && draft_.chance(30)) {
      return draft_.make_stream(line, dtype, row.format == Format::broadcast, false);
    }
    if (row.scalar_operands && (fitting.empty() || draft_.chance(20)))
      return draft_.make_scalar(dtype);
    if (!fitting.empty()) ref.slot = fitting[draft_.below(fitting.size())]->slot;
    return ref;
  }

  // Gives the instruction its destination, and appends it if there is room.
  void finish(Line line, std::vector<Ref> sources) {
    const InsnInfo& row = info(line.fixed.insn);
    const DType dtype = operand_dtype(line.fixed, 0);
    const bool is_short = row.format == Format::reduce;
    const int64_t elements =
        line.view_dims.empty() ? ProgramDraft::count(line, is_short, 0) : int64_t{line.fixed.size};
    const int64_t bytes = elements * core::byte_size(dtype);
    Ref dst;
    const bool gathers_whole =
        row.format == Format::gather && line.tails.empty() && line.fixed.split == 0;
    const bool elementwise =
        row.pipe == Pipe::simd && info(row.format).extents == ExtentKind::linear;
    const bool in_place = elementwise && sources[0].mode == Mode::slot && draft_.chance(20) &&
                          core::byte_size(dtype) == core::byte_size(operand_dtype(line.fixed, 1));
    if (draft_.target->streams && row.pipe == Pipe::simd && draft_.chance(25)) {
      dst = draft_.make_stream(line, dtype, is_short, true);
    } else if (draft_.target->streams && gathers_whole && draft_.chance(40)) {
      Line dense;
      dense.fixed.size = line.fixed.size;
      dst = draft_.make_stream(dense, dtype, false, true);
    } else if (in_place) {
      dst.slot = sources[0].slot;
      std::erase_if(draft_.values, [&](const Value& v) { return v.slot == dst.slot; });
      draft_.values.push_back({dst.slot, dtype, elements});
    } else if (draft_.take_slot(bytes, dst)) {
      draft_.values.push_back({dst.slot, dtype, elements});
    } else {
      return;
    }
    line.operands = {dst};
    line.operands.insert(line.operands.end(), sources.begin(), sources.end());
    draft_.append(std::move(line));
  }

  void add_loop() {
    const size_t at = draft_.code.size();
    Line line;
    line.fixed.insn = Insn::loop;
    line.fixed.dtype = DType{};
    line.fixed.aux = static_cast<uint8_t>(draft_.next_loop());
    draft_.open.push_back(line.fixed.aux);
    draft_.append(line);
    for (size_t count = draft_.below(4); count > 0; --count) add_random();
    add_load();
    // Without room for a load the body would be empty.
    if (draft_.code.size() == at + 1) add_store(draft_.random_value());
    draft_.code[at].body = draft_.code.size() - at - 1;
    draft_.open.pop_back();
  }

  // With indices that are loaded, whatever they are: a fault is found where they are not there.
  void add_gather() {
    Line line;
    line.fixed.insn = draft_.chance(50) ? Insn::gather : Insn::take_along;
    line.fixed.dtype = draft_.random_dtype();
    draft_.make_view(line);
    line.fixed.m = static_cast<uint32_t>(1 + draft_.below(line.view_dims.size()));
    line.fixed.n = static_cast<uint32_t>(draft_.one_to(9));
    draft_.choose_split(line);
    const int64_t count = line.fixed.insn == Insn::gather ? line.view_dims[line.fixed.m - 1].extent
                                                          : int64_t{line.fixed.size};
    Ref indices;
    if (!load_to(DType::i64, count, indices)) return;
    finish(line, {draft_.make_stream(line, line.fixed.dtype, false, false), indices});
  }

  // A dense load, all of it in every tile.
  bool load_to(DType dtype, int64_t elements, Ref& ref) {
    Line load;
    load.fixed = {.insn = Insn::load, .dtype = dtype};
    load.fixed.size = static_cast<uint32_t>(elements);
    if (!draft_.take_slot(elements * core::byte_size(dtype), ref)) return false;
    load.operands = {ref, draft_.make_stream(load, dtype, false, false)};
    draft_.append(load);
    return true;
  }

  // A product of two loaded matrices, on its way to memory.
  void add_matmul() {
    constexpr std::pair<DType, DType> kKinds[] = {
        {DType::f32, DType::f16}, {DType::f32, DType::f32}, {DType::i32, DType::i8},
        {DType::i64, DType::i64}, {DType::f64, DType::f64}, {DType::i32, DType::i32},
        {DType::u64, DType::u64}};
    const auto [dtype, source] = kKinds[draft_.below(std::size(kKinds))];
    Line line;
    line.fixed = {.insn = Insn::matmul, .dtype = dtype};
    line.fixed.m = static_cast<uint32_t>(draft_.one_to(9));
    line.fixed.size = static_cast<uint32_t>(draft_.one_to(9));
    line.fixed.n = static_cast<uint32_t>(draft_.one_to(9));
    const bool has_windows = draft_.target->streams && draft_.chance(60);
    if (has_windows) choose_windows(line, core::byte_size(source));
    MatrixAux aux{.loop = {}, .source = source};
    if (!draft_.open.empty() && draft_.chance(70))
      aux.loop = draft_.open[draft_.below(draft_.open.size())];
    // Of so few rows targets do not make use of it.
    if (dtype == DType::f32 && source == DType::f32 && line.fixed.m <= 8 && draft_.chance(30)) {
      aux.precision = draft_.chance(50) ? core::Precision::medium : core::Precision::high;
    }
    line.fixed.aux = aux.code(dtype);
    draft_.choose_split(line);
    Ref d, a, b;
    d.space = Space::l0c;
    const int64_t sums = int64_t{line.fixed.m} * line.fixed.n;
    if (!load_matrix(source, int64_t{line.fixed.m} * line.fixed.size, Space::l0a, a) ||
        (!has_windows &&
         !load_matrix(source, int64_t{line.fixed.size} * line.fixed.n, Space::l0b, b)) ||
        !draft_.take_slot(sums * core::byte_size(dtype), d)) {
      return;
    }
    if (has_windows) b = draft_.make_stream(line, source, false, false, Mode::windows);
    line.operands = {d, a, b};
    draft_.append(line);
    if (draft_.chance(30)) {
      line.fixed.aux = MatrixAux{.always = true, .source = source}.code(dtype);
      draft_.append(line);
    }
    Line drain;
    drain.fixed = {.insn = Insn::drain, .dtype = dtype};
    drain.fixed.size = static_cast<uint32_t>(sums);
    drain.view_dims = {{sums, 16}};
    draft_.choose_split(drain);
    drain.operands = {draft_.make_stream(drain, dtype, false, true), d};
    draft_.append(drain);
  }

  // Of a few channels, along some of the axes; positions may be more than there are columns.
  void choose_windows(Line& line, int64_t element) {
    int64_t elements = 1;
    const auto stride = [&] { return static_cast<int64_t>(draft_.below(40)) * element; };
    for (WindowAxis& axis : line.windows.axes) {
      if (draft_.chance(30)) continue;
      axis = {.positions = draft_.one_to(5),
              .window = draft_.one_to(3),
              .size = draft_.one_to(9),
              .stride = stride(),
              .step = draft_.one_to(3),
              .dilation = draft_.one_to(3),
              .before = static_cast<int64_t>(draft_.below(4))};
      elements *= axis.window;
    }
    line.windows.channel_stride = stride();
    line.fixed.size = static_cast<uint32_t>(elements * draft_.one_to(3));
  }

  // Of loaded q, k, v and masks.
  void add_attention() {
    constexpr std::pair<DType, DType> kKinds[] = {{DType::f32, DType::f16},
                                                  {DType::f32, DType::bf16},
                                                  {DType::f32, DType::f32},
                                                  {DType::f64, DType::f64}};
    constexpr Insn kInsns[] = {Insn::attend, Insn::attend_masked, Insn::attend_biased};
    const auto [dtype, source] = kKinds[draft_.below(std::size(kKinds))];
    Line line;
    line.fixed = {.insn = kInsns[draft_.below(std::size(kInsns))], .dtype = dtype};
    line.fixed.m = static_cast<uint32_t>(draft_.one_to(9));
    line.fixed.size = static_cast<uint32_t>(draft_.one_to(9));
    line.fixed.n = static_cast<uint32_t>(draft_.one_to(9));
    line.attention.depth = static_cast<uint32_t>(draft_.one_to(9));
    line.attention.scale = draft_.chance(50) ? 1 : -0.25;
    if (line.fixed.insn == Insn::attend_masked)
      line.attention.fill = draft_.chance(50) ? -1e9 : -HUGE_VAL;
    line.attention.causal = !draft_.grid.empty() && draft_.chance(40) ? 1 : 0;
    if (line.attention.causal != 0) line.attention.last = draft_.one_to(9) - 4;
    MatrixAux aux{.loop = {}, .source = source};
    if (!draft_.open.empty() && draft_.chance(70))
      aux.loop = draft_.open[draft_.below(draft_.open.size())];
    line.fixed.aux = aux.code(dtype);
    draft_.choose_split(line);
    const Extents e{line.fixed.m, line.fixed.size, line.fixed.n};
    Ref d;
    const int64_t sums = e.m * e.n + (aux.loop ? 2 * e.m : 0);
    if (!draft_.take_slot(sums * core::byte_size(dtype), d)) return;
    line.operands = {d};
    for (int k = 1; k < info(line.fixed.insn).operands; ++k) {
      const MatrixSize size = attention_size(k, e, line.attention.depth);
      Ref loaded;
      if (!load_to(operand_dtype(line.fixed, k), size.rows * size.columns, loaded)) return;
      line.operands.push_back(loaded);
    }
    draft_.append(line);
    draft_.values.push_back({d.slot, dtype, e.m * e.n});
  }

  // At once, or by way of L1.
  bool load_matrix(DType dtype, int64_t elements, Space space, Ref& ref) {
    const int64_t bytes = elements * core::byte_size(dtype);
    ref.space = space;
    Ref first = ref;
    if (draft_.target->memory(Space::l1).bytes != 0 && draft_.chance(50)) first.space = Space::l1;
    if (!load_to(dtype, elements, first)) return false;
    if (first.space == space) {
      ref = first;
      return true;
    }
    if (!draft_.take_slot(bytes, ref)) return false;
    Line feed;
    feed.fixed = {.insn = Insn::feed, .dtype = dtype};
    feed.fixed.size = static_cast<uint32_t>(elements);
    feed.operands = {ref, first};
    draft_.append(feed);
    return true;
  }

  ProgramDraft draft_;
};

}  // namespace dvm::vm
