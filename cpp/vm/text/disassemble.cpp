// Program -> text; the grammar is in vm/text/listing.h.
#include <algorithm>
#include <bit>
#include <cstdio>

#include "vm/isa/reduce_source.h"
#include "vm/target/target.h"
#include "vm/text/listing.h"

namespace dvm::vm {

namespace {

std::string number(int64_t value) { return std::to_string(value); }

std::string hex(uint32_t value) {
  char text[16];
  std::snprintf(text, sizeof(text), "0x%x", value);
  return text;
}

template <typename Range, typename Print>
std::string join(const Range& range, Print print) {
  std::string out;
  for (const auto& item : range) {
    if (!out.empty()) out += ", ";
    out += print(item);
  }
  return out;
}

class Printer {
 public:
  explicit Printer(const Program& program) : program_(program) {}

  std::string run() {
    const Header& h = program_.header();
    out_ = "dvm.program v" + number(kTextVersion) +
           " target=" + std::string(find_target(h.target)->name) + " {\n";
    print_header(h);
    int index = 0;
    for (const Global& g : program_.globals()) {
      out_ += "  g" + number(index++) + ": " + listing_dtype(g.dtype) + " [" + number(g.low) +
              ", " + number(g.high) + (g.written ? ") written\n" : ") read\n");
    }
    out_ += "  vmain." + std::string(to_string(h.kernel_type)) +
            "(body_tile=" + number(h.body_tile) + ", tail_tile_diff=" + number(h.tail_tile_diff) +
            ") {\n";
    index = 0;
    for (auto rest = program_.code(); !rest.empty();) {
      const auto& insn = *reinterpret_cast<const Instruction*>(rest.data());
      while (!open_.empty() && rest.data() == open_.back().end) open_.pop_back();
      out_ += std::string(4 + 2 * open_.size(), ' ') + number(index++) + ": ";
      print_instruction(insn);
      rest = rest.subspan(insn.words);
      if (insn.is_loop()) open_.push_back({insn.aux, rest.data() + insn.body_words()});
    }
    out_ += "  }\n}\n";
    return std::move(out_);
  }

 private:
  void print_header(const Header& h) {
    out_ += "  // target=" + number(static_cast<int>(h.kernel_type)) +
            ", block_dim=" + number(h.block_dim) +
            ", ffts_addr=0, tile_num=" + number(h.tile_count) + ", grid=[" +
            join(program_.grid(), number) + "], ";
    if (h.loops != 0) out_ += "loops=[" + join(program_.loops(), number) + "], ";
    out_ += "local_bytes=" + hex(h.local_bytes) + ", loop_flags=[";
    bool first = true;
    for (const LoopFlagInfo& row : kLoopFlags) {
      if ((h.loop_flags & row.flag) == 0) continue;
      out_ += (first ? "" : ", ") + listing_pipes(row.src, row.dst);
      first = false;
    }
    out_ += "]\n";
  }

  void print_instruction(const Instruction& insn) {
    const InsnInfo& row = info(insn.insn);
    const bool memory = is_transfer(row.format);
    out_ += listing_name(insn.insn) + ".";
    if (has_kernel(insn.insn)) out_ += (memory ? "u8" : listing_dtype(insn.dtype)) + ".";
    const bool may_widen =
        row.format == Format::reduce || row.format == Format::matrix || is_attention(row.format);
    const bool widens = may_widen && operand_dtype(insn, 1) != insn.dtype;
    if (row.format == Format::cast || widens) out_ += listing_dtype(operand_dtype(insn, 1)) + ".";
    if (insn.is_loop()) {
      out_ += number(program_.loops()[insn.aux]);
    } else if (memory) {
      out_ += number(int64_t{insn.size} * core::byte_size(insn.dtype)) + "x1";
    } else if (info(row.format).extents == ExtentKind::triple) {
      out_ += number(insn.m) + "x" + number(insn.size) + "x" + number(insn.n);
    } else {
      if (has_rows(insn)) out_ += number(insn.m) + "x";
      out_ += number(insn.size);
    }
    for (int k = 0; k < insn.operand_count(); ++k) {
      out_ += k == 0 ? " " : ", ";
      if (insn.is_chain()) {
        out_ += std::string(role(insn, k)) + "." + listing_dtype(operand_dtype(insn, k)) + " ";
      }
      print_operand(insn, k);
    }
    attributes_.clear();
    list_attributes(insn);
    for (size_t i = 0; i < attributes_.size(); ++i) {
      out_ += (i == 0 ? " // " : ", ") + attributes_[i];
    }
    out_ += "\n         {" + std::string(to_string(row.pipe));
    for (const Sync& sync : insn.sync_list()) {
      out_ += ", " + listing_pipes(sync.src, sync.dst) + "_sync(" +
              std::string(kSyncKindNames[sync.set]) + ", " + number(sync.event) + ")";
    }
    out_ += "}\n";
    if (!insn.is_loop()) tails_.record(insn);
  }

