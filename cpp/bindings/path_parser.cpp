#include "bindings/path_parser.h"

#include <pybind11/stl.h>

#include <algorithm>

#include "bindings/python_passes.h"
#include "capture/path/reasons.h"
#include "capture/replay/loop.h"
#include "capture/replay/recursion.h"
#include "core/error.h"

namespace py = pybind11;

namespace dvm::bindings {

namespace {

using capture::Path;
using capture::Ref;
using capture::Segment;
using capture::SignatureGuard;
using capture::Step;
using capture::StepOp;

capture::ResultKind parse_kind(const std::string& text) {
  constexpr auto kLast = static_cast<int>(capture::ResultKind::boolean);
  for (int i = 0; i <= kLast; ++i) {
    if (text == capture::to_string(static_cast<capture::ResultKind>(i)))
      return static_cast<capture::ResultKind>(i);
  }
  DVM_CHECK(false, "unknown kind of result: " + text);
  __builtin_unreachable();
}

Segment::Output parse_output(const py::tuple& spec) {
  Segment::Output output{spec[0].cast<core::Value>(), spec[1].cast<int32_t>(),
                         parse_kind(spec[2].cast<std::string>())};
  if (spec.size() > 3 && !spec[3].is_none()) {
    const auto order = spec[3].cast<std::vector<int8_t>>();
    DVM_CHECK(order.size() <= output.order.size(), "an axis order of too many axes");
    std::copy(order.begin(), order.end(), output.order.begin());
    output.permuted = !std::is_sorted(order.begin(), order.end());
  }
  if (spec.size() > 4) output.target = spec[4].cast<int32_t>();
  return output;
}

// What a step's first object must be for the replay to read it as such; null: anything.
using ObjectCheck = bool (*)(PyObject*);
ObjectCheck object_check(StepOp op) {
  switch (op) {
    case StepOp::variable_:
    case StepOp::set_variable_:
      return [](PyObject* object) -> bool { return PyDict_Check(object); };
    case StepOp::cell_:
      return [](PyObject* object) -> bool { return PyCell_Check(object); };
    case StepOp::instance_:
      return [](PyObject* object) -> bool { return PyType_Check(object); };
    case StepOp::loop_:
      return capture::is_loop;
    case StepOp::invoke_:
      return capture::is_recursion;
    case StepOp::guard_keys_:
    case StepOp::guard_errstate_:
      return [](PyObject* object) -> bool { return PyTuple_CheckExact(object); };
    case StepOp::fallback_:
      return [](PyObject* object) -> bool { return PyUnicode_Check(object); };
    default:
      return nullptr;
  }
}

size_t first_object(StepOp op) { return capture::info(op).operands.find('o'); }

// One path under construction: tuples in, rows of operands out.
class PathParser {
 public:
  PathParser(Path& path, size_t parameters)
      : path_(path), parameters_(static_cast<int32_t>(parameters)) {}

  void add(const py::tuple& spec) {
    const auto name = spec[0].cast<std::string>();
    if (name == "at") {
      at_ = location(spec[1].cast<std::string>(), spec[2].cast<int>());
      return;
    }
    const auto op = capture::step_from_text(name);
    DVM_CHECK(op.has_value(), "unknown step: " + name);
    const capture::StepInfo& row = capture::info(*op);
    Step step{*op, at_, static_cast<uint32_t>(path_.pool.size()), nullptr};
    items_ = spec;
    next_ = 1;
    for (const char letter : row.operands) add_operand(letter);
    DVM_CHECK(next_ == spec.size(), "too many operands of step " + name);
    check_registers(step, name);
    path_.steps.push_back(step);
  }

  void finish() {
    DVM_CHECK(!path_.steps.empty() && (path_.steps.back().op == StepOp::return_ ||
                                       path_.steps.back().op == StepOp::fallback_),
              "the steps of a path end in return or fallback");
    give_up_guards_behind_the_commit();
    path_.registers = static_cast<int32_t>(defined_.size());
  }

 private:
  // Whether a step may fail without an error of the program's own.
  static bool may_miss(StepOp op) {
    if (op == StepOp::argument_ || op == StepOp::constant_) return false;
    if (op == StepOp::run_ || op == StepOp::call_random_ || op == StepOp::fallback_) return true;
    const capture::Category category = capture::info(op).category;
    return category == capture::Category::fetch || category == capture::Category::guard ||
           category == capture::Category::choice;
  }

