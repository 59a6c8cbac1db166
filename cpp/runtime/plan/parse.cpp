// Text -> Plan: the head, declarations in the order print() writes them, then instructions. What
// the grammar lets through is judged by verify().
#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>

#include "core/dims/compare_text.h"
#include "core/error.h"
#include "core/text/elements.h"
#include "core/text/read_graph.h"
#include "core/text/text_lexer.h"
#include "runtime/plan/plan.h"

namespace dvm::runtime {

namespace {

std::optional<PlanOp> plan_op_from_text(std::string_view name) {
  for (size_t op = 0; op < all_plan_ops().size(); ++op) {
    if (all_plan_ops()[op].name == name) return static_cast<PlanOp>(op);
  }
  return std::nullopt;
}

// Regions are Graphs and read by the Graph's parser: their text is cut out, line for line, so that
// the numbers of the lines that stay are those of the whole.
class RegionTexts {
 public:
  explicit RegionTexts(std::string_view text) {
    constexpr std::string_view kBlank = " \t";
    bool inside = false;
    while (!text.empty()) {
      const size_t end = std::min(text.find('\n'), text.size());
      const std::string_view line = text.substr(0, end);
      text.remove_prefix(std::min(end + 1, text.size()));
      const size_t first = std::min(line.find_first_not_of(kBlank), line.size());
      const std::string_view trimmed =
          line.substr(first, line.find_last_not_of(kBlank) + 1 - first);
      const size_t equals = line.find('=');
      if (inside) {
        graphs.back() += line;
        graphs.back() += '\n';
        inside = trimmed != "}";
      } else if (trimmed.starts_with("region ") && equals != std::string_view::npos) {
        graphs.emplace_back(line.substr(equals + 1)) += '\n';
        rest += line.substr(0, equals);
        inside = true;
      } else {
        rest += line;
      }
      rest += '\n';
    }
  }

  std::vector<std::string> graphs;
  std::string rest;
};

class PlanParser {
 public:
  // Reads one Plan, for which the next texts of Regions are.
  PlanParser(core::TextLexer& lexer, std::span<const std::string>& regions, int depth = 0)
      : lexer_(lexer), regions_(regions), depth_(depth) {}

  Plan run() {
    lexer_.expect_word("plan");
    if (!lexer_.take_word("v1")) {
      core::fail(core::ErrorCode::text_version, "this version reads plan v1 only");
    }
    lexer_.expect("{");
    read_declarations();
    while (!lexer_.take("}")) read_instruction();
    return std::move(plan_);
  }

 private:
  static constexpr int64_t kMaxWord = std::numeric_limits<int32_t>::max();

  core::DType dtype() {
    const std::string_view name = lexer_.word("an element type");
    const std::optional<core::DType> found = core::dtype_from_text(name);
    if (!found) lexer_.error("unknown element type '" + std::string(name) + "'");
    return *found;
  }

  int32_t small() { return static_cast<int32_t>(lexer_.integer(0, kMaxWord)); }

  // The number of a register or index written as `prefix` and digits, e.g. b12.
  int32_t numbered(std::string_view name, char prefix) {
    int32_t number = 0;
    const char* end = name.data() + name.size();
    const auto [stop, error] = std::from_chars(name.data() + 1, end, number);
    const bool canonical = name.size() == 2 || (name.size() > 2 && name[1] != '0');
    if (name[0] != prefix || error != std::errc() || stop != end || !canonical) {
      lexer_.error("expected " + std::string(1, prefix) + " and a number, found '" +
                   std::string(name) + "'");
    }
    return number;
  }
  int32_t numbered(char prefix) { return numbered(lexer_.word("a register"), prefix); }

  // Declarations are numbered in order, which leaves a reader nothing to look up.
  void expect_next(int32_t number, size_t next) {
    if (static_cast<size_t>(number) != next) {
      lexer_.error("expected number " + std::to_string(next) + ", found " + std::to_string(number));
    }
  }

