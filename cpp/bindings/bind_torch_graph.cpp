// TorchGraph: a Graph compiled and called on tensors of torch, as AOTAutograd calls what a backend
// makes: with one list of arguments, which is emptied.
#include <pybind11/stl.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <ranges>
#include <tuple>
#include <utility>

#include "bindings/bindings.h"
#include "bindings/errors.h"
#include "bindings/python_passes.h"
#include "bindings/reports.h"
#include "bindings/torch_host.h"
#include "bindings/torch_layouts.h"
#include "bindings/torch_library.h"
#include "bindings/torch_ranges.h"
#include "bindings/torch_tensors.h"
#include "bindings/torch_weights.h"
#include "capture/replay/read_argument.h"
#include "core/error.h"
#include "cpu/team/thread_limit.h"
#include "driver/compile.h"
#include "runtime/compiled_graph.h"
#include "runtime/execute/calls.h"

namespace py = pybind11;

namespace dvm::bindings {

namespace {

using runtime::BufferView;

constexpr int kUnshared = -1;  // group of what shares memory with nothing

enum class ArgumentKind : uint8_t {
  tensor,
  tangent,  // a tensor that no guard of torch's has looked at
  number,
  unused
};
enum class ResultKind : uint8_t { tensor, size, argument, none };

bool is_tensor(ArgumentKind kind) {
  return kind == ArgumentKind::tensor || kind == ArgumentKind::tangent;
}

// Tensors of one group are views of one memory in the program, and of no other.
struct ArgumentSpec {
  ArgumentKind kind;
  int group = kUnshared;
};

struct ResultSpec {
  ResultKind kind;
  int group = kUnshared;
  // Axis i of the tensor is axis axes[i] of what was computed, which is dense; none: as it lies.
  std::vector<int> axes = {};
  size_t argument = 0;                // that is handed back
  std::optional<Layout> layout = {};  // none: as torch's own op made it
};

ArgumentSpec argument_spec(const std::pair<std::string, int>& spec) {
  if (spec.first == "tensor") return {ArgumentKind::tensor, spec.second};
  if (spec.first == "tangent") return {ArgumentKind::tangent, spec.second};
  if (spec.first == "number") return {ArgumentKind::number};
  if (spec.first == "unused") return {ArgumentKind::unused};
  core::fail(core::ErrorCode::unknown_name, "there is no kind of argument " + spec.first);
}

std::optional<Layout> layout(const std::optional<Layout::Text>& text) {
  return text ? std::optional<Layout>(*text) : std::nullopt;
}

using ResultText = std::tuple<std::string, int, std::vector<int>, std::optional<Layout::Text>>;

ResultSpec result_spec(const ResultText& spec) {
  const auto& [kind, number, axes, text] = spec;
  if (kind == "tensor") return {ResultKind::tensor, number, axes, 0, layout(text)};
  if (kind == "size") return {ResultKind::size};
  if (kind == "argument") return {ResultKind::argument, kUnshared, {}, static_cast<size_t>(number)};
  if (kind == "none") return {ResultKind::none};
  core::fail(core::ErrorCode::unknown_name, "there is no kind of result " + kind);
}

bool is_same(const BufferView& a, const BufferView& b) {
  return a.data == b.data && std::equal(a.shape, a.shape + a.rank, b.shape, b.shape + b.rank) &&
         std::equal(a.strides, a.strides + a.rank, b.strides);
}

BufferView transposed(const BufferView& view, const std::vector<int>& axes) {
  BufferView turned = view;
  for (size_t i = 0; i < axes.size(); ++i) {
    turned.shape[i] = view.shape[axes[i]];
    turned.strides[i] = view.strides[axes[i]];
  }
  return turned;
}

bool overlap(const BufferView& a, const BufferView& b) {
  const auto [begin, end] = range_of(a);
  const auto [other_begin, other_end] = range_of(b);
  return begin < other_end && other_begin < end;
}

// What a host function is: the function, and a layout for each tensor that it takes.
using FunctionText = std::pair<py::object, std::vector<std::optional<Layout::Text>>>;

Callee callee_of(const FunctionText& text) {
  Callee callee{.function = text.first};
  for (const auto& given : text.second) callee.layouts.push_back(layout(given));
  return callee;
}

class TorchGraph {
 public:
  TorchGraph(core::Graph graph, driver::Options options, int threads,
             const std::map<std::string, FunctionText>& functions,
             std::vector<ArgumentSpec> arguments, std::vector<ResultSpec> results, size_t returned,
             std::vector<size_t> written, std::vector<py::object> held,
             const std::vector<size_t>& frozen, std::string label, py::object otherwise)
      : graph_(std::move(graph)),
        options_(std::move(options)),
        threads_(threads),
        compilation_(driver::compile(graph_, options_)),
        arguments_(std::move(arguments)),
        results_(std::move(results)),
        written_(std::move(written)),
        held_(std::move(held)),
        weights_(places_of(frozen)),
        label_(std::move(label)),
        otherwise_(std::move(otherwise)) {
    for (const std::string& name : plan().callees) {
      callees_.push_back(callee_of(functions.at(name)));
    }
    show(returned);
  }

