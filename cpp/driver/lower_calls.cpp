#include "driver/lower_calls.h"

#include <algorithm>
#include <numeric>

#include "core/error.h"
#include "core/graph/bind_symbols.h"

namespace dvm::driver {

using core::Op;
using core::Value;
using runtime::PlanOp;

void CallLowering::lower(Value v) {
  const core::Node& node = graph_.node(v);
  switch (node.op) {
    case Op::call:
      return lower_call(v);
    case Op::call_into:
      return lower_call_into(v);
    case Op::loop:
      return lower_loop(v);
    case Op::branch:
      return lower_branch(v);
    case Op::match:
      return lower_match(v);
    case Op::invoke:
      return lower_invoke(v);
    case Op::apply:
      return lower_apply(v);
    case Op::construct:
      return lower_construct(v, node.attrs.tag);
    case Op::closure:
      return lower_construct(v, node.attrs.callee);
    default:
      DVM_CHECK(false, "no call: " + std::string(core::info(node.op).name));
  }
}

// The results of a call that have a node, by their index.
std::map<int, Value> CallLowering::results_of(Value call) const {
  std::map<int, Value> results{{0, call}};
  for (Value v = call + 1; v < graph_.size(); ++v) {
    const core::Node& node = graph_.node(v);
    if (node.op == Op::result && node.inputs[0] == call) results[node.attrs.index] = v;
  }
  return results;
}

CallLowering::Given CallLowering::given_to(const core::Node& call) {
  Given given{builder_.callee(call.attrs.callee), {}, {}, {}};
  for (Value v : core::arrays_of(call)) given.arrays.push_back(to_.at(v).buffer);
  given.sizes = sizes_.values(call.attrs.sizes, call.loc);
  for (Value v : core::numbers_of(call)) given.numbers.push_back(to_.at(v).scalar);
  return given;
}

void CallLowering::lower_call(Value call) {
  const Given given = given_to(graph_.node(call));
  Registers places, dtypes, ranks;
  std::string note;
  const std::map<int, Value> results = results_of(call);
  for (const auto& [place, v] : results) {
    places.push_back(place);
    dtypes.push_back(static_cast<int32_t>(graph_.type(v).dtype));
    ranks.push_back(graph_.type(v).rank());
    note += (note.empty() ? "%" : ", %") + std::to_string(v);
  }
  const bool fresh = graph_.node(call).attrs.fresh;
  int32_t buffer = builder_.emit(fresh ? PlanOp::call_fresh : PlanOp::call,
                                 {given.callee, given.arrays, given.sizes, given.numbers,
                                  graph_.node(call).attrs.results, places, dtypes, ranks},
                                 note);
  for (const auto& [place, v] : results) {
    to_.at(v).buffer = buffer++;
    to_.at(v).owned = true;
  }
  for (const auto& [place, v] : results) sizes_.bind(to_.at(v).buffer, graph_.type(v));
  sizes_.settle();
}

void CallLowering::lower_call_into(Value call) {
  const Given given = given_to(graph_.node(call));
  Registers written;
  for (const auto& [place, v] : results_of(call)) {
    const core::Node& node = graph_.node(v);
    to_.at(v).buffer = builder_.emit(PlanOp::host_alloc,
                                     {node.type.dtype, sizes_.values(node.type.shape, node.loc)},
                                     "%" + std::to_string(v));
    to_.at(v).owned = true;
    written.push_back(to_.at(v).buffer);
  }
  builder_.emit(PlanOp::call_into,
                {given.callee, given.arrays, given.sizes, given.numbers, written});
}

// As a body of the Plan, which calls the host by the Plan's names; its index.
int32_t CallLowering::add_body(const core::Node& owner, size_t which) {
  plan_.bodies.push_back(compile_body_(owner, which));
  for (const std::string& callee : plan_.bodies.back().callees) builder_.callee(callee);
  return static_cast<int32_t>(plan_.bodies.size() - 1);
}

void CallLowering::lower_loop(Value loop) {
  const core::Node& node = graph_.node(loop);
  const core::Graph& body = *node.attrs.bodies[0];
  const std::vector<Value> arguments = body.inputs();
  const auto carried = static_cast<int32_t>(body.outputs.size());
  Registers count, given, numbers, kinds{runtime::word_of({.dtype = core::DType::i64})};
  if (node.attrs.count) count = sizes_.values({node.attrs.count}, node.loc);
  for (size_t k = 0; k < node.inputs.size(); ++k) {
    given.push_back(to_.at(node.inputs[k]).buffer);
    const core::Node& argument = body.node(arguments[1 + k]);
    if (argument.op == Op::scalar) numbers.push_back(static_cast<int32_t>(k));
    if (k >= body.outputs.size()) continue;
    kinds.push_back(runtime::word_of(to_.argument_of(argument.type)));
  }
  const Registers sizes = sizes_.values(node.attrs.sizes, node.loc);
  const int32_t index = add_body(node, 0);
  place_results(loop,
                builder_.emit(PlanOp::loop, {index, count, carried, given, numbers, sizes, kinds},
                              "%" + std::to_string(loop)));
}

void CallLowering::lower_branch(Value branch) {
  const core::Node& node = graph_.node(branch);
  const Registers given = buffers_of(std::span(node.inputs).subspan(1));
  const Registers sizes = sizes_.values(node.attrs.sizes, node.loc);
  const int32_t then = add_body(node, 0), otherwise = add_body(node, 1);
  place_results(branch, builder_.emit(PlanOp::branch,
                                      {then, otherwise, to_.at(node.inputs[0]).buffer, given, sizes,
                                       kinds_of(*node.attrs.bodies[0])},
                                      "%" + std::to_string(branch)));
}

// What a body gives.
Registers CallLowering::kinds_of(const core::Graph& body) const {
  Registers kinds;
  for (Value v : body.outputs) kinds.push_back(runtime::word_of(to_.argument_of(body.type(v))));
  return kinds;
}
// What functions of the module give.
Registers CallLowering::words_of(std::span<const runtime::Argument> gives) {
  Registers kinds;
  for (const runtime::Argument& kind : gives) kinds.push_back(runtime::word_of(kind));
  return kinds;
}
Registers CallLowering::buffers_of(std::span<const Value> values) {
  Registers buffers;
  for (Value v : values) buffers.push_back(to_.at(v).buffer);
  return buffers;
}

void CallLowering::lower_match(Value match) {
  const core::Node& node = graph_.node(match);
  const Value object = node.inputs[0];
  const Registers given = buffers_of(std::span(node.inputs).subspan(1));
  const Registers sizes = sizes_.values(node.attrs.sizes, node.loc);
  Registers bodies;
  for (size_t k = 0; k < node.attrs.bodies.size(); ++k) {
    bodies.push_back(add_body(node, k));
  }
  place_results(match,
                builder_.emit(PlanOp::match,
                              {to_.at(object).buffer, to_.module->type(graph_.type(object).data),
                               bodies, given, sizes, kinds_of(*node.attrs.bodies[0])},
                              "%" + std::to_string(match)));
}

void CallLowering::lower_invoke(Value invoke) {
  const core::Node& node = graph_.node(invoke);
  const int32_t function = to_.module->function(node.attrs.callee);
  const Registers sizes = sizes_.values(node.attrs.sizes, node.loc);
  place_results(invoke, builder_.emit(PlanOp::invoke,
                                      {function, buffers_of(node.inputs), sizes,
                                       words_of(to_.module->gives[static_cast<size_t>(function)])},
                                      "%" + std::to_string(invoke)));
}

void CallLowering::lower_construct(Value made, const std::string& tag) {
  const core::Node& node = graph_.node(made);
  const int32_t type = to_.module->type(node.type.data);
  const auto constructor = *to_.module->types[static_cast<size_t>(type)].find(tag);
  to_.at(made).buffer = builder_.emit(
      PlanOp::construct, {type, static_cast<int32_t>(constructor), buffers_of(node.inputs)},
      "%" + std::to_string(made));
  to_.at(made).owned = true;
}

// A body that invokes a function with what its closure has, then these.
runtime::Plan CallLowering::invoking(const core::Constructor& closure,
                                     std::span<const Value> given) const {
  runtime::Plan body;
  body.callees = to_.module->callees;
  for (const core::ValueKind& kind : closure.kinds) {
    body.inputs.push_back(runtime::argument_of(kind, to_.module->types));
  }
  for (Value v : given) body.inputs.push_back(to_.argument_of(graph_.type(v)));
  body.buffers = static_cast<int>(body.inputs.size());
  Registers all(body.inputs.size());
  std::iota(all.begin(), all.end(), 0);
  const int32_t function = to_.module->function(closure.name);
  const Registers kinds = words_of(to_.module->gives[static_cast<size_t>(function)]);
  Registers results(kinds.size());
  runtime::PlanBuilder builder(body);
  std::iota(results.begin(), results.end(),
            builder.emit(PlanOp::invoke, {function, all, Registers(), kinds}));
  builder.emit(PlanOp::ret, {results});
  return body;
}

// By one body for each function that may be there, which invokes it.
void CallLowering::lower_apply(Value apply) {
  const core::Node& node = graph_.node(apply);
  const Value object = node.inputs[0];
  const int32_t type = to_.module->type(graph_.type(object).data);
  const Registers given = buffers_of(std::span(node.inputs).subspan(1));
  const Registers kinds = words_of(to_.module->applied[static_cast<size_t>(type)]);
  Registers bodies;
  for (const core::Constructor& made : to_.module->types[static_cast<size_t>(type)].constructors) {
    bodies.push_back(static_cast<int32_t>(plan_.bodies.size()));
    plan_.bodies.push_back(invoking(made, std::span(node.inputs).subspan(1)));
  }
  place_results(
      apply,
      builder_.emit(PlanOp::match, {to_.at(object).buffer, type, bodies, given, Registers(), kinds},
                    "%" + std::to_string(apply)));
}

// Of a node with bodies, in buffers from `first` on.
void CallLowering::place_results(Value owner, int32_t first) {
  for (const auto& [index, v] : results_of(owner)) {
    to_.at(v).buffer = first + index;
    to_.at(v).owned = true;
    if (v == owner && core::defines_symbol(graph_.node(v)))
      sizes_.define(graph_.node(v).attrs.size, builder_.emit(PlanOp::read, {to_.at(v).buffer}));
    sizes_.bind(to_.at(v).buffer, graph_.type(v));
  }
  sizes_.settle();
}

}  // namespace dvm::driver
