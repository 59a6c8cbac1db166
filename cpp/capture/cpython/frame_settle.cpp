// FrameRecorder, second half: what the instruction that just ran turned out to do.
#include <utility>

#include "capture/cpython/frame_recorder.h"
#include "capture/cpython/handlers.h"

namespace dvm::capture {

namespace {

// A body's result passes through C code on its way to the stack, which may copy a number.
bool is_same_value(PyObject* returned, PyObject* object) {
  if (returned == object) return true;
  if (!PyLong_CheckExact(returned) || !PyLong_CheckExact(object)) return false;
  return PyObject_RichCompareBool(returned, object, Py_EQ) > 0;
}

}  // namespace

NodeId FrameRecorder::returned(PyObject* value) {
  if (returned_ == kNoNode || record_.object(returned_) != value) {
    throw Unrecordable("unknown-return");
  }
  return returned_;
}

NodeId FrameRecorder::yielded(PyObject* item) {
  if (record_.object(yielded_) != item) throw Unrecordable("unknown-item");
  return std::exchange(yielded_, kNoNode);
}

void FrameRecorder::resume(const FrameView& f, NodeId sent) {
  PyObject* const value = f.depth == 0 ? nullptr : f.stack[f.depth - 1].object();
  if (sent != kNoNode && record_.object(sent) == value) return push(sent);
  if (value != Py_None) throw Unrecordable("sent-into-generator");
  push(record_.constant(Py_None));
}

NodeId FrameRecorder::produced(PyObject* object) {
  if (object == nullptr) throw Unrecordable("no-result");
  if (followed_ != kNoNode && is_same_value(record_.object(followed_), object)) {
    record_.set_result(event_, followed_);
    return followed_;
  }
  return record_.add_result(event_, object);
}

// The value of a `yield from`: what its generator returned, None of any other iterator.
NodeId FrameRecorder::ended_with(PyObject* value) {
  const NodeId node = std::exchange(ending_, kNoNode);
  if (node != kNoNode && record_.object(node) == value) return node;
  if (value != Py_None) throw Unrecordable("iterator-ends-with-value");
  return record_.constant(value);
}

void FrameRecorder::settle(const FrameView& f) {
  const int depth = static_cast<int>(stack_.size());
  const bool exhausted =
      (pending_ == Pending::next || pending_ == Pending::send) && f.start != fall_through_;
  const bool popped = pending_ == Pending::jump_or_keep && f.depth == depth - 1;
  if (exhausted || popped) drop(depth - f.depth);
  if (f.depth != static_cast<int>(stack_.size())) return;  // reported by the caller

  const FrameEntry* const top_object = f.stack + f.depth - 1;
  switch (pending_) {
    case Pending::nothing:
    case Pending::effect:
      break;
    case Pending::top:
      top() = produced(*top_object);
      break;
    case Pending::global:
      top(1 + above_) = record_.global(globals_, name_, top_object[-above_]);
      break;
    case Pending::method:
      settle_method(f);
      break;
    case Pending::unpack:
      settle_unpack(f);
      break;
    case Pending::with:
      top(2) = record_.add_result(event_ - 1, top_object[-1]);
      top() = produced(*top_object);
      break;
    case Pending::next:
      if (exhausted) {
        record_.set_name(event_, words().exhausted);
      } else {
        top() = produced(*top_object);
      }
      break;
    case Pending::send:
      if (exhausted) record_.set_name(event_, words().exhausted);
      top() = exhausted ? ended_with(*top_object) : produced(*top_object);
      break;
    case Pending::truth:
    case Pending::negation:
      settle_truth(*top_object);
      break;
    case Pending::compared:
      settle_compared(f);
      break;
    case Pending::cell:
      record_.adopt_cell(f.locals[count_], std::exchange(local(count_), kNoNode));
      break;
    case Pending::branch:
    case Pending::jump_or_keep:
      settle_branch(f);
      break;
  }
  pending_ = Pending::nothing;
  event_ = -1;
  followed_ = ending_ = kNoNode;
}

void FrameRecorder::raise(PyObject* exception) {
  const char* type = Py_TYPE(exception)->tp_name;
  // Of a followed body's event only the body itself is known to raise.
  if (event_ < 0 || record_.event(event_).followed) {
    throw Unrecordable(std::string("exception-raised\n") + type);
  }
  raising_ = record_.derive(core::SeenEvent::Kind::raised, interned(type), {}, place(), exception);
}

void FrameRecorder::enter_handler(const FrameView& f) {
  const auto handler = handler_of(code_, instruction_);
  if (!handler || handler->target != f.start ||
      stack_.size() < static_cast<size_t>(handler->depth)) {
    throw Unrecordable("unknown-handler");
  }
  stack_.resize(static_cast<size_t>(handler->depth));
  if (handler->lasti) {  // a number of the interpreter's own, which is no object in all versions
    PyObject* const place = f.stack[handler->depth];
    push(record_.constant(place != nullptr ? place : Py_None));
  }
  push(raising_);
  if (f.depth != static_cast<int>(stack_.size()) ||
      f.stack[f.depth - 1] != record_.object(raising_)) {
    throw Unrecordable("exception-turned");
  }
  pending_ = Pending::nothing;
  event_ = -1;
  followed_ = raising_ = kNoNode;
  keyword_names_ = nullptr;
  is_asked_ = in_written_out_ = false;
}

void FrameRecorder::settle_method(const FrameView& f) {
  const FrameEntry* const pair = f.stack + f.depth - 2;
  const int place = pair[0] != nullptr ? 2 : 1;
  top(place) = produced(pair[2 - place]);
  if (place == 2 && pair[1] != nullptr) top(1) = method_self_;
}

void FrameRecorder::settle_unpack(const FrameView& f) {
  for (int i = 0; i < count_; ++i) {
    top(1 + i) = record_.add_result(event_ + i, f.stack[f.depth - 1 - i]);
  }
}

void FrameRecorder::settle_branch(const FrameView& f) {
  const bool jumped = f.start != fall_through_;
  record_.set_keywords(event_, jumped == jumps_if_ ? words().yes : words().no);
}

}  // namespace dvm::capture
