#include "vm/text/assemble_instruction.h"

#include <algorithm>
#include <array>
#include <bit>
#include <string>
#include <utility>

#include "core/text/unknown.h"
#include "vm/isa/reduce_source.h"

namespace dvm::vm {

// An instruction as written. Operands enter the builder's tables only at the end, once what stands
// behind them (strides, the dtype of literals) is known.
struct InstructionParser::Parsed {
  struct Operand {
    Mode mode = Mode::slot;
    Space space = Space::ub;
    uint8_t access = 0;
    int64_t global = 0, offset = 0;
    uint64_t bits = 0;
    uint32_t stride = 0;  // of rows and their like
  };

  Instruction fixed;
  std::vector<Operand> operands;
  std::vector<int64_t> strides;  // of one stream after the other
  std::vector<ViewDim> view_dims;
  std::vector<MicroOp> steps;
  AttentionWords attention;
  WindowWords windows;
  std::vector<Tail> tails;
  std::vector<Sync> syncs;
  std::vector<std::string_view> attributes;  // names given so far
  int64_t size = 0, tail = 0;                // in units of the mnemonic's dtype
  int64_t dbg_size = 0, body = 0;
  bool names_tails = false;

  const InsnInfo& row() const { return info(fixed.insn); }
  bool memory() const { return is_transfer(row().format); }
  bool multiplies() const { return row().format == Format::matrix || is_attention(row().format); }
  ExtentKind extents() const { return info(row().format).extents; }
  bool has_windows() const {
    return row().format == Format::matrix && operands.size() == 3 &&
           operands[2].mode == Mode::windows;
  }
  bool has(std::string_view attribute) const {
    return std::ranges::find(attributes, attribute) != attributes.end();
  }
};

void InstructionParser::parse() {
  Parsed insn;
  parse_mnemonic(insn);
  if (insn.fixed.is_chain()) {
    do {
      parse_operand(insn);
    } while (in_.take(","));
  } else {
    for (int k = 0; k < insn.row().operands; ++k) {
      if (k != 0) in_.expect(",");
      parse_operand(insn);
    }
  }
  if (in_.take("//")) {
    do {
      parse_attribute(insn);
    } while (in_.take(","));
  }
  parse_syncs(insn);
  settle_sizes(insn);
  if (insn.fixed.is_loop()) {
    enter_loop(insn);
    return;
  }
  enter(insn);
  close_loops();
}

void InstructionParser::enter_loop(const Parsed& insn) {
  for (OpenLoop& open : open_) --open.left;
  builder_.begin_loop(insn.syncs);
  open_.push_back({next_loop_++, insn.body});
}

// Behind an instruction that is no loop.
void InstructionParser::close_loops() {
  for (OpenLoop& open : open_) --open.left;
  for (; !open_.empty() && open_.back().left == 0; open_.pop_back()) builder_.end_loop();
  for (const OpenLoop& open : open_) {
    if (open.left == 0) in_.error("loop " + std::to_string(open.loop) + " ends within another");
  }
}

void InstructionParser::finish() {
  if (!open_.empty()) {
    in_.error("the body of loop " + std::to_string(open_.back().loop) + " lacks " +
              std::to_string(open_.back().left) + " instructions");
  }
  if (next_loop_ < static_cast<int>(loops_.size())) {
    in_.error("loops lists " + std::to_string(loops_.size()) + " loops, there are " +
              std::to_string(next_loop_));
  }
}

Insn InstructionParser::parse_name() {
  const std::string_view name = in_.word("an instruction");
  const auto known = insn_from_listing_name(name);
  if (!known) {
    std::vector<std::string> names;
    for (int i = 0; i < kInsnCount; ++i) names.push_back(listing_name(static_cast<Insn>(i)));
    in_.error(core::unknown("instruction", name, names));
  }
  return *known;
}

void InstructionParser::parse_mnemonic(Parsed& insn) {
  insn.fixed.insn = parse_name();
  in_.expect(".");
  if (insn.fixed.is_chain()) {
    insn.fixed.dtype = DType{};
    insn.size = in_.integer(1, UINT32_MAX);
    if (in_.take("x")) {
      insn.fixed.m = static_cast<uint32_t>(insn.size);
      insn.size = in_.integer(1, UINT32_MAX);
      const int64_t extents[] = {insn.fixed.m, insn.size};
      check_elements(extents);
    }
    return;
  }
  if (insn.fixed.is_loop()) {
    insn.fixed.dtype = DType{};
    insn.size = in_.integer(1, kMaxTiles);
    const auto loop = static_cast<size_t>(next_loop_);
    if (loop >= loops_.size() || loops_[loop] != insn.size) {
      in_.error("loops does not list loop " + std::to_string(loop) + " of " +
                std::to_string(insn.size) + " steps");
    }
    return;
  }
  if (insn.memory()) {
    in_.expect_word("u8");
  } else {
    insn.fixed.dtype = parse_listing_dtype(in_);
  }
  in_.expect(".");
  if (insn.row().format == Format::cast) {
    insn.fixed.aux = static_cast<uint8_t>(parse_listing_dtype(in_));
    in_.expect(".");
  } else if (insn.row().format == Format::reduce && in_.next_is_word()) {
    insn.fixed.aux = reduce_aux(ReduceOrder{}, insn.fixed.dtype, parse_listing_dtype(in_));
    in_.expect(".");
  } else if (insn.multiplies()) {
    MatrixAux aux{.loop = {}, .source = insn.fixed.dtype};
    if (in_.next_is_word()) {
      aux.source = parse_listing_dtype(in_);
      in_.expect(".");
    }
    insn.fixed.aux = aux.code(insn.fixed.dtype);
  }
  insn.size = in_.integer(1, UINT32_MAX);
  if (insn.extents() == ExtentKind::triple) {
    insn.fixed.m = static_cast<uint32_t>(insn.size);
    in_.expect("x");
    insn.size = in_.integer(1, UINT32_MAX);
    in_.expect("x");
    insn.fixed.n = static_cast<uint32_t>(in_.integer(1, UINT32_MAX));
    const int64_t m = insn.fixed.m, n = insn.fixed.n;
    if (insn.row().format == Format::matrix) {
      for (int operand = 0; operand < 3; ++operand) {
        const MatrixSize size = matrix_size(operand, {m, insn.size, n});
        check_elements(std::array{size.rows, size.columns});
      }
    } else if (is_attention(insn.row().format)) {
      for (int operand = 0; operand <= kAttentionMask; ++operand) {
        const MatrixSize size = attention_size(operand, {m, insn.size, n}, 1);
        check_elements(std::array{size.rows, size.columns});
      }
    } else {
      check_elements(std::array{m, insn.size, n});
    }
  } else if (insn.memory()) {
    in_.expect("x");
    in_.integer(1, 1);
  } else if (insn.extents() == ExtentKind::linear && in_.take("x")) {
    insn.fixed.m = static_cast<uint32_t>(insn.size);
    insn.size = in_.integer(1, UINT32_MAX);
    const int64_t extents[] = {insn.fixed.m, insn.size};
    check_elements(extents);
  }
}

// Products of extents are formed before verify() has seen them: keep them within 64 bits.
void InstructionParser::check_elements(std::span<const int64_t> extents) const {
  int64_t elements = 1;
  for (int64_t extent : extents) {
    if (extent > kMaxTileElements || (elements *= extent) > kMaxTileElements) {
      in_.error("more than " + std::to_string(kMaxTileElements) + " elements");
    }
  }
}

void InstructionParser::parse_operand(Parsed& insn) {
  Parsed::Operand op;
  DType dtype{};
  if (insn.fixed.is_chain()) {
    const std::string_view name = in_.word("the role of an operand");
    const auto* const role = std::ranges::find(kOperandRoles, name, &OperandRole::name);
    if (role == std::end(kOperandRoles)) {
      in_.error("'" + std::string(name) + "' is no role of an operand");
    }
    in_.expect(".");
    dtype = parse_listing_dtype(in_);
    op.access = Access::of(dtype, role->written, role->reach);
  } else {
    dtype = operand_dtype(insn.fixed, static_cast<int>(insn.operands.size()));
  }
  for (int space = 0; space < kSpaceCount; ++space) {
    if (in_.take(std::string(to_string(static_cast<Space>(space))) + ":")) {
      op.space = static_cast<Space>(space);
      if (!in_.next_is("0x")) in_.unexpected("an offset in that memory");
    }
  }
  if (in_.next_is("0x")) {
    op.offset = in_.integer(0, UINT32_MAX);
  } else if (in_.take("g")) {
    op.mode = Mode::stream;
    op.global = in_.integer(0, UINT16_MAX);
    if (static_cast<size_t>(op.global) >= globals_.size()) {
      in_.error("there is no global g" + std::to_string(op.global));
    }
    if (in_.take("+") || in_.next_is("-")) op.offset = in_.integer(INT64_MIN, INT64_MAX);
    if (in_.take_word(to_string(Mode::windows))) op.mode = Mode::windows;
    for (int mode = 0; mode < kModeCount; ++mode) {
      if (!has_stride(static_cast<Mode>(mode))) continue;
      if (!in_.take_word(to_string(static_cast<Mode>(mode)))) continue;
      op.mode = static_cast<Mode>(mode);
      op.stride = static_cast<uint32_t>(in_.integer(1, UINT32_MAX));
    }
  } else {
    op.mode = Mode::scalar;
    op.bits = parse_listing_scalar(in_, dtype);
  }
  insn.operands.push_back(op);
}

template <typename Enum>
uint8_t InstructionParser::parse_choice(int count, const char* what) {
  const std::string_view text = in_.word(what);
  for (int i = 0; i < count; ++i) {
    if (to_string(static_cast<Enum>(i)) == text) return static_cast<uint8_t>(i);
  }
  in_.error("'" + std::string(text) + "' is not " + what);
}

void InstructionParser::parse_attribute(Parsed& insn) {
  const std::string_view name = in_.word("an attribute");
  if (insn.has(name)) in_.error(std::string(name) + " is given twice");
  insn.attributes.push_back(name);
  in_.expect("(");
  const Format format = insn.row().format;
  if (name == "tile_stride") {
    parse_strides(insn);
  } else if (name == "iter_tail") {
    parse_tails(insn);
  } else if (name == "view" && insn.extents() == ExtentKind::view) {
    parse_view(insn);
  } else if (name == "steps" && insn.fixed.is_chain()) {
    parse_steps(insn);
  } else if (name == "pad_size" && insn.memory()) {
    in_.integer(0, 0);
  } else if (name == "dbg_size" && is_store(format)) {
    insn.dbg_size = in_.integer(0, INT64_MAX);
  } else if (name == "index" && format == Format::gather) {
    insn.fixed.m = static_cast<uint32_t>(1 + in_.integer(0, kMaxRank - 1));
    in_.expect(":");
    insn.fixed.n = static_cast<uint32_t>(in_.integer(1, UINT32_MAX));
  } else if (name == "body" && insn.fixed.is_loop()) {
    insn.body = in_.integer(1, INT64_MAX);
  } else if (name == "depth" && is_attention(format)) {
    insn.attention.depth = static_cast<uint32_t>(in_.integer(1, kMaxTileElements));
  } else if (name == "scale" && is_attention(format)) {
    insn.attention.scale = std::bit_cast<double>(parse_listing_scalar(in_, DType::f64));
  } else if (name == "fill" && format == Format::masked_attention) {
    insn.attention.fill = std::bit_cast<double>(parse_listing_scalar(in_, DType::f64));
  } else if (name == "last" && is_attention(format)) {
    insn.attention.causal = 1;
    insn.attention.last = in_.integer(-kMaxViewBytes, kMaxViewBytes);
  } else if (name == "channel_stride" && insn.has_windows()) {
    insn.windows.channel_stride = in_.integer(-kMaxViewBytes, kMaxViewBytes);
  } else if (name == "windows" && insn.has_windows()) {
    parse_windows(insn.windows);
  } else if (name == "adds" && insn.multiplies()) {
    MatrixAux aux = MatrixAux::of(insn.fixed.dtype, insn.fixed.aux);
    aux.always = in_.next_is_word();
    if (aux.always) {
      in_.expect_word("always");
    } else {
      aux.loop = static_cast<int>(in_.integer(0, kMaxLoops - 1));
    }
    insn.fixed.aux = aux.code(insn.fixed.dtype);
  } else if (name == "rounds" && format == Format::matrix) {
    MatrixAux aux = MatrixAux::of(insn.fixed.dtype, insn.fixed.aux);
    const std::string_view to = in_.word("what factors are rounded to");
    if (to != "bf16" && to != "bf16x2") in_.error("factors are rounded to bf16 or bf16x2");
    aux.precision = to == "bf16" ? core::Precision::medium : core::Precision::high;
    insn.fixed.aux = aux.code(insn.fixed.dtype);
  } else if (name == "cmp_type" && format == Format::compare) {
    insn.fixed.aux = parse_choice<Compare>(kCompareCount, "an ordering");
  } else if (name == "order" && format == Format::reduce) {
    insn.fixed.aux |= parse_choice<ReduceOrder>(2, "an order of summation");
  } else {
    in_.error("attribute '" + std::string(name) + "' means nothing here");
  }
  in_.expect(")");
}

void InstructionParser::parse_strides(Parsed& insn) {
  bool first = true;
  for (const Parsed::Operand& op : insn.operands) {
    if (op.mode == Mode::slot || op.mode == Mode::scalar) continue;
    if (!std::exchange(first, false)) in_.expect(";");
    for (size_t d = 0; d < grid_.size() + loops_.size(); ++d) {
      if (d != 0) in_.expect(",");
      insn.strides.push_back(in_.integer(INT64_MIN, INT64_MAX));
    }
  }
}

int InstructionParser::parse_axis() {
  if (!in_.next_is_word()) return static_cast<int>(in_.integer(1, kFirstLoopAxis - 1));
  const std::string_view name = in_.word("an axis");
  for (int axis = kFirstLoopAxis; axis < kAxisCount; ++axis) {
    if (listing_axis(axis) == name) return axis;
  }
  in_.error("'" + std::string(name) + "' is no axis");
}

void InstructionParser::parse_tails(Parsed& insn) {
  const bool view = insn.extents() == ExtentKind::view;
  if (!view && !in_.next_is_word()) {
    insn.tail = in_.integer(0, UINT32_MAX);
    if (insn.extents() == ExtentKind::triple || has_rows(insn.fixed)) {
      in_.error("a tail without the extent that it is of");
    }
    return;
  }
  insn.names_tails = true;
  do {
    Tail tail;
    if (view) {
      tail.extent = static_cast<uint8_t>(1 + in_.integer(0, kMaxRank - 1));
    } else {
      const std::string_view name = in_.word("an extent");
      const auto split = std::ranges::find(kSplitNames, name);
      if (split == std::end(kSplitNames)) in_.error("'" + std::string(name) + "' is no extent");
      tail.extent = static_cast<uint8_t>(split - std::begin(kSplitNames));
    }
    in_.expect(":");
    tail.value = static_cast<uint32_t>(in_.integer(0, UINT32_MAX));
    if (in_.take("@")) {
      tail.axis = static_cast<uint8_t>(parse_axis());
      insn.tails.push_back(tail);
    } else {
      insn.fixed.split = tail.extent;
      insn.tail = tail.value;
    }
  } while (in_.take(";"));
}

void InstructionParser::parse_view(Parsed& insn) {
  std::vector<int64_t> extents;
  do {
    if (insn.view_dims.size() == kMaxRank) in_.error("more than 8 view dims");
    ViewDim dim;
    dim.extent = in_.integer(1, kMaxTileElements);
    in_.expect(":");
    dim.stride = in_.integer(INT64_MIN, INT64_MAX);
    insn.view_dims.push_back(dim);
    extents.push_back(dim.extent);
  } while (in_.take(","));
  check_elements(extents);
}

void InstructionParser::parse_windows(WindowWords& words) {
  for (int d = 0; d < WindowWords::kAxes; ++d) {
    if (d != 0) in_.expect(",");
    WindowAxis& axis = words.axes[d];
    int64_t* const numbers[] = {&axis.positions, &axis.window,   &axis.size,  &axis.stride,
                                &axis.step,      &axis.dilation, &axis.before};
    for (int64_t* const to : numbers) {
      if (to != numbers[0]) in_.expect(":");
      *to = in_.integer(-kMaxViewBytes, kMaxViewBytes);
    }
  }
}

uint8_t InstructionParser::parse_place() {
  const std::string_view text = in_.word("a place");
  const auto place = place_from_listing(text);
  if (!place) in_.error("'" + std::string(text) + "' is no place of a chain");
  return *place;
}

void InstructionParser::parse_steps(Parsed& insn) {
  do {
    MicroOp op;
    op.dst = parse_place();
    in_.expect("=");
    op.insn = parse_name();
    in_.expect(".");
    op.dtype = parse_listing_dtype(in_);
    const InsnInfo& row = info(op.insn);
    if (row.format == Format::cast || row.format == Format::compare) in_.expect(".");
    if (row.format == Format::cast) op.aux = static_cast<uint8_t>(parse_listing_dtype(in_));
    if (row.format == Format::compare) {
      op.aux = parse_choice<Compare>(kCompareCount, "an ordering");
    }
    for (int k = 0; k < 3 && k + 1 < row.operands; ++k) {
      if (k != 0) in_.expect(",");
      op.src[k] = parse_place();
    }
    insn.steps.push_back(op);
  } while (in_.take(";"));
}

void InstructionParser::parse_syncs(Parsed& insn) {
  in_.expect("{");
  in_.expect_word(to_string(insn.row().pipe));
  while (in_.take(",")) {
    const std::string_view name = in_.word("a flag");
    auto sync = sync_from_listing_name(name);
    if (!sync) in_.error("unknown flag '" + std::string(name) + "'");
    in_.expect("(");
    const std::string_view kind = in_.word("wait, set or carry");
    const auto known = std::ranges::find(kSyncKindNames, kind);
    if (known == std::end(kSyncKindNames)) in_.error("a flag cannot " + std::string(kind));
    sync->set = static_cast<uint8_t>(known - std::begin(kSyncKindNames));
    in_.expect(",");
    sync->event = static_cast<uint8_t>(in_.integer(0, kEventIds - 1));
    in_.expect(")");
    insn.syncs.push_back(*sync);
  }
  in_.expect("}");
}

int64_t InstructionParser::elements(int64_t bytes, DType dtype) const {
  if (bytes % core::byte_size(dtype) != 0) {
    in_.error(std::to_string(bytes) + " bytes are no whole number of " + listing_dtype(dtype));
  }
  return bytes / core::byte_size(dtype);
}

// Turns sizes into elements, and settles what the listing leaves unsaid.
void InstructionParser::settle_sizes(Parsed& insn) {
  for (auto [needed, attribute] :
       {std::pair(insn.extents() == ExtentKind::view, "view"),
        std::pair(insn.row().format == Format::compare, "cmp_type"),
        std::pair(insn.row().format == Format::reduce, "order"),
        std::pair(insn.fixed.is_loop(), "body"),
        std::pair(insn.row().format == Format::gather, "index"),
        std::pair(insn.fixed.is_chain(), "steps"), std::pair(insn.has_windows(), "channel_stride"),
        std::pair(insn.has_windows(), "windows"),
        std::pair(is_attention(insn.row().format), "depth"),
        std::pair(is_attention(insn.row().format), "scale"),
        std::pair(insn.fixed.insn == Insn::attend_masked, "fill")}) {
    if (needed && !insn.has(attribute)) in_.error(std::string(attribute) + " is missing");
  }
  if (insn.memory()) {
    const auto& stream = insn.operands[is_load(insn.row().format) ? 1 : 0];
    if (stream.mode != Mode::stream) in_.error("the operand in global memory is no global");
    insn.fixed.dtype = globals_[static_cast<size_t>(stream.global)];
    insn.size = elements(insn.size, insn.fixed.dtype);
  }
  insn.fixed.size = static_cast<uint32_t>(insn.size);
  if (insn.extents() == ExtentKind::linear && !has_rows(insn.fixed) && !insn.names_tails) {
    if (insn.memory()) {
      insn.tail = elements(insn.tail, insn.fixed.dtype);
    } else if (!insn.has("iter_tail")) {
      insn.tail = tails_.of(insn.fixed.size);
    }
    insn.fixed.split = static_cast<uint8_t>(insn.tail == 0 ? Split::none : Split::size);
  }
  insn.fixed.tail = static_cast<uint32_t>(insn.tail);
}

void InstructionParser::enter(const Parsed& insn) {
  std::vector<Operand> operands;
  std::span<const int64_t> strides = insn.strides;
  const size_t axes = grid_.size() + loops_.size();
  for (const Parsed::Operand& op : insn.operands) {
    if (op.mode == Mode::slot) {
      operands.push_back(slot_operand(static_cast<uint32_t>(op.offset), op.space));
    } else if (op.mode == Mode::scalar) {
      operands.push_back(builder_.scalar_bits(op.bits));
    } else {
      if (!insn.has("tile_stride")) in_.error("tile_stride is missing");
      operands.push_back(
          builder_.stream(static_cast<int>(op.global), op.offset, strides.first(axes)));
      operands.back().mode = op.mode;
      operands.back().offset = op.stride;
      strides = strides.subspan(axes);
    }
    operands.back().access = op.access;
  }
  const auto append = [&]() -> const Instruction& {
    if (insn.fixed.is_chain())
      return builder_.append_chain(insn.fixed, operands, insn.steps, insn.syncs, insn.tails);
    if (insn.fixed.is_attention())
      return builder_.append_attention(insn.fixed, operands, insn.attention, insn.syncs,
                                       insn.tails);
    if (insn.has_windows())
      return builder_.append_product(insn.fixed, operands, insn.windows, insn.syncs, insn.tails);
    return builder_.append(insn.fixed, operands, insn.syncs, insn.view_dims, insn.tails);
  };
  const Instruction& done = append();
  tails_.record(done);
  if (!insn.has("dbg_size")) return;
  std::vector<int> around;
  for (const OpenLoop& open : open_) around.push_back(open.loop);
  const uint64_t stored = stored_bytes(done, axis_steps(grid_, loops_, around), done.dtype);
  if (static_cast<uint64_t>(insn.dbg_size) != stored) {
    in_.error("dbg_size is " + std::to_string(insn.dbg_size) + ", but all tiles store " +
              std::to_string(stored) + " bytes");
  }
}

}  // namespace dvm::vm
