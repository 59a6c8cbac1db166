#include "capture/explain_step.h"

#include "capture/frame.h"

namespace dvm::capture {

namespace {

std::string repr(PyObject* object) {
  constexpr size_t kLongest = 60;
  if (object == nullptr) return "nothing";
  Ref text = Ref::steal(PyObject_Repr(object));
  if (!text) {
    PyErr_Clear();
    return std::string("a ") + Py_TYPE(object)->tp_name;
  }
  std::string shown = printable(text.get());
  if (shown.size() > kLongest) shown = shown.substr(0, kLongest) + "...";
  return shown;
}

// The step that defines a register of the path, there or where the path came from.
const Step* definition_of(const Path*& path, int32_t reg) {
  size_t end = path->steps.size();
  while (path != nullptr) {
    for (size_t i = 0; i < end; ++i) {
      bool defines = false;
      for_each_register(*path, path->steps[i],
                        [&](int32_t r, bool defined) { defines |= defined && r == reg; });
      if (defines) return &path->steps[i];
    }
    end = static_cast<size_t>(path->parent_step < 0 ? 0 : path->parent_step);
    path = path->parent;
  }
  return nullptr;
}

// What the user calls what a register holds.
std::string name_of(const Frame& frame, const Path* path, int32_t reg) {
  const Step* step = definition_of(path, reg);
  if (step == nullptr) return "a value";
  const int32_t* p = path->operands(*step);
  const auto text = [&](int32_t object) { return std::string(printable(path->object(object))); };
  switch (step->op) {
    case StepOp::argument_: {
      PyObject* names = frame.call.parameters;
      if (names == nullptr || p[1] >= PyTuple_GET_SIZE(names)) return "an argument";
      return std::string("argument ") + printable(PyTuple_GET_ITEM(names, p[1]));
    }
    case StepOp::variable_:
      return "global " + text(p[2]);
    case StepOp::cell_:
      return "a closure variable";
    case StepOp::attribute_:
    case StepOp::getattr_:
      return name_of(frame, path, p[1]) + "." + text(p[2]);
    case StepOp::item_:
      return name_of(frame, path, p[1]) + "[" + std::to_string(p[2]) + "]";
    case StepOp::key_:
      return name_of(frame, path, p[1]) + "[" + repr(path->object(p[2])) + "]";
    case StepOp::shape_:
      return name_of(frame, path, p[1]) + ".shape[" + std::to_string(p[2]) + "]";
    default: {
      const core::Loc at = path->location(*step);
      return at ? "the value computed at " + core::to_string(at) : "a computed value";
    }
  }
}

std::string became(const std::string& then, const std::string& now) {
  return ": " + then + " became " + now;
}

std::string signature_change(const SignatureGuard& guard, PyObject* now) {
  const Signature word = signature_of(now);
  if (argument_of(word) != Argument::array || argument_of(guard.word) != Argument::array) {
    return " is a new kind of object: " + describe(now);
  }
  if (dtype_of(word) != dtype_of(guard.word)) {
    return became("dtype " + std::string(core::info(dtype_of(guard.word)).numpy),
                  std::string(core::info(dtype_of(word)).numpy));
  }
  if (rank_of(word) != rank_of(guard.word)) {
    return became("rank " + std::to_string(rank_of(guard.word)), std::to_string(rank_of(word)));
  }
  if (layout_of(word) != layout_of(guard.word)) {
    return became(std::string("layout ") + to_string(layout_of(guard.word)),
                  to_string(layout_of(word)));
  }
  return ": the order of its axes in memory changed";
}

std::string names_change(const NameGuard& guard) {
  for (const NameGuard::Name& name : guard.names) {
    if (!name.holds()) return std::string("global ") + printable(name.name.get()) + " was rebound";
  }
  return "a global was rebound";
}

}  // namespace

std::string explain_miss(const Frame& frame, const Step& step) {
  const Path& path = *frame.path;
  const int32_t* p = path.operands(step);
  const auto name = [&](int32_t reg) { return name_of(frame, &path, reg); };
  const core::Loc at = path.location(step);
  switch (step.op) {
    case StepOp::guard_names_:
      return names_change(path.names[static_cast<size_t>(p[0])]);
    case StepOp::guard_is_:
      return name(p[0]) + " is another object now";
    case StepOp::guard_type_:
      return name(p[0]) + became("type " + repr(path.object(p[1])),
                                 repr(reinterpret_cast<PyObject*>(Py_TYPE(frame[p[0]]))));
    case StepOp::guard_signature_:
    case StepOp::guard_layout_:
      return name(p[0]) + signature_change(path.signatures[static_cast<size_t>(p[1])], frame[p[0]]);
    case StepOp::guard_value_:
      return name(p[0]) + became(repr(path.object(p[1])), repr(frame[p[0]]));
    case StepOp::guard_length_:
      return "the length of " + name(p[0]) + " is no longer " + std::to_string(p[1]);
    case StepOp::guard_truth_:
      return at ? "the branch at " + core::to_string(at) + " took the other way"
                : name(p[0]) + " decided a branch the other way";
    case StepOp::guard_same_:
      return name(p[0]) + " and " + name(p[1]) +
             (p[2] ? " are no longer one object" : " are one object now");
    case StepOp::guard_overlap_:
      return "the memory of " + name(p[0]) + " and " + name(p[1]) +
             (p[2] ? " no longer overlaps" : " may overlap now");
    case StepOp::guard_writeable_:
      return name(p[0]) + (p[1] ? " is read-only now" : " is writeable now");
    case StepOp::guard_code_:
      return "the code or the defaults of " + repr(path.object(p[0])) + " changed";
    case StepOp::guard_class_:
      return std::string(reinterpret_cast<PyTypeObject*>(path.object(p[0]))->tp_name) + "." +
             printable(path.object(p[1])) + " was replaced";
    case StepOp::guard_lacks_:
      return name(p[0]) + " has an attribute " + printable(path.object(p[1])) + " of its own now";
    case StepOp::guard_keys_:
      return "the keys of " + name(p[0]) + " changed";
    case StepOp::guard_errstate_:
      return "np.errstate changed";
    case StepOp::iterate_:
      return name(p[1]) + " no longer has " + std::to_string(p[2]) + " elements";
    default:  // a fetch
      return name(p[0]) + " is gone";
  }
}

std::string explain_drop(const Frame& frame, const Step& step) {
  const core::Loc at = frame.path->location(step);
  std::string text = at ? core::to_string(at) + ": " : "";
  if (!PyErr_Occurred()) return text + (frame.refused ? frame.refused : "a computation failed");
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  text += std::string("raises ") + reinterpret_cast<PyTypeObject*>(type)->tp_name;
  Ref message = Ref::steal(value ? PyObject_Str(value) : nullptr);
  if (message) text += std::string(": ") + printable(message.get());
  PyErr_Clear();
  PyErr_Restore(type, value, traceback);
  return text;
}

namespace {

void print_operand(const Path& path, char letter, const int32_t*& p, std::string& text) {
  const int32_t word = *p++;
  const auto object = [&](int32_t index) {
    return index < 0 ? "absent" : repr(path.object(index));
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
    case 'O':
    case 'n':
      text += object(word);
      break;
    case 'K':
      text += word < 0 ? "()" : object(word);
      break;
    case 'b':
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
        text += std::string(printable(name.name.get())) + (name.object ? "" : " absent");
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
