// Events by PyEval_SetTrace. Whoever traced before (a debugger, coverage) keeps receiving theirs.
#include <unordered_map>
#include <utility>

#include "capture/cpython/event_source.h"
#include "capture/cpython/frame_view.h"
#include "capture/cpython311/trace_flags.h"

namespace dvm::capture {

namespace {

class Tracer;
// The innermost on this thread. Not passed as the trace object, which sys.gettrace shows.
thread_local Tracer* current = nullptr;

class Tracer final : public EventSource {
 public:
  explicit Tracer(EventReader& reader)
      : reader_(reader),
        previous_(PyThreadState_Get()->c_tracefunc),
        previous_object_(Ref::borrow(PyThreadState_Get()->c_traceobj)),
        around_(std::exchange(current, this)) {
    PyEval_SetTrace(trace, previous_object_.get());
  }
  Tracer(const Tracer&) = delete;

  bool is_alone() const override { return previous_ == nullptr; }

  void attend(PyFrameObject* frame, Attention wanted) override {
    if (wanted == Attention::none) return release(frame);
    const char was = dvm_frame_swap_opcodes(frame, wanted == Attention::instructions);
    if (is_alone()) {
      dvm_frame_trace_lines(frame, wanted == Attention::turns);
    } else {
      wants_.try_emplace(dvm_frame_identity(frame), was);
    }
  }

  void quit() override { PyEval_SetTrace(nullptr, nullptr); }

  bool end() override {
    // SetTrace may run Python code (audit hooks) and must not meet a pending exception.
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    const bool is_ours = PyThreadState_Get()->c_tracefunc == trace;
    if (is_ours) PyEval_SetTrace(previous_, previous_object_.get());
    current = around_;
    PyErr_Restore(type, value, traceback);
    return is_ours;
  }

 private:
  void release(PyFrameObject* frame) {
    if (is_alone()) {
      dvm_frame_swap_opcodes(frame, 0);
      dvm_frame_trace_lines(frame, 0);
    } else if (const auto other = wants_.extract(dvm_frame_identity(frame))) {
      dvm_frame_swap_opcodes(frame, other.mapped());
    }
  }

  static int trace(PyObject*, PyFrameObject* frame, int what, PyObject* argument) {
    return current ? current->on_trace(frame, what, argument) : 0;
  }

  int on_trace(PyFrameObject* frame, int what, PyObject* argument) {
    if (what == PyTrace_OPCODE) {
      reader_.on_event(frame, FrameEvent::instruction, nullptr);
      return forward(frame, what, argument);
    }
    const int status = forward(frame, what, argument);
    if (status == 0) tell(frame, what, argument);
    if (what == PyTrace_RETURN) wants_.erase(dvm_frame_identity(frame));
    return status;
  }

  void tell(PyFrameObject* frame, int what, PyObject* argument) {
    switch (what) {
      case PyTrace_CALL:
        reader_.on_event(frame, is_thrown(frame) ? FrameEvent::thrown : FrameEvent::call, nullptr);
        return;
      case PyTrace_LINE:
        reader_.on_event(frame, FrameEvent::turn, nullptr);
        return;
      case PyTrace_EXCEPTION:
        reader_.on_event(frame, FrameEvent::exception, PyTuple_GET_ITEM(argument, 1));
        return;
      case PyTrace_RETURN:
        reader_.on_event(frame, argument ? FrameEvent::returned : FrameEvent::unwound, argument);
        return;
      default:
        return;
    }
  }

  static bool is_thrown(PyFrameObject* frame) {
    return dvm_frame_generator(frame) != nullptr && frame_view(frame).op != Op::resume;
  }

  // The one before finds the frame as if it were alone, and may change its mind. Of a frame that is
  // attended to it gets the instructions that it has asked for itself.
  int forward(PyFrameObject* frame, int what, PyObject* argument) {
    if (previous_ == nullptr) return 0;
    const auto own = wants_.find(dvm_frame_identity(frame));
    if (own == wants_.end()) return call_previous(frame, what, argument);
    if (what == PyTrace_OPCODE && !own->second) return 0;
    const char ours = dvm_frame_swap_opcodes(frame, own->second);
    const int status = call_previous(frame, what, argument);
    own->second = dvm_frame_swap_opcodes(frame, ours);
    return status;
  }

  int call_previous(PyFrameObject* frame, int what, PyObject* argument) {
    return previous_ == trace && around_ ? around_->on_trace(frame, what, argument)
                                         : previous_(previous_object_.get(), frame, what, argument);
  }

  EventReader& reader_;
  Py_tracefunc previous_;
  Ref previous_object_;
  Tracer* around_;
  std::unordered_map<const void*, char> wants_;  // what others want of frames attended to
};

}  // namespace

std::unique_ptr<EventSource> begin_events(EventReader& reader) {
  return std::make_unique<Tracer>(reader);
}

}  // namespace dvm::capture