  const runtime::Plan& plan() const { return compilation_.graph.plan(); }
  const std::string& target() const { return options_.target; }
  py::dict describe() const { return describe_graph(graph_, options_, compilation_); }

  py::object call(const py::list& given) {
    const auto begin = std::chrono::steady_clock::now();
    const ProfiledRange range(label_);
    const py::tuple args(given);
    PyList_SetSlice(given.ptr(), 0, PyList_GET_SIZE(given.ptr()), nullptr);
    std::optional<std::string> reason;
    py::object made = run(args, reason);
    if (reason) {
      ++given_up_;
      made = otherwise_(args, *reason);
    }
    ++calls_;
    nanoseconds_ += std::chrono::nanoseconds(std::chrono::steady_clock::now() - begin).count();
    return made;
  }

  py::dict stats() const {
    py::dict stats, callees;
    for (size_t k = 0; k < callees_.size(); ++k) {
      callees[plan().callees[k].c_str()] =
          py::make_tuple(callees_[k].calls, callees_[k].nanoseconds);
    }
    stats["calls"] = calls_;
    stats["given_up"] = given_up_;
    stats["nanoseconds"] = nanoseconds_;
    stats["copies"] = copies_;
    stats["packed_bytes"] = weights_.packed_bytes();
    stats["regions"] = plan().regions.size();
    stats["callees"] = callees;
    return stats;
  }

 private:
  // The Plan's references to its results, for as long as it lives.
  struct Released {
    TorchHost& host;
    std::span<const BufferView> results;
    ~Released() {
      for (const BufferView& result : results) host.release(result.owner);
    }
  };

  // Registers that the first results are, or are views of.
  void show(size_t returned) {
    shown_.resize(static_cast<size_t>(plan().buffers));
    const int32_t* const given = plan().pool.data() + plan().code.back().operands + 1;
    for (size_t k = 0, next = 0; k < std::min(returned, results_.size()); ++k) {
      const ResultKind kind = results_[k].kind;
      if (kind == ResultKind::tensor || kind == ResultKind::size) {
        shown_[static_cast<size_t>(given[next++])] = true;
      }
    }
    for (const runtime::Instruction& instruction : plan().code | std::views::reverse) {
      const auto is = [&](runtime::PlanOp op) { return instruction.op == op; };
      using enum runtime::PlanOp;
      if (!is(transpose) && !is(reshape) && !is(slice)) continue;
      const auto source = static_cast<size_t>(plan().pool[instruction.operands]);
      if (shown_[static_cast<size_t>(instruction.result)]) shown_[source] = true;
    }
  }

  // Of arguments that are tensors, as inputs of the Plan.
  std::vector<TorchWeights::Place> places_of(const std::vector<size_t>& frozen) const {
    std::vector<TorchWeights::Place> places;
    for (const size_t argument : frozen) {
      const auto before = std::span(arguments_).first(argument);
      const auto input = std::ranges::count_if(
          before, [](const ArgumentSpec& spec) { return is_tensor(spec.kind); });
      places.push_back({argument, static_cast<size_t>(input)});
    }
    return places;
  }

  // Nothing and a reason for a call that is not this graph's to compute.
  py::object run(const py::tuple& args, std::optional<std::string>& reason) {
    std::vector<BufferView> inputs;
    std::vector<core::Scalar> scalars;
    if (args.size() != arguments_.size()) {
      core::fail(core::ErrorCode::wrong_arguments,
                 "the graph takes " + std::to_string(arguments_.size()) +
                     " arguments, it was given " + std::to_string(args.size()));
    }
    inputs.reserve(plan().inputs.size());
    for (size_t k = 0; k < args.size(); ++k) {
      PyObject* object = PyTuple_GET_ITEM(args.ptr(), k);
      if (!read(arguments_[k].kind, object, inputs, scalars)) {
        reason = "argument " + std::to_string(k) + " is " +
                 py::repr(py::type::of(object)).cast<std::string>() +
                 ", which is no plain tensor on the cpu as the graph takes it";
        return {};
      }
      if (is_tensor(arguments_[k].kind) && has_tangent(object)) {
        reason = "argument " + std::to_string(k) + " has a tangent of forward-mode differentiation";
        return {};
      }
    }
    for (const py::object& held : held_) {
      if (!read_tensor(held.ptr(), inputs)) {
        core::fail(core::ErrorCode::internal, "a constant of the graph is no plain tensor");
      }
    }
    return execute(args, inputs, scalars, reason);
  }

