// CompiledGraph: a Graph compiled and called on arrays, with no capture involved.
#include <pybind11/stl.h>

#include <algorithm>
#include <map>
#include <memory>
#include <tuple>

#include "bindings/bindings.h"
#include "bindings/function_host.h"
#include "bindings/python_passes.h"
#include "bindings/reports.h"
#include "capture/numpy/numpy_api.h"
#include "capture/replay/read_argument.h"
#include "capture/replay/signature.h"
#include "core/error.h"
#include "core/file/saved_graph.h"
#include "core/graph/infer.h"
#include "driver/added_passes.h"
#include "driver/saved.h"
#include "runtime/execute/calls.h"
#include "runtime/functions/own_functions.h"

namespace py = pybind11;

namespace dvm::bindings {

namespace {

using runtime::BufferView;

using Objects = std::map<std::string, py::object>;  // by the names that the graph has for them

// The array behind a constant of the graph, read where it lies.
core::Tensor lent(const core::Node& node, const Objects& constants) {
  const std::string& name = node.attrs.name;
  const auto found = constants.find(name);
  if (found == constants.end()) {
    core::fail(core::ErrorCode::unknown_name,
               "the graph has a constant " + name + ", which `constants` has not");
  }
  auto array = py::reinterpret_steal<py::object>(PyArray_FROM_O(found->second.ptr()));
  if (!array) throw py::error_already_set();
  auto* read = reinterpret_cast<PyArrayObject*>(array.ptr());
  core::TensorData data{.dtype = node.type.dtype, .owner = array.ptr()};
  data.shape.assign(PyArray_DIMS(read), PyArray_DIMS(read) + PyArray_NDIM(read));
  data.strides.assign(PyArray_STRIDES(read), PyArray_STRIDES(read) + PyArray_NDIM(read));
  const bool same_shape = std::equal(
      data.shape.begin(), data.shape.end(), node.type.shape.begin(), node.type.shape.end(),
      [](int64_t size, core::Dim dim) { return dim.as_constant() == size; });
  if (!capture::holds(capture::dtype_of(read), data.dtype) || !same_shape) {
    core::fail(core::ErrorCode::wrong_arguments,
               "constant " + name + " is " + capture::describe(found->second.ptr()) +
                   " and shape " + py::str(array.attr("shape")).cast<std::string>() +
                   "; the graph takes " + std::string(core::to_string(data.dtype)) +
                   core::to_string(node.type.shape));
  }
  data.data = reinterpret_cast<const std::byte*>(PyArray_BYTES(read));
  data.keep = {array.release().ptr(), [](const void* object) {
                 const py::gil_scoped_acquire held;
                 Py_DECREF(static_cast<PyObject*>(const_cast<void*>(object)));
               }};
  return core::Tensor(std::move(data));
}

core::Graph supplied(core::Graph graph, const Objects& constants) {
  for (core::Value v = 0; v < graph.size(); ++v) {
    if (!graph.node(v).attrs.name.empty()) graph.supply(v, lent(graph.node(v), constants));
  }
  return graph;
}

core::Module module_in(py::handle graph) {
  if (py::isinstance<py::str>(graph)) return core::parse_module(graph.cast<std::string>());
  if (py::isinstance<core::Module>(graph)) return graph.cast<const core::Module&>();
  return graph.cast<const core::Graph&>();
}

using Checks = std::vector<std::tuple<std::string, std::string, std::string>>;

std::vector<core::SavedCheck> saved(const Checks& checks) {
  std::vector<core::SavedCheck> all;
  for (const auto& [left, compare, right] : checks) all.push_back({left, compare, right});
  return all;
}

bool runs_bodies(const core::Graph& graph) {
  for (core::Value v = 0; v < graph.size(); ++v) {
    if (core::has_bodies(graph.node(v).op)) return true;
  }
  return false;
}

bool is_plain(const core::Module& module) { return module.is_graph() && !runs_bodies(module.main); }

class GraphFunction {
 public:
  GraphFunction(core::Module module, driver::Options options,
                const std::vector<driver::SizeCheck>& checks, const Objects& functions,
                const Objects& types)
      : module_(std::move(module)),
        given_(std::move(options)),
        first_(prepared(module_, given_)),
        compilation_(driver::compile(module_, first_.rest, checks)),
        classes_(plan().types, types) {
    for (const core::Value v : module_.main.inputs()) {
      is_scalar_.push_back(module_.main.node(v).op == core::Op::scalar);
    }
    for (const std::string& name : plan().callees) {
      if (runtime::own_function(name) != nullptr) {
        functions_.push_back(py::none());
        continue;
      }
      const auto found = functions.find(name);
      if (found == functions.end()) {
        core::fail(core::ErrorCode::unknown_name,
                   "the graph calls " + name + ", which `functions` has not");
      }
      functions_.push_back(found->second);
    }
  }

