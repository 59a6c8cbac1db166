// Recordings as Python data, for the lowering and the tests (what each kind of event means: see
// core/graph/recording.def), and the switch of what is followed.
#include <pybind11/stl.h>

#include <chrono>

#include "bindings/bindings.h"
#include "bindings/recording.h"
#include "capture/cpython/exits.h"
#include "capture/cpython/frame_view.h"
#include "capture/path/reasons.h"
#include "capture/record/leaves.h"
#include "capture/record/python_objects.h"
#include "capture/record/recorder.h"
#include "capture/record/trampolines.h"
#include "core/graph/references.h"

namespace py = pybind11;

namespace dvm::bindings {

namespace {

using capture::Ref;

constexpr const char* kOriginNames[] = {
#define DVM_ORIGIN(name, text) text,
#include "core/graph/recording.def"
};
constexpr const char* kEventNames[] = {
#define DVM_EVENT(name, text) text,
#include "core/graph/recording.def"
};

// Tuples of the raw API: a recording has thousands of nodes and events.
template <typename... Objects>
py::object pack(const Objects&... objects) {
  PyObject* tuple = PyTuple_Pack(sizeof...(objects), objects.ptr()...);
  if (tuple == nullptr) throw py::error_already_set();
  return py::reinterpret_steal<py::object>(tuple);
}

py::object or_none(core::HostHandle handle) {
  return handle ? py::reinterpret_borrow<py::object>(static_cast<PyObject*>(handle)) : py::none();
}

py::object or_empty(core::HostHandle handle, const py::object& empty) {
  return handle ? py::reinterpret_borrow<py::object>(static_cast<PyObject*>(handle)) : empty;
}

// Made once, and never let go.
template <size_t kSize>
const std::vector<py::str>* to_strings(const char* const (&texts)[kSize]) {
  return new std::vector<py::str>(std::begin(texts), std::end(texts));
}

// Thousands of new tuples would set off the garbage collector, over and over, for nothing. No other
// thread can tell: while it lives no Python code runs, and the interpreter's lock is held.
class NoCollection {
 public:
  NoCollection() : was_on_(PyGC_Disable() != 0) {}
  NoCollection(const NoCollection&) = delete;
  ~NoCollection() {
    if (was_on_) PyGC_Enable();
  }

 private:
  bool was_on_;
};

class Locations {
 public:
  py::object of(const core::SeenEvent& event) {
    auto& lines = lines_[event.code];
    const auto [found, added] = lines.try_emplace(event.instruction);
    if (added) {
      auto* code = static_cast<PyCodeObject*>(event.code);
      found->second = pack(py::reinterpret_borrow<py::object>(code->co_filename),
                           py::int_(dvm_code_line(code, event.instruction)));
    }
    return found->second;
  }

