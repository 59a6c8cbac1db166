// Building and comparing Graphs. The type rules are in infer.cpp.
#include "core/graph/graph.h"

#include "core/graph/infer.h"

namespace dvm::core {

namespace {

Node make_node(Op op, std::span<const Value> inputs, Loc loc) {
  Node node;
  node.op = op;
  node.inputs.assign(inputs.begin(), inputs.end());
  node.loc = loc;
  return node;
}

// The node enters the graph only after its rules hold: a refused node leaves no trace.
Value append_inferred(Graph& graph, Node node) {
  node.type = infer(graph, node);
  return graph.append(std::move(node));
}

// Within one context interning decides; across contexts the printed form is the identity of a Dim,
// since it depends on structure and names alone.
bool equal(Dim a, Dim b) {
  if (!a || !b) return !a && !b;
  return &a.context() == &b.context() ? a == b : to_string(a) == to_string(b);
}

bool equal(std::span<const Dim> a, std::span<const Dim> b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    if (!equal(a[i], b[i])) return false;
  }
  return true;
}

// Constants of the host are their names: what these stand for is no part of a Graph.
bool equal(const Attrs& a, const Attrs& b) {
  return a.value == b.value && equal(a.size, b.size) && a.axes == b.axes &&
         equal(a.starts, b.starts) && a.steps == b.steps && a.window == b.window &&
         a.dilations == b.dilations && a.padding == b.padding && a.callee == b.callee &&
         a.with == b.with && a.name == b.name && (!a.name.empty() || a.values == b.values) &&
         a.results == b.results && a.index == b.index && equal(a.sizes, b.sizes) &&
         a.numbers == b.numbers && a.scale == b.scale && a.fill == b.fill &&
         equal(a.causal, b.causal) && a.precision == b.precision && equal(a.count, b.count) &&
         a.fresh == b.fresh && a.tag == b.tag && a.cases == b.cases &&
         std::equal(a.bodies.begin(), a.bodies.end(), b.bodies.begin(), b.bodies.end(),
                    [](const Body& x, const Body& y) { return core::equal(*x, *y); });
}

bool equal(const Node& a, const Node& b) {
  return a.op == b.op && a.inputs == b.inputs && equal(a.attrs, b.attrs) &&
         a.type.dtype == b.type.dtype && a.type.data == b.type.data &&
         equal(a.type.shape, b.type.shape) && a.loc == b.loc;
}

// What a graph says about its sizes includes the ranges of the symbols it uses.
bool ranges_agree(const Graph& a, const Graph& b) {
  for (const int index : used_symbols(a)) {
    const Symbol& symbol = a.dims().symbol_info(index);
    const std::optional<Dim> other = b.dims().find_symbol(symbol.name);
    if (!other) return false;
    const Symbol& twin = b.dims().symbol_info(other->symbol_index());
    if (symbol.lo != twin.lo || symbol.hi != twin.hi) return false;
  }
  return true;
}

}  // namespace

Value Graph::append(Node node) {
  nodes_.push_back(std::move(node));
  return size() - 1;
}

// The builders below only fill in what the user chooses; infer() does the rest.
Value Graph::input(Type type, Loc loc) {
  Node node = make_node(Op::input, {}, loc);
  node.type = std::move(type);
  return append_inferred(*this, std::move(node));
}

Value Graph::scalar(DType dtype, Loc loc, Dim defines) {
  Node node = make_node(Op::scalar, {}, loc);
  node.attrs.size = defines;
  node.type.dtype = dtype;
  return append_inferred(*this, std::move(node));
}

Value Graph::constant(DType dtype, Scalar value, Loc loc) {
  Node node = make_node(Op::constant, {}, loc);
  node.type.dtype = dtype;
  // Python floats are f64: rounding is what NumPy does with them, wrapping an integer is not.
  node.attrs.value = is_floating(dtype) ? round_to(dtype, value) : value;
  return append_inferred(*this, std::move(node));
}