  // What has been seen cannot be undone: a path that would still have to check something behind its
  // effects lets the original run instead of them.
  void give_up_guards_behind_the_commit() {
    const auto commit = std::find_if(path_.steps.begin(), path_.steps.end(),
                                     [](const Step& step) { return step.op == StepOp::commit_; });
    const auto missing =
        std::find_if(commit, path_.steps.end(), [](const Step& step) { return may_miss(step.op); });
    if (missing == path_.steps.end()) return;
    const int32_t at = missing->at;
    const capture::Ref reason = capture::reason_object(
        "check-behind-effect\n" + std::string(capture::info(missing->op).name));
    path_.steps.erase(commit, path_.steps.end());
    path_.steps.push_back({StepOp::fallback_, at, static_cast<uint32_t>(path_.pool.size())});
    word(object(py::reinterpret_borrow<py::object>(reason.get())));
    word(at);
  }

  bool more() const { return next_ < items_.size(); }
  py::object item() {
    DVM_CHECK(more(), "too few operands of step " + items_[0].cast<std::string>());
    return items_[next_++];
  }
  void word(int32_t value) { path_.pool.push_back(value); }

  int32_t location(const std::string& file, int line) {
    if (file.empty()) return -1;
    const core::Loc at = core::make_loc(file, line);
    if (path_.locations.empty() || path_.locations.back() != at) path_.locations.push_back(at);
    return static_cast<int32_t>(path_.locations.size()) - 1;
  }

  int32_t object(py::handle value) {
    path_.objects.push_back(Ref::borrow(value.ptr()));
    return static_cast<int32_t>(path_.objects.size()) - 1;
  }

  int32_t name(py::handle value) {
    DVM_CHECK(PyUnicode_CheckExact(value.ptr()), "a name is a str");
    PyObject* interned = Py_NewRef(value.ptr());
    PyUnicode_InternInPlace(&interned);
    path_.objects.push_back(Ref::steal(interned));
    return static_cast<int32_t>(path_.objects.size()) - 1;
  }

  void registers(const py::sequence& list) {
    word(static_cast<int32_t>(list.size()));
    for (py::handle reg : list) word(reg.cast<int32_t>());
  }

  int32_t names(const py::sequence& list) {
    capture::NameGuard guard;
    for (py::handle entry : list) {
      const auto triple = entry.cast<py::tuple>();
      const bool absent = triple[2].ptr() == missing();
      PyObject* holder = py::object(triple[0]).ptr();
      DVM_CHECK(PyDict_Check(holder) || PyType_Check(holder), "a name of neither dict nor class");
      PyObject* interned = Py_NewRef(py::object(triple[1]).ptr());
      PyUnicode_InternInPlace(&interned);
      guard.add({Ref::borrow(holder), Ref::steal(interned),
                 absent ? Ref() : capture::known_as(py::object(triple[2]).ptr())});
    }
    path_.names.push_back(std::move(guard));
    return static_cast<int32_t>(path_.names.size()) - 1;
  }

  int32_t segment() {
    auto segment = std::make_shared<Segment>();
    segment->graph = item().cast<const core::Graph&>();
    segment->tensors = item().cast<std::vector<int32_t>>();
    segment->scalars = item().cast<std::vector<int32_t>>();
    for (py::handle output : item()) {
      segment->outputs.push_back(parse_output(output.cast<py::tuple>()));
    }
    segment->flags = item().cast<int32_t>();
    segment->only_warns = item().cast<int32_t>();
    const auto name = item().cast<std::string>();
    segment->library = capture::library_named(name);
    DVM_CHECK(segment->library != nullptr, "no library of arrays is called " + name);
    path_.segments.push_back(std::move(segment));
    return static_cast<int32_t>(path_.segments.size()) - 1;
  }

  void add_operand(char letter) {
    switch (letter) {
      case 'd':
      case 'r':
      case 'i':
        return word(item().cast<int32_t>());
      case 'q':
        return word(more() ? item().cast<int32_t>() : -1);
      case 'R':
        return registers(item().cast<py::sequence>());
      case 'b':
        return word(item().cast<bool>());
      case 't':
        return word(more() && item().cast<bool>());
      case 'f':
        return word(0);
      case 'o':
        return word(object(item()));
      case 'w':
        path_.objects.push_back(capture::known_as(item().ptr()));
        return word(static_cast<int32_t>(path_.objects.size()) - 1);
      case 'n':
        return word(name(item()));
      case 'u': {
        const auto text = item().cast<std::string>();
        const bool unary = items_.size() < 5 || items_[4].cast<int>() < 0;
        const auto op = capture::operator_from_text(text, unary ? 1 : 2);
        DVM_CHECK(op.has_value(), "unknown operator: " + text);
        return word(static_cast<int32_t>(*op));
      }
      case 'c': {
        const auto text = item().cast<std::string>();
        return word(text.empty() ? 0 : text[0]);
      }
      case 'K': {
        const auto keywords = item().cast<py::tuple>();
        return word(keywords.empty() ? -1 : object(keywords));
      }
      case 'N':
        return word(names(item().cast<py::sequence>()));
      case 'g':
        path_.signatures.push_back(SignatureGuard::of(item().ptr()));
        return word(static_cast<int32_t>(path_.signatures.size()) - 1);
      case 'S':
        return word(segment());
      case 'l': {
        const auto at = item().cast<std::pair<std::string, int>>();
        return word(location(at.first, at.second));
      }
      default:
        DVM_CHECK(false, std::string("unknown operand letter ") + letter);
    }
  }