  static std::string_view role(const Instruction& insn, int k) {
    return std::ranges::find_if(kOperandRoles,
                                [&](const OperandRole& role) {
                                  return role.written == writes(insn, k) &&
                                         role.reach == reach(insn, k);
                                })
        ->name;
  }

  void print_operand(const Instruction& insn, int k) {
    const Operand& op = insn.operands()[k];
    switch (op.mode) {
      case Mode::slot:
        if (op.index != 0) out_ += std::string(to_string(space_of(op))) + ":";
        out_ += hex(op.offset);
        break;
      case Mode::stream:
      case Mode::rows:
      case Mode::columns:
      case Mode::packed:
      case Mode::windows: {
        const Stream& stream = program_.stream(op.index);
        out_ += "g" + number(stream.global);
        if (stream.offset > 0) out_ += "+";
        if (stream.offset != 0) out_ += number(stream.offset);
        if (op.mode == Mode::windows) out_ += " windows";
        if (has_stride(op.mode)) {
          out_ += " " + std::string(to_string(op.mode)) + " " + number(op.offset);
        }
        break;
      }
      case Mode::scalar:
        out_ += listing_scalar(operand_dtype(insn, k),
                               static_cast<uint64_t>(program_.scalars()[op.index].bits()));
        break;
    }
  }

  // In the paper's order.
  void list_attributes(const Instruction& insn) {
    const InsnInfo& row = info(insn.insn);
    if (insn.is_view()) {
      attribute("view", join(insn.view_dims(), [](const ViewDim& dim) {
                  return number(dim.extent) + ":" + number(dim.stride);
                }));
    }
    list_strides(insn);
    if (is_load(row.format)) attribute("pad_size", "0");
    list_tail(insn);
    if (insn.is_chain()) list_steps(insn);
    if (is_store(row.format)) {
      attribute("pad_size", "0");
      std::vector<int> around;
      for (const OpenLoop& open : open_) around.push_back(open.loop);
      const AxisSteps steps = axis_steps(program_.grid(), program_.loops(), around);
      attribute("dbg_size", std::to_string(stored_bytes(insn, steps, insn.dtype)));
    }
    if (row.format == Format::gather) {
      attribute("index", number(int64_t{insn.m} - 1) + ":" + number(insn.n));
    }
    if (insn.is_loop()) attribute("body", number(body_instructions(insn)));
    if (is_attention(row.format)) list_attention(insn);
    if (insn.has_windows()) list_windows(insn.windows());
    if (row.format == Format::matrix || is_attention(row.format)) {
      const MatrixAux aux = MatrixAux::of(insn.dtype, insn.aux);
      if (aux.loop) attribute("adds", number(*aux.loop));
      if (aux.always) attribute("adds", "always");
      if (aux.precision == core::Precision::medium) attribute("rounds", "bf16");
      if (aux.precision == core::Precision::high) attribute("rounds", "bf16x2");
    }
    if (row.format == Format::compare) {
      attribute("cmp_type", std::string(to_string(static_cast<Compare>(insn.aux))));
    } else if (row.format == Format::reduce) {
      attribute("order", std::string(to_string(reduce_order(insn.aux))));
    }
  }