Value Graph::dim_value(DType dtype, Dim size, Loc loc) {
  Node node = make_node(Op::dim, {}, loc);
  node.type.dtype = dtype;
  node.attrs.size = size;
  return append_inferred(*this, std::move(node));
}

Value Graph::tensor(Tensor values, std::string name, Loc loc) {
  DVM_CHECK(values, "a tensor constant without elements");
  Node node = make_node(Op::tensor, {}, loc);
  node.type.dtype = values->dtype;
  for (const int64_t extent : values->shape) node.type.shape.push_back(dims_->constant(extent));
  node.attrs.values = std::move(values);
  node.attrs.name = std::move(name);
  return append_inferred(*this, std::move(node));
}

Value Graph::tensor(Type type, std::string name, Loc loc) {
  Node node = make_node(Op::tensor, {}, loc);
  node.type = std::move(type);
  node.attrs.name = std::move(name);
  return append_inferred(*this, std::move(node));
}

void Graph::locate(Value first, Loc loc) {
  for (size_t v = static_cast<size_t>(first); v < nodes_.size(); ++v) {
    if (nodes_[v].loc.line == 0) nodes_[v].loc = loc;
  }
}

void Graph::supply(Value v, Tensor values) {
  Node supplied = node(v);
  supplied.attrs.values = std::move(values);
  if (supplied.op != Op::tensor || supplied.attrs.name.empty())
    fail(ErrorCode::graph_invalid, supplied.loc, "only tensor constants with a name are supplied");
  infer(*this, supplied);
  nodes_[static_cast<size_t>(v)] = std::move(supplied);
}

Value Graph::elementwise(Op op, std::span<const Value> inputs, Loc loc) {
  if (op_class(op) != OpClass::elementwise || op == Op::cast)
    fail(ErrorCode::graph_invalid, loc, std::string(info(op).name) + " needs its own builder");
  return append_inferred(*this, make_node(op, inputs, loc));
}

Value Graph::cast(Value a, DType dtype, Loc loc) {
  Node node = make_node(Op::cast, {&a, 1}, loc);
  node.type.dtype = dtype;
  return append_inferred(*this, std::move(node));
}

Value Graph::broadcast(Value a, Shape shape, Loc loc) {
  Node node = make_node(Op::broadcast, {&a, 1}, loc);
  node.type.shape = std::move(shape);
  return append_inferred(*this, std::move(node));
}

Value Graph::reduce(Op op, Value a, std::vector<int> axes, Loc loc) {
  if (op_class(op) != OpClass::reduce)
    fail(ErrorCode::graph_invalid, loc, std::string(info(op).name) + " is no reduction");
  Node node = make_node(op, {&a, 1}, loc);
  node.attrs.axes = std::move(axes);
  return append_inferred(*this, std::move(node));
}

Value Graph::matmul(Value a, Value b, DType dtype, Loc loc) {
  Node node = make_node(Op::matmul, std::vector{a, b}, loc);
  node.type.dtype = dtype;
  return append_inferred(*this, std::move(node));
}

Value Graph::convolve(Value weights, Value x, DType dtype, const WindowForm& form, Loc loc) {
  Node node = make_node(Op::convolve, std::vector{weights, x}, loc);
  node.type.dtype = dtype;
  node.attrs.window = form.window;
  node.attrs.steps = form.steps;
  node.attrs.dilations = form.dilations;
  node.attrs.padding = form.padding;
  return append_inferred(*this, std::move(node));
}

Value Graph::attention(std::span<const Value> inputs, const AttentionForm& form, Loc loc) {
  Node node = make_node(Op::attention, inputs, loc);
  node.attrs.scale = Scalar::of_float(form.scale);
  node.attrs.fill = Scalar::of_float(form.fill);
  node.attrs.causal = form.causal;
  return append_inferred(*this, std::move(node));
}

Value Graph::reshape(Value a, Shape shape, Loc loc) {
  Node node = make_node(Op::reshape, {&a, 1}, loc);
  node.type.shape = std::move(shape);
  return append_inferred(*this, std::move(node));
}