  std::vector<std::string> argument_names;  // for messages; may be empty

  const runtime::Plan& plan() const { return compilation_.graph.plan(); }
  const runtime::CompiledGraph& graph() const { return compilation_.graph; }

  // Of each, what it is: an input or a scalar, its dtype and its sizes.
  py::list arguments() const { return types_of(module_.main.inputs()); }
  py::list results() const { return types_of(module_.main.outputs); }

  // With what passes made of it, all of which come before dvm's own.
  void save(const std::string& path, core::SavedSettings settings) const {
    if (given_.passes) {
      if (!given_.passes->entries().empty() && !is_plain(module_)) {
        core::fail(core::ErrorCode::unsupported,
                   "a file does not have what passes make of loops, branches and functions");
      }
      settings.off = given_.passes->off;
    }
    const py::gil_scoped_release released;
    core::save_graph(path, module_, settings);
  }

  py::dict types() const { return classes_.by_name(); }

  py::dict describe() const { return describe_graph(module_, first_.rest, compilation_, &first_); }

  py::tuple operator()(const py::args& args) const {
    std::vector<BufferView> inputs;
    std::vector<core::Scalar> scalars;
    std::vector<py::object> held;
    std::vector<capture::ValueSlot> slots(args.size() + static_cast<size_t>(plan().result_count()));
    if (args.size() != is_scalar_.size()) {
      core::fail(core::ErrorCode::wrong_arguments,
                 "the graph takes " + std::to_string(is_scalar_.size()) +
                     " arguments, it was given " + std::to_string(args.size()));
    }
    for (size_t k = 0; k < args.size(); ++k) {
      if (is_scalar_[k]) {
        scalars.push_back(scalar(args[k], k, plan().scalars[scalars.size()]));
      } else if (plan().inputs[inputs.size()].data >= 0) {
        held.push_back(args[k]);
        inputs.push_back(object(args[k], plan().inputs[inputs.size()].data));
      } else {
        const bool is_array = PyArray_Check(args[k].ptr());  // else a number, read as it is
        held.push_back(is_array ? behaved(args[k]) : py::object(args[k]));
        if (!held.back()) throw py::error_already_set();
        inputs.push_back(tensor(held.back(), k, plan().inputs[inputs.size()], slots[k]));
      }
    }
    return call(inputs, scalars, slots, args.size());
  }

 private:
  // Runs what comes before the list, once. With functions, loops or branches each of these is
  // compiled by itself, and passes are part of that.
  static driver::FirstDone prepared(core::Module& module, const driver::Options& options) {
    if (!is_plain(module)) return {{}, options, {}, {}};
    driver::FirstDone done = driver::run_first(std::move(module.main), options);
    module.main = std::exchange(done.graph, {});
    return done;
  }