  bool read(ArgumentKind kind, PyObject* object, std::vector<BufferView>& inputs,
            std::vector<core::Scalar>& scalars) const {
    switch (kind) {
      case ArgumentKind::unused:
        return true;
      case ArgumentKind::number:
        return read_number(object, scalars);
      case ArgumentKind::tensor:
        return read_tensor(object, inputs);
      case ArgumentKind::tangent:
        return read_tensor(object, inputs) && !is_negated(object);
    }
    __builtin_unreachable();
  }

  static bool read_number(PyObject* object, std::vector<core::Scalar>& scalars) {
    core::Scalar& scalar = scalars.emplace_back();
    const bool is_read = capture::read_scalar(object, core::DType::i64, scalar);
    PyErr_Clear();
    return is_read;
  }

  bool read_tensor(PyObject* object, std::vector<BufferView>& inputs) const {
    const runtime::Argument& declared = plan().inputs[inputs.size()];
    BufferView& view = inputs.emplace_back();
    if (!view_tensor(object, view)) return false;
    view.owner = TorchHost::owner_of(object);
    return view.dtype == declared.dtype && view.rank == declared.rank;
  }

  py::object execute(const py::tuple& args, std::span<const BufferView> inputs,
                     std::span<const core::Scalar> scalars, std::optional<std::string>& reason) {
    std::vector<BufferView> results(static_cast<size_t>(plan().result_count()));
    TorchHost host(callees_, shown_, copies_);
    const auto frozen = weights_.current(args, inputs);
    runtime::BorrowedContext context(nullptr, frozen.get());
    const cpu::ThreadLimit limit(threads_);
    runtime::Outcome outcome;
    try {
      outcome = compilation_.graph.run(host, inputs, scalars, results, *context);
    } catch (const core::Error& error) {
      // torch's inference promised something else than its op gave: torch has the last word.
      if (error.code() != core::ErrorCode::host_result) throw;
      reason = error.what();
      return {};
    }
    if (outcome == runtime::Outcome::host_error) throw py::error_already_set();
    if (outcome == runtime::Outcome::check_failed) {
      reason = runtime::wrong_result(plan(), *context)
                   .value_or("sizes or indices among the arguments do not fit the graph");
      return {};
    }
    const Released released{host, results};
    return wrapped(args, inputs, results);
  }

  py::list wrapped(const py::tuple& args, std::span<const BufferView> inputs,
                   std::span<const BufferView> results) {
    std::vector<Made> made;  // tensors that later ones may be views of
    py::list objects(results_.size());
    size_t next = 0;
    for (size_t k = 0; k < results_.size(); ++k) {
      objects[k] = result(results_[k], args, inputs, results, next, made);
    }
    // What is written may be read by other results, which are copies by now, or views of it.
    // AOTAutograd counts these writes itself.
    for (const size_t argument : written_) {
      const py::object source = TorchHost::as_tensor(results[next++]);
      py::object(args[argument]).attr("data").attr("copy_")(source);
    }
    return objects;
  }

  // A result that is to be at such an offset in its storage, in one that has what the others are in
  // that memory: those are its views.
  static py::object over_memory_of_all(const BufferView& view, int64_t offset,
                                       std::span<const BufferView> results) {
    if (offset != 0 || TorchHost::tensor_of(view.owner) != nullptr) {
      return TorchHost::as_tensor(view);
    }
    const auto own = range_of(view);
    auto all = own;
    for (const BufferView& other : results) {
      if (other.owner != view.owner) continue;
      const auto [begin, end] = range_of(other);
      if (begin == end) continue;
      all = {std::min(all.first, begin), std::max(all.second, end)};
    }
    TensorMemory& memory = *static_cast<TensorMemory*>(view.owner);
    if (own == all) return tensor_over(memory, view);
    BufferView whole{.data = all.first, .owner = view.owner, .dtype = view.dtype, .rank = 1};
    whole.strides[0] = core::byte_size(view.dtype);
    whole.shape[0] = (all.second - all.first) / whole.strides[0];
    return view_of(tensor_over(memory, whole).ptr(), view);
  }

  struct Made {
    BufferView view;
    int group;
    py::object tensor;
    bool is_copied;  // out of the view, so that it is in other memory
  };

