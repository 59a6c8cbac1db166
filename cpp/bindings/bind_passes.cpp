// What dvm.passes stands on: patterns, what they replace in Graphs, and passes of Python's among
// those of the list.
#include <pybind11/functional.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <utility>

#include "bindings/bind_dim.h"
#include "bindings/bindings.h"
#include "bindings/python_passes.h"
#include "core/error.h"
#include "core/rewrite/rewrite.h"
#include "driver/pipeline.h"

namespace py = pybind11;

namespace dvm::bindings {

namespace {

using core::Graph;
using core::Pattern;
using core::PatternTerm;
using core::Value;
using Location = std::pair<std::string, int>;

constexpr size_t kMostOperands = 16;  // of one term: each way to part them is tried

Location location_of(core::Loc loc) { return loc ? Location(*loc.file, loc.line) : Location(); }

core::Op op_of(const std::string& name) {
  const auto op = core::op_from_text(name);
  if (!op) core::fail(core::ErrorCode::unknown_name, "there is no op " + name);
  return *op;
}

int append(Pattern& pattern, PatternTerm term) {
  const auto count = static_cast<int>(pattern.terms.size());
  if (term.operands.size() > kMostOperands) {
    core::fail(core::ErrorCode::pass_failed,
               "a pattern has " + std::to_string(term.operands.size()) + " operands in one chain");
  }
  for (const int operand : term.operands) {
    if (operand < 0 || operand >= count) throw py::index_error("a term is defined before its use");
  }
  pattern.variables = std::max(pattern.variables, term.variable + 1);
  pattern.terms.push_back(std::move(term));
  return count;
}

py::dict attributes(const Graph& g, Value v);

// Op and attributes of a node, dtype and sizes of what is replaced there.
py::tuple described(const Graph& g, Value v, const core::Type& type) {
  py::list shape;
  for (const core::Dim dim : type.shape) shape.append(py::cast(PyDim{g.shared_dims(), dim}));
  return py::make_tuple(std::string(core::info(g.node(v).op).name), attributes(g, v),
                        std::string(core::to_string(type.dtype)), shape);
}

// `replace` is called with the new Graph, the index of the pattern, its variables, operands, the
// line and what the root is; what it gives stands for the roots, None leaves them.
py::tuple rewrite(const Graph& graph, const std::vector<Pattern>& patterns,
                  const py::function& replace, bool again) {
  for (const Pattern& pattern : patterns) {
    if (pattern.roots.empty()) throw py::value_error("a pattern without a root");
  }
  py::list decisions;
  const auto replaced = [&](Graph& made, const Graph& old,
                            const core::Site& site) -> std::optional<std::vector<Value>> {
    // Python owns the Graph while it is being written to.
    py::object lent = py::cast(std::exchange(made, Graph(graph.shared_dims())));
    const py::object values =
        replace(lent, site.pattern, site.variables, site.operands, location_of(site.loc),
                described(old, site.root, site.types[0]));
    made = std::exchange(lent.cast<Graph&>(), Graph(graph.shared_dims()));
    const bool declines = values.is_none();
    decisions.append(py::make_tuple("%" + std::to_string(site.root), declines ? "no" : "yes",
                                    declines ? "declined" : "replaced",
                                    std::string(core::info(old.node(site.root).op).name),
                                    location_of(site.loc)));
    if (declines) return std::nullopt;
    return values.cast<std::vector<Value>>();
  };
  py::object result = py::cast(Graph(graph.shared_dims()));
  std::vector<core::Miss> misses;
  const core::RewriteCounts counts =
      core::rewrite(graph, patterns, result.cast<Graph&>(), replaced, misses, {.again = again});
  for (const core::Miss& miss : misses) {
    const Graph& last = result.cast<Graph&>();
    decisions.append(py::make_tuple("%" + std::to_string(miss.root), "no", miss.rule, miss.reason,
                                    location_of(last.node(miss.root).loc)));
  }
  return py::make_tuple(std::move(result), counts.replaced, counts.rounds, decisions);
}

// What Python's passes are for the driver. They are run by a function, which is given an index and
// a Graph and gives a Graph and records, and raises PassError alone.
class PythonPasses : public driver::AddedPasses {
 public:
  PythonPasses(const std::vector<std::pair<std::string, std::string>>& entries, py::function run,
               py::object refused, std::vector<std::string> steps_off, std::string behind)
      : run_(std::move(run)), refused_(std::move(refused)) {
    off = std::move(steps_off);
    resumes_behind = std::move(behind);
    for (const auto& [name, after] : entries) entries_.push_back({name, after});
  }
  ~PythonPasses() override {
    const py::gil_scoped_acquire held;
    run_ = {};
    refused_ = {};
  }
  PythonPasses(const PythonPasses&) = delete;
  PythonPasses& operator=(const PythonPasses&) = delete;

