#include "fuser/flow.h"

#include <algorithm>

#include "core/graph/bind_symbols.h"

namespace dvm::fuser {

using core::Op;
using core::OpClass;
using core::Value;

namespace {

void insert(std::vector<Value>& set, Value v) {
  if (std::find(set.begin(), set.end(), v) == set.end()) set.push_back(v);
}

}  // namespace

bool is_own_step(Op op) {
  const OpClass op_class = core::op_class(op);
  return op_class == OpClass::view || op_class == OpClass::whole || op_class == OpClass::opaque;
}

bool reads_through(const core::Graph& graph, const core::Node& product, Value v) {
  const core::Node& broadcast = graph.node(v);
  if (core::op_class(product.op) != OpClass::matrix || broadcast.op != Op::broadcast) return false;
  const core::Node& source = graph.node(broadcast.inputs[0]);
  if (core::is_number(source.op)) return false;
  const core::Shape &from = source.type.shape, &to = broadcast.type.shape;
  if (product.op == Op::attention) return true;
  // The axes of one matrix, or of one x of a convolution.
  const bool is_x = product.op == Op::convolve && product.inputs[1] == v;
  const size_t own = is_x ? product.attrs.window.size() + 1 : 2;
  const auto count = static_cast<ptrdiff_t>(own);
  return from.size() >= own && std::equal(from.end() - count, from.end(), to.end() - count);
}

std::vector<core::Dim> dims_of(const core::Node& node) {
  std::vector<core::Dim> dims = node.type.shape;
  dims.insert(dims.end(), node.attrs.sizes.begin(), node.attrs.sizes.end());
  dims.insert(dims.end(), node.attrs.starts.begin(), node.attrs.starts.end());
  if (node.attrs.size) dims.push_back(node.attrs.size);
  if (node.attrs.causal) dims.push_back(node.attrs.causal);
  if (node.attrs.count) dims.push_back(node.attrs.count);
  return dims;
}

Flow::Flow(const core::Graph& graph) : graph_(graph), nodes_(static_cast<size_t>(graph.size())) {
  mark_live();
  mark_in_memory();
  for (Value v = 0; v < graph.size(); ++v) {
    if (at(v).live) trace(v);
  }
  order_sizes();
  order_calls();
  order_leaves();
  order_updates();
}

Value Flow::root(Value v) const {
  const auto shares = [&](Op op) {
    return core::op_class(op) == OpClass::view || op == Op::result;
  };
  while (shares(graph_.node(v).op)) v = graph_.node(v).inputs[0];
  return v;
}

void Flow::mark_live() {
  for (Value v : graph_.outputs) at(v).live = true;
  for (Value v = graph_.size() - 1; v >= 0; --v) {
    if (core::op_class(graph_.node(v).op) == OpClass::opaque) at(v).live = true;
    if (!at(v).live) continue;
    for (Value operand : graph_.node(v).inputs) at(operand).live = true;
  }
}

void Flow::mark_in_memory() {
  for (Value v : graph_.outputs) at(v).in_memory = true;
  for (Value v = 0; v < graph_.size(); ++v) {
    const core::Node& node = graph_.node(v);
    const bool multiplies = core::op_class(node.op) == OpClass::matrix;
    if (!at(v).live || !(multiplies || is_own_step(node.op))) continue;
    for (Value operand : core::arrays_of(node)) {
      while (reads_through(graph_, node, operand)) operand = graph_.node(operand).inputs[0];
      at(operand).in_memory = true;
    }
  }
}

void Flow::trace(Value v) {
  const core::Node& node = graph_.node(v);
  NodeFlow& flow = at(v);
  flow.scalar = core::is_number(node.op);
  switch (core::op_class(node.op)) {
    case OpClass::elementwise:
    case OpClass::reduce:
    case OpClass::matrix:
      flow.computed = true;
      break;
    case OpClass::broadcast:
      flow.computed = flow.in_memory;
      break;
    case OpClass::source:
      flow.computed = flow.in_memory && flow.scalar;
      break;
    default:
      break;
  }
  if (flow.computed) {
    for (Value operand : node.inputs) look_through(v, operand);
    for (Value source : flow.sources) at(source).readers.push_back(v);
    flow.after = flow.sources;
  } else if (core::op_class(node.op) != OpClass::broadcast) {
    flow.after = node.inputs;
  }
}

void Flow::look_through(Value v, Value operand) {
  const core::Node& node = graph_.node(v);
  const bool multiplies = core::op_class(node.op) == OpClass::matrix;
  while (multiplies ? reads_through(graph_, node, operand)
                    : graph_.node(operand).op == Op::broadcast) {
    insert(at(v).broadcasts, operand);
    operand = graph_.node(operand).inputs[0];
  }
  if (multiplies || !at(operand).scalar) insert(at(v).sources, operand);
}

// A size first known from the result of a call is known only after it.
void Flow::order_sizes() {
  const auto& nodes = graph_.nodes();
  if (std::none_of(nodes.begin(), nodes.end(), [](auto& n) { return core::is_call(n.op); })) return;
  std::vector<Value> bound_by(static_cast<size_t>(graph_.dims().symbol_count()), -1);
  auto each_symbol = [&](Value v, auto&& f) {
    for (core::Dim dim : dims_of(graph_.node(v))) {
      for (int symbol : core::symbols_of(dim)) f(bound_by[static_cast<size_t>(symbol)]);
    }
  };
  auto bind = [&](auto binds) {
    for (Value v = 0; v < graph_.size(); ++v) {
      if (!binds(graph_.node(v))) continue;
      each_symbol(v, [v](Value& binder) { binder = binder < 0 ? v : binder; });
    }
  };
  bind([](const core::Node& node) { return node.op == Op::input; });
  bind([](const core::Node& node) { return node.op == Op::scalar; });
  bind([&](const core::Node& node) {
    return node.op != Op::input && core::tells_sizes(graph_, node);
  });
  auto depend = [&](Value user, Value mentions) {
    each_symbol(mentions, [&](Value binder) {
      if (binder < 0 || binder >= user) return;
      if (core::op_class(graph_.node(binder).op) != OpClass::opaque) return;
      insert(at(user).after, binder);
    });
  };
  for (Value v = 0; v < graph_.size(); ++v) {
    if (!at(v).live || !(at(v).computed || is_own_step(graph_.node(v).op))) continue;
    depend(v, v);
    for (Value operand : graph_.node(v).inputs) depend(v, operand);
    for (Value b : at(v).broadcasts) {
      depend(v, b);
      depend(v, graph_.node(b).inputs[0]);
    }
  }
}

// Calls keep their order. A call may write what it is given, so whoever reads the same memory stays
// on its side of the call.
void Flow::order_calls() {
  Value last = -1;
  for (Value call = 0; call < graph_.size(); ++call) {
    if (!core::is_call(graph_.node(call).op)) continue;
    if (last >= 0) insert(at(call).after, last);
    last = call;
    for (Value argument : core::arrays_of(graph_.node(call))) {
      const Value memory = root(argument);
      for (Value v = 0; v < graph_.size(); ++v) {
        for (Value source : reads(v)) {
          if (root(source) != memory) continue;
          if (v < call) insert(at(call).after, v);
          if (v > call) insert(at(v).after, call);
        }
      }
    }
  }
}

// What comes behind a `leave` is computed only where that does not end the loop: it may fail, or
// raise a flag.
void Flow::order_leaves() {
  for (Value leave = 0; leave < graph_.size(); ++leave) {
    if (graph_.node(leave).op != Op::leave) continue;
    for (Value v = 0; v < graph_.size(); ++v) {
      if (!at(v).live || !(at(v).computed || is_own_step(graph_.node(v).op))) continue;
      if (v < leave) insert(at(leave).after, v);
      if (v > leave) insert(at(v).after, leave);
    }
  }
}

// What v reads when its turn comes; a view reads nothing, its readers do.
const std::vector<Value>& Flow::reads(Value v) const {
  const bool whole = core::op_class(graph_.node(v).op) == OpClass::whole;
  return whole ? graph_.node(v).inputs : (*this)[v].sources;
}

// An update happens in place where it is the last to need its operand: earlier readers of the same
// memory stay before it. Those before the update before it follow from that one.
void Flow::order_updates() {
  std::vector<Value> memory(static_cast<size_t>(graph_.size()));
  std::vector<std::vector<Value>> readers(memory.size());
  for (Value v = 0; v < graph_.size(); ++v) {
    const core::Node& node = graph_.node(v);
    const bool shares =
        core::op_class(node.op) == OpClass::view || core::replaces_elements(node.op);
    memory[static_cast<size_t>(v)] = shares ? memory[static_cast<size_t>(node.inputs[0])] : v;
    if (!at(v).live) continue;
    if (core::replaces_elements(node.op)) {
      std::vector<Value>& since = readers[static_cast<size_t>(memory[static_cast<size_t>(v)])];
      for (Value reader : since) insert(at(v).after, reader);
      since.clear();
    }
    for (Value source : reads(v)) {
      const Value read = memory[static_cast<size_t>(source)];
      if (!core::is_foreign(graph_.node(read).op)) readers[static_cast<size_t>(read)].push_back(v);
    }
  }
}

}  // namespace dvm::fuser