  void define(int32_t reg) {
    DVM_CHECK(reg >= 0, "a register is not negative");
    if (static_cast<size_t>(reg) >= defined_.size()) {
      constexpr int32_t kMostRegisters = 1 << 20;
      DVM_CHECK(reg < kMostRegisters, "too many registers");
      defined_.resize(static_cast<size_t>(reg) + 1);
    }
    DVM_CHECK(!defined_[static_cast<size_t>(reg)],
              "register defined twice: " + std::to_string(reg));
    defined_[static_cast<size_t>(reg)] = true;
  }

  void use(int32_t reg) const {
    DVM_CHECK(reg >= 0 && static_cast<size_t>(reg) < defined_.size() &&
                  defined_[static_cast<size_t>(reg)],
              "register read before it is defined: " + std::to_string(reg));
  }

  // The replay trusts registers: nothing is read before it is defined, nothing defined twice.
  void check_registers(const Step& step, const std::string& name) {
    std::vector<int32_t> defines;
    capture::for_each_register(path_, step, [&](int32_t reg, bool defined) {
      if (defined) {
        defines.push_back(reg);
      } else {
        use(reg);
      }
    });
    for (const int32_t reg : defines) define(reg);
    const int32_t* p = path_.operands(step);
    const bool pairs = step.op == StepOp::dict_ || step.op == StepOp::dict_fill_;
    DVM_CHECK(!pairs || p[1] % 2 == 0, "keys and values in turns: " + name);
    DVM_CHECK(step.op != StepOp::slice_ || p[1] == 2 || p[1] == 3, "a slice of 2 or 3");
    DVM_CHECK(step.op != StepOp::argument_ || (p[1] >= 0 && p[1] < parameters_),
              "no such argument: " + std::to_string(p[1]));
    DVM_CHECK(step.op != StepOp::guard_code_ || PyFunction_Check(path_.known(p[0])),
              "guard_code is for Python functions");
    if (const auto holds = object_check(step.op)) {
      DVM_CHECK(holds(path_.object(p[first_object(step.op)])),
                "an object of a wrong type: " + name);
    }
  }

  Path& path_;
  int32_t parameters_;
  std::vector<bool> defined_;
  py::tuple items_;
  size_t next_ = 0;
  int32_t at_ = -1;
};

}  // namespace

PyObject* missing() {
  static PyObject* sentinel = PyObject_CallNoArgs(reinterpret_cast<PyObject*>(&PyBaseObject_Type));
  return sentinel;
}

std::unique_ptr<Path> parse_path(const py::object& spec, const py::tuple& arguments) {
  auto path = std::make_unique<Path>();
  path->options.target = spec.attr("target").cast<std::string>();
  path->options.reshapes_are_views = true;
  path->options.numerics = spec.attr("numerics").cast<std::string>() == "strict"
                               ? driver::Numerics::strict
                               : driver::Numerics::widened;
  path->options.precision =
      core::precision_from_text(spec.attr("precision").cast<std::string>()).value();
  path->options.passes = passes_of(spec.attr("passes"));
  PathParser parser(*path, arguments.size());
  for (py::handle step : spec.attr("steps")) parser.add(step.cast<py::tuple>());
  if (path->steps.empty()) {
    // Nothing was lowered: calls like this one run the original, others may be captured.
    int32_t slot = 0;
    for (py::handle argument : arguments) {
      parser.add(py::make_tuple("argument", slot, slot));
      parser.add(py::make_tuple("guard_signature", slot, argument));
      ++slot;
    }
    parser.add(py::make_tuple("fallback", spec.attr("reason"), spec.attr("reason_at")));
  }
  parser.finish();
  return path;
}

}  // namespace dvm::bindings
