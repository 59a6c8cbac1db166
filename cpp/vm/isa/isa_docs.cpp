// docs/isa.md, rendered from isa.def, formats.def and targets.def.
#include "core/text/text_writer.h"
#include "vm/isa/program.h"
#include "vm/target/target.h"

namespace dvm::vm {

namespace {

constexpr const char* kIntroduction =
    R"(# The instruction set

Rendered from the tables of `cpp/vm/isa` and `cpp/vm/target`; a test keeps it current.

A Program is a list of tile instructions that every core runs once per tile. The idea and the form of
the listing are those of section 4 and Fig. 6 of the
[DVM paper](https://arxiv.org/abs/2603.24239); `cpp/vm/text/listing.h` has the grammar.
Loads and stores move whole tiles between global memory (streams) and local memory (slots). All
other instructions compute on slots, on scalars where the table says so, and on targets that stream
operands also on contiguous global memory.

)";

// A '|' would end the cell of a table.
std::string cell(std::string_view text) {
  std::string out;
  for (const char c : text) out += c == '|' ? std::string("\\|") : std::string(1, c);
  return out;
}

std::string yes_no(bool value) { return value ? "yes" : "no"; }

void instructions(core::TextWriter& out) {
  out << "## Instructions\n\n"
         "Cycles are those of an Ascend 910B3 vector unit for f32: per repeat of 256 bytes, plus\n"
         "the fixed cost of an isolated instruction. A dtype is the destination's, or the "
         "sources'\n"
         "where the result is bool.\n\n"
         "| instruction | pipe | format | scalars |";
  for (const auto& dtype : core::kDTypes) out << " " << dtype.text << " |";
  out << " cycles | meaning |\n|---|---|---|---|";
  for (int d = 0; d < core::kDTypeCount; ++d) out << "---|";
  out << "---|---|\n";
  for (int i = 0; i < kInsnCount; ++i) {
    const InsnInfo& row = info(static_cast<Insn>(i));
    out << "| `" << row.name << "` | " << to_string(row.pipe) << " | " << info(row.format).name
        << " | " << yes_no(row.scalar_operands) << " |";
    for (int d = 0; d < core::kDTypeCount; ++d) {
      out << (contains(row.dtypes, static_cast<DType>(d)) ? " x |" : " |");
    }
    if (row.pipe == Pipe::simd) out << " " << row.slope << " + " << row.head;
    out << " | `" << cell(row.synopsis) << "` |\n";
  }
}

void chains(core::TextWriter& out) {
  out << "\n## Chains\n\n"
         "A `chain` is a run of elementwise instructions whose intermediate values need no "
         "memory:\n"
         "micro-ops over the banks `a`, `x`, `y` and the operands `o0`, `o1`, ... of the chain. "
         "Every\n"
         "linear simd instruction may be a micro-op. A bank holds what was written to it last; an\n"
         "operand marked `out` is written by a copy, and may be read from then on. The elements of "
         "a\n"
         "chain are rows: an operand marked `row` has one element for each row, one marked "
         "`column`\n"
         "one for each column, and one marked `one` a single element for all. The last micro-op "
         "may\n"
         "be a `sum` of a bank, whose operand, marked `total`, gets the sum of each row. A target\n"
         "may run a chain in blocks of any number of elements. What is read for each element may "
         "lie\n"
         "in global memory in rows that are apart: `g0 rows 4096` begins a row every 4096 bytes. "
         "So\n"
         "may the rows of N elements that a sequential reduction adds up.\n";
}

void formats(core::TextWriter& out) {
  constexpr std::string_view kExtents[] = {"`size` elements", "the view dims, outermost first",
                                           "`[m, size, n]`, row-major", "none"};
  out << "\n## Formats\n\n"
         "Operands are listed destination first. In a tail tile (the last along the last grid\n"
         "dimension) the field `tail` replaces the extent that `split` names. At the ends of "
         "other\n"
         "axes, the outer dimensions of the grid and loops, up to "
      << kMaxMoreTails
      << " more tails do so for other\n"
         "extents.\n\n"
         "| format | operands | extents | operands and aux |\n|---|---|---|---|\n";
  constexpr int kFormatCount = 0
#define DVM_FORMAT(name, operands, extents, notation) +1
#include "vm/isa/formats.def"
#undef DVM_FORMAT
      ;
  for (int f = 0; f < kFormatCount; ++f) {
    const FormatInfo& row = info(static_cast<Format>(f));
    const std::string operands = row.operands == 0 ? "any" : std::to_string(row.operands);
    out << "| " << row.name << " | " << operands << " | " << kExtents[static_cast<int>(row.extents)]
        << " | `" << row.notation << "` |\n";
  }
}

std::string names(core::DTypeSet dtypes) {
  std::string text;
  for (int d = 0; d < core::kDTypeCount; ++d) {
    const auto dtype = static_cast<DType>(d);
    if (dtypes.contains(dtype)) text += (text.empty() ? "" : ", ") + std::string(to_string(dtype));
  }
  return text.empty() ? "none" : text;
}

// Which cores have a pipe.
std::string_view cores_of(KernelType kernel) {
  return kernel == KernelType::mix ? "all" : to_string(kernel);
}

void pipes(core::TextWriter& out) {
  out << "\n## Pipes and memories\n\n"
         "An AI Core has pipes that run side by side, each in order. A flag orders an instruction "
         "of\n"
         "one pipe behind one of another.\n\n"
         "| pipe | unit | cores | for |\n|---|---|---|---|\n";
#define DVM_PIPE(name, unit, kernel, synopsis) \
  out << "| " #name " | " #unit " | " << cores_of(KernelType::kernel) << " | " synopsis " |\n";
#include "vm/isa/pipes.def"
  out << "\nFlags exist from";
  const char* separator = " ";
  for (int src = 0; src < kPipeCount; ++src) {
    for (int dst = 0; dst < kPipeCount; ++dst) {
      if (!has_flags(static_cast<Pipe>(src), static_cast<Pipe>(dst))) continue;
      out << separator << to_string(static_cast<Pipe>(src)) << " to "
          << to_string(static_cast<Pipe>(dst));
      separator = ", ";
    }
  }
  out << ".\n\nSlots lie in one of these memories, in UB where a listing names none:\n\n"
         "| memory | read by | written by | for |\n|---|---|---|---|\n";
#define DVM_SPACE(name, read_by, written_by, synopsis) \
  out << "| " #name " | " << cell(#read_by) << " | " << cell(#written_by) << " | " synopsis " |\n";
#include "vm/isa/spaces.def"
#undef DVM_SPACE
  out << "\n| memory besides UB | bytes on AI Cores | align | bytes on the cpu | align |\n"
         "|---|---|---|---|---|\n";
  for (int s = 0; s < kSpaceCount; ++s) {
    if (static_cast<Space>(s) == Space::ub) continue;
    const auto row = static_cast<size_t>(s);
    const Memory &core = memories::sim[row], &cpu = memories::cpu[row];
    out << "| " << to_string(static_cast<Space>(s)) << " | " << core.bytes << " | " << core.align
        << " | " << cpu.bytes << " | " << cpu.align << " |\n";
  }
}

void loops(core::TextWriter& out) {
  out << "\n## Loops\n\n"
         "A `loop` repeats the instructions behind it that its `body` counts, and loops may be "
         "nested.\n"
         "Slots keep what they hold from one step to the next, so that a value can be carried: a\n"
         "`matmul` that `adds` along a loop writes its destination in the first step and adds to "
         "it in\n"
         "the others. Streams move along loops by strides of their own. A loop waits for flags "
         "before its\n"
         "first step, sets flags behind its last, and `carries` others: set before the first step, "
         "waited\n"
         "for and set again by the body, waited for behind the last step.\n";
}

void targets(core::TextWriter& out) {
  out << "\n## Targets\n\n"
         "| target | id | cores | cubes | local bytes | reserved | align | streams | flags | "
         "chains | native halves |\n|---|---|---|---|---|---|---|---|---|---|---|\n";
  for (const TargetTraits& row : all_targets()) {
    out << "| " << row.name << " | " << int{row.id} << " | " << row.cores << " | " << row.cubes
        << " | " << row.local_bytes << " | " << row.reserve_bytes << " | " << row.align << " | "
        << yes_no(row.streams) << " | " << yes_no(row.flags) << " | "
        << yes_no(row.chains != nullptr) << " | " << names(row.native_halves) << " |\n";
  }
  out << "\nWhere pipes need flags, a tile sets and waits for " << kEventIds
      << " events per ordered pair of pipes. Event 0 of these\n"
         "pairs may be carried from one tile to the next, set before the first and waited for "
         "after\n"
         "the last:";
  const char* separator = " ";
  for (const LoopFlagInfo& row : kLoopFlags) {
    out << separator << "`" << to_string(row.src) << "_" << to_string(row.dst) << "`";
    separator = ", ";
  }
  out << ".\n";
}

void limits(core::TextWriter& out) {
  out << "\n## Limits of a Program\n\n"
         "| what | at most |\n|---|---|\n"
         "| tiles | "
      << kMaxTiles << " |\n| elements of a tile | " << kMaxTileElements
      << " |\n| grid dimensions | " << kMaxRank << " |\n| globals | " << kMaxProgramGlobals
      << " |\n| loops | " << kMaxLoops << " |\n| tails of an instruction | " << kMaxMoreTails + 1
      << " |\n| operands of a chain | " << kMaxChainOperands << " |\n| streams | " << kMaxStreams
      << " |\n| scalars | " << kMaxScalars << " |\n";
}

}  // namespace

std::string isa_markdown() {
  core::TextWriter out;
  out << kIntroduction;
  instructions(out);
  formats(out);
  chains(out);
  loops(out);
  pipes(out);
  targets(out);
  limits(out);
  return out.take();
}

}  // namespace dvm::vm