Value Graph::transpose(Value a, std::vector<int> axes, Loc loc) {
  Node node = make_node(Op::transpose, {&a, 1}, loc);
  node.attrs.axes = std::move(axes);
  return append_inferred(*this, std::move(node));
}

Value Graph::slice(Value a, std::vector<Dim> starts, std::vector<int64_t> steps, Shape shape,
                   Loc loc) {
  Node node = make_node(Op::slice, {&a, 1}, loc);
  node.attrs.starts = std::move(starts);
  node.attrs.steps = std::move(steps);
  node.type.shape = std::move(shape);
  return append_inferred(*this, std::move(node));
}

Value Graph::empty(Type type, Loc loc) {
  Node node = make_node(Op::empty, {}, loc);
  node.type = std::move(type);
  return append_inferred(*this, std::move(node));
}

Value Graph::iota(Type type, Loc loc) {
  Node node = make_node(Op::iota, {}, loc);
  node.type = std::move(type);
  return append_inferred(*this, std::move(node));
}

Value Graph::along(Op op, std::span<const Value> inputs, int axis, std::string with, Loc loc) {
  if (op_class(op) != OpClass::whole || !(info(op).attrs & attr::axes))
    fail(ErrorCode::graph_invalid, loc, std::string(info(op).name) + " is not along an axis");
  Node node = make_node(op, inputs, loc);
  node.attrs.axes = {axis};
  node.attrs.with = std::move(with);
  return append_inferred(*this, std::move(node));
}

Value Graph::update(Value a, Value part, std::vector<Dim> starts, std::vector<int64_t> steps,
                    Loc loc) {
  Node node = make_node(Op::update, std::vector{a, part}, loc);
  node.attrs.starts = std::move(starts);
  node.attrs.steps = std::move(steps);
  return append_inferred(*this, std::move(node));
}

Value Graph::compress(Value a, Value mask, int axis, Dim size, Loc loc) {
  Node node = make_node(Op::compress, std::vector{a, mask}, loc);
  node.attrs.axes = {axis};
  node.attrs.size = size;
  return append_inferred(*this, std::move(node));
}

Value Graph::nonzero(Value mask, Dim size, Loc loc) {
  Node node = make_node(Op::nonzero, {&mask, 1}, loc);
  node.attrs.size = size;
  return append_inferred(*this, std::move(node));
}

Value Graph::call(std::string callee, std::span<const Value> inputs, Type type, Loc loc,
                  CallForm form) {
  Node node = make_node(form.into ? Op::call_into : Op::call, inputs, loc);
  node.attrs.callee = std::move(callee);
  node.attrs.results = form.results;
  node.attrs.sizes = std::move(form.sizes);
  node.attrs.numbers = form.numbers;
  node.attrs.fresh = form.fresh;
  node.type = std::move(type);
  return append_inferred(*this, std::move(node));
}

Value Graph::result(Value call, int index, Type type, Loc loc) {
  Node node = make_node(Op::result, {&call, 1}, loc);
  node.attrs.index = index;
  node.type = std::move(type);
  return append_inferred(*this, std::move(node));
}

Value Graph::loop(Body body, std::span<const Value> inputs, LoopForm form, Loc loc) {
  Node node = make_node(Op::loop, inputs, loc);
  node.type = {DType::i64, {}};
  node.attrs.results = 1 + static_cast<int>(body->outputs.size());
  node.attrs.size = form.trips;
  node.attrs.count = form.count;
  node.attrs.sizes = std::move(form.sizes);
  node.attrs.bodies = {std::move(body)};
  return append_inferred(*this, std::move(node));
}

Value Graph::branch(Value condition, std::span<const Value> inputs, Type type, Body then,
                    Body otherwise, std::vector<Dim> sizes, Loc loc) {
  Node node = make_node(Op::branch, {&condition, 1}, loc);
  node.inputs.insert(node.inputs.end(), inputs.begin(), inputs.end());
  node.type = std::move(type);
  node.attrs.results = static_cast<int>(then->outputs.size());
  node.attrs.sizes = std::move(sizes);
  node.attrs.bodies = {std::move(then), std::move(otherwise)};
  return append_inferred(*this, std::move(node));
}

