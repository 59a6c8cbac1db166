// FrameRecorder, the instructions whose effect takes more than a line: calls, functions, unpacking,
// branches, cells.
#include <algorithm>
#include <array>

#include "capture/cpython/drops.h"
#include "capture/cpython/frame_recorder.h"
#include "capture/cpython/instructions.h"

namespace dvm::capture {

namespace {

PyTypeObject* as_type(PyObject* type) { return reinterpret_cast<PyTypeObject*>(type); }

}  // namespace

using Kind = core::SeenEvent::Kind;
using core::SeenNode;

void FrameRecorder::store_cell(const FrameView& f) {
  PyObject* cell = f.locals[f.arg];
  if (f.op == Op::delete_deref) {
    if (!record_.is_adopted(cell)) throw Unrecordable("deleted-cell");
    return record_.set_cell(cell, kNoNode);
  }
  const NodeId value = pop();
  if (!record_.is_adopted(cell)) {
    add(Kind::store_cell, words().empty, std::array{value, record_.constant(cell)});
    pending_ = Pending::effect;
  }
  record_.set_cell(cell, value);
}

bool FrameRecorder::enters_context() const {
  if (stack_.size() < 3) return false;
  const NodeId stack = stack_.end()[-2], method = stack_.end()[-3];  // below the result
  if (stack == kNoNode || method == kNoNode) return false;
  PyObject* const function = record_.object(method);
  if (!PyFunction_Check(function)) return false;
  const auto* f = reinterpret_cast<PyFunctionObject*>(function);
  if (f->func_module == nullptr || !PyUnicode_Check(f->func_module) ||
      PyUnicode_CompareWithASCIIString(f->func_module, "contextlib") != 0 ||
      PyUnicode_CompareWithASCIIString(f->func_name, "enter_context") != 0) {
    return false;
  }
  const auto object = [this](NodeId node) {
    return node == kNoNode ? nullptr : record_.object(node);
  };
  for (size_t i = 0; i + 1 < stack_.size(); ++i) {  // a method, or a function and its object
    PyObject *leaves = object(stack_[i]), *self = object(stack_[i + 1]);
    if (leaves != nullptr && PyMethod_Check(leaves)) {
      self = PyMethod_GET_SELF(leaves);
      leaves = PyMethod_GET_FUNCTION(leaves);
    }
    if (self == record_.object(stack) && leaves != nullptr && PyFunction_Check(leaves) &&
        PyUnicode_CompareWithASCIIString(reinterpret_cast<PyFunctionObject*>(leaves)->func_name,
                                         "__exit__") == 0) {
      return true;
    }
  }
  return false;
}

// Since 3.14 slices are constants, of tuples, too. They are taken apart as if they were made, but are
// the same objects each time.
NodeId FrameRecorder::constant(PyObject* object) {
  std::vector<NodeId> parts;
  if (PySlice_Check(object)) {
    const auto* const slice = reinterpret_cast<PySliceObject*>(object);
    parts = {record_.constant(slice->start), record_.constant(slice->stop)};
    if (slice->step != Py_None) parts.push_back(record_.constant(slice->step));
    return record_.derive(Kind::slice, interned("constant"), parts, place(), object);
  }
  if (!PyTuple_CheckExact(object)) return record_.constant(object);
  const std::span items(reinterpret_cast<PyTupleObject*>(object)->ob_item,
                        static_cast<size_t>(PyTuple_GET_SIZE(object)));
  if (std::ranges::none_of(items, [](PyObject* item) { return PySlice_Check(item); })) {
    return record_.constant(object);
  }
  for (PyObject* const item : items) parts.push_back(constant(item));
  return record_.derive(Kind::tuple, interned("constant"), parts, place(), object);
}

void FrameRecorder::load_local(const FrameView& f) {
  const NodeId node = local(f.arg);
  PyObject* const object = f.locals[f.arg];
  if (object != nullptr && PyCell_Check(object) && dvm_frame_holds_cell(code_, f.arg)) {
    return push(record_.constant(object));
  }
  // A debugger may have assigned to it; an unbound variable raises by itself. What the same
  // instruction has stored is not there yet.
  const bool is_there = f.op == Op::load_fast_and_clear || f.table->at(f.index)->first.op == f.op;
  if (is_there && object != nullptr && (node == kNoNode || record_.object(node) != object)) {
    throw Unrecordable("unknown-local");
  }
  push(node);
}

// A manager's method: of `__enter__` nothing but its call, which follows, is an event.
void FrameRecorder::load_special(const FrameView& f) {
  method_self_ = pop();
  push(kNoNode);
  push(method_self_);
  if (f.arg == kEnter) return;
  add(Kind::attribute, words().exit, std::array{method_self_});
  pending_ = Pending::method;
}

void FrameRecorder::call(const FrameView& f) {
  if (f.arg == 0 && f.table->before(f.index) == Operation{Op::load_special, kEnter}) {
    add(Kind::with_enter, words().empty, tops(1));
    drop(2);
    push(kNoNode);
    pending_ = Pending::top;
    return;
  }
  NodeId self = top(f.arg + 1), callee = top(f.arg + 2);
  if (!kCalleeIsBelow && callee == kNoNode) std::swap(self, callee);
  // Where a method was looked up, its object is no argument the user wrote.
  const bool plain = self == kNoNode;
  const bool looked_up = !plain && [&] {
    const SeenNode& node = record_.data().node(callee);
    if (node.origin != SeenNode::Origin::event) return false;
    const core::SeenEvent& event = record_.event(node.index);
    return event.kind == Kind::attribute && record_.data().operands_of(event)[0] == self;
  }();
  if (callee != kNoNode) refuse_look(record_.object(callee));
  method_self_ = looked_up ? self : kNoNode;
  const bool is_alone = plain || looked_up;
  if (is_alone) top(f.arg + 1) = callee;
  event_ = record_.add(Kind::call, words().empty, tops(f.arg + (is_alone ? 1 : 2)), place(),
                       keyword_names_);
  keyword_names_ = nullptr;
  drop(f.arg + 2);
  push(kNoNode);
  pending_ = Pending::top;
}

void FrameRecorder::call_ex(const FrameView& f) {
  refuse_looking_call(f);
  const bool is_named = f.arg == kMaybeNamed ? f.stack[f.depth - 1] != nullptr : f.arg == 1;
  if (f.arg == kMaybeNamed && !is_named) drop(1);
  const int operands = is_named ? 3 : 2;
  if (kCalleeIsBelow) top(operands) = top(operands + 1);
  method_self_ = kNoNode;
  add(Kind::call_ex, words().empty, tops(operands));
  drop(operands + 1);
  push(kNoNode);
  pending_ = Pending::top;
}

// `super().name` in one instruction: the object that stands for it is not on the stack at any time.
void FrameRecorder::load_super(const FrameView& f) {
  constexpr int kMethod = 1, kTwo = 2, kName = 2;
  const FrameEntry* const end = f.stack + f.depth;
  if (end[-3] != reinterpret_cast<PyObject*>(&PySuper_Type)) throw Unrecordable("super-rebound");
  const Ref made = Ref::steal(
      PyObject_CallFunctionObjArgs(end[-3].object(), end[-2].object(), end[-1].object(), nullptr));
  add(Kind::call, words().empty, f.arg & kTwo ? tops(3) : tops(3).first(1));
  drop(3);
  if (made) {
    const NodeId object = record_.add_result(event_, made.get());
    method_self_ = object;
    add(Kind::attribute, f.name(f.arg >> kName), std::array{object});
  } else {
    PyErr_Clear();  // the program is about to meet the same error
  }
  push(kNoNode);
  if (f.arg & kMethod) push(kNoNode);
  pending_ = f.arg & kMethod ? Pending::method : Pending::top;
}

// x[a:b], read or written: its slice is an object of the interpreter's own.
void FrameRecorder::slice(const FrameView& f) {
  const Ref slice = made(PySlice_New(f.stack[f.depth - 2], f.stack[f.depth - 1], nullptr));
  const NodeId index = record_.derive(Kind::slice, words().empty, tops(2), place(), slice.get());
  drop(2);
  const NodeId container = pop();
  if (f.op == Op::slice) {
    add(Kind::subscript, words().empty, std::array{container, index});
    push(kNoNode);
    pending_ = Pending::top;
  } else {
    add(Kind::store_subscript, words().empty, std::array{container, index, pop()});
    pending_ = Pending::effect;
  }
}

// Of a text between braces: what is converted first is formatted as it is.
void FrameRecorder::format(const FrameView& f) {
  constexpr const char* kConversions[] = {"", "s", "r", "a"};
  const int count = f.arg & 4 ? 2 : 1;
  if (f.op == Op::format && count == 1 && f.table->before(f.index).op == Op::convert) return;
  add(Kind::format, interned(kConversions[f.arg & 3]), tops(count));
  drop(count);
  push(kNoNode);
  pending_ = Pending::top;
}

void FrameRecorder::raise_statement(const FrameView& f) {
  if (f.arg == 0) {  // again what is being handled; there is no further event of it
    if (handled_.empty()) throw Unrecordable("bare-raise");
    raising_ = handled_.back();
    return;
  }
  PyObject* raised = f.stack[f.depth - f.arg];
  if (may_stop_ && f.arg == 1 &&
      (raised == PyExc_StopIteration || Py_IS_TYPE(raised, as_type(PyExc_StopIteration)))) {
    return drop(1);
  }
  add(Kind::raise, words().empty, tops(f.arg));
  drop(f.arg);
  pending_ = Pending::effect;
}

// Leaving a `with` by an exception: its manager's __exit__ is told, and may swallow it.
void FrameRecorder::exit_with_exception(const FrameView& f) {
  const NodeId exit = top(4 + f.arg), exception = top(1);
  PyObject* object = f.stack[f.depth - 1];
  Ref traceback = Ref::steal(PyException_GetTraceback(object));
  const NodeId type = record_.derive(Kind::attribute, interned("__class__"), std::array{exception},
                                     place(), reinterpret_cast<PyObject*>(Py_TYPE(object)));
  const NodeId frames =
      record_.derive(Kind::attribute, interned("__traceback__"), std::array{exception}, place(),
                     traceback ? traceback.get() : Py_None);
  method_self_ = f.arg > 0 ? top(4) : kNoNode;
  add(Kind::call, words().empty, std::array{exit, type, exception, frames});
  push(kNoNode);
  pending_ = Pending::top;
}

// A pattern that takes its subject apart: the subject stays on the stack, but for a class.
void FrameRecorder::match(const FrameView& f) {
  switch (f.op) {
    case Op::match_sequence:
    case Op::match_mapping:
      add(Kind::match_kind, interned(f.op == Op::match_sequence ? "sequence" : "mapping"), tops(1));
      break;
    case Op::get_len:
      add(Kind::match_length, words().empty, tops(1));
      break;
    case Op::match_keys:
      add(Kind::match_keys, words().empty, tops(2));
      break;
    default:
      add(Kind::match_class, interned(std::to_string(f.arg)), tops(3));
      drop(3);
  }
  push(kNoNode);
  pending_ = Pending::top;
}

// The code comes first, then the parts that are there.
void FrameRecorder::make_function(const FrameView& f) {
  const auto* const body = reinterpret_cast<PyCodeObject*>(f.stack[f.depth - 1].object());
  function_name_ = body->co_qualname;
  function_code_ = pop();
  function_parts_.fill(kNoNode);
  for (size_t i = function_parts_.size(); i-- > 0;) {
    if (f.arg >> i & 1) function_parts_[i] = pop();
  }
  end_function(f);
}

void FrameRecorder::part_of_function(const FrameView& f) {
  for (size_t i = 0; i < function_parts_.size(); ++i) {
    if (f.arg >> i & 1) function_parts_[i] = top(2);
  }
  drop(2);
  end_function(f);
}

// Unless parts follow, it is whole.
void FrameRecorder::end_function(const FrameView& f) {
  push(kNoNode);
  if (f.table->behind(f.index).op == Op::set_function_attribute) return;
  constexpr const char* kParts[] = {"defaults", "kwdefaults", "annotations", "closure", "annotate"};
  std::vector<NodeId> operands = {function_code_};
  std::vector<PyObject*> names;
  for (size_t i = 0; i < function_parts_.size(); ++i) {
    if (function_parts_[i] == kNoNode) continue;
    operands.push_back(function_parts_[i]);
    names.push_back(interned(kParts[i]));
  }
  const Ref present = made(PyTuple_New(std::ssize(names)));
  for (size_t i = 0; i < names.size(); ++i) {
    PyTuple_SET_ITEM(present.get(), static_cast<Py_ssize_t>(i), Py_NewRef(names[i]));
  }
  record_.keep(present.get());
  event_ = record_.add(Kind::function, function_name_, operands, place(), present.get());
  pending_ = Pending::top;
}

void FrameRecorder::unpack(int before, int after) {
  const int results = after < 0 ? before : before + 1 + after;
  const NodeId sequence = pop();
  event_ = -1;
  for (int i = 0; i < results; ++i) {
    std::string name = std::to_string(i) + '/' + std::to_string(before);
    if (after >= 0) name += '*' + std::to_string(after);
    const int32_t event = record_.add(Kind::unpack, interned(name), std::array{sequence}, place());
    if (i == 0) event_ = event;
  }
  stack_.insert(stack_.end(), static_cast<size_t>(results), kNoNode);
  count_ = results;
  pending_ = Pending::unpack;
}

void FrameRecorder::branch(const FrameView& f, bool keeps) {
  if (std::exchange(is_asked_, false)) return drop(1);
  const bool none = f.op == Op::pop_jump_if_none;
  const bool asks_none = none || f.op == Op::pop_jump_if_not_none;
  jumps_if_ = none || f.op == Op::pop_jump_if_true || f.op == Op::jump_if_true_or_pop;
  add(Kind::branch, asks_none ? words().none : words().truth, tops(1));
  const Decoded& each = *f.table->at(f.index);
  fall_through_ = each.next;
  // A branch both ways of which are the same does not show its answer.
  if (each.target == each.next) {
    PyObject* condition = f.stack[f.depth - 1];
    if (PyType_HasFeature(Py_TYPE(condition), Py_TPFLAGS_HEAPTYPE)) {
      throw Unrecordable("idle-condition");
    }
    const int answer = asks_none ? Py_IsNone(condition) : PyObject_IsTrue(condition);
    if (answer < 0) PyErr_Clear();  // the program is about to meet the same error
    jumps_if_ = answer > 0;
    fall_through_ = f.index;  // where nothing leads
  }
  if (!keeps) drop(1);
  pending_ = keeps ? Pending::jump_or_keep : Pending::branch;
}

}  // namespace dvm::capture