  py::list types_of(const std::vector<core::Value>& values) const {
    py::list types;
    for (const core::Value v : values) {
      const core::Node& node = module_.main.node(v);
      if (node.type.is_object()) {
        types.append(py::make_tuple("object", node.type.data, ""));
        continue;
      }
      types.append(py::make_tuple(node.op == core::Op::scalar ? "scalar" : "array",
                                  std::string(core::to_string(node.type.dtype)),
                                  core::to_string(node.type.shape)));
    }
    return types;
  }

  // "argument 1 ('mask')", where arguments have names.
  std::string named(size_t argument) const {
    std::string text = "argument " + std::to_string(argument);
    if (argument < argument_names.size()) text += " ('" + argument_names[argument] + "')";
    return text;
  }

  // Of an array among the arguments, which argument it is.
  size_t place_of_input(int32_t input) const {
    size_t place = 0;
    for (int32_t arrays = -1; place < is_scalar_.size(); ++place) {
      if (!is_scalar_[place] && ++arrays == input) break;
    }
    return place;
  }

  std::string why_stopped(runtime::ExecutionContext& context) const {
    const auto failed = runtime::failed_check(plan(), context);
    if (!failed) {
      return "sizes or indices among the arguments do not fit the graph, or there is no memory for "
             "its results";
    }
    if (failed->input < 0) {
      return "sizes of the arguments do not fit the graph, by which " + failed->wanted;
    }
    const bool has_no_subject = failed->wanted.starts_with("is ");  // as in "is n"
    return "axis " + std::to_string(failed->axis) + " of " + named(place_of_input(failed->input)) +
           " is " + std::to_string(failed->size) +
           (has_no_subject ? ", which by the graph " : ", and by the graph ") + failed->wanted;
  }

  [[noreturn]] void refuse(py::handle object, size_t k, core::DType dtype, int rank) const {
    if (PyErr_Occurred()) throw py::error_already_set();
    core::fail(core::ErrorCode::wrong_arguments,
               named(k) + " is " + capture::describe(object.ptr()) + "; the graph takes " +
                   (rank < 0 ? std::string(core::to_string(dtype)) + ", a number"
                             : described({dtype, rank})));
  }

  core::Scalar scalar(py::handle object, size_t k, core::DType dtype) const {
    core::Scalar read;
    if (!capture::read_scalar(object.ptr(), dtype, read)) refuse(object, k, dtype, -1);
    return read;
  }

  BufferView tensor(py::handle object, size_t k, const runtime::Argument& declared,
                    capture::ValueSlot& slot) const {
    BufferView view;
    if (!capture::read_tensor(object.ptr(), declared, slot, view)) {
      refuse(object, k, declared.dtype, declared.rank);
    }
    return view;
  }

  BufferView object(py::handle given, int32_t data) const {
    const core::DataType& type = plan().types[static_cast<size_t>(data)];
    classes_.tag_given(type, given);
    return {.owner = given.ptr(), .dtype = core::DType::boolean, .rank = runtime::kObjectRank};
  }

  bool is_constant(const BufferView& result) const {
    const auto& constants = plan().constants;
    return std::any_of(constants.begin(), constants.end(), [&](const runtime::PlanConstant& c) {
      return c.view.owner == result.owner;
    });
  }

  // The Plan's references to its results, for as long as it lives.
  struct Released {
    FunctionHost& host;
    std::span<const BufferView> results;
    ~Released() {
      for (const BufferView& result : results) host.release(result.owner);
    }
  };

