// FrameRecorder: truths that an instruction of its own asks for, before a jump or `not` that is
// then given True or False (3.12 and later; before, those ask themselves).
#include <algorithm>

#include "capture/cpython/frame_recorder.h"
#include "capture/cpython/instructions.h"
#include "capture/library/library.h"

namespace dvm::capture {

using Kind = core::SeenEvent::Kind;

namespace {

bool is_jump(Op op) { return op == Op::pop_jump_if_false || op == Op::pop_jump_if_true; }

// Whether no operator on it is code of the program.
bool is_plain(PyObject* object) {
  return exact_library_of(object) != nullptr ||
         !PyType_HasFeature(Py_TYPE(object), Py_TPFLAGS_HEAPTYPE);
}

bool is_of_library(PyObject* object) {
  return exact_library_of(object) != nullptr ||
         std::ranges::any_of(
             libraries(), [object](const Library* library) { return library->is_scalar(object); });
}

// Whether comparing them runs no code of the program: not even that of elements.
bool are_plain(PyObject* left, PyObject* right) {
  return is_plain(left) && is_plain(right) && is_mute(left) && is_mute(right);
}

}  // namespace

void FrameRecorder::ask_truth(const FrameView& f) {
  const Op next = f.table->behind(f.index).op;
  if (is_jump(next)) {
    add(Kind::branch, words().truth, tops(1));
    pending_ = Pending::truth;
  } else if (next == Op::unary_not) {
    add(Kind::unary, interned("not"), tops(1));
    pending_ = Pending::negation;
  } else {
    throw Unrecordable("unknown-instruction");
  }
}

void FrameRecorder::settle_truth(PyObject* answer) {
  is_asked_ = true;
  if (pending_ == Pending::truth) {
    record_.set_keywords(event_, answer == Py_True ? words().yes : words().no);
  } else {
    top() = produced(answer == Py_True ? Py_False : Py_True);
  }
}

// A comparison and the truth of what it results in, which the stack never holds. Arrays and their
// scalars are compared here once more; what code of the program returned, the recorder has seen;
// all other comparisons result in a truth.
void FrameRecorder::compare_truth(const FrameView& f) {
  const FrameEntry* const end = f.stack + f.depth;
  PyObject *const left = end[-2], *const right = end[-1];
  add(Kind::compare, compare_operator(f.arg), tops(2));
  drop(2);
  push(kNoNode);
  pending_ = Pending::compared;
  if (!is_of_library(left) && !is_of_library(right)) return;
  if (!are_plain(left, right)) throw Unrecordable("truth-of-comparison");
  const Ref result = Ref::steal(PyObject_RichCompare(left, right, f.arg));
  if (!result) return PyErr_Clear();  // the program is about to meet the same error
  top() = record_.add_result(event_, result.get());
  if (is_jump(f.table->behind(f.index).op)) {
    add(Kind::branch, words().truth, tops(1));
    pending_ = Pending::truth;
  } else {
    pending_ = Pending::effect;
  }
}

void FrameRecorder::settle_compared(const FrameView& f) {
  PyObject* const answer = f.stack[f.depth - 1];
  PyObject* const returned = followed_ == kNoNode ? nullptr : record_.object(followed_);
  if (returned == nullptr || PyBool_Check(returned)) {
    top() = produced(answer);
    return;
  }
  // `!=` turns round what __eq__ returned, and a class of the program may say what is true.
  const bool is_own = PyType_HasFeature(Py_TYPE(returned), Py_TPFLAGS_HEAPTYPE);
  if (is_own || record_.event(event_).name == interned("!=") || !is_jump(f.op)) {
    throw Unrecordable("truth-of-comparison");
  }
  record_.set_result(event_, followed_);
  top() = followed_;
  add(Kind::branch, words().truth, tops(1));
  record_.set_keywords(event_, answer == Py_True ? words().yes : words().no);
  is_asked_ = true;
}

}  // namespace dvm::capture
