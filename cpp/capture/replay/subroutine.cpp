#include "capture/replay/subroutine.h"

#include <utility>

#include "capture/path/path_tree.h"
#include "capture/replay/frame.h"
#include "capture/replay/likely.h"

namespace dvm::capture {

bool Subroutine::add(std::unique_ptr<Path> path) {
  return install(std::move(path), paths_, roots_, !running_.any())->reason().empty();
}

Outcome Subroutine::replay(Call& call) {
  const size_t mark = call.draws->mark();
  call.tries_several = roots_.size() > 1;
  for (size_t k = 0; k < roots_.size(); ++k) {
    const size_t i = likely_first(k, likely_);
    call.draws->begin_again(mark);
    begin_anew(call.given);
    const Outcome outcome = capture::replay(*roots_[i], call);
    if (outcome == Outcome::missed && !call.wrote) continue;
    likely_ = i;
    return outcome;
  }
  return Outcome::missed;
}

void Subroutine::clear() {
  roots_.clear();
  const auto freed = std::exchange(paths_, {});  // what goes with them may run code
}

int Subroutine::traverse(visitproc visit, void* arg) const {
  for (const auto& path : paths_) {
    if (const int status = path->traverse(visit, arg)) return status;
  }
  return 0;
}

bool define_result(Frame& frame, int32_t reg, PyObject* value, Outcome outcome) {
  // What is not a way that none has gone yet is for the original.
  if (value == nullptr && outcome != Outcome::missed) {
    const bool is_told = outcome == Outcome::spared || outcome == Outcome::interrupted;
    frame.outcome = is_told ? outcome : Outcome::dropped;
  }
  return frame.define(reg, value);
}

namespace {

struct SubroutineObject {
  PyObject_HEAD Subroutine* routine;
};

PyTypeObject* g_subroutine_type = nullptr;

SubroutineObject* cast_subroutine(PyObject* object) {
  return reinterpret_cast<SubroutineObject*>(object);
}

int traverse_subroutine(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  return cast_subroutine(self)->routine ? cast_subroutine(self)->routine->traverse(visit, arg) : 0;
}

int clear_subroutine(PyObject* self) {
  cast_subroutine(self)->routine->clear();
  return 0;
}

void destroy_subroutine(PyObject* self) {
  PyTypeObject* const type = Py_TYPE(self);
  PyObject_GC_UnTrack(self);
  delete cast_subroutine(self)->routine;
  type->tp_free(self);
  Py_DECREF(type);
}

PyType_Slot g_subroutine_slots[] = {{Py_tp_traverse, reinterpret_cast<void*>(traverse_subroutine)},
                                    {Py_tp_clear, reinterpret_cast<void*>(clear_subroutine)},
                                    {Py_tp_dealloc, reinterpret_cast<void*>(destroy_subroutine)},
                                    {0, nullptr}};

PyType_Spec g_subroutine_spec = {
    "dvm.Subroutine", sizeof(SubroutineObject), 0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    g_subroutine_slots};

}  // namespace

PyObject* make_subroutine_type() {
  PyObject* const type = PyType_FromSpec(&g_subroutine_spec);
  g_subroutine_type = reinterpret_cast<PyTypeObject*>(type);
  return type;
}

PyObject* new_subroutine(std::unique_ptr<Subroutine> routine) {
  PyObject* const self = g_subroutine_type->tp_alloc(g_subroutine_type, 0);
  if (self != nullptr) cast_subroutine(self)->routine = routine.release();
  return self;
}

bool is_subroutine(PyObject* object) { return Py_IS_TYPE(object, g_subroutine_type); }

Subroutine& subroutine_of(PyObject* object) { return *cast_subroutine(object)->routine; }

}  // namespace dvm::capture
