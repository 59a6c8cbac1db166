// Plan -> text. Every row of plan.def prints alike; a Region prints as the Graph it is.
#include "core/text/elements.h"
#include "core/text/read_graph.h"
#include "core/text/text_lexer.h"
#include "core/text/text_writer.h"
#include "runtime/plan/plan.h"

namespace dvm::runtime {

namespace {

constexpr std::string_view kCompareNames[] = {
#define DVM_COMPARE(name, op, numpy) #name,
#include "core/ops/compare.def"
#undef DVM_COMPARE
};

void print_list(core::TextWriter& out, const char* file, std::span<const int32_t> words) {
  out << '[';
  for (size_t i = 0; i < words.size(); ++i) out << (i ? ", " : "") << file << words[i];
  out << ']';
}

void print_kind(core::TextWriter& out, const Argument& kind) {
  if (kind.data >= 0) {
    out << 't' << kind.data;
  } else {
    out << core::to_string(core::ValueKind{kind.dtype, kind.rank});
  }
}

template <typename F>
void print_kinds(core::TextWriter& out, size_t count, F kind) {
  out << '[';
  for (size_t i = 0; i < count; ++i) {
    out << (i ? ", " : "");
    print_kind(out, kind(i));
  }
  out << ']';
}

void print_operand(core::TextWriter& out, const Operand& operand) {
  switch (operand.kind) {
    case 'i':
      out << 'i' << operand.words[0];
      break;
    case 'b':
      out << 'b' << operand.words[0];
      break;
    case 's':
      out << 's' << operand.words[0];
      break;
    case 'r':
    case 'p':
    case 'g':
    case 't':
      out << operand.kind << operand.words[0];
      break;
    case 'k':
    case 'n':
    case 'f':
      out << operand.words[0];
      break;
    case 'w':
      out << literal_of(operand.words);
      break;
    case 'c':
      out << kCompareNames[operand.words[0]];
      break;
    case 'o':
      out << core::info(static_cast<core::Op>(operand.words[0])).name;
      break;
    case 'd':
      out << core::to_string(static_cast<core::DType>(operand.words[0]));
      break;
    case 'I':
      print_list(out, "i", operand.words);
      break;
    case 'B':
      print_list(out, "b", operand.words);
      break;
    case 'S':
      print_list(out, "s", operand.words);
      break;
    case 'P':
      print_list(out, "p", operand.words);
      break;
    case 'T':
      print_kinds(out, operand.words.size(), [&](size_t i) { return kind_in(operand.words[i]); });
      break;
    case 'K':
    case 'N':
      print_list(out, "", operand.words);
      break;
    case 'D':
      out << '[';
      for (size_t i = 0; i < operand.words.size(); ++i) {
        out << (i ? ", " : "") << core::to_string(static_cast<core::DType>(operand.words[i]));
      }
      out << ']';
      break;
  }
}

void print_instruction(core::TextWriter& out, const Plan& plan, size_t at) {
  const Instruction& instruction = plan.code[at];
  const PlanOpInfo& row = info(instruction.op);
  out << "  ";
  const int results = result_count(plan, instruction);
  for (int k = 0; k < results; ++k) {
    out << (k ? ", " : "") << (row.result == File::i ? 'i' : 'b') << instruction.result + k;
  }
  if (results > 0) out << " = ";
  out << row.name;
  const char* separator = " ";
  for (const Operand& operand : operands_of(plan, instruction)) {
    out << separator;
    print_operand(out, operand);
    separator = ", ";
  }
  if (!plan.notes[at].empty()) out << "  # " << plan.notes[at];
  out << '\n';
}

void print_constant(core::TextWriter& out, size_t buffer, const PlanConstant& constant) {
  const BufferView& view = constant.view;
  out << "  constant b" << buffer << ": " << core::to_string(view.dtype) << " [";
  for (int d = 0; d < view.rank; ++d) out << (d ? ", " : "") << view.shape[d];
  out << "] = "
      << (constant.is_host() ? core::quote(constant.name) : core::elements_text(*constant.values))
      << '\n';
}

// Lines, indented, so that the lone closing brace of the text cannot be taken for that of the Plan.
void print_within(core::TextWriter& out, std::string_view text) {
  for (const char letter : text.substr(0, text.size() - 1)) {
    out << letter;
    if (letter == '\n') out << "  ";
  }
  out << '\n';
}

}  // namespace

std::string print(const Plan& plan) {
  core::TextWriter out;
  out << "plan v1 {\n";
  for (const core::DataType& type : plan.types) out << "  " << core::to_string(type) << '\n';
  for (size_t k = 0; k < plan.inputs.size(); ++k) {
    const Argument& input = plan.inputs[k];
    out << "  input b" << k << ": ";
    if (input.data >= 0) {
      print_kind(out, input);
    } else {
      out << core::to_string(input.dtype) << " rank " << input.rank << (input.ours ? " ours" : "");
    }
    out << '\n';
  }
  for (size_t k = 0; k < plan.constants.size(); ++k) {
    print_constant(out, plan.inputs.size() + k, plan.constants[k]);
  }
  for (size_t k = 0; k < plan.scalars.size(); ++k) {
    out << "  scalar s" << k << ": " << core::to_string(plan.scalars[k]) << '\n';
  }
  for (size_t k = 0; k < plan.callees.size(); ++k) {
    out << "  callee " << k << ": " << core::quote(plan.callees[k]) << '\n';
  }
  for (const PlanRegion& of : plan.regions) {
    out << "  region " << of.region.name << " = ";
    print_within(out, core::print(of.region.body));
  }
  for (size_t k = 0; k < plan.bodies.size(); ++k) {
    out << "  body p" << k << " = ";
    print_within(out, print(plan.bodies[k]));
  }
  for (size_t k = 0; k < plan.functions.size(); ++k) {
    const PlanSignature& signature = plan.signatures[k];
    out << "  function g" << k << ' ' << core::quote(signature.name) << " -> ";
    print_kinds(out, signature.gives.size(), [&](size_t i) { return signature.gives[i]; });
    out << " = ";
    print_within(out, print(plan.functions[k]));
  }
  for (size_t at = 0; at < plan.code.size(); ++at) print_instruction(out, plan, at);
  out << "}\n";
  return out.take();
}

}  // namespace dvm::runtime
