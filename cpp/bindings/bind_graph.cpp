// Graph as the lowering (python/dvm/magpy_capture) builds them. Values are plain ints.
#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include <limits>

#include "bindings/bind_dim.h"
#include "bindings/bindings.h"
#include "capture/numpy/numpy_api.h"
#include "core/graph/bodies.h"
#include "core/graph/graph.h"

namespace py = pybind11;

namespace dvm::bindings {

namespace {

using core::Dim;
using core::Graph;
using core::Value;

core::DType parse_dtype(const std::string& text) {
  const auto dtype = core::dtype_from_text(text);
  if (!dtype) core::fail(core::ErrorCode::unsupported, "there is no dtype " + text);
  return *dtype;
}

core::Op parse_op(const std::string& name) {
  const auto op = core::op_from_text(name);
  if (!op) core::fail(core::ErrorCode::unsupported, "there is no op " + name);
  return *op;
}

core::Loc to_loc(const std::pair<std::string, int>& at) {
  return at.first.empty() ? core::Loc{} : core::make_loc(at.first, at.second);
}

Dim to_dim(const Graph& graph, py::handle size) {
  if (py::isinstance<PyDim>(size)) return size.cast<const PyDim&>().dim;
  return graph.dims().constant(size.cast<int64_t>());
}

core::Shape to_shape(const Graph& graph, const py::sequence& sizes) {
  core::Shape shape;
  for (py::handle size : sizes) shape.push_back(to_dim(graph, size));
  return shape;
}

core::Scalar to_scalar(core::DType dtype, py::handle value) {
  if (dtype == core::DType::u64) {
    return core::Scalar::of_int(static_cast<int64_t>(value.cast<uint64_t>()));
  }
  return core::is_floating(dtype) ? core::Scalar::of_float(value.cast<double>())
                                  : core::Scalar::of_int(value.cast<int64_t>());
}

PyDim wrap(const Graph& graph, Dim dim) { return {graph.shared_dims(), dim}; }

std::vector<std::string> unused(const Graph& g) {
  std::vector<char> used(static_cast<size_t>(g.size()), 0);
  for (const Value v : g.outputs) used[static_cast<size_t>(v)] = 1;
  std::vector<std::string> names;
  for (Value v = g.size() - 1; v >= 0; --v) {
    if (!used[static_cast<size_t>(v)]) {
      names.emplace_back(core::info(g.node(v).op).name);
      continue;
    }
    for (const Value input : g.node(v).inputs) used[static_cast<size_t>(input)] = 1;
  }
  return {names.rbegin(), names.rend()};
}

std::vector<Value> inputs_of(const Graph& g, const std::vector<Value>& values) {
  std::vector<char> needed(static_cast<size_t>(g.size()), 0);
  for (const Value v : values) needed[static_cast<size_t>(v)] = 1;
  std::vector<Value> found;
  for (Value v = g.size() - 1; v >= 0; --v) {
    if (!needed[static_cast<size_t>(v)]) continue;
    if (g.node(v).op == core::Op::input) found.push_back(v);
    for (const Value input : g.node(v).inputs) needed[static_cast<size_t>(input)] = 1;
  }
  return {found.rbegin(), found.rend()};
}

using At = std::pair<std::string, int>;

std::vector<Value> build_loop(Graph& g, Graph body, const std::vector<Value>& carried,
                              const std::vector<Value>& used, const py::object& count,
                              const py::object& trips, const At& where) {
  core::LoopForm form;
  if (!count.is_none()) form.count = to_dim(g, count);
  if (!trips.is_none()) form.trips = to_dim(g, trips);
  return core::add_loop(g, std::move(body), carried, used, std::move(form), to_loc(where));
}

std::vector<Value> build_branch(Graph& g, Value condition, Graph then, Graph otherwise,
                                const std::vector<Value>& used, const At& where) {
  return core::add_branch(g, condition, std::move(then), std::move(otherwise), used, to_loc(where));
}

}  // namespace

void bind_graph(py::module_& module) {
  bind_dim(module);
  const py::arg_v at = py::arg("at") = At{};
  py::class_<Graph>(module, "Graph", "A graph under construction; values are node numbers.")
      .def(py::init<>())
      .def(
          "symbol",
          [](Graph& g, std::string name, int64_t lo, int64_t hi) {
            return wrap(g, g.dims().symbol(std::move(name), lo, hi));
          },
          py::arg("name"), py::arg("lo") = 0, py::arg("hi") = core::kDimMax,
          "A size, or with a negative `lo` a number; |value| <= 2**62.")
      .def(
          "locate", [](Graph& g, Value first, const At& where) { g.locate(first, to_loc(where)); },
          py::arg("first"), py::arg("at"),
          "Says of the nodes from `first` on that have no line of the program yet: this one.")
      .def("__len__", &Graph::size)
      .def("size", [](Graph& g, int64_t n) { return wrap(g, g.dims().constant(n)); })
      .def(
          "input",
          [](Graph& g, const std::string& dtype, const py::sequence& shape, const At& where) {
            return g.input({parse_dtype(dtype), to_shape(g, shape)}, to_loc(where));
          },
          py::arg("dtype"), py::arg("shape"), at)
      .def(
          "scalar",
          [](Graph& g, const std::string& dtype, const At& where, py::handle size) {
            return g.scalar(parse_dtype(dtype), to_loc(where),
                            size.is_none() ? Dim{} : to_dim(g, size));
          },
          py::arg("dtype"), at, py::arg("size") = py::none(),
          "A Python number; that of dtype i64 may define the symbol `size`.")
      .def(
          "constant",
          [](Graph& g, const std::string& dtype, py::handle value, const At& where) {
            const core::DType type = parse_dtype(dtype);
            return g.constant(type, to_scalar(type, value), to_loc(where));
          },
          py::arg("dtype"), py::arg("value"), at)
      .def(
          "dim_value",
          [](Graph& g, const std::string& dtype, py::handle size, const At& where) {
            return g.dim_value(parse_dtype(dtype), to_dim(g, size), to_loc(where));
          },
          py::arg("dtype"), py::arg("size"), at)
      .def(
          "tensor",
          [](Graph& g, const std::string& dtype, const py::array& values, const At& where) {
            const core::DType type = parse_dtype(dtype);
            const auto dense = py::array::ensure(values, py::array::c_style);
            if (!dense) throw py::error_already_set();
            const auto* array = reinterpret_cast<const PyArrayObject*>(dense.ptr());
            if (!capture::holds(capture::dtype_of(array), type))
              core::fail(core::ErrorCode::dtype_mismatch, to_loc(where),
                         "tensor: the values are not " + dtype);
            const std::span bytes(static_cast<const std::byte*>(dense.data()),
                                  static_cast<size_t>(dense.nbytes()));
            return g.tensor(
                core::own_tensor(type, {dense.shape(), dense.shape() + dense.ndim()}, bytes), {},
                to_loc(where));
          },
          py::arg("dtype"), py::arg("values"), at, "A constant, which copies a few elements.")
      .def(
          "named_tensor",
          [](Graph& g, const std::string& dtype, const py::sequence& shape, std::string name,
             const At& where) {
            return g.tensor({parse_dtype(dtype), to_shape(g, shape)}, std::move(name),
                            to_loc(where));
          },
          py::arg("dtype"), py::arg("shape"), py::arg("name"), at,
          "A constant whose elements are supplied when the graph is compiled.")
      .def(
          "elementwise",
          [](Graph& g, const std::string& op, const std::vector<Value>& inputs, const At& where) {
            return g.elementwise(parse_op(op), inputs, to_loc(where));
          },
          py::arg("op"), py::arg("inputs"), at)
      .def(
          "cast",
          [](Graph& g, Value a, const std::string& dtype, const At& where) {
            return g.cast(a, parse_dtype(dtype), to_loc(where));
          },
          py::arg("value"), py::arg("dtype"), at)
      .def(
          "broadcast",
          [](Graph& g, Value a, const py::sequence& shape, const At& where) {
            return g.broadcast(a, to_shape(g, shape), to_loc(where));
          },
          py::arg("value"), py::arg("shape"), at)
      .def(
          "reduce",
          [](Graph& g, const std::string& op, Value a, std::vector<int> axes, const At& where) {
            return g.reduce(parse_op(op), a, std::move(axes), to_loc(where));
          },
          py::arg("op"), py::arg("value"), py::arg("axes"), at)
      .def(
          "matmul",
          [](Graph& g, Value a, Value b, const std::string& dtype, const At& where) {
            return g.matmul(a, b, parse_dtype(dtype), to_loc(where));
          },
          py::arg("a"), py::arg("b"), py::arg("dtype"), at)
      .def(
          "convolve",
          [](Graph& g, Value weights, Value x, const std::string& dtype,
             std::vector<int64_t> window, std::vector<int64_t> steps,
             std::vector<int64_t> dilations, std::vector<int64_t> padding, const At& where) {
            return g.convolve(
                weights, x, parse_dtype(dtype),
                {std::move(window), std::move(steps), std::move(dilations), std::move(padding)},
                to_loc(where));
          },
          py::arg("weights"), py::arg("x"), py::arg("dtype"), py::arg("window"), py::arg("steps"),
          py::arg("dilations"), py::arg("padding"), at)
      .def(
          "attention",
          [](Graph& g, const std::vector<Value>& inputs, double scale, double fill,
             const py::object& causal, const At& where) {
            core::AttentionForm form{.scale = scale, .fill = fill};
            if (!causal.is_none()) form.causal = to_dim(g, causal);
            return g.attention(inputs, form, to_loc(where));
          },
          py::arg("inputs"), py::arg("scale") = 1.0,
          py::arg("fill") = -std::numeric_limits<double>::infinity(),
          py::arg("causal") = py::none(), at)
      .def(
          "reshape",
          [](Graph& g, Value a, const py::sequence& shape, const At& where) {
            return g.reshape(a, to_shape(g, shape), to_loc(where));
          },
          py::arg("value"), py::arg("shape"), at)
      .def(
          "transpose",
          [](Graph& g, Value a, std::vector<int> axes, const At& where) {
            return g.transpose(a, std::move(axes), to_loc(where));
          },
          py::arg("value"), py::arg("axes"), at)
      .def(
          "slice",
          [](Graph& g, Value a, const py::sequence& starts, std::vector<int64_t> steps,
             const py::sequence& shape, const At& where) {
            return g.slice(a, to_shape(g, starts), std::move(steps), to_shape(g, shape),
                           to_loc(where));
          },
          py::arg("value"), py::arg("starts"), py::arg("steps"), py::arg("shape"), at)
      .def(
          "empty",
          [](Graph& g, const std::string& dtype, const py::sequence& shape, const At& where) {
            return g.empty({parse_dtype(dtype), to_shape(g, shape)}, to_loc(where));
          },
          py::arg("dtype"), py::arg("shape"), at)
      .def(
          "update",
          [](Graph& g, Value a, Value part, const py::sequence& starts, std::vector<int64_t> steps,
             const At& where) {
            return g.update(a, part, to_shape(g, starts), std::move(steps), to_loc(where));
          },
          py::arg("value"), py::arg("part"), py::arg("starts"), py::arg("steps"), at)
      .def(
          "iota",
          [](Graph& g, const std::string& dtype, const py::sequence& shape, int axis,
             const At& where) {
            const core::Shape sizes = to_shape(g, shape);
            const auto extent = static_cast<size_t>(axis);
            if (extent >= sizes.size())
              core::fail(core::ErrorCode::graph_invalid, to_loc(where), "iota: no such axis");
            const Value line = g.iota({parse_dtype(dtype), {sizes[extent]}}, to_loc(where));
            if (sizes.size() == 1) return line;
            core::Shape column(sizes.size() - extent, g.dims().constant(1));
            column[0] = sizes[extent];
            return g.broadcast(g.reshape(line, column, to_loc(where)), sizes, to_loc(where));
          },
          py::arg("dtype"), py::arg("shape"), py::arg("axis") = 0, at, "d[i] = i[axis]")
      .def(
          "along",
          [](Graph& g, const std::string& op, const std::vector<Value>& inputs, int axis,
             std::string with, const At& where) {
            return g.along(parse_op(op), inputs, axis, std::move(with), to_loc(where));
          },
          py::arg("op"), py::arg("inputs"), py::arg("axis"), py::arg("with_op") = "", at,
          "argmax, argmin of one value; gather, take_along of a value and its i64 indices; scan,\n"
          "fold, fold_where of values, fold_at of a value and indices, with the binary op\n"
          "`with_op`; scatter, put_along of a value, indices and elements, with or without one.")
      .def(
          "compress",
          [](Graph& g, Value a, Value mask, int axis, py::handle size, const At& where) {
            return g.compress(a, mask, axis, to_dim(g, size), to_loc(where));
          },
          py::arg("a"), py::arg("mask"), py::arg("axis"), py::arg("size"), at,
          "the elements along an axis of `a` at which a mask of rank 1 is true: `size` of them")
      .def(
          "nonzero",
          [](Graph& g, Value mask, py::handle size, const At& where) {
            return g.nonzero(mask, to_dim(g, size), to_loc(where));
          },
          py::arg("mask"), py::arg("size"), at, "where a mask of rank 1 is true: `size` positions")
      .def(
          "call",
          [](Graph& g, std::string callee, const std::vector<Value>& inputs,
             const std::string& dtype, const py::sequence& shape, const At& where, bool into,
             int results, const py::sequence& sizes, int numbers, bool fresh) {
            return g.call(std::move(callee), inputs, {parse_dtype(dtype), to_shape(g, shape)},
                          to_loc(where), {into, results, to_shape(g, sizes), numbers, fresh});
          },
          py::arg("callee"), py::arg("inputs"), py::arg("dtype"), py::arg("shape"), at,
          py::arg("into") = false, py::arg("results") = 1, py::arg("sizes") = py::tuple(),
          py::arg("numbers") = 0, py::arg("fresh") = false,
          "The first of so many results, or arrays that are written `into`. The function is given\n"
          "the inputs, the last `numbers` of which are scalars, with the sizes before these.\n"
          "Of one that is `fresh`, results are new arrays, and arguments are as they were.")
      .def(
          "result",
          [](Graph& g, Value call, int index, const std::string& dtype, const py::sequence& shape,
             const At& where) {
            return g.result(call, index, {parse_dtype(dtype), to_shape(g, shape)}, to_loc(where));
          },
          py::arg("call"), py::arg("index"), py::arg("dtype"), py::arg("shape"), at)
      .def(
          "body", [](const Graph& g) { return Graph(g.shared_dims()); },
          "An empty graph over the same symbols, for a loop or branch.")
      .def("loop", build_loop, py::arg("body"), py::kw_only(), py::arg("carried"),
           py::arg("used") = std::vector<Value>{}, py::arg("count") = py::none(),
           py::arg("trips") = py::none(), at,
           "Runs a body `count` times, or until it leaves: its arguments are the number of the "
           "trip\n"
           "(a scalar i64), the carried values and those used; its outputs the next carried "
           "values.\n"
           "Returns the number of trips made, whose symbol may be `trips`, and the last carried\n"
           "values. Symbols that no argument of the body tells are handed in.")
      .def("branch", build_branch, py::arg("condition"), py::arg("then"), py::arg("otherwise"),
           py::arg("used") = std::vector<Value>{}, at,
           "The outputs of the body that the condition, a bool of rank 0, chooses.")
      .def(
          "leave",
          [](Graph& g, Value condition, const std::vector<Value>& carried, const At& where) {
            return g.leave(condition, carried, to_loc(where));
          },
          py::arg("condition"), py::arg("carried"), at,
          "In the body of a loop: ends it with these carried values where the condition is true.")
      .def(
          "extract",
          [](const Graph& g, const std::vector<Value>& inputs, const std::vector<Value>& outputs) {
            core::Extraction part = core::extract(g, inputs, outputs);
            std::vector<std::string> unbound;
            for (const int symbol : part.unbound)
              unbound.push_back(g.dims().symbol_info(symbol).name);
            return py::make_tuple(std::move(part.graph), part.scalars, unbound);
          },
          py::arg("inputs"), py::arg("outputs"),
          "What the outputs need, as a Graph whose first nodes are the inputs; the old values of\n"
          "its scalars, in order; and the names of symbols that its arguments do not determine.")
      .def("inputs_of", inputs_of, py::arg("values"), "The arrays that these are computed of.")
      .def("shape",
           [](const Graph& g, Value v) {
             std::vector<PyDim> shape;
             for (const Dim dim : g.type(v).shape) shape.push_back(wrap(g, dim));
             return shape;
           })
      .def("dtype",
           [](const Graph& g, Value v) { return std::string(core::to_string(g.type(v).dtype)); })
      .def("unused", unused, "Names of the ops whose results reach no output, in node order.")
      .def_readwrite("outputs", &Graph::outputs)
      .def("__str__", [](const Graph& g) { return core::print(g); });
}

}  // namespace dvm::bindings
