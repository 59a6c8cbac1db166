#include "capture/path/explain_step.h"

namespace dvm::capture {

namespace {

void print_operand(const Path& path, char letter, const int32_t*& p, std::string& text) {
  const int32_t word = *p++;
  const auto object = [&](int32_t index) {
    return index < 0 ? "absent" : safe_repr(path.object(index));
  };
  switch (letter) {
    case 'r':
      text += "r" + std::to_string(word);
      break;
    case 'q':
      text += word < 0 ? "none" : "r" + std::to_string(word);
      break;
    case 'R':
      text += "[";
      for (int32_t i = 0; i < word; ++i) text += (i ? ", r" : "r") + std::to_string(*p++);
      text += "]";
      break;
    case 'o':
    case 'n':
      text += object(word);
      break;
    case 'w':
      text += safe_repr(path.known(word));
      break;
    case 'K':
      text += word < 0 ? "()" : object(word);
      break;
    case 'b':
    case 'f':
    case 't':
      text += word ? "true" : "false";
      break;
    case 'u':
      text += to_string(static_cast<Operator>(word));
      break;
    case 'c':
      text += word ? std::string("!") + static_cast<char>(word) : "plain";
      break;
    case 'N':
      text += "[";
      for (const NameGuard::Name& name : path.names[static_cast<size_t>(word)].names) {
        if (text.back() != '[') text += ", ";
        text += name.of_class() ? name.text() : std::string(printable(name.name.get()));
        text += name.object ? "" : " absent";
      }
      text += "]";
      break;
    case 'g':
      text += describe(path.signatures[static_cast<size_t>(word)]);
      break;
    case 'S': {
      const Segment& segment = *path.segments[static_cast<size_t>(word)];
      const auto list = [&](const std::vector<int32_t>& registers) {
        std::string items;
        for (const int32_t r : registers)
          items += (items.empty() ? "r" : ", r") + std::to_string(r);
        return "[" + items + "]";
      };
      text += "segment " + std::to_string(word) + ", " + list(segment.tensors) + ", " +
              list(segment.scalars) + " -> ";
      for (const Segment::Output& output : segment.outputs) {
        text += (&output == segment.outputs.data() ? "r" : ", r") + std::to_string(output.reg) +
                " " + to_string(output.kind);
        if (output.allocation >= 0) text += " in r" + std::to_string(output.target);
      }
      break;
    }
    case 'l':
      text += word < 0 ? "-" : core::to_string(path.locations[static_cast<size_t>(word)]);
      break;
    default:
      text += std::to_string(word);
  }
}

}  // namespace

std::string print(const Path& path) {
  std::string text;
  for (const Step& step : path.steps) {
    const StepInfo& row = info(step.op);
    const int32_t* p = path.operands(step);
    std::string_view letters = row.operands;
    if (letters.starts_with('d')) {
      text += "r" + std::to_string(*p++) + " = ";
      letters.remove_prefix(1);
    }
    text += row.name;
    for (size_t i = 0; i < letters.size(); ++i) {
      text += i ? ", " : " ";
      print_operand(path, letters[i], p, text);
    }
    if (const core::Loc at = path.location(step)) text += "  # " + core::to_string(at);
    text += "\n";
  }
  return text;
}

}  // namespace dvm::capture
