#include "capture/record/callbacks.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "capture/record/callees.h"
#include "capture/record/leaves.h"
#include "capture/record/special_methods.h"

namespace dvm::capture {

using Kind = core::SeenEvent::Kind;

bool Callbacks::is_handled(Record& record, PyObject* function) {
  const auto [place, is_new] = searches_.try_emplace(function);
  // Or another one may be made where it was. A weak reference would be one that the program sees.
  if (is_new) record.keep(function);
  Search& search = place->second;
  const auto& nodes = record.data().nodes;
  for (; !search.found && search.nodes < nodes.size(); ++search.nodes) {
    auto* object = static_cast<PyObject*>(nodes[search.nodes].object);
    search.found = runs_function(object, function) || caches_function(object, function) ||
                   makes_items(object, function);
  }
  return search.found;
}

namespace {

// Whether C code has compared or added objects of a class: what it runs is a method of the first.
bool is_operator(const FrameView& f, PyObject* function) {
  constexpr std::string_view kNames[] = {"__lt__", "__le__",  "__gt__",  "__ge__",
                                         "__eq__", "__add__", "__radd__"};
  const char* name = PyUnicode_AsUTF8(reinterpret_cast<PyFunctionObject*>(function)->func_name);
  if (name == nullptr) PyErr_Clear();
  return name != nullptr && f.code->co_argcount > 0 &&
         std::ranges::find(kNames, name) != std::end(kNames) &&
         special_method(Py_TYPE(parameter(f, 0)), name) == function;
}

// Whether the event is `getattr(object, name)`, and the name a property's in Python.
bool is_property(const Record& record, const FrameRecorder& caller, PyObject* function) {
  const core::SeenEvent& event = record.event(caller.event());
  const auto operands = record.data().operands_of(event);
  if (event.kind != Kind::call || operands.size() < 3) return false;
  PyObject* const callee = record.object(operands[0]);
  PyObject* const name = record.object(operands[2]);
  if (!PyCFunction_Check(callee) || !PyUnicode_CheckExact(name)) return false;
  const std::string_view builtin = reinterpret_cast<PyCFunctionObject*>(callee)->m_ml->ml_name;
  if (builtin != "getattr" && builtin != "hasattr") return false;
  PyObject* const found = _PyType_Lookup(Py_TYPE(record.object(operands[1])), name);
  if (found == nullptr || !Py_IS_TYPE(found, &PyProperty_Type)) return false;
  return made(PyObject_GetAttrString(found, "fget")).get() == function;
}

}  // namespace

bool runs_for_event(const Record& record, const FrameRecorder& caller, PyFrameObject* frame) {
  if (caller.event() < 0 || dvm_frame_caller(frame) != caller.identity()) return false;
  const core::SeenEvent& event = record.event(caller.event());
  if (event.kind != Kind::call && event.kind != Kind::call_ex) return true;
  // What a leaf runs is part of its meaning.
  return !is_leaf(record.object(record.data().operands_of(event)[0]));
}

std::vector<NodeId> add_given(Record& record, const FrameRecorder& caller, PyFrameObject* frame) {
  const FrameView f = frame_view(frame);
  const std::array callee = {record.constant(dvm_frame_function(frame))};
  std::vector<NodeId> parameters;
  for (int slot = 0; slot < parameter_slots(f.code); ++slot) {
    parameters.push_back(record.derive(Kind::given, interned(std::to_string(slot)), callee,
                                       caller.place(), parameter(f, slot)));
  }
  return parameters;
}

std::optional<std::vector<NodeId>> Callbacks::enter(Record& record, const FrameRecorder& caller,
                                                    PyFrameObject* frame) {
  constexpr int kSuspends = CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR;
  PyObject* function = dvm_frame_function(frame);
  if ((frame_view(frame).code->co_flags & kSuspends) || !runs_for_event(record, caller, frame) ||
      is_leaf(function) ||
      !(is_operator(frame_view(frame), function) || is_handled(record, function) ||
        is_property(record, caller, function))) {
    return std::nullopt;
  }
  record.add(Kind::calls_back, words().empty, std::array{record.constant(function)},
             caller.place());
  return add_given(record, caller, frame);
}

}  // namespace dvm::capture