  std::span<const Entry> entries() const override { return entries_; }

  void refused(const core::Error& error) const override {
    if (refused_.is_none()) return;
    const py::gil_scoped_acquire held;
    refused_(error.what());
  }

  Graph run(size_t index, const Graph& graph,
            std::vector<core::Decision>& decisions) const override {
    const py::gil_scoped_acquire held;
    try {
      const py::tuple made = run_(index, py::cast(graph));
      for (const py::handle item : made[1]) {
        const auto record = item.cast<py::tuple>();
        const auto at = record[4].cast<Location>();
        decisions.push_back({record[0].cast<std::string>(), record[1].cast<std::string>(),
                             record[2].cast<std::string>(), record[3].cast<std::string>(), 0,
                             at.first.empty() ? core::Loc{} : core::make_loc(at.first, at.second)});
      }
      return made[0].cast<const Graph&>();
    } catch (py::error_already_set& error) {
      // The call may be one whose program has run already: no place to raise what is no error of
      // dvm's. An interruption comes back as soon as there is one.
      if (error.matches(PyExc_KeyboardInterrupt)) PyErr_SetInterrupt();
      const py::object message = py::getattr(error.value(), "message", py::str(error.value()));
      const auto at = py::getattr(error.value(), "at", py::make_tuple("", 0)).cast<Location>();
      core::fail(core::ErrorCode::pass_failed,
                 at.first.empty() ? core::Loc{} : core::make_loc(at.first, at.second),
                 message.cast<std::string>());
    }
  }