  py::tuple call(std::span<const BufferView> inputs, std::span<const core::Scalar> scalars,
                 std::span<capture::ValueSlot> slots, size_t used) const {
    std::vector<BufferView> results(static_cast<size_t>(plan().result_count()));
    FunctionHost host(slots, used, functions_, classes_);
    runtime::BorrowedContext context;
    const runtime::Outcome outcome = graph().run(host, inputs, scalars, results, *context);
    if (outcome == runtime::Outcome::host_error) throw py::error_already_set();
    if (outcome == runtime::Outcome::check_failed) {
      if (const auto wrong = runtime::wrong_result(plan(), *context)) {
        core::fail(core::ErrorCode::host_result, *wrong);
      }
      core::fail(core::ErrorCode::wrong_arguments, why_stopped(*context));
    }
    const Released released{host, results};
    py::tuple arrays(results.size());
    for (size_t k = 0; k < results.size(); ++k) {
      if (results[k].rank == runtime::kObjectRank) {
        arrays[k] = py::reinterpret_borrow<py::object>(static_cast<PyObject*>(results[k].owner));
        continue;
      }
      const bool given = host.is_argument(results[k], inputs) || is_constant(results[k]);
      PyObject* array = given ? FunctionHost::argument_of(results[k]) : host.array_of(results[k]);
      if (array == nullptr) throw py::error_already_set();
      arrays[k] = py::reinterpret_steal<py::object>(array);
    }
    return arrays;
  }

  core::Module module_;  // behind first_
  driver::Options given_;
  driver::FirstDone first_;
  driver::Compilation compilation_;
  DataClasses classes_;
  std::vector<bool> is_scalar_;        // of the graph's arguments, in order
  std::vector<py::object> functions_;  // by index of callee
};

}  // namespace

const runtime::Plan* plan_of_graph(py::handle object) {
  return py::isinstance<GraphFunction>(object) ? &object.cast<const GraphFunction&>().plan()
                                               : nullptr;
}

void bind_compiled_graph(py::module_& module) {
  py::class_<core::Module>(module, "Module", "Functions, data types, and a graph that uses them.")
      .def("__str__", [](const core::Module& self) { return core::print(self); });
  py::class_<GraphFunction>(module, "CompiledGraph",
                            "A graph compiled for a target; call it on arrays and numbers.")
      .def(py::init([](py::handle graph, const std::string& target, const std::string& numerics,
                       const std::string& precision, const Checks& checks, const Objects& functions,
                       const Objects& constants, const Objects& types, const py::object& passes) {
             core::Module given = module_in(graph);
             core::verify(given);
             driver::Options options = driver::options_of(target, numerics, precision);
             options.passes = passes_of(passes);
             const auto asked = driver::checks_of(given.main, saved(checks));
             given.main = supplied(std::move(given.main), constants);
             return std::make_unique<GraphFunction>(std::move(given), std::move(options), asked,
                                                    functions, types);
           }),
           py::arg("graph"), py::kw_only(), py::arg("target") = "cpu",
           py::arg("numerics") = "default", py::arg("precision") = "highest",
           py::arg("checks") = Checks{}, py::arg("functions") = Objects{},
           py::arg("constants") = Objects{}, py::arg("types") = Objects{},
           py::arg("passes") = py::none())
      .def("__call__", &GraphFunction::operator())
      .def("describe", &GraphFunction::describe)
      .def(
          "save",
          [](const GraphFunction& f, const std::string& path, std::string target,
             std::string numerics, std::string precision, const Checks& checks,
             std::vector<std::string> inputs, std::vector<std::string> results) {
            f.save(path, {std::move(target),
                          std::move(numerics),
                          std::move(precision),
                          {},
                          saved(checks),
                          std::move(inputs),
                          std::move(results)});
          },
          py::arg("path"), py::kw_only(), py::arg("target"), py::arg("numerics"),
          py::arg("precision"), py::arg("checks"), py::arg("inputs"), py::arg("results"))
      .def_readwrite("argument_names", &GraphFunction::argument_names,
                     "What messages call the arguments; they have numbers without.")
      .def_property_readonly("types", &GraphFunction::types)
      .def_property_readonly("arguments", &GraphFunction::arguments)
      .def_property_readonly("results", &GraphFunction::results)
      .def_property_readonly("plan",
                             [](const GraphFunction& f) { return runtime::print(f.plan()); })
      .def_property_readonly(
          "target", [](const GraphFunction& f) { return f.graph().target().traits().name; });
}

}  // namespace dvm::bindings
