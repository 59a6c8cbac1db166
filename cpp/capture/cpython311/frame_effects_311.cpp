// FrameRecorder, the instructions whose effect takes more than a line: calls, functions, unpacking,
// branches, cells.
#include <algorithm>
#include <array>

#include "capture/cpython311/drops.h"
#include "capture/cpython311/frame_recorder.h"
#include "capture/cpython311/instructions_311.h"
#include "opcode.h"

namespace dvm::capture {

namespace {

PyTypeObject* as_type(PyObject* type) { return reinterpret_cast<PyTypeObject*>(type); }

}  // namespace

using Kind = core::SeenEvent::Kind;
using core::SeenNode;

void FrameRecorder::store_cell(const DvmFrameView& f) {
  PyObject* cell = f.locals[f.oparg];
  if (f.opcode == DELETE_DEREF) {
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
  return std::ranges::any_of(stack_, [&](NodeId node) {
    if (node == kNoNode || !PyMethod_Check(record_.object(node))) return false;
    PyObject* const exit = record_.object(node);
    PyObject* const leaves = PyMethod_GET_FUNCTION(exit);
    return PyMethod_GET_SELF(exit) == record_.object(stack) && PyFunction_Check(leaves) &&
           PyUnicode_CompareWithASCIIString(reinterpret_cast<PyFunctionObject*>(leaves)->func_name,
                                            "__exit__") == 0;
  });
}

void FrameRecorder::call(const DvmFrameView& f) {
  const NodeId self = top(f.oparg + 1), method = top(f.oparg + 2);
  // (null, callee) or (callee, first argument); where a method was looked up, its object is no
  // argument the user wrote.
  const bool plain = method == kNoNode;
  const bool looked_up = !plain && [&] {
    const SeenNode& node = record_.data().node(method);
    if (node.origin != SeenNode::Origin::event) return false;
    const core::SeenEvent& event = record_.event(node.index);
    return event.kind == Kind::attribute && record_.data().operands_of(event)[0] == self;
  }();
  const NodeId callee = plain ? self : method;
  if (callee != kNoNode) refuse_look(record_.object(callee));
  method_self_ = looked_up ? self : kNoNode;
  if (looked_up) top(f.oparg + 1) = method;
  const int operands = plain || looked_up ? f.oparg + 1 : f.oparg + 2;
  event_ = record_.add(Kind::call, words().empty, tops(operands), place(), keyword_names_);
  keyword_names_ = nullptr;
  drop(f.oparg + 2);
  push(kNoNode);
  pending_ = Pending::top;
}

void FrameRecorder::call_ex(const DvmFrameView& f) {
  refuse_looking_call(f);
  const int operands = f.oparg & 1 ? 3 : 2;
  method_self_ = kNoNode;
  add(Kind::call_ex, words().empty, tops(operands));
  drop(operands + 1);
  push(kNoNode);
  pending_ = Pending::top;
}

void FrameRecorder::raise_statement(const DvmFrameView& f) {
  if (f.oparg == 0) {  // again what is being handled; there is no further event of it
    if (handled_.empty()) throw Unrecordable("bare-raise");
    raising_ = handled_.back();
    return;
  }
  PyObject* raised = f.stack[f.depth - f.oparg];
  if (may_stop_ && f.oparg == 1 &&
      (raised == PyExc_StopIteration || Py_IS_TYPE(raised, as_type(PyExc_StopIteration)))) {
    return drop(1);
  }
  add(Kind::raise, words().empty, tops(f.oparg));
  drop(f.oparg);
  pending_ = Pending::effect;
}

// Leaving a `with` by an exception: its manager's __exit__ is told, and may swallow it.
void FrameRecorder::exit_with_exception(const DvmFrameView& f) {
  const NodeId exit = top(4), exception = top(1);
  PyObject* object = f.stack[f.depth - 1];
  Ref traceback = Ref::steal(PyException_GetTraceback(object));
  const NodeId type = record_.derive(Kind::attribute, interned("__class__"), std::array{exception},
                                     place(), reinterpret_cast<PyObject*>(Py_TYPE(object)));
  const NodeId frames =
      record_.derive(Kind::attribute, interned("__traceback__"), std::array{exception}, place(),
                     traceback ? traceback.get() : Py_None);
  method_self_ = kNoNode;
  add(Kind::call, words().empty, std::array{exit, type, exception, frames});
  push(kNoNode);
  pending_ = Pending::top;
}

// A pattern that takes its subject apart: the subject stays on the stack, but for a class.
void FrameRecorder::match(const DvmFrameView& f) {
  switch (f.opcode) {
    case MATCH_SEQUENCE:
    case MATCH_MAPPING:
      add(Kind::match_kind, interned(f.opcode == MATCH_SEQUENCE ? "sequence" : "mapping"), tops(1));
      break;
    case GET_LEN:
      add(Kind::match_length, words().empty, tops(1));
      break;
    case MATCH_KEYS:
      add(Kind::match_keys, words().empty, tops(2));
      break;
    default:
      add(Kind::match_class, interned(std::to_string(f.oparg)), tops(3));
      drop(3);
  }
  push(kNoNode);
  pending_ = Pending::top;
}

void FrameRecorder::make_function(const DvmFrameView& f) {
  constexpr const char* kParts[] = {"defaults", "kwdefaults", "annotations", "closure"};
  std::vector<PyObject*> names;
  for (int i = 0; i < 4; ++i) {
    if (f.oparg >> i & 1) names.push_back(interned(kParts[i]));
  }
  const int parts = static_cast<int>(names.size());
  Ref present = made(PyTuple_New(parts));
  for (int i = 0; i < parts; ++i) {
    PyTuple_SET_ITEM(present.get(), i, Py_NewRef(names[static_cast<size_t>(i)]));
  }
  record_.keep(present.get());
  const auto* body = reinterpret_cast<PyCodeObject*>(f.stack[f.depth - 1]);
  std::rotate(stack_.end() - parts - 1, stack_.end() - 1, stack_.end());  // the code comes first
  event_ = record_.add(Kind::function, body->co_qualname, tops(parts + 1), place(), present.get());
  drop(parts + 1);
  push(kNoNode);
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

void FrameRecorder::branch(const DvmFrameView& f, bool keeps) {
  const bool none = f.opcode == POP_JUMP_FORWARD_IF_NONE || f.opcode == POP_JUMP_BACKWARD_IF_NONE;
  const bool asks_none =
      none || f.opcode == POP_JUMP_FORWARD_IF_NOT_NONE || f.opcode == POP_JUMP_BACKWARD_IF_NOT_NONE;
  jumps_if_ = none || f.opcode == POP_JUMP_FORWARD_IF_TRUE ||
              f.opcode == POP_JUMP_BACKWARD_IF_TRUE || f.opcode == JUMP_IF_TRUE_OR_POP;
  add(Kind::branch, asks_none ? words().none : words().truth, tops(1));
  // A branch both ways of which are the same does not show its answer.
  if (f.oparg == 0) {
    PyObject* condition = f.stack[f.depth - 1];
    if (PyType_HasFeature(Py_TYPE(condition), Py_TPFLAGS_HEAPTYPE)) {
      throw Unrecordable("idle-condition");
    }
    const int answer = asks_none ? Py_IsNone(condition) : PyObject_IsTrue(condition);
    if (answer < 0) PyErr_Clear();  // the program is about to meet the same error
    jumps_if_ = answer > 0;
  }
  fall_through_ = f.index + (f.oparg == 0 ? 0 : 1);
  if (!keeps) drop(1);
  pending_ = keeps ? Pending::jump_or_keep : Pending::branch;
}

}  // namespace dvm::capture