Value Graph::match(Value object, std::span<const Value> inputs, Type type, int results,
                   std::vector<std::string> cases, std::vector<Body> bodies, std::vector<Dim> sizes,
                   Loc loc) {
  Node node = make_node(Op::match, {&object, 1}, loc);
  node.inputs.insert(node.inputs.end(), inputs.begin(), inputs.end());
  node.type = std::move(type);
  node.attrs.results = results;
  node.attrs.sizes = std::move(sizes);
  node.attrs.cases = std::move(cases);
  node.attrs.bodies = std::move(bodies);
  return append_inferred(*this, std::move(node));
}

Value Graph::construct(std::string data, std::string tag, std::span<const Value> fields, Loc loc) {
  Node node = make_node(Op::construct, fields, loc);
  node.type = object_type(std::move(data));
  node.attrs.tag = std::move(tag);
  return append_inferred(*this, std::move(node));
}

Value Graph::invoke(std::string callee, std::span<const Value> inputs, Type type, int results,
                    std::vector<Dim> sizes, Loc loc) {
  Node node = make_node(Op::invoke, inputs, loc);
  node.type = std::move(type);
  node.attrs.callee = std::move(callee);
  node.attrs.results = results;
  node.attrs.sizes = std::move(sizes);
  return append_inferred(*this, std::move(node));
}

Value Graph::closure(std::string data, std::string callee, std::span<const Value> held, Loc loc) {
  Node node = make_node(Op::closure, held, loc);
  node.type = object_type(std::move(data));
  node.attrs.callee = std::move(callee);
  return append_inferred(*this, std::move(node));
}

Value Graph::apply(Value function, std::span<const Value> inputs, Type type, int results, Loc loc) {
  Node node = make_node(Op::apply, {&function, 1}, loc);
  node.inputs.insert(node.inputs.end(), inputs.begin(), inputs.end());
  node.type = std::move(type);
  node.attrs.results = results;
  return append_inferred(*this, std::move(node));
}

Value Graph::leave(Value condition, std::span<const Value> carried, Loc loc) {
  Node node = make_node(Op::leave, {&condition, 1}, loc);
  node.inputs.insert(node.inputs.end(), carried.begin(), carried.end());
  node.type = {DType::boolean, {}};
  return append_inferred(*this, std::move(node));
}

std::vector<Value> Graph::inputs() const {
  std::vector<Value> found;
  for (Value v = 0; v < size(); ++v) {
    if (node(v).op == Op::input || node(v).op == Op::scalar) found.push_back(v);
  }
  return found;
}

std::vector<int> used_symbols(const Graph& graph) {
  std::vector<bool> used(static_cast<size_t>(graph.dims().symbol_count()));
  const auto add = [&](Dim dim) {
    if (!dim) return;
    for (const int symbol : symbols_of(dim)) used[static_cast<size_t>(symbol)] = true;
  };
  for (const Node& node : graph.nodes()) {
    add(node.attrs.size);
    add(node.attrs.causal);
    add(node.attrs.count);
    for (const Dim dim : node.attrs.starts) add(dim);
    for (const Dim dim : node.attrs.sizes) add(dim);
    for (const Dim dim : node.type.shape) add(dim);
  }
  std::vector<int> symbols;
  for (size_t i = 0; i < used.size(); ++i) {
    if (used[i]) symbols.push_back(static_cast<int>(i));
  }
  return symbols;
}

bool equal(const Graph& a, const Graph& b) {
  if (a.size() != b.size() || a.outputs != b.outputs) return false;
  for (Value v = 0; v < a.size(); ++v) {
    if (!equal(a.node(v), b.node(v))) return false;
  }
  return ranges_agree(a, b);
}

}  // namespace dvm::core
