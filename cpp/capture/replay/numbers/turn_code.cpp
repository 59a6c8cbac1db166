// What the steps of a path are on the machine.
#include <algorithm>
#include <utility>

#include "capture/numpy/numpy_api.h"
#include "capture/replay/numbers/graph_code.h"
#include "capture/replay/numbers/operators.h"
#include "capture/replay/numbers/turn.h"
#include "core/ops/fp_flags.h"

namespace dvm::capture::numbers {

namespace {

// Of such there is nothing that a turn could change.
bool is_plain(PyObject* object) {
  if (PyTuple_CheckExact(object)) {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(object); ++i) {
      if (!is_plain(PyTuple_GET_ITEM(object, i))) return false;
    }
    return true;
  }
  return PyFloat_CheckExact(object) || PyLong_CheckExact(object) || PyBool_Check(object) ||
         PyUnicode_CheckExact(object) || PySlice_Check(object) || object == Py_None ||
         object == Py_Ellipsis || PyType_Check(object) || PyArray_CheckScalar(object) ||
         PyArray_DescrCheck(object);
}

}  // namespace

// Follows the steps. A step that it has no meaning for ends it.
class TurnCode {
 public:
  TurnCode(Turn& turn, const Changes& changes)
      : turn_(turn),
        code_(turn.code_),
        registers_(turn.registers_),
        changes_(changes),
        known_(registers_.size()) {}

  bool append(const Path& path) {
    for (const auto& [holder, step] : all_steps(path)) {
      if (!append(*holder, *step)) return false;
    }
    return ended_;
  }

 private:
  // What a register holds that changes: a number, the place of an element, or what an index is
  // made of; of others the object is known.
  struct Known {
    enum class Is : uint8_t { object, number, place, parts, unknown } is = Is::object;
    Number number = {};  // of a place: its address, and the dtype of what is there
    std::vector<int32_t> parts = {};
  };

  Known& known(int32_t reg) { return known_[static_cast<size_t>(reg)]; }
  PyObject* object(int32_t reg) const { return registers_[static_cast<size_t>(reg)].get(); }
  bool is_same(int32_t reg) { return known(reg).is == Known::Is::object; }

  bool define(int32_t reg, const Number& number) {
    known(reg) = {Known::Is::number, number};
    return true;
  }
  bool define(int32_t reg, const std::optional<Number>& number) {
    return number.has_value() && define(reg, *number);
  }

  // A number in a register, whether it changes or not.
  std::optional<Number> number(int32_t reg) {
    if (known(reg).is == Known::Is::number) return known(reg).number;
    if (!is_same(reg) || object(reg) == nullptr) return {};
    const auto found = number_of(object(reg));
    if (!found) return {};
    const Number same{code_.cell(found->second), found->first};
    turn_.numbers_.push_back({reg, same});
    return same;
  }

  // An array that is the same in all turns.
  std::optional<Elements> array(int32_t reg) {
    if (!is_same(reg) || object(reg) == nullptr || !PyArray_CheckExact(object(reg))) return {};
    auto* const found = reinterpret_cast<PyArrayObject*>(object(reg));
    const auto dtype = dtype_of(found);
    if (!dtype) return {};
    Elements elements{*dtype, code_.cell()};
    for (int d = 0; d < PyArray_NDIM(found); ++d) {
      const int32_t size = code_.cell();
      elements.axes.push_back({size, code_.cell()});
    }
    turn_.arrays_.push_back({reg, elements});
    return elements;
  }

  // Whether all of what the step is given is the same in all turns.
  bool is_of_same(const Path& path, const Step& step) {
    bool same = true;
    for_each_register(path, step, [&](const int32_t& reg, bool defines) {
      same = same && (defines || is_same(reg));
    });
    return same;
  }

  bool append(const Path& path, const Step& step) {
    const int32_t* const p = path.operands(step);
    if (committed_ && step.op != StepOp::copyto_ && step.op != StepOp::tuple_ &&
        step.op != StepOp::return_) {
      return false;
    }
    switch (step.op) {
      case StepOp::argument_:
        return argument(p[0], p[1]);
      case StepOp::run_:
        return segment(*path.segments[static_cast<size_t>(p[0])]);
      case StepOp::copyto_:
        return copy(p[0], p[1]);
      case StepOp::forget_:
        return true;
      case StepOp::commit_:
        committed_ = true;
        if (flags_ != 0) code_.emit(Op::expect_quiet, 0, 0, core::fp::state_of(flags_));
        return true;
      case StepOp::return_:
        return give(known(p[0]).parts);
      case StepOp::tuple_:
        known(p[0]) = {Known::Is::parts, {}, {p + 2, p + 2 + p[1]}};
        if (!committed_ && is_of_same(path, step)) known(p[0]).is = Known::Is::object;
        return true;
      default:
        break;
    }
    if (is_of_same(path, step)) return same(path, step);
    return changing(path, step, p);
  }

