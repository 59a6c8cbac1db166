// What cpython311 has, on other versions of CPython: nothing. dvm.compile refuses every function
// there (kCanRecord), so that no call is recorded or replayed and most of this is never asked.
#include "capture/cpython/containers.h"
#include "capture/cpython/exits.h"
#include "capture/cpython/frame_view.h"
#include "capture/cpython/instance_dict.h"
#include "capture/cpython/interruption.h"
#include "capture/record/recorder.h"
#include "core/error.h"

namespace dvm::capture {

extern const bool kCanRecord = false;

namespace {

[[noreturn]] void refuse() {
  core::fail(core::ErrorCode::other_cpython, "calls are recorded on CPython 3.11, 3.13 and 3.14");
}

}  // namespace

Trace record_call(PyFunctionObject*, const std::function<PyObject*()>&, bool, Limits) { refuse(); }
Trace trace_call(PyFunctionObject*, PyObject* const*, Limits) { refuse(); }
bool is_recording() { return false; }
std::optional<std::vector<PyObject*>> asked_by_exit(PyCodeObject*) { refuse(); }
bool lets_exit_pass(PyObject*) { refuse(); }
const CodeTable& code_table(PyCodeObject*) { refuse(); }
const char* name_of(Op) { refuse(); }
FrameView frame_view(PyFrameObject*) { refuse(); }

}  // namespace dvm::capture

using dvm::capture::refuse;

uint64_t dvm_dict_version(PyObject*) { refuse(); }
int dvm_set_next(PyObject*, Py_ssize_t*, PyObject**) { refuse(); }
PyObject* dvm_instance_attribute(PyObject*, PyObject*) { refuse(); }
int dvm_is_interrupted() { return 0; }
int dvm_is_lock_wanted() { return 0; }
PyObject* dvm_frame_function(PyFrameObject*) { refuse(); }
int dvm_code_line(PyCodeObject*, int) { refuse(); }
int dvm_lines_are_read(PyCodeObject*) { refuse(); }
int dvm_generator_waits(PyObject*) { refuse(); }
void dvm_allow_c_calls(int) { refuse(); }
