// Compiled functions: creation, the lowering hook, and what explain and inspect read.
#include <pybind11/stl.h>

#include "bindings/bindings.h"
#include "bindings/compiled_type.h"
#include "bindings/errors.h"

namespace py = pybind11;

namespace dvm::bindings {

namespace {

using capture::CompiledFunction;
using capture::Mock;
using capture::Path;
using capture::Ref;
using capture::Source;

constexpr const char* kOriginNames[] = {"argument", "global", "closure", "constant", "event"};
constexpr const char* kEventNames[] = {"call",      "binary", "unary", "compare", "subscript",
                                       "attribute", "tuple",  "slice", "branch",  "followed"};
constexpr const char* kMockNames[] = {"result", "scalar", "fetch", "constant", "tuple"};

// dvm.magpy_capture's function (compiled, recording, arguments) -> PathSpec.
py::object& lower_hook() {
  static auto* hook = new py::object();
  return *hook;
}

py::object object_or_none(void* object) {
  return object ? py::reinterpret_borrow<py::object>(static_cast<PyObject*>(object)) : py::none();
}

Ref to_ref(py::handle object) { return Ref::borrow(object.ptr()); }

std::pair<std::string, int> location(core::Loc loc) {
  return {loc ? *loc.file : std::string(), loc.line};
}

// The recording as plain tuples: (origin, index, name, scope, object) and
// (kind, name, operands, keywords, result, location).
py::dict to_python(const core::RefGraph& graph) {
  py::list nodes, events;
  for (const core::ShadowNode& node : graph.nodes) {
    nodes.append(py::make_tuple(kOriginNames[static_cast<int>(node.origin)], node.index, node.name,
                                object_or_none(node.scope), object_or_none(node.object)));
  }
  for (const core::Event& event : graph.events) {
    events.append(py::make_tuple(kEventNames[static_cast<int>(event.kind)], event.name,
                                 event.operands, event.keywords, event.result,
                                 location(event.loc)));
  }
  py::dict record;
  record["nodes"] = nodes;
  record["events"] = events;
  record["result"] = graph.result;
  record["aborted"] = graph.aborted;
  record["aborted_at"] = location(graph.aborted_at);
  return record;
}

Source to_source(const py::tuple& spec) {
  const auto kind = spec[0].cast<std::string>();
  if (kind == "argument") return {Source::Kind::argument, spec[1].cast<int32_t>(), {}, {}};
  if (kind == "cell") return {Source::Kind::cell, 0, to_ref(spec[1]), {}};
  if (kind == "code") return {Source::Kind::code, 0, to_ref(spec[1]), {}};
  DVM_CHECK(kind == "variable", "unknown kind of source: " + kind);
  return {Source::Kind::variable, 0, to_ref(spec[1]), to_ref(spec[2])};
}

std::vector<Source> to_sources(const py::object& specs) {
  std::vector<Source> sources;
  for (py::handle spec : specs) sources.push_back(to_source(spec.cast<py::tuple>()));
  return sources;
}

Mock to_mock(const py::tuple& spec) {
  const auto name = spec[0].cast<std::string>();
  const auto* found = std::find(std::begin(kMockNames), std::end(kMockNames), name);
  DVM_CHECK(found != std::end(kMockNames), "unknown mock: " + name);
  return {static_cast<Mock::Kind>(found - std::begin(kMockNames)), spec[1].cast<int32_t>()};
}

// Attributes of dvm.magpy_capture.PathSpec.
std::unique_ptr<Path> to_path(const py::object& spec) {
  auto path = std::make_unique<Path>();
  path->reason = spec.attr("reason").cast<std::string>();
  const auto at = spec.attr("reason_at").cast<std::pair<std::string, int>>();
  if (!at.first.empty()) path->reason_at = core::make_loc(at.first, at.second);
  if (!path->reason.empty()) return path;

  driver::Options options;
  options.target = spec.attr("target").cast<std::string>();
  options.numerics = spec.attr("numerics").cast<std::string>() == "strict"
                         ? driver::Numerics::strict
                         : driver::Numerics::widened;
  path->target = &driver::target(options.target);
  path->compilation = driver::compile(spec.attr("graph").cast<const core::Graph&>(), options);
  path->result_count = path->compilation.graph.outputs.size();
  path->tensors = to_sources(spec.attr("tensors"));
  path->scalars = to_sources(spec.attr("scalars"));
  path->returned = to_sources(spec.attr("returned"));
  for (py::handle callee : spec.attr("callees")) path->callees.push_back(to_ref(callee));
  for (py::handle constant : spec.attr("constants")) path->constants.push_back(to_ref(constant));
  for (py::handle item : spec.attr("identity_guards")) {
    const auto guard = item.cast<py::tuple>();
    const bool absent = guard.size() == 1;
    path->identity_guards.push_back(
        {to_source(guard[0].cast<py::tuple>()), absent ? Ref() : to_ref(guard[1])});
  }
  for (py::handle item : spec.attr("signature_guards")) {
    const auto guard = item.cast<py::tuple>();
    const py::object seen = guard[1];
    const capture::Signature signature = capture::signature_of(seen.ptr());
    if (capture::argument_of(signature) == capture::Argument::unsupported) {
      path->reason = "a variable dvm does not take (" + capture::describe(seen.ptr()) + ")";
    }
    path->signature_guards.push_back({to_source(guard[0].cast<py::tuple>()), signature});
  }
  for (py::handle item : spec.attr("value_guards")) {
    const auto guard = item.cast<py::tuple>();
    path->value_guards.push_back({to_source(guard[0].cast<py::tuple>()), to_ref(guard[1])});
  }
  for (py::handle item : spec.attr("mocks")) path->mocks.push_back(to_mock(item.cast<py::tuple>()));
  using capture::kMaxArguments;
  if (path->tensors.size() > kMaxArguments || path->scalars.size() > kMaxArguments ||
      path->result_count > kMaxArguments || path->mocks.size() > capture::kMaxMocks) {
    path->reason = "more than " + std::to_string(kMaxArguments) + " arrays, numbers or results";
  }
  return path;
}

std::unique_ptr<Path> lower(PyObject* compiled, const capture::Trace& trace,
                            PyObject* const* arguments, Py_ssize_t count) {
  try {
    py::tuple bound(count);
    for (Py_ssize_t i = 0; i < count; ++i) bound[i] = py::handle(arguments[i]);
    return to_path(lower_hook()(py::handle(compiled), to_python(trace.graph), bound));
  } catch (py::error_already_set& error) {
    error.restore();
  } catch (const core::Error& error) {
    if (error.code() == core::ErrorCode::internal) {
      raise(error);
      return nullptr;
    }
    // A limit of dvm is no failure of the program, which has its result already: it falls back.
    auto path = std::make_unique<Path>();
    path->reason = error.what();
    path->reason_at = error.loc();
    return path;
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

// One path as plain data: what explain, inspect and the tests read.
py::dict path_of(const CompiledFunction::Leaf& leaf) {
  const Path& path = *leaf.path;
  py::dict dict;
  dict["hits"] = leaf.hits;
  dict["reason"] = path.reason;
  dict["location"] = core::to_string(path.reason_at);
  if (!path.reason.empty()) return dict;
  dict["target"] = std::string(path.target->traits().name);
  dict["graph"] = core::print(path.compilation.graph);
  dict["plan"] = runtime::print(path.compilation.plan);
  dict["opaque_calls"] = path.callees.size();
  py::list decisions, passes;
  for (const core::Decision& decision : path.compilation.decisions) {
    decisions.append(decision_of(decision));
  }
  for (const driver::PassRecord& pass : path.compilation.passes) {
    passes.append(py::make_tuple(pass.name, pass.nanoseconds, pass.text));
  }
  dict["decisions"] = decisions;
  dict["passes"] = passes;
  return dict;
}

py::object timed_call(py::handle object, const py::args& args) {
  runtime::CallTimes times;
  PyObject* const* items = args.empty() ? nullptr : &PyTuple_GET_ITEM(args.ptr(), 0);
  PyObject* value = unwrap(object).timed_call(items, static_cast<Py_ssize_t>(args.size()), times);
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
  module.def("paths", [](py::handle object) {
    py::list paths;
    unwrap(object).tree().visit(
        [&](const CompiledFunction::Leaf& leaf) { paths.append(path_of(leaf)); });
    return paths;
  });
  module.def("explain_miss", [](py::handle object, const py::args& args) {
    PyObject* const* items = args.empty() ? nullptr : &PyTuple_GET_ITEM(args.ptr(), 0);
    return unwrap(object).explain_miss(items, static_cast<Py_ssize_t>(args.size()));
  });
  module.def("timed_call", timed_call);
  module.def("in_c_order", [](py::handle array) {
    return PyArray_Check(array.ptr()) &&
           capture::layout_of(reinterpret_cast<PyArrayObject*>(array.ptr())) !=
               capture::Layout::other;
  });
  module.def("describe", [](py::handle object) { return capture::describe(object.ptr()); });
}

}  // namespace dvm::bindings