  void list_attention(const Instruction& insn) {
    const AttentionWords& words = insn.attention();
    const auto real = [](double x) {
      return listing_scalar(DType::f64, std::bit_cast<uint64_t>(x));
    };
    attribute("depth", number(words.depth));
    attribute("scale", real(words.scale));
    if (insn.insn == Insn::attend_masked) attribute("fill", real(words.fill));
    if (words.causal != 0) attribute("last", number(words.last));
  }

  void list_windows(const WindowWords& words) {
    attribute("channel_stride", number(words.channel_stride));
    attribute("windows", join(words.axes, [](const WindowAxis& axis) {
                const int64_t numbers[] = {axis.positions, axis.window,   axis.size,  axis.stride,
                                           axis.step,      axis.dilation, axis.before};
                std::string text;
                for (const int64_t n : numbers) text += (text.empty() ? "" : ":") + number(n);
                return text;
              }));
  }

  static int64_t body_instructions(const Instruction& loop) {
    int64_t count = 0;
    const auto* p = reinterpret_cast<const uint64_t*>(&loop) + loop.words;
    for (const uint64_t* end = p + loop.body_words(); p != end; ++count) {
      p += reinterpret_cast<const Instruction*>(p)->words;
    }
    return count;
  }

  void list_steps(const Instruction& insn) {
    std::string text;
    for (const MicroOp& op : insn.micro_ops()) {
      const Format format = info(op.insn).format;
      if (!text.empty()) text += "; ";
      text += listing_place(op.dst) + " = " + listing_name(op.insn) + "." + listing_dtype(op.dtype);
      if (format == Format::cast) text += "." + listing_dtype(static_cast<DType>(op.aux));
      if (format == Format::compare) {
        text += "." + std::string(to_string(static_cast<Compare>(op.aux)));
      }
      for (int k = 0; k < 3 && op.src[k] != 0; ++k) {
        text += (k == 0 ? " " : ", ") + listing_place(op.src[k]);
      }
    }
    attribute("steps", text);
  }

  void list_strides(const Instruction& insn) {
    std::string text;
    bool any = false;
    for (int k = 0; k < insn.operand_count(); ++k) {
      const Operand& op = insn.operands()[k];
      if (!is_stream(op)) continue;
      if (any) text += "; ";
      text += join(program_.strides(program_.stream(op.index)), number);
      any = true;
    }
    if (any) attribute("tile_stride", text);
  }

  void list_tail(const Instruction& insn) {
    const InsnInfo& row = info(insn.insn);
    const bool memory = is_transfer(row.format);
    switch (info(row.format).extents) {
      case ExtentKind::linear: {
        if (has_rows(insn) || insn.tails != 0) {
          list_named_tail(insn);
          break;
        }
        const int64_t unit = memory ? core::byte_size(insn.dtype) : 1;
        const uint32_t silent = memory ? 0 : tails_.of(insn.size);
        if (insn.tail != silent) attribute("iter_tail", number(insn.tail * unit));
        break;
      }
      case ExtentKind::triple:
        list_named_tail(insn);
        break;
      case ExtentKind::view:
        list_named_tail(insn);
        break;
      case ExtentKind::none:
        break;
    }
  }

  void list_named_tail(const Instruction& insn) {
    const bool view = insn.is_view();
    const auto name = [&](int extent) {
      return (view ? number(extent - 1) : std::string(kSplitNames[extent])) + ":";
    };
    std::string text;
    if (insn.split != 0) text = name(insn.split) + number(insn.tail);
    for (const Tail& tail : insn.more_tails()) {
      if (!text.empty()) text += "; ";
      text += name(tail.extent) + number(tail.value) + "@" + listing_axis(tail.axis);
    }
    if (!text.empty()) attribute("iter_tail", text);
  }

  void attribute(const char* name, const std::string& value) {
    attributes_.push_back(std::string(name) + "(" + value + ")");
  }

  const Program& program_;
  std::string out_;
  std::vector<std::string> attributes_;
  InheritedTails tails_;
  struct OpenLoop {
    int loop;
    const uint64_t* end;
  };
  std::vector<OpenLoop> open_;  // around the instruction, outermost first
};

}  // namespace

std::string disassemble(const Program& program) { return Printer(program).run(); }

}  // namespace dvm::vm
