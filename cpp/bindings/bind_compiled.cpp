// Compiled functions: creation, the lowering hook, and what explain and inspect read.
#include <pybind11/stl.h>

#include "bindings/bindings.h"
#include "bindings/compiled_type.h"
#include "bindings/errors.h"
#include "bindings/path_parser.h"
#include "bindings/recording.h"
#include "capture/explain_step.h"

namespace py = pybind11;

namespace dvm::bindings {

namespace {

using capture::CompiledFunction;
using capture::Path;

// dvm.magpy_capture's function (compiled, recording, arguments) -> PathSpec.
py::object& lower_hook() {
  static auto* hook = new py::object();
  return *hook;
}

std::unique_ptr<Path> lower(PyObject* compiled, const capture::Trace& trace,
                            PyObject* const* arguments, Py_ssize_t count) {
  try {
    py::tuple bound(count);
    for (Py_ssize_t i = 0; i < count; ++i) bound[i] = py::handle(arguments[i]);
    const py::dict recording = to_python(trace.record->data());
    return parse_path(lower_hook()(py::handle(compiled), recording, bound), bound);
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
  return dict;
}

py::dict decision_of(const core::Decision& decision) {
  py::dict dict;
  dict["what"] = decision.what;
  dict["verdict"] = decision.verdict;
  dict["rule"] = decision.rule;
  dict["reason"] = decision.reason;
  dict["cost"] = decision.cost;
  dict["location"] = core::to_string(decision.loc);
  return dict;
}

// Calls of functions dvm does not know.
int64_t opaque_calls(const Path& path) {
  int64_t count = 0;
  for (const capture::Step& step : path.steps) {
    const int32_t* p = path.operands(step);
    if (step.op == capture::StepOp::call_) count += p[3 + p[2] + 1];
    if (step.op == capture::StepOp::call_random_) count += p[3 + p[2] + 2];
  }
  return count;
}

// One path as plain data: what explain, inspect and the tests read. Graph, plan, decisions and
// passes are those of its segments in order.
py::dict path_of(const Path& path) {
  py::dict dict;
  dict["hits"] = path.hits;
  dict["reason"] = path.reason();
  dict["location"] = core::to_string(path.reason_at());
  dict["steps"] = capture::print(path);
  if (!path.reason().empty()) return dict;
  dict["target"] = std::string(path.target->traits().name);
  dict["opaque_calls"] = opaque_calls(path);
  std::string graph, plan;
  py::list decisions, passes;
  for (const auto& segment : path.segments) {
    graph += core::print(segment->graph);
    plan += runtime::print(segment->compilation.plan);
    for (const core::Decision& decision : segment->compilation.decisions) {
      decisions.append(decision_of(decision));
    }
    for (const driver::PassRecord& pass : segment->compilation.passes) {
      passes.append(py::make_tuple(pass.name, pass.nanoseconds, pass.text));
    }
  }
  dict["graph"] = graph;
  dict["plan"] = plan;
  dict["decisions"] = decisions;
  dict["passes"] = passes;
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
  module.def("refusal", [](py::handle object) { return unwrap(object).refusal(); });
  module.def("limit", [](py::handle object) { return unwrap(object).limit(); });
  module.def("paths", [](py::handle object) {
    py::list paths;
    for (const auto& path : unwrap(object).paths()) paths.append(path_of(*path));
    return paths;
  });
  module.def("explain_miss", [](py::handle object, const py::args& args, const py::kwargs& kwargs) {
    const Arguments arguments(args, kwargs);
    return unwrap(object).explain_miss(arguments.items.data(), arguments.count,
                                       arguments.keywords());
  });
  module.def("timed_call", timed_call);
  module.attr("MISSING") = py::handle(missing());
  module.def("layout", [](py::handle object) {
    if (!PyArray_Check(object.ptr())) throw py::type_error("expected an array");
    auto* array = reinterpret_cast<PyArrayObject*>(object.ptr());
    if (PyArray_NDIM(array) > core::kMaxRank) throw py::value_error("an array of too many axes");
    const capture::AxisOrder order = capture::layout_of(array);
    py::tuple axes(PyArray_NDIM(array));
    for (size_t i = 0; i < axes.size(); ++i) axes[i] = static_cast<int>(order.axes[i]);
    return py::make_tuple(capture::to_string(order.layout), axes);
  });
  module.def("in_c_order", [](py::handle object) {
    if (!PyArray_Check(object.ptr())) return false;
    auto* array = reinterpret_cast<PyArrayObject*>(object.ptr());
    return PyArray_NDIM(array) <= core::kMaxRank &&
           capture::layout_of(array).layout <= capture::Layout::ordered;
  });
  module.def("describe", [](py::handle object) { return capture::describe(object.ptr()); });
}

}  // namespace dvm::bindings