  // A step on what is the same in all turns, and so its result.
  bool same(const Path& path, const Step& step) {
    const Category category = info(step.op).category;
    if (step.op == StepOp::loop_ || step.op == StepOp::raises_) return false;
    if (category == Category::fetch) return true;
    if (category == Category::guard || category == Category::choice) return true;
    if (step.op == StepOp::slice_) return true;
    if (step.op != StepOp::operator_ && step.op != StepOp::call_) return false;
    const int32_t* const p = path.operands(step);
    bool plain = true, defined = true;
    for_each_register(path, step, [&](const int32_t& reg, bool defines) {
      PyObject* const held = object(reg);
      defined = defined && held != nullptr;
      plain = plain && defined && (defines || is_plain(held) || PyCFunction_Check(held));
    });
    // What is made of numbers, or a view of an array; elements that are read may change.
    if (step.op == StepOp::call_) return plain && p[4 + p[2]] == 0;
    return plain || (defined && static_cast<Operator>(p[1]) == Operator::getitem &&
                     PyArray_CheckExact(object(p[2])) && is_plain(object(p[3])) &&
                     PyArray_CheckExact(object(p[0])));
  }

  bool argument(int32_t reg, int32_t slot) {
    if (!changes_.slots[static_cast<size_t>(slot)]) return object(reg) != nullptr;
    const auto found = object(reg) ? number_of(object(reg)) : std::nullopt;
    if (!found) {
      known(reg) = {Known::Is::unknown, {}, {slot}};
      return true;
    }
    const Number number{code_.cell(), found->first};
    const auto place = static_cast<size_t>(slot);
    turn_.takes_.push_back({place, number});
    if (place + 1 == changes_.slots.size()) {
      turn_.item_ = number.cell;
      turn_.item_type_ = number.type;
    }
    return define(reg, number);
  }

  bool changing(const Path& path, const Step& step, const int32_t* p) {
    switch (step.op) {
      case StepOp::guard_type_: {
        const auto given = number(p[0]);
        return given && path.known(p[1]) == reinterpret_cast<PyObject*>(python_type(given->type));
      }
      case StepOp::guard_signature_: {
        const auto given = number(p[0]);
        if (!given || given->type.kind == Kind::boolean) return false;
        const Ref example = Ref::steal(object_of(given->type, {.i = 1}));
        return example && path.signatures[static_cast<size_t>(p[1])].holds(example.get());
      }
      case StepOp::guard_truth_: {
        const auto given = number(p[0]);
        const auto truth = given ? append_truth(code_, *given) : std::nullopt;
        if (truth) code_.expect(*truth, p[1] != 0);
        return truth.has_value();
      }
      case StepOp::guard_value_: {
        const auto given = number(p[0]);
        const auto wanted = number_of(path.object(p[1]));
        if (!given || !wanted || given->type != wanted->first) return false;
        if (given->type.kind == Kind::element) return false;
        code_.emit(Op::expect, given->cell, 0, wanted->second.i);
        return true;
      }
      case StepOp::operator_:
        if (static_cast<Operator>(p[1]) == Operator::getitem) return element(p[0], p[2], p[3]);
        return computed(p[0], static_cast<Operator>(p[1]), p[2], p[3]);
      case StepOp::call_:
        return called(p);
      default:
        return false;
    }
  }

  static PyTypeObject* python_type(Type type) {
    switch (type.kind) {
      case Kind::integer:
        return &PyLong_Type;
      case Kind::floating:
        return &PyFloat_Type;
      case Kind::boolean:
        return &PyBool_Type;
      case Kind::element:
        return descr_of(type.dtype)->typeobj;
    }
    __builtin_unreachable();
  }

  bool computed(int32_t result, Operator op, int32_t a, int32_t b) {
    const auto first = number(a);
    if (!first) return false;
    if (b < 0) return define(result, append_unary(code_, op, *first));
    const auto second = number(b);
    return second && define(result, append_binary(code_, op, *first, *second));
  }