 private:
  std::vector<Entry> entries_;
  py::function run_;
  py::object refused_;  // or None
};

py::dict attributes(const Graph& g, Value v) {
  const core::Node& node = g.node(v);
  const uint32_t keys = core::info(node.op).attrs;
  const auto dims = [&](const std::vector<core::Dim>& given) {
    py::list list;
    for (const core::Dim dim : given) list.append(py::cast(PyDim{g.shared_dims(), dim}));
    return list;
  };
  py::dict found;
  if (keys & core::attr::value) {
    found["value"] = core::is_floating(node.type.dtype)
                         ? py::object(py::float_(node.attrs.value.as_float()))
                         : py::object(py::int_(node.attrs.value.as_int()));
  }
  if (keys & core::attr::size && node.attrs.size) {
    found["size"] = py::cast(PyDim{g.shared_dims(), node.attrs.size});
  }
  if (keys & core::attr::axes) found["axes"] = py::cast(node.attrs.axes);
  if (keys & core::attr::starts) found["starts"] = dims(node.attrs.starts);
  if (keys & core::attr::steps) found["steps"] = py::cast(node.attrs.steps);
  if (keys & core::attr::callee) found["callee"] = node.attrs.callee;
  if (keys & core::attr::with) found["with"] = node.attrs.with;
  if (keys & core::attr::name) found["name"] = node.attrs.name;
  if (keys & core::attr::scale) found["scale"] = node.attrs.scale.as_float();
  if (keys & core::attr::fill) found["fill"] = node.attrs.fill.as_float();
  if (keys & core::attr::causal && node.attrs.causal) {
    found["causal"] = py::cast(PyDim{g.shared_dims(), node.attrs.causal});
  }
  if (keys & core::attr::window) found["window"] = py::cast(node.attrs.window);
  if (keys & core::attr::dilations) found["dilations"] = py::cast(node.attrs.dilations);
  if (keys & core::attr::padding) found["padding"] = py::cast(node.attrs.padding);
  if (keys & core::attr::index) found["index"] = node.attrs.index;
  return found;
}

const core::Node& node_at(const Graph& g, Value v) {
  if (v < 0 || v >= g.size()) throw py::index_error("the graph has no such node");
  return g.node(v);
}

}  // namespace

std::shared_ptr<const driver::AddedPasses> passes_of(const py::object& passes) {
  if (passes.is_none()) return nullptr;
  return passes.cast<std::shared_ptr<PythonPasses>>();
}

void bind_passes(py::module_& module) {
  using Kind = PatternTerm::Kind;
  py::class_<Pattern>(module, "Pattern", "What a part of a graph looks like; terms are numbers.")
      .def(py::init([](bool associates) {
             Pattern pattern;
             pattern.associates = associates;
             return pattern;
           }),
           py::arg("associates"))
      .def("variable",
           [](Pattern& p, int k) { return append(p, {.kind = Kind::variable, .variable = k}); })
      .def("any_number",
           [](Pattern& p, int k) { return append(p, {.kind = Kind::any_number, .variable = k}); })
      .def("number",
           [](Pattern& p, double value, double tolerance) {
             return append(p, {.kind = Kind::number, .number = value, .tolerance = tolerance});
           })
      .def("count",
           [](Pattern& p, int reduction) {
             return append(p, {.kind = Kind::count, .operands = {reduction}});
           })
      .def("op",
           [](Pattern& p, const std::string& op, std::vector<int> operands, std::vector<int> axes) {
             return append(p, {.kind = Kind::op,
                               .op = op_of(op),
                               .operands = std::move(operands),
                               .axes = std::move(axes)});
           })
      .def("chain",
           [](Pattern& p, const std::string& op, std::vector<int> operands,
              const std::vector<bool>& inverse, bool is_negative) {
             uint32_t bits = 0;
             for (size_t k = 0; k < std::min(inverse.size(), kMostOperands); ++k) {
               bits |= static_cast<uint32_t>(inverse[k]) << k;
             }
             return append(p, {.kind = Kind::op,
                               .op = op_of(op),
                               .operands = std::move(operands),
                               .inverse = bits,
                               .is_negative = is_negative});
           })
      .def("any_operands",
           [](Pattern& p, const std::string& op) {
             return append(p, {.kind = Kind::any_operands, .op = op_of(op)});
           })
      .def("split",
           [](Pattern& p, int whole, int axis, int part, int parts) {
             return append(p, {.kind = Kind::split,
                               .operands = {whole},
                               .axes = {axis},
                               .part = part,
                               .parts = parts});
           })
      .def("join",
           [](Pattern& p, std::vector<int> parts, int axis) {
             return append(p, {.kind = Kind::join, .operands = std::move(parts), .axes = {axis}});
           })
      .def_readwrite("roots", &Pattern::roots);
  py::class_<PythonPasses, std::shared_ptr<PythonPasses>>(
      module, "Passes", "Passes of Python's: names, what each comes behind, and what runs them.")
      .def(py::init<const std::vector<std::pair<std::string, std::string>>&, py::function,
                    py::object, std::vector<std::string>, std::string>(),
           py::arg("entries"), py::arg("run"), py::arg("refused") = py::none(),
           py::arg("off") = std::vector<std::string>{}, py::arg("behind") = "");
  py::list table;
  for (const driver::Step& step : driver::steps()) {
    table.append(py::make_tuple(std::string(step.name), std::string(driver::to_string(step.stage)),
                                static_cast<int>(step.level), std::string(step.synopsis)));
  }
  module.attr("pass_table") = table;
  py::list ops;
  for (const core::OpInfo& op : core::all_ops()) ops.append(std::string(op.name));
  module.attr("op_names") = ops;
  module.def("rewrite", &rewrite, py::arg("graph"), py::arg("patterns"), py::arg("replace"),
             py::arg("again") = false);
  // What passes read of a Graph.
  module.def(
      "node_of",
      [](const Graph& g, Value v) {
        const core::Node& node = node_at(g, v);
        return py::make_tuple(std::string(core::info(node.op).name), node.inputs, attributes(g, v),
                              location_of(node.loc));
      },
      py::arg("graph"), py::arg("node"), "Op, operands, attributes and the line of the program.");
}

}  // namespace dvm::bindings