  // Of an array, `f64[?]`, or of an object, t0.
  Argument value_kind() {
    const std::string_view name = lexer_.word("an element type or data type");
    if (!lexer_.next_is("[")) return kind_in(word_of({.data = numbered(name, 't')}));
    Argument kind{.dtype = core::read_dtype(lexer_, name)};
    lexer_.list("[", "]", [&] {
      lexer_.expect("?");
      if (++kind.rank > core::kMaxRank) lexer_.error("a rank beyond the limit");
    });
    return kind;
  }

  void read_declarations() {
    while (lexer_.take_word("data")) plan_.types.push_back(core::read_data(lexer_));
    while (lexer_.take_word("input")) {
      expect_next(numbered('b'), plan_.inputs.size());
      lexer_.expect(":");
      const std::string_view name = lexer_.word("an element type or data type");
      if (!core::dtype_from_text(name)) {
        plan_.inputs.push_back(kind_in(word_of({.data = numbered(name, 't')})));
        continue;
      }
      Argument argument{.dtype = *core::dtype_from_text(name)};
      lexer_.expect_word("rank");
      argument.rank = static_cast<int>(lexer_.integer(0, core::kMaxRank));
      argument.ours = lexer_.take_word("ours");
      plan_.inputs.push_back(argument);
    }
    plan_.buffers = static_cast<int>(plan_.inputs.size());
    while (lexer_.take_word("constant")) read_constant();
    while (lexer_.take_word("scalar")) {
      expect_next(numbered('s'), plan_.scalars.size());
      lexer_.expect(":");
      plan_.scalars.push_back(dtype());
    }
    while (lexer_.take_word("callee")) {
      expect_next(small(), plan_.callees.size());
      lexer_.expect(":");
      plan_.callees.push_back(lexer_.quoted());
    }
    while (lexer_.take_word("region")) {
      const int32_t number = numbered('r');
      expect_next(number, plan_.regions.size());
      if (regions_.empty()) lexer_.error("a region without a graph");
      core::Region region{"r" + std::to_string(number), core::parse_graph(regions_.front())};
      regions_ = regions_.subspan(1);
      vm::Kernel kernel = vm::prepare(region);
      plan_.regions.push_back({std::move(region), std::move(kernel)});
    }
    while (lexer_.take_word("body")) {
      expect_next(numbered('p'), plan_.bodies.size());
      lexer_.expect("=");
      if (depth_ == kMostDepth) lexer_.error("bodies within bodies are too many");
      plan_.bodies.push_back(PlanParser(lexer_, regions_, depth_ + 1).run());
    }
    while (lexer_.take_word("function")) {
      expect_next(numbered('g'), plan_.functions.size());
      PlanSignature signature{lexer_.quoted(), {}};
      lexer_.expect("->");
      lexer_.list("[", "]", [&] { signature.gives.push_back(value_kind()); });
      lexer_.expect("=");
      if (depth_ > 0) lexer_.error("functions are those of the whole Plan");
      plan_.signatures.push_back(std::move(signature));
      plan_.functions.push_back(PlanParser(lexer_, regions_, depth_ + 1).run());
    }
  }

  void read_constant() {
    expect_next(numbered('b'), static_cast<size_t>(plan_.buffers++));
    lexer_.expect(":");
    core::Type type{dtype(), {}};
    std::vector<int64_t> shape;
    lexer_.list("[", "]", [&] {
      if (shape.size() == core::kMaxRank) lexer_.error("a rank beyond the limit");
      shape.push_back(lexer_.integer(0, core::kDimMax));
      type.shape.push_back(constants_->constant(shape.back()));
    });
    lexer_.expect("=");
    core::Tensor values;
    std::string name;
    if (lexer_.next_is("[")) {
      values = core::read_elements(lexer_, type.dtype, std::move(shape));
    } else if (name = lexer_.quoted(); name.empty()) {
      lexer_.error("a constant without a name or elements");
    }
    plan_.constants.push_back(make_constant(type, std::move(name), std::move(values)));
  }

