// Text -> Plan, line by line: the head, declarations in the order print() writes them, then one
// instruction per line. What the grammar lets through is judged by verify().
#include <optional>

#include "core/error.h"
#include "runtime/plan.h"
#include "runtime/plan_text.h"

namespace dvm::runtime {

namespace {

std::optional<PlanOp> plan_op_from_text(std::string_view name) {
  for (size_t op = 0; op < all_plan_ops().size(); ++op) {
    if (all_plan_ops()[op].name == name) return static_cast<PlanOp>(op);
  }
  return std::nullopt;
}

std::optional<core::DimCmp> compare_from_text(std::string_view name) {
#define DVM_COMPARE(row, op, numpy) \
  if (name == #row) return core::DimCmp::row;
#include "core/compare.def"
#undef DVM_COMPARE
  return std::nullopt;
}

class PlanParser {
 public:
  explicit PlanParser(std::string_view text) : rest_(text) {}

  Plan run() {
    read_head();
    while (true) {
      LineCursor line = next_line();
      if (line.accept("}")) break;
      read_line(line);
    }
    while (!rest_.empty()) {
      LineCursor line = next_line();
      if (!line.at_end()) line.fail("text after the end of the Plan");
    }
    return std::move(plan_);
  }

 private:
  LineCursor next_line() {
    if (rest_.empty()) {
      LineCursor({}, number_).fail("the text ends before the Plan does");
    }
    const size_t end = rest_.find('\n');
    current_ = rest_.substr(0, end);
    rest_.remove_prefix(end == std::string_view::npos ? rest_.size() : end + 1);
    return LineCursor(current_, ++number_);
  }

  void read_head() {
    LineCursor line = next_line();
    line.expect("plan");
    if (!line.accept("v1")) {
      core::fail(core::ErrorCode::text_version,
                 "this version reads plan v1, not '" + std::string(line.rest()) + "'");
    }
    line.expect("{");
    end_of(line);
  }

  void read_line(LineCursor& line) {
    const bool declaring = plan_.code.empty();
    if (declaring && line.accept("input")) {
      read_input(line);
    } else if (declaring && line.accept("scalar")) {
      read_scalar(line);
    } else if (declaring && line.accept("callee")) {
      read_callee(line);
    } else if (declaring && line.accept("region")) {
      read_region(line);
      return;
    } else {
      read_instruction(line);
      return;
    }
    end_of(line);
  }

  static void end_of(LineCursor& line) {
    if (!line.at_end()) line.fail("expected the end of the line");
  }

  core::DType dtype(LineCursor& line) {
    const std::string_view name = line.word();
    const std::optional<core::DType> found = core::dtype_from_text(name);
    if (!found) line.fail("unknown element type '" + std::string(name) + "'");
    return *found;
  }

  // A register or index written as `prefix` and its number, e.g. b12.
  int32_t numbered(LineCursor& line, char prefix) {
    const std::string_view name = line.word();
    if (name[0] != prefix || name.size() < 2) {
      line.fail(std::string("expected ") + prefix + " and a number");
    }
    LineCursor digits(name.substr(1), number_);
    const int32_t number = digits.small();
    if (!digits.at_end() || (name[1] == '0' && name.size() > 2)) line.fail("expected a number");
    return number;
  }

  // Declarations are numbered in order, which leaves a reader nothing to look up.
  static void expect_next(LineCursor& line, int32_t number, size_t next) {
    if (static_cast<size_t>(number) != next) {
      line.fail("expected number " + std::to_string(next));
    }
  }

  void read_input(LineCursor& line) {
    expect_next(line, numbered(line, 'b'), plan_.inputs.size());
    line.expect(":");
    Argument argument{.dtype = dtype(line)};
    line.expect("rank");
    argument.rank = line.small();
    plan_.inputs.push_back(argument);
    ++plan_.buffers;
  }

  void read_scalar(LineCursor& line) {
    expect_next(line, numbered(line, 's'), plan_.scalars.size());
    line.expect(":");
    plan_.scalars.push_back(dtype(line));
  }

  void read_callee(LineCursor& line) {
    expect_next(line, line.small(), plan_.callees.size());
    line.expect(":");
    plan_.callees.push_back(line.string());
  }

  void read_region(LineCursor& line) {
    const int32_t number = numbered(line, 'r');
    expect_next(line, number, plan_.regions.size());
    line.expect("=");
    std::string graph(line.rest());
    for (bool open = true; open;) {
      next_line();
      graph += '\n';
      graph += current_;
      open = LineCursor(current_, number_).rest() != "}";
    }
    core::Region region{"r" + std::to_string(number), core::parse_graph(graph)};
    vm::Kernel kernel = vm::prepare(region);
    plan_.regions.push_back({std::move(region), std::move(kernel)});
  }

  void read_instruction(LineCursor& line) {
    int32_t result = -1;
    char file = 0;
    LineCursor ahead = line;
    std::string_view name = ahead.word();
    if (ahead.accept("=")) {
      file = name[0];
      result = numbered(line, file);
      line.expect("=");
    }
    name = line.word();
    const std::optional<PlanOp> op = plan_op_from_text(name);
    if (!op) line.fail("unknown instruction '" + std::string(name) + "'");
    const PlanOpInfo& row = info(*op);
    const char wanted = row.result == File::i ? 'i' : row.result == File::b ? 'b' : 0;
    if (file != wanted) line.fail(std::string(name) + " defines another kind of register");
    plan_.code.push_back({*op, result, static_cast<uint32_t>(plan_.pool.size())});
    if (wanted == 'i') ++plan_.sizes;
    if (wanted == 'b') ++plan_.buffers;
    for (size_t k = 0; k < row.operands.size(); ++k) {
      if (k > 0) line.expect(",");
      read_operand(line, row.operands[k]);
    }
    std::string note;
    if (line.accept("#")) note = line.rest();
    plan_.notes.push_back(std::move(note));
    end_of(line);
  }

  void read_operand(LineCursor& line, char kind) {
    switch (kind) {
      case 'i':
      case 'b':
      case 'r':
        plan_.pool.push_back(numbered(line, kind));
        break;
      case 'k':
      case 'f':
        plan_.pool.push_back(line.small());
        break;
      case 'w': {
        const int64_t value = line.integer();
        plan_.pool.push_back(static_cast<int32_t>(value));
        plan_.pool.push_back(static_cast<int32_t>(value >> 32));
        break;
      }
      case 'c': {
        const std::optional<core::DimCmp> cmp = compare_from_text(line.word());
        if (!cmp) line.fail("unknown comparison");
        plan_.pool.push_back(static_cast<int32_t>(*cmp));
        break;
      }
      case 'd':
        plan_.pool.push_back(static_cast<int32_t>(dtype(line)));
        break;
      case 'I':
        read_list(line, 'i');
        break;
      case 'B':
        read_list(line, 'b');
        break;
      case 'S':
        read_list(line, 's');
        break;
      case 'K':
        read_list(line, 0);
        break;
    }
  }

  void read_list(LineCursor& line, char file) {
    const size_t count_at = plan_.pool.size();
    plan_.pool.push_back(0);
    line.expect("[");
    while (!line.accept("]")) {
      if (plan_.pool[count_at]++ > 0) line.expect(",");
      plan_.pool.push_back(file ? numbered(line, file) : line.small());
    }
  }

  Plan plan_;
  std::string_view rest_, current_;
  int number_ = 0;
};

}  // namespace

Plan parse_plan(std::string_view text) {
  Plan plan = PlanParser(text).run();
  verify(plan);
  return plan;
}

}  // namespace dvm::runtime