 private:
  std::unordered_map<void*, std::unordered_map<int32_t, py::object>> lines_;
};

// dropped: gets the numbers of those whose objects the program has dropped, and the recording, too.
py::list nodes_of(const core::Recording& recording, py::list& dropped) {
  static const auto& origins = *to_strings(kOriginNames);
  const py::object empty = py::str("");
  PyTypeObject* const gone = capture::dropped_type();
  py::list nodes(recording.nodes.size());
  for (size_t i = 0; i < recording.nodes.size(); ++i) {
    const core::SeenNode& node = recording.nodes[i];
    const auto* const object = static_cast<const PyObject*>(node.object);
    if (object != nullptr && Py_IS_TYPE(object, gone)) dropped.append(i);
    nodes[i] = pack(origins[static_cast<size_t>(node.origin)], py::int_(node.index),
                    or_empty(node.name, empty), or_none(node.scope), or_none(node.object),
                    or_none(node.snapshot));
  }
  return nodes;
}

py::list events_of(const core::Recording& recording) {
  static const auto& kinds = *to_strings(kEventNames);
  const py::object no_name = py::str(""), no_keywords = py::tuple();
  Locations locations;
  py::list events(recording.events.size());
  for (size_t i = 0; i < recording.events.size(); ++i) {
    const core::SeenEvent& event = recording.events[i];
    py::list operands;
    for (const core::NodeId node : recording.operands_of(event)) operands.append(node);
    events[i] = pack(kinds[static_cast<size_t>(event.kind)], or_empty(event.name, no_name),
                     operands, py::list(or_empty(event.keywords, no_keywords)),
                     py::int_(event.result), locations.of(event), py::bool_(event.followed));
  }
  return events;
}

// Runs the function and returns its recording, with what it came to ("value" or "exception") and
// how long it took under the recorder.
py::dict record(const py::object& function, const py::args& args, const py::kwargs& kwargs) {
  if (!PyFunction_Check(function.ptr())) throw py::type_error("expected a Python function");
  std::vector<PyObject*> all;
  for (py::handle argument : args) all.push_back(argument.ptr());
  py::list names;
  for (auto [name, argument] : kwargs) {
    names.append(name);
    all.push_back(argument.ptr());
  }
  const py::tuple keywords(names);
  const auto start = std::chrono::steady_clock::now();
  const capture::Trace call =
      capture::record_call(reinterpret_cast<PyFunctionObject*>(function.ptr()), [&] {
        return PyObject_Vectorcall(function.ptr(), all.data(), args.size(),
                                   keywords.empty() ? nullptr : keywords.ptr());
      });
  const std::chrono::nanoseconds spent = std::chrono::steady_clock::now() - start;
  py::object exception = py::none();
  if (!call.result) {
    const py::error_already_set raised;
    exception = raised.value();
    if (raised.trace()) PyException_SetTraceback(exception.ptr(), raised.trace().ptr());
  }
  py::dict recording = to_python(call.record->data());
  const core::ReferenceGraph references(call.record->data(), capture::PythonObjects());
  recording["looked_at"] = call.record->looked_at();
  recording["guard_nodes"] = references.guard_nodes();
  recording["mock_nodes"] = references.mock_nodes();
  recording["nanoseconds"] = spent.count();
  recording["value"] = or_none(call.result.get());
  recording["exception"] = exception;
  return recording;
}

// The sentinel for an empty slot of the interpreter.
const py::object& unseen() {
  static const auto* object = new py::object(py::reinterpret_steal<py::object>(
      PyObject_CallNoArgs(reinterpret_cast<PyObject*>(&PyBaseObject_Type))));
  return *object;
}

py::tuple to_tuple(const capture::FrameEntry* slots, int count) {
  py::tuple tuple(static_cast<size_t>(count));
  for (int i = 0; i < count; ++i) {
    PyObject* const object = slots[i];
    tuple[static_cast<size_t>(i)] = object ? py::handle(object) : py::handle(unseen());
  }
  return tuple;
}

// (function, locals and cells, value stack) of a frame inside a trace callback.
py::tuple peek(const py::object& object) {
  if (!PyFrame_Check(object.ptr())) throw py::type_error("expected a frame");
  auto* frame = reinterpret_cast<PyFrameObject*>(object.ptr());
  const capture::FrameView f = capture::frame_view(frame);
  if (f.depth < 0) throw py::value_error("a frame that is running shows no stack");
  return py::make_tuple(py::handle(dvm_frame_function(frame)),
                        to_tuple(f.locals, f.code->co_nlocalsplus), to_tuple(f.stack, f.depth));
}

// A code object's operations in order: (what it does, its operand, the code unit that jumps to it
// lead to, its own, the one it may jump to or -1, entries on the value stack before it, whether the
// one behind it follows). Two that one instruction stands for have the same units.
py::list operations(const py::object& code) {
  if (!PyCode_Check(code.ptr())) throw py::type_error("expected a code object");
  py::list all;
  for (const capture::Decoded& each :
       capture::code_table(reinterpret_cast<PyCodeObject*>(code.ptr())).instructions()) {
    const bool two = each.then.op != capture::Op::nothing;
    all.append(py::make_tuple(capture::name_of(each.first.op), each.first.arg, each.start,
                              each.unit, two ? -1 : each.target, each.depth,
                              two || each.falls_through));
    if (!two) continue;
    all.append(py::make_tuple(capture::name_of(each.then.op), each.then.arg, each.start, each.unit,
                              each.target, -1, each.falls_through));
  }
  return all;
}

// The names that are asked for where a generator is closed that has no more to do then.
py::tuple asked_by_exit(const py::object& code) {
  if (const auto names = capture::asked_by_exit(reinterpret_cast<PyCodeObject*>(code.ptr()))) {
    py::tuple asked(names->size());
    for (size_t i = 0; i < names->size(); ++i) asked[i] = py::handle((*names)[i]);
    return asked;
  }
  return py::tuple();
}

}  // namespace

py::dict to_python(const core::Recording& recording) {
  const NoCollection no_collection;
  py::dict record;
  py::list dropped;
  record["nodes"] = nodes_of(recording, dropped);
  record["dropped"] = dropped;
  record["events"] = events_of(recording);
  record["result"] = recording.result;
  record["aborted"] =
      recording.aborted.empty()
          ? py::object(py::str(""))
          : py::reinterpret_borrow<py::object>(capture::reason_object(recording.aborted).get());
  const core::Loc at = recording.aborted_at;
  record["aborted_at"] = py::make_tuple(at ? *at.file : std::string(), at.line);
  record["opcodes"] = recording.opcodes;
  return record;
}

void bind_recording(py::module_& module) {
  module.attr("UNSEEN") = unseen();
  module.attr("Dropped") = py::handle(reinterpret_cast<PyObject*>(capture::dropped_type()));
  module.def("record", record);
  module.def("is_leaf", [](py::handle callable) { return capture::is_leaf(callable.ptr()); });
  module.def("asked_by_exit", asked_by_exit);
  module.def("peek", peek);
  module.def("operations", operations);
  module.def("set_leaf_packages", &capture::set_leaf_packages);
  module.def("set_leaves", [](const py::iterable& callables) {
    std::vector<Ref> leaves;
    for (py::handle callable : callables) leaves.push_back(Ref::borrow(callable.ptr()));
    py::list former;
    for (const Ref& leaf : capture::set_leaves(std::move(leaves))) {
      former.append(py::handle(leaf.get()));
    }
    return former;
  });
  module.def("set_trampolines", [](const std::vector<std::pair<py::object, py::object>>& pairs) {
    std::vector<capture::Trampoline> all;
    for (const auto& [function, asks] : pairs) {
      all.push_back({Ref::borrow(function.ptr()), Ref::borrow(asks.ptr())});
    }
    capture::set_trampolines(std::move(all));
  });
}

}  // namespace dvm::bindings