  py::object result(const ResultSpec& spec, const py::tuple& args,
                    std::span<const BufferView> inputs, std::span<const BufferView> results,
                    size_t& next, std::vector<Made>& made) {
    switch (spec.kind) {
      case ResultKind::none:
        return py::none();
      case ResultKind::argument:
        return args[spec.argument];
      case ResultKind::size:
        return py::int_(*reinterpret_cast<const int64_t*>(results[next++].data));
      case ResultKind::tensor:
        break;
    }
    const BufferView& computed = results[next++];
    Place place;
    if (spec.layout) place = spec.layout->place(transposed(computed, spec.axes), {});
    const py::object tensor =
        tensor_result(spec, computed, place.offset, args, inputs, results, made);
    return spec.layout ? placed(tensor, place, copies_) : tensor;
  }

  py::object tensor_result(const ResultSpec& spec, const BufferView& computed, int64_t offset,
                           const py::tuple& args, std::span<const BufferView> inputs,
                           std::span<const BufferView> results, std::vector<Made>& made) const {
    const BufferView view = transposed(computed, spec.axes);
    const auto permuted = [&](const py::object& dense) {
      return spec.axes.empty() ? dense : py::object(dense.attr("permute")(spec.axes));
    };
    // Views of no elements lie anywhere.
    const bool is_empty =
        std::find(view.shape, view.shape + view.rank, 0) != view.shape + view.rank;
    if (is_reversed(view) || is_empty) return permuted(copy_of(computed));
    // A Plan hands out views, of other strides than torch has: a tensor of its own has torch's.
    const auto alone = [&](const py::object& tensor) {
      if (spec.axes.empty() || is_dense(computed)) return tensor;
      return permuted(TorchHost::as_tensor(computed).attr("contiguous")());
    };
    const auto handed_out = [&](const py::object& tensor, int group) {
      if (group != kUnshared && group == spec.group) return tensor;
      const py::object other = alone(tensor);
      return other.is(tensor) ? py::object(tensor.attr("clone")()) : other;
    };
    PyObject* given = TorchHost::tensor_of(view.owner);
    for (size_t k = 0; given != nullptr && k < arguments_.size(); ++k) {
      if (PyTuple_GET_ITEM(args.ptr(), k) != given) continue;
      return handed_out(view_of(given, view), arguments_[k].group);
    }
    // torch's own view of an argument; or what was to be a copy of one.
    for (size_t k = 0, input = 0; given != nullptr && k < arguments_.size(); ++k) {
      if (!is_tensor(arguments_[k].kind) || !overlap(inputs[input++], view)) continue;
      return handed_out(TorchHost::as_tensor(view), arguments_[k].group);
    }
    for (const py::object& held : held_) {
      if (held.ptr() == given) return handed_out(view_of(given, view), kUnshared);
    }
    for (const Made& earlier : made) {
      if (earlier.view.owner != view.owner) {
        const bool meets = given != nullptr && !earlier.is_copied && overlap(earlier.view, view);
        if (meets && earlier.group != spec.group) {
          return handed_out(TorchHost::as_tensor(view), earlier.group);
        }
        continue;
      }
      if (earlier.is_copied && earlier.group != spec.group) continue;
      if (is_same(earlier.view, view)) return handed_out(earlier.tensor, earlier.group);
      if (earlier.is_copied) continue;
      return handed_out(view_of(earlier.tensor.ptr(), view), earlier.group);
    }
    const py::object tensor = over_memory_of_all(view, offset, results);
    py::object laid_out = alone(tensor);
    made.push_back({view, spec.group, laid_out, !laid_out.is(tensor)});
    return laid_out;
  }

