#include <memory>

#include "capture/call_bound.h"
#include "capture/recorder.h"
#include "capture/shadow_frame.h"
#include "capture/tracer.h"

namespace dvm::capture {

namespace {

class Tracer {
 public:
  Tracer(PyFunctionObject* function, PyObject* const* bound) : function_(function) {
    for (int i = 0; i < parameter_count(function); ++i) {
      arguments_.push_back(recording_.keep(core::ShadowNode::Origin::argument, bound[i], i));
    }
  }

  // A tracer that was active before (a debugger, coverage) keeps receiving its events.
  void chain(Py_tracefunc previous, PyObject* previous_object) {
    previous_ = previous;
    previous_object_ = Ref::borrow(previous_object);
  }

  // Called from C: whatever goes wrong here ends the recording, not the user's program.
  int on_event(PyFrameObject* frame, int what, PyObject* argument) noexcept {
    if (previous_ && what != PyTrace_OPCODE) {
      if (const int status = previous_(previous_object_.get(), frame, what, argument)) {
        return status;
      }
    }
    try {
      record(frame, what, argument);
    } catch (const std::exception& error) {
      recording_.abort(std::string("the recorder failed: ") + error.what(), {});
    }
    return 0;
  }

  Trace finish(PyObject* result) {
    Trace trace;
    trace.result = Ref::steal(result);
    trace.graph = std::move(recording_.graph);
    trace.kept = std::move(recording_.kept);
    return trace;
  }

 private:
  void record(PyFrameObject* frame, int what, PyObject* argument) {
    switch (what) {
      case PyTrace_CALL:
        return on_call(frame);
      case PyTrace_OPCODE:
        if (is_top(frame) && !recording_.aborted()) frames_.back()->before_opcode(frame);
        if (recording_.aborted()) dvm_frame_trace(frame, 0, previous_ != nullptr);
        return;
      case PyTrace_EXCEPTION:
        if (is_top(frame)) recording_.abort("an exception was raised", location(frame));
        return;
      case PyTrace_RETURN:
        if (is_top(frame)) on_return(argument);
        return;
      default:
        return;
    }
  }

  static core::Loc location(PyFrameObject* frame) {
    Ref code = Ref::steal(reinterpret_cast<PyObject*>(PyFrame_GetCode(frame)));
    PyObject* file = reinterpret_cast<PyCodeObject*>(code.get())->co_filename;
    return core::make_loc(printable(file), PyFrame_GetLineNumber(frame));
  }

  bool is_top(PyFrameObject* frame) const {
    return !frames_.empty() && frames_.back()->frame() == dvm_frame_identity(frame);
  }

  void on_call(PyFrameObject* frame) {
    if (done_ || recording_.aborted()) return;
    const PyObject* expected =
        frames_.empty() ? reinterpret_cast<PyObject*>(function_) : frames_.back()->callee();
    // Other frames are callbacks from C code: their call is one opaque event of the caller.
    if (expected == nullptr || dvm_frame_function(frame) != expected) return;
    auto shadow = std::make_unique<ShadowFrame>(recording_, frame);
    shadow->bind_arguments(frames_.empty() ? arguments_ : frames_.back()->callee_arguments());
    frames_.push_back(std::move(shadow));
    dvm_frame_trace(frame, 1, previous_ != nullptr);
  }

  void on_return(PyObject* value) {
    const core::NodeId node =
        recording_.aborted() || value == nullptr ? core::kNoNode : frames_.back()->returned(value);
    frames_.pop_back();
    if (frames_.empty()) {
      recording_.graph.result = node;
      done_ = true;
    } else if (node != core::kNoNode) {
      frames_.back()->set_call_result(node);
    }
  }

  PyFunctionObject* function_;
  Recording recording_;
  std::vector<core::NodeId> arguments_;
  std::vector<std::unique_ptr<ShadowFrame>> frames_;
  Py_tracefunc previous_ = nullptr;
  Ref previous_object_;
  bool done_ = false;
};

int trace_function(PyObject* capsule, PyFrameObject* frame, int what, PyObject* argument) {
  auto* tracer = static_cast<Tracer*>(PyCapsule_GetPointer(capsule, nullptr));
  return tracer->on_event(frame, what, argument);
}

}  // namespace

namespace {
bool g_use_recorder = false;
}

void use_recorder(bool on) { g_use_recorder = on; }

Trace trace_call(PyFunctionObject* function, PyObject* const* bound) {
  if (g_use_recorder) {
    RecordedCall call = record_call(function, [&] { return call_bound(function, bound); });
    Trace trace;
    trace.record = std::move(call.record);
    trace.result = std::move(call.result);
    return trace;
  }
  Tracer tracer(function, bound);
  Ref capsule = Ref::steal(PyCapsule_New(&tracer, nullptr, nullptr));
  PyThreadState* thread = PyThreadState_Get();
  const Py_tracefunc previous = thread->c_tracefunc;
  Ref previous_object = Ref::borrow(thread->c_traceobj);
  tracer.chain(previous, previous_object.get());

  PyEval_SetTrace(trace_function, capsule.get());
  PyObject* result = call_bound(function, bound);
  // SetTrace may run Python code (audit hooks) and must not meet a pending exception.
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  PyEval_SetTrace(previous, previous_object.get());
  PyErr_Restore(type, value, traceback);
  return tracer.finish(result);
}

}  // namespace dvm::capture
