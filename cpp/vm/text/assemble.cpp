// Text -> Program; the grammar is in vm/text/listing.h. The parser checks what has no words to be
// wrong in; the rules of the ISA are left to verify(), whose message gets its line here.
#include <algorithm>

#include "core/text/text_lexer.h"
#include "core/text/unknown.h"
#include "vm/text/assemble_instruction.h"
#include "vm/text/listing.h"
#include "vm/verify/tile.h"

namespace dvm::vm {

namespace {

using core::ErrorCode;

constexpr size_t kMaxText = size_t{1} << 24;
// Every word of a Program has at least one character of text, but for the header.
constexpr size_t kHeaderSlack = 64;

class Assembler {
 public:
  explicit Assembler(std::string_view text)
      : in_("Program", text), words_(text.size() + kHeaderSlack) {}

  std::vector<uint64_t> run() {
    const TargetTraits& target = parse_first_line();
    size_t size = 0;
    try {
      size = parse_body(target);
    } catch (const core::Error& error) {
      // A limit of the encoding that the builder met: here it is the text that is at fault.
      if (error.code() != ErrorCode::unsupported) throw;
      in_.error(error.message());
    }
    words_.resize(size);
    int at = -1;
    try {
      verify(words_, at);
    } catch (const core::Error& error) {
      const int line = at < 0 ? 1 : lines_[static_cast<size_t>(at)];
      core::fail(error.code(), "Program, line " + std::to_string(line) + ": " + error.message());
    }
    return std::move(words_);
  }

 private:
  const TargetTraits& parse_first_line() {
    in_.expect_word("dvm");
    in_.expect(".");
    in_.expect_word("program");
    const std::string_view version = in_.word("a version");
    if (version != "v" + std::to_string(kTextVersion)) {
      core::fail(ErrorCode::text_version, "Program, line " + std::to_string(in_.line()) +
                                              ": version '" + std::string(version) +
                                              "', expected v" + std::to_string(kTextVersion));
    }
    in_.expect_word("target");
    in_.expect("=");
    const std::string_view name = in_.word("a target");
    const TargetTraits* target = find_target(name);
    if (target == nullptr) {
      std::vector<std::string> targets;
      for (const TargetTraits& known : all_targets()) targets.emplace_back(known.name);
      in_.error(core::unknown("target", name, targets));
    }
    return *target;
  }

  size_t parse_body(const TargetTraits& target) {
    in_.expect("{");
    in_.expect("//");
    const int64_t type = setting("target", 0, kKernelTypes - 1);
    in_.expect(",");
    const int64_t block_dim = setting("block_dim");
    in_.expect(",");
    setting("ffts_addr", 0, 0);
    in_.expect(",");
    const int64_t tile_num = setting("tile_num");
    in_.expect(",");
    const std::vector<int64_t> grid = parse_counts("grid");
    in_.expect(",");
    std::vector<int64_t> loops;
    if (in_.next_is("loops")) {
      loops = parse_counts("loops");
      in_.expect(",");
    }
    const auto local_bytes = static_cast<uint32_t>(setting("local_bytes", 0, UINT32_MAX));
    in_.expect(",");
    const uint8_t loop_flags = parse_loop_flags();

    ProgramBuilder builder(target, words_, grid, loops);
    std::vector<DType> globals;
    while (in_.take("g")) globals.push_back(parse_global(builder));
    in_.expect_word("vmain");
    in_.expect(".");
    in_.expect_word(to_string(static_cast<KernelType>(type)));
    in_.expect("(");
    const int64_t body_tile = setting("body_tile");
    in_.expect(",");
    const int64_t tail_tile_diff = setting("tail_tile_diff");
    in_.expect(")");
    in_.expect("{");
    InstructionParser instructions(in_, builder, grid, loops, globals);
    while (!in_.take("}")) {
      in_.integer(static_cast<int64_t>(lines_.size()), static_cast<int64_t>(lines_.size()));
      in_.expect(":");
      lines_.push_back(in_.line());
      instructions.parse();
    }
    instructions.finish();
    in_.expect("}");
    if (!in_.at_end()) in_.unexpected("the end of the text");

    const Program program = builder.finish(local_bytes, loop_flags);
    const Header& h = program.header();
    if (type != static_cast<int>(h.kernel_type)) {
      in_.error("target is " + std::to_string(type) + ", but the instructions make it " +
                std::to_string(static_cast<int>(h.kernel_type)));
    }
    check_derived("block_dim", block_dim, h.block_dim);
    check_derived("tile_num", tile_num, h.tile_count);
    check_derived("body_tile", body_tile, h.body_tile);
    check_derived("tail_tile_diff", tail_tile_diff, h.tail_tile_diff);
    return program.words().size();
  }

  int64_t setting(std::string_view name, int64_t low = 0, int64_t high = INT64_MAX) {
    in_.expect_word(name);
    in_.expect("=");
    return in_.integer(low, high);
  }

  // What the grid and the target determine is printed for the reader, and has to be right.
  void check_derived(const char* name, int64_t given, int64_t derived) const {
    if (given == derived) return;
    in_.error(std::string(name) + " is " + std::to_string(given) + ", but the grid makes it " +
              std::to_string(derived));
  }

  std::vector<int64_t> parse_counts(std::string_view name) {
    std::vector<int64_t> counts;
    in_.expect_word(name);
    in_.expect("=");
    in_.list("[", "]", [&] { counts.push_back(in_.integer(1, kMaxTiles)); });
    return counts;
  }

  uint8_t parse_loop_flags() {
    uint8_t flags = 0;
    in_.expect_word("loop_flags");
    in_.expect("=");
    in_.list("[", "]", [&] {
      const std::string_view name = in_.word("a loop flag");
      const auto row = std::ranges::find_if(
          kLoopFlags, [&](const LoopFlagInfo& r) { return listing_pipes(r.src, r.dst) == name; });
      if (row == std::end(kLoopFlags)) in_.error("unknown loop flag '" + std::string(name) + "'");
      flags |= row->flag;
    });
    return flags;
  }

  DType parse_global(ProgramBuilder& builder) {
    const int64_t index = in_.integer(0, UINT16_MAX);
    in_.expect(":");
    Global global;
    global.dtype = parse_listing_dtype(in_);
    in_.expect("[");
    global.low = in_.integer(INT64_MIN, INT64_MAX);
    in_.expect(",");
    global.high = in_.integer(INT64_MIN, INT64_MAX);
    in_.expect(")");
    global.written = in_.take_word("written");
    if (global.written == 0) in_.expect_word("read");
    if (builder.add_global(global) != index) in_.error("globals are not in order");
    return global.dtype;
  }

  core::TextLexer in_;
  std::vector<uint64_t> words_;
  std::vector<int> lines_;  // of the instructions
};

}  // namespace

std::vector<uint64_t> assemble(std::string_view text) {
  if (text.size() > kMaxText) {
    core::fail(ErrorCode::text_syntax,
               "Program text is longer than " + std::to_string(kMaxText) + " bytes");
  }
  return Assembler(text).run();
}

}  // namespace dvm::vm