  void read_instruction() {
    std::string_view name = lexer_.word("an instruction");
    std::optional<PlanOp> op = plan_op_from_text(name);
    int32_t result = -1;
    int results = 0;
    char file = 0;
    if (!op && (name[0] == 'i' || name[0] == 'b')) {
      file = name[0];
      result = numbered(name, file);
      for (results = 1; lexer_.take(","); ++results) {
        if (numbered(file) != result + results) lexer_.error("results are not numbered in order");
      }
      lexer_.expect("=");
      name = lexer_.word("an instruction");
      op = plan_op_from_text(name);
    }
    if (!op) lexer_.error("unknown instruction '" + std::string(name) + "'");
    const PlanOpInfo& row = info(*op);
    const char wanted = row.result == File::i ? 'i' : row.result == File::none ? '\0' : 'b';
    if (file != wanted) {
      lexer_.error(std::string(name) + (wanted ? std::string(" defines a register ") + wanted
                                               : std::string(" defines no register")));
    }
    plan_.code.push_back({*op, result, static_cast<uint32_t>(plan_.pool.size())});
    plan_.notes.emplace_back();
    for (size_t k = 0; k < row.operands.size(); ++k) {
      if (k > 0) lexer_.expect(",");
      read_operand(row.operands[k]);
    }
    if (results != result_count(plan_, plan_.code.back())) {
      lexer_.error(std::string(name) + " has another number of results");
    }
    (wanted == 'i' ? plan_.sizes : plan_.buffers) += results;
  }

  void read_operand(char kind) {
    switch (kind) {
      case 'i':
      case 'b':
      case 's':
      case 'r':
      case 'p':
      case 'g':
      case 't':
        plan_.pool.push_back(numbered(kind));
        break;
      case 'k':
      case 'n':
      case 'f':
        plan_.pool.push_back(small());
        break;
      case 'w': {
        const int64_t value = lexer_.integer(INT64_MIN, INT64_MAX);
        plan_.pool.push_back(static_cast<int32_t>(value));
        plan_.pool.push_back(static_cast<int32_t>(value >> 32));
        break;
      }
      case 'c': {
        const auto cmp = core::compare_from_text(lexer_.word("a comparison"));
        if (!cmp) lexer_.error("unknown comparison");
        plan_.pool.push_back(static_cast<int32_t>(*cmp));
        break;
      }
      case 'o': {
        const std::optional<core::Op> op = core::op_from_text(lexer_.word("an op"));
        if (!op) lexer_.error("unknown op");
        plan_.pool.push_back(static_cast<int32_t>(*op));
        break;
      }
      case 'd':
        plan_.pool.push_back(static_cast<int32_t>(dtype()));
        break;
      case 'I':
        read_list([&] { return numbered('i'); });
        break;
      case 'B':
        read_list([&] { return numbered('b'); });
        break;
      case 'S':
        read_list([&] { return numbered('s'); });
        break;
      case 'P':
        read_list([&] { return numbered('p'); });
        break;
      case 'T':
        read_list([&] { return word_of(value_kind()); });
        break;
      case 'K':
      case 'N':
        read_list([&] { return small(); });
        break;
      case 'D':
        read_list([&] { return static_cast<int32_t>(dtype()); });
        break;
    }
  }

  template <typename F>
  void read_list(F item) {
    const size_t count_at = plan_.pool.size();
    plan_.pool.push_back(0);
    lexer_.list("[", "]", [&] {
      ++plan_.pool[count_at];
      plan_.pool.push_back(item());
    });
  }

  static constexpr int kMostDepth = 32;
  core::TextLexer& lexer_;
  std::span<const std::string>& regions_;
  const int depth_;
  Plan plan_;
  const std::shared_ptr<core::DimContext> constants_ = core::DimContext::create();  // for sizes
};

}  // namespace

Plan parse_plan(std::string_view text) {
  const RegionTexts texts(text);
  core::TextLexer lexer("plan", texts.rest);
  std::span<const std::string> regions(texts.graphs);
  Plan plan = PlanParser(lexer, regions).run();
  if (!lexer.at_end()) lexer.unexpected("the end of the text");
  verify(plan);
  return plan;
}

}  // namespace dvm::runtime