  core::Graph graph_;
  driver::Options options_;
  int threads_;  // that a call may use; 0: as many as the process has
  driver::Compilation compilation_;
  std::vector<Callee> callees_;  // by index of callee
  std::vector<ArgumentSpec> arguments_;
  std::vector<ResultSpec> results_;
  std::vector<bool> shown_;       // by registers of the Plan: whether the program gets them
  std::vector<size_t> written_;   // arguments that the last results of the Plan are copied into
  std::vector<py::object> held_;  // tensors that are the Plan's inputs behind its arguments
  TorchWeights weights_;
  std::string label_;     // of its calls in torch's profiler
  py::object otherwise_;  // takes a call that is given up: the arguments, and why
  int64_t calls_ = 0, given_up_ = 0, nanoseconds_ = 0, copies_ = 0;
};

// What a slot of the type is called with, which a cast would look up by the type's name. Null:
// nothing has initialised it.
TorchGraph* self_of(PyObject* self) {
  auto* const instance = reinterpret_cast<py::detail::instance*>(self);
  return static_cast<TorchGraph*>(instance->get_value_and_holder().value_ptr());
}

// Behind the type's own slot: a method that pybind11 dispatches takes several times as long.
PyObject* call_graph(PyObject* self, PyObject* args, PyObject* keywords) {
  const bool has_keywords = keywords != nullptr && PyDict_GET_SIZE(keywords) > 0;
  if (PyTuple_GET_SIZE(args) != 1 || has_keywords || !PyList_Check(PyTuple_GET_ITEM(args, 0))) {
    PyErr_SetString(PyExc_TypeError, "a graph is called with one list of arguments");
    return nullptr;
  }
  TorchGraph* const graph = self_of(self);
  if (graph == nullptr) {
    PyErr_SetString(PyExc_TypeError, "this graph was not initialised");
    return nullptr;
  }
  try {
    const auto given = py::reinterpret_borrow<py::list>(PyTuple_GET_ITEM(args, 0));
    return graph->call(given).release().ptr();
  } catch (py::error_already_set& error) {
    error.restore();
    return nullptr;
  } catch (const std::exception& error) {
    return raise(error);
  }
}

}  // namespace

const runtime::Plan* plan_of_torch_graph(py::handle object) {
  return py::isinstance<TorchGraph>(object) ? &object.cast<const TorchGraph&>().plan() : nullptr;
}

void bind_torch_graph(py::module_& module) {
  module.def("use_torch", &use_torch, py::arg("tensor"), py::arg("parameter"),
             py::arg("forward_mode"), py::arg("examples"));
  if (PyModule_AddFunctions(module.ptr(), torch_functions) < 0) throw py::error_already_set();
  module.def("capture_torch", &capture_torch, py::arg("tensor"), py::arg("parameter"),
             py::arg("elements_of"), py::arg("is_grad_enabled"), py::arg("quiet"));
  module.def("is_plain_tensor", [](py::handle tensor) {
    runtime::BufferView view;
    return view_tensor(tensor.ptr(), view) && !is_negated(tensor.ptr());
  });
  module.def("use_placement", &use_placement, py::arg("place_copy"));
  module.def("forget_packed", &TorchWeights::forget, py::arg("tensors"),
             "Forget what products packed of memory that one of the tensors lies in.");
  module.def("use_profiler", &use_profiler, py::arg("module"), py::arg("record_function"));
  py::class_<TorchGraph>(
      module, "TorchGraph", "A graph compiled for tensors of torch.", py::dynamic_attr(),
      py::custom_type_setup([](PyHeapTypeObject* type) { type->ht_type.tp_call = call_graph; }))
      .def(py::init([](core::Graph graph, const std::string& target, bool strict,
                       const std::string& precision, int threads,
                       const std::map<std::string, FunctionText>& functions,
                       const std::vector<std::pair<std::string, int>>& arguments,
                       const std::vector<ResultText>& results, std::optional<size_t> returned,
                       std::vector<size_t> written, std::vector<py::object> held,
                       const std::vector<size_t>& frozen, std::string label, py::object otherwise,
                       const py::object& passes) {
             core::verify(graph);
             driver::Options options;
             options.target = target;
             if (strict) options.numerics = driver::Numerics::strict;
             options.precision = core::precision_from_text(precision).value();
             options.dense_results = true;
             options.passes = passes_of(passes);
             options.reshapes_are_views = true;
             std::vector<ArgumentSpec> given;
             for (const auto& spec : arguments) given.push_back(argument_spec(spec));
             std::vector<ResultSpec> made;
             for (const auto& spec : results) made.push_back(result_spec(spec));
             return std::make_unique<TorchGraph>(
                 std::move(graph), std::move(options), threads, functions, std::move(given),
                 std::move(made), returned.value_or(SIZE_MAX), std::move(written), std::move(held),
                 frozen, std::move(label), std::move(otherwise));
           }),
           py::arg("graph"), py::kw_only(), py::arg("target"), py::arg("strict"),
           py::arg("precision"), py::arg("threads"), py::arg("functions"), py::arg("arguments"),
           py::arg("results"), py::arg("returned"), py::arg("written"), py::arg("held"),
           py::arg("frozen"), py::arg("label"), py::arg("otherwise"),
           py::arg("passes") = py::none())
      .def("stats", &TorchGraph::stats)
      .def("describe", &TorchGraph::describe)
      .def_property_readonly("target", &TorchGraph::target)
      .def_property_readonly("plan", [](const TorchGraph& f) { return runtime::print(f.plan()); });
}

}  // namespace dvm::bindings