  // max, min, abs, and np.asarray of a number, which stands for it.
  bool called(const int32_t* p) {
    const int32_t count = p[2];
    const int32_t* const arguments = p + 3;
    const bool has_keywords = arguments[count] >= 0, is_opaque = arguments[count + 1] != 0;
    if (has_keywords || is_opaque || !is_same(p[1]) || object(p[1]) == nullptr) return false;
    std::vector<Number> numbers;
    for (int32_t i = 0; i < count; ++i) {
      const auto each = number(arguments[i]);
      if (!each) return false;
      numbers.push_back(*each);
    }
    return define(p[0], append_call(code_, object(p[1]), numbers));
  }

  // The place of an element of an array: indices of all axes, and maybe `...`.
  bool element(int32_t result, int32_t from, int32_t index) {
    if (known(index).is != Known::Is::parts) return false;
    const auto elements = array(from);
    std::vector<int32_t> axes = known(index).parts;
    if (axes.empty() || !is_same(axes.back()) || object(axes.back()) != Py_Ellipsis) return false;
    axes.pop_back();
    if (!elements || axes.size() != elements->axes.size()) return false;
    int32_t place = elements->place;
    for (size_t d = 0; d < axes.size(); ++d) {
      const auto at = number(axes[d]);
      if (!at || at->type.kind != Kind::integer) return false;
      place = code_.emit_place(Op::place_wrapped, at->cell, place, elements->axes[d]);
    }
    known(result) = {Known::Is::place, {place, {Kind::element, elements->dtype}}};
    return true;
  }

  bool segment(const Segment& segment) {
    std::vector<Operand> tensors;
    for (const int32_t reg : segment.tensors) {
      Operand operand{array(reg)};
      if (!operand.array) {
        const auto found = number(reg);
        if (!found) return false;
        operand.number = *found;
      }
      tensors.push_back(operand);
    }
    std::vector<Number> scalars;
    for (const int32_t reg : segment.scalars) {
      const auto found = number(reg);
      if (!found) return false;
      scalars.push_back(*found);
    }
    const auto outputs = append_graph(code_, segment, tensors, scalars);
    if (!outputs) return false;
    flags_ |= static_cast<core::FpFlags>(segment.flags);
    for (size_t k = 0; k < outputs->size(); ++k) {
      const Segment::Output& output = segment.outputs[k];
      const Number element{(*outputs)[k], {Kind::element, segment.graph.type(output.value).dtype}};
      const bool is_python = output.kind != ResultKind::array && output.kind != ResultKind::numpy;
      if (!define(output.reg, is_python ? append_python(code_, element) : element)) return false;
    }
    return true;
  }

  bool copy(int32_t to, int32_t from) {
    if (known(to).is != Known::Is::place || known(from).is != Known::Is::number) return false;
    const Number& value = known(from).number;
    if (value.type != known(to).number.type) return false;
    const auto moves = moves_of(value.type.dtype);
    if (moves) code_.emit(moves->store, known(to).number.cell, value.cell);
    return moves.has_value();
  }

  // Of the tuple that a turn returns: that the loop goes on, and the variables.
  bool give(const std::vector<int32_t>& parts) {
    ended_ = true;
    for (size_t k = 0; k < changes_.carried.size(); ++k) {
      const auto slot = static_cast<size_t>(changes_.carried[k]);
      if (!changes_.slots[slot]) continue;
      const int32_t part = parts[k + 1];
      const auto value = number(part);
      if (!value) {
        // An object that it was given, and leaves where it is.
        if (known(part).is == Known::Is::unknown && known(part).parts[0] == changes_.carried[k])
          continue;
        return false;
      }
      turn_.gives_.push_back({slot, *value});
    }
    return true;
  }

  Turn& turn_;
  Code& code_;
  const std::vector<Ref>& registers_;
  const Changes& changes_;
  std::vector<Known> known_;
  core::FpFlags flags_ = 0;
  bool committed_ = false, ended_ = false;
};

std::optional<Turn> Turn::of(const Path& path, std::vector<Ref> registers, const Changes& changes) {
  Turn turn;
  turn.registers_ = std::move(registers);
  const bool appended = TurnCode(turn, changes).append(path);
  PyErr_Clear();
  if (!appended) return {};
  turn.join();
  if (!turn.fill(std::move(turn.registers_))) return {};
  return turn;
}

}  // namespace dvm::capture::numbers
