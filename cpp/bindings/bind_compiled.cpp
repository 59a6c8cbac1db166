// Compiled functions: creation, the lowering hook, and what explain and inspect read.
#include <pybind11/stl.h>

#include <optional>
#include <utility>

#include "bindings/bindings.h"
#include "bindings/compiled_type.h"
#include "bindings/errors.h"
#include "bindings/path_parser.h"
#include "bindings/recording.h"
#include "bindings/reports.h"
#include "capture/cpython/instance_dict.h"
#include "capture/in_flight.h"
#include "capture/library/library.h"
#include "capture/library/overlap.h"
#include "capture/library/strided.h"
#include "capture/numpy/index_places.h"
#include "capture/path/explain_step.h"
#include "capture/path/reasons.h"
#include "capture/replay/raising_warnings.h"
#include "capture/replay/subroutine.h"

namespace py = pybind11;

namespace dvm::bindings {

namespace {

using capture::CompiledFunction;
using capture::Path;

// The rank of an array of any library, and how it lies in memory.
std::pair<int, capture::AxisOrder> order_of(py::handle object) {
  const capture::Library* const library = capture::library_of(object.ptr());
  if (library == nullptr) throw py::type_error("expected an array");
  const capture::ArrayView view = library->view(object.ptr());
  if (view.rank > core::kMaxRank) throw py::value_error("an array of too many axes");
  return {view.rank, capture::order_of({view.rank, view.shape, view.strides, view.item_bytes,
                                        view.has(capture::kCContiguous)})};
}

// dvm.magpy_capture's function (compiled, recording, arguments) -> PathSpec.
py::object& lower_hook() {
  static auto* hook = new py::object();
  return *hook;
}

std::unique_ptr<Path> lower(PyObject* compiled, const capture::Trace& trace,
                            PyObject* const* arguments, Py_ssize_t count, int64_t& nanos) {
  try {
    py::tuple bound(count);
    for (Py_ssize_t i = 0; i < count; ++i) bound[i] = py::handle(arguments[i]);
    const py::dict recording = to_python(trace.record->data());
    const py::object spec = lower_hook()(py::handle(compiled), recording, bound, nanos);
    if (!spec.is_none() && !py::isinstance<py::int_>(spec)) return parse_path(spec, bound);
    nanos = spec.is_none() ? 0 : spec.cast<int64_t>();
  } catch (py::error_already_set& error) {
    error.restore();
  } catch (const std::exception& error) {
    raise(error);
  }
  return nullptr;
}

CompiledFunction& unwrap(py::handle object) {
  if (!is_compiled(object.ptr())) throw py::type_error("expected a function made by dvm.compile");
  return compiled_of(object.ptr());
}

py::dict stats_of(py::handle object) {
  const capture::Stats& stats = unwrap(object).stats();
  py::dict dict;
  dict["calls"] = stats.calls;
  dict["hits"] = stats.hits;
  dict["misses"] = stats.misses;
  dict["captures"] = stats.captures;
  dict["recaptures"] = stats.recaptures;
  dict["fallbacks"] = stats.fallbacks;
  dict["drops"] = stats.drops;
  dict["opaque"] = stats.opaque;
  dict["eager"] = stats.eager;
  dict["splits"] = stats.splits;
  return dict;
}

// Calls of functions dvm does not know: name and line of each.
py::list opaque_calls(const Path& path) {
  py::list calls;
  for (const capture::Step& step : path.steps) {
    const int32_t* p = path.operands(step);
    const bool call = step.op == capture::StepOp::call_ && p[3 + p[2] + 1] != 0;
    const bool draw = step.op == capture::StepOp::call_random_ && p[3 + p[2] + 2] != 0;
    if (!call && !draw) continue;
    py::dict dict;
    dict["name"] = capture::callee_of(path, step);
    dict["location"] = core::to_string(path.location(step));
    calls.append(dict);
  }
  return calls;
}

// What stands between the segments of a path, so that they are no one graph: for each segment the
// steps that wait for results of the one before, or for none.
py::list cuts(const Path& path) {
  py::list all;
  py::list since;
  for (const capture::Step& step : path.steps) {
    const capture::Category category = capture::info(step.op).category;
    if (step.op == capture::StepOp::run_) {
      all.append(since);
      since = py::list();
    } else if (category == capture::Category::choice || category == capture::Category::compute) {
      py::dict dict;
      dict["step"] = std::string(capture::info(step.op).name);
      const bool call =
          step.op == capture::StepOp::call_ || step.op == capture::StepOp::call_random_;
      dict["callee"] = call ? capture::callee_of(path, step) : std::string();
      dict["location"] = core::to_string(path.location(step));
      since.append(dict);
    }
  }
  return all;
}

py::dict miss_of(const capture::Miss& miss) {
  py::dict dict;
  dict["step"] = miss.step;
  dict["what"] = miss.what;
  dict["wanted"] = miss.wanted;
  dict["seen"] = miss.seen;
  dict["text"] = miss.text;
  dict["code"] = miss.code;
  dict["location"] = core::to_string(miss.at);
  return dict;
}

py::list misses_of(const std::vector<capture::Miss>& misses) {
  py::list list;
  for (const capture::Miss& miss : misses) list.append(miss_of(miss));
  return list;
}

py::dict event_of(const CompiledFunction& function, const capture::Event& event) {
  int index = -1;  // of a path whose code was replaced
  for (size_t i = 0; i < function.paths().size(); ++i) {
    if (function.paths()[i].get() == event.path) index = static_cast<int>(i);
  }
  py::dict dict;
  dict["kind"] = std::string(capture::to_string(event.kind));
  dict["path"] = index;
  dict["call"] = event.call;
  dict["count"] = event.count;
  dict["missed"] = misses_of(event.missed);
  return dict;
}

// Python's function (compiled, event) that the logs go through.
py::object& observer() {
  static auto* hook = new py::object();
  return *hook;
}

// A report must not change what the program does: its errors are shown and forgotten.
void observe(PyObject* compiled, const capture::Event& event) {
  try {
    observer()(py::handle(compiled), event_of(compiled_of(compiled), event));
  } catch (py::error_already_set& error) {
    error.discard_as_unraisable("dvm's log");
  }
}

py::object reason_of(const std::string& message) {
  if (message.empty()) return py::str("");
  return py::reinterpret_borrow<py::object>(capture::reason_object(message).get());
}

// One path as plain data: what explain, inspect and the tests read. Graph, plan, decisions and
// passes are those of its segments in order.
py::dict path_of(const Path& path) {
  py::dict dict;
  dict["hits"] = path.hits;
  dict["reason"] =
      path.reason_object() ? py::reinterpret_borrow<py::object>(path.reason_object()) : py::str("");
  dict["location"] = core::to_string(path.reason_at());
  dict["steps"] = capture::print(path);
  if (!path.reason().empty()) return dict;
  dict["target"] = path.options.target;
  dict["opaque_calls"] = opaque_calls(path);
  GraphReport report;
  for (const auto& segment : path.segments) {
    report.add(segment->graph, path.options, *segment->compilation);
  }
  dict["cuts"] = cuts(path);
  report.write(dict);
  return dict;
}

// The arguments of a Python-level call as the vectorcall protocol has them.
struct Arguments {
  Arguments(const py::args& args, const py::kwargs& kwargs) : names(kwargs.size()) {
    for (py::handle item : args) items.push_back(item.ptr());
    count = items.size();
    size_t i = 0;
    for (const auto& [name, value] : kwargs) {
      names[i++] = name;
      items.push_back(value.ptr());
    }
  }
  PyObject* keywords() const { return names.empty() ? nullptr : names.ptr(); }
  std::vector<PyObject*> items;
  size_t count = 0;
  py::tuple names;
};

py::object timed_call(py::handle object, const py::args& args, const py::kwargs& kwargs) {
  runtime::CallTimes times;
  const Arguments arguments(args, kwargs);
  PyObject* value = unwrap(object).timed_call(arguments.items.data(), arguments.count,
                                              arguments.keywords(), times);
  if (value == nullptr) {
    if (PyErr_Occurred()) throw py::error_already_set();
    return py::none();
  }
  py::dict split;
  split["plan"] = times.plan;
  split["bind"] = times.bind;
  split["tile"] = times.tile;
  split["encode"] = times.encode;
  split["run"] = times.run;
  split["regions"] = times.regions;
  return py::make_tuple(py::reinterpret_steal<py::object>(value), split);
}

}  // namespace

void bind_compiled(py::module_& module) {
  module.def("set_lower", [](py::object hook) { lower_hook() = std::move(hook); });
  module.def("compile", [](py::handle function) {
    PyObject* compiled = new_compiled(function.ptr(), lower);
    if (compiled == nullptr) throw py::error_already_set();
    return py::reinterpret_steal<py::object>(compiled);
  });
  module.def("stats", stats_of);
  module.def("set_parts", [](py::handle object, const std::optional<py::tuple>& parts) {
    unwrap(object).set_parts(parts ? parts->ptr() : nullptr);
  });
  module.def("begin_part", &capture::begin_part);
  module.def("after_fork", [] {
    capture::InFlight::after_fork();
    capture::leave_warnings_after_fork();
  });
  module.def("refusal", [](py::handle object) { return reason_of(unwrap(object).refusal()); });
  module.def("limit", [](py::handle object) { return reason_of(unwrap(object).limit()); });
  module.def("paths", [](py::handle object) {
    py::list paths;
    for (const auto& path : unwrap(object).paths()) paths.append(path_of(*path));
    return paths;
  });
  module.def("ways_of", [](py::handle object) {  // the ways that its runs go
    if (!capture::is_subroutine(object.ptr()))
      throw py::type_error("expected a loop or a recursion");
    py::list paths;
    for (const auto& path : capture::subroutine_of(object.ptr()).paths())
      paths.append(path_of(*path));
    return paths;
  });
  module.def("explain_miss", [](py::handle object, const py::args& args, const py::kwargs& kwargs) {
    const Arguments arguments(args, kwargs);
    const std::vector<capture::Miss> misses =
        unwrap(object).explain_miss(arguments.items.data(), arguments.count, arguments.keywords());
    if (PyErr_Occurred()) throw py::error_already_set();
    return misses_of(misses);
  });
  module.def("history", [](py::handle object) {
    const CompiledFunction& function = unwrap(object);
    py::list events;
    for (const capture::Event& event : function.history().events()) {
      events.append(event_of(function, event));
    }
    return events;
  });
  module.def("set_observer", [](const py::object& hook) {
    observer() = hook;
    CompiledFunction::observe(hook.is_none() ? nullptr : observe);
  });
  module.def("timed_call", timed_call);
  py::list steps;
#define DVM_STEP(name, category, operands, synopsis) \
  steps.append(py::make_tuple(#name, #category, operands, synopsis));
#include "capture/path/steps.def"
#undef DVM_STEP
  module.attr("step_table") = steps;
  module.attr("MISSING") = py::handle(missing());
  module.def("own_attribute", [](py::handle object, const py::str& name) {
    auto interned = py::reinterpret_steal<py::object>([&] {
      PyObject* text = Py_NewRef(name.ptr());
      PyUnicode_InternInPlace(&text);
      return text;
    }());
    PyObject* found = dvm_instance_attribute(object.ptr(), interned.ptr());
    if (PyErr_Occurred()) throw py::error_already_set();
    return py::reinterpret_borrow<py::object>(found ? found : missing());
  });
  module.def("layout", [](py::handle object) {
    const auto [rank, order] = order_of(object);
    py::tuple axes(rank);
    for (size_t i = 0; i < axes.size(); ++i) axes[i] = static_cast<int>(order.axes[i]);
    return py::make_tuple(capture::to_string(order.layout), axes);
  });
  module.def("repeated_axes", [](py::handle object) { return order_of(object).second.repeated; });
  module.def("is_overlapping",
             [](py::handle object) { return order_of(object).second.overlapping; });
  module.def("may_overlap", [](py::handle one, py::handle other) {
    return capture::may_overlap(one.ptr(), other.ptr());
  });
  if (PyModule_AddFunctions(module.ptr(), capture::index_functions) < 0) {
    throw py::error_already_set();
  }
}

}  // namespace dvm::bindings
