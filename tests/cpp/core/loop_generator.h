// Random Graphs with loops and branches within each other, with inputs on which they evaluate.
// A case is a function of its seed. What a trip computes never fails, so that the reference and a
// Plan, which drops what nobody needs, have the same outcome.
#pragma once

#include "core/graph/bodies.h"
#include "core/graph_generator.h"

namespace dvm::test {

class LoopGenerator {
 public:
  explicit LoopGenerator(uint64_t seed) : random_(seed) {}

  GraphCase run() {
    m_ = size("m");
    n_ = size("n");
    Scope scope{graph_, {}, {}};
    add_input(scope, {DType::f64, {m_, n_}});
    add_input(scope, {DType::f64, {n_}});
    add_input(scope, {DType::f64, {}});
    add_input(scope, {DType::i64, {n_}});
    for (int64_t steps = 2 + random_.below(6); steps > 0; --steps) grow(scope, 0);
    // Something with a body at the end, where it matters.
    if (random_.chance(80)) loop(scope, 0);
    for (int64_t count = 1 + random_.below(3); count > 0; --count)
      graph_.outputs.push_back(late(scope));
    return {std::move(graph_), std::move(values_), std::move(inputs_)};
  }

 private:
  // Where nodes are added: values that may be used, and numbers that lie in [0, bound).
  struct Index {
    Dim number, bound;
  };
  struct Scope {
    Graph& graph;
    std::vector<Value> values;
    std::vector<Index> indices;
  };
  static constexpr int kMostDepth = 3;

  Dim size(const char* name) {
    const int64_t sizes[] = {0, 1, 2, 3, 3, 5};
    values_.push_back(random_.pick(sizes));
    return graph_.dims().symbol(name);
  }
  // For one body each.
  Dim fresh(const char* prefix) {
    const Dim symbol = graph_.dims().symbol(prefix + std::to_string(graph_.dims().symbol_count()));
    return symbol;
  }
  Dim constant(int64_t c) { return graph_.dims().constant(c); }

  void add_input(Scope& scope, Type type) {
    std::vector<int64_t> sizes;
    for (const Dim dim : type.shape) sizes.push_back(evaluate_dim(dim));
    inputs_.push_back(random_.array(type.dtype, sizes, true));
    scope.values.push_back(graph_.input(std::move(type)));
  }
  int64_t evaluate_dim(Dim dim) { return core::evaluate(dim, values_).value(); }

  Value late(Scope& scope) {
    const int64_t count = std::ssize(scope.values);
    const int64_t at = std::max(random_.below(count), random_.below(count));
    return scope.values[static_cast<size_t>(at)];
  }
  // Of just this type; made of nothing if there is none.
  // The type is a copy: one of the graph's own would move as the graph grows.
  // NOLINTNEXTLINE(performance-unnecessary-value-param)
  Value of_type(Scope& scope, const Type type) {
    for (int attempt = 0; attempt < 6; ++attempt) {
      const Value v = late(scope);
      if (scope.graph.type(v) == type) return v;
    }
    const Value number =
        is_floating(type.dtype)
            ? scope.graph.constant(type.dtype, Scalar::of_float(random_.real(false)))
            : scope.graph.constant(type.dtype, Scalar::of_int(random_.below(2)));
    return type.shape.empty() ? number : scope.graph.broadcast(number, type.shape);
  }
  Value add(Scope& scope, Value v) {
    scope.values.push_back(v);
    return v;
  }

  void grow(Scope& scope, int depth) {
    switch (random_.below(14)) {
      case 0:
        if (depth < kMostDepth) loop(scope, depth);
        return;
      case 1:
      case 2:
        if (depth < kMostDepth) branch(scope, depth);
        return;
      case 3:
        add(scope, total(scope, late(scope)));
        return;
      case 4:
        number(scope);
        return;
      case 5:
      case 6:
        part(scope);
        return;
      case 7:
      case 8:
        update(scope);
        return;
      case 9:
        add(scope, scope.graph.cast(of_type(scope, {DType::i64, {n_}}), DType::f64));
        return;
      case 10:
        if (random_.chance(50)) call(scope);
        return;
      default:
        elementwise(scope);
        return;
    }
  }

  void elementwise(Scope& scope) {
    const Value a = late(scope);
    const Type type = scope.graph.type(a);
    if (type.dtype == DType::boolean) {
      const Type floats{DType::f64, type.shape};
      const Value given[] = {a, of_type(scope, floats), of_type(scope, floats)};
      add(scope, scope.graph.elementwise(Op::select, given));
      return;
    }
    const Op ops[] = {Op::add, Op::sub, Op::mul, Op::maximum, Op::minimum, Op::lt, Op::add};
    const Value given[] = {a, of_type(scope, type)};
    add(scope, scope.graph.elementwise(random_.pick(ops), given));
  }

  // The sum of all elements, as a number.
  Value total(Scope& scope, Value v) {
    Graph& graph = scope.graph;
    const Type type = graph.type(v);
    if (type.shape.empty() || type.dtype == DType::boolean) return v;
    std::vector<int> axes(type.shape.size());
    for (size_t d = 0; d < axes.size(); ++d) axes[d] = static_cast<int>(d);
    return graph.reshape(graph.reduce(Op::sum, v, axes), {});
  }

  void number(Scope& scope) {
    Dim number = random_.chance(50) ? n_ : m_ * 2 - 3;
    if (!scope.indices.empty()) number = number + random_.pick(scope.indices).number;
    const DType dtype = random_.chance(50) ? DType::f64 : DType::i64;
    if (random_.chance(20)) {
      Node stored;
      stored.op = Op::stored_dim;
      stored.type.dtype = dtype;
      stored.attrs.size = number;
      add(scope, scope.graph.append(std::move(stored)));
    } else {
      add(scope, scope.graph.dim_value(dtype, number));
    }
  }

  // A row of a matrix or the first elements of a line, where an index says.
  void part(Scope& scope) {
    if (scope.indices.empty()) return;
    Graph& graph = scope.graph;
    const auto [k, bound] = random_.pick(scope.indices);
    if (bound == m_) {
      const Value matrix = of_type(scope, {DType::f64, {m_, n_}});
      const Dim start = random_.chance(70) ? k : m_ - 1 - k;
      add(scope, graph.reshape(graph.slice(matrix, {start, constant(0)}, {1, 1}, {constant(1), n_}),
                               {n_}));
    } else if (bound == n_) {
      const Value line = of_type(scope, {DType::f64, {n_}});
      add(scope, total(scope, graph.slice(line, {constant(0)}, {1}, {k})));
    }
  }

  void update(Scope& scope) {
    if (scope.indices.empty()) return;
    Graph& graph = scope.graph;
    const auto [k, bound] = random_.pick(scope.indices);
    if (bound == m_) {
      const Value matrix = of_type(scope, {DType::f64, {m_, n_}});
      const Value row = graph.reshape(of_type(scope, {DType::f64, {n_}}), {constant(1), n_});
      add(scope, graph.update(matrix, row, {k, constant(0)}, {1, 1}));
    } else if (bound == n_) {
      const Value line = of_type(scope, {DType::f64, {n_}});
      const Value element = graph.reshape(of_type(scope, {DType::f64, {}}), {constant(1)});
      add(scope, graph.update(line, element, {k}, {1}));
    }
  }

  void call(Scope& scope) {
    const Value line = of_type(scope, {DType::f64, {n_}});
    add(scope, scope.graph.call("host" + std::to_string(random_.below(2)), {&line, 1},
                                {DType::f64, {n_}}));
  }

  // What a body is given of outside, each once.
  std::vector<Value> choose(Scope& scope, int64_t most) {
    std::vector<Value> chosen;
    for (int64_t count = random_.below(most + 1); count > 0; --count) {
      const Value v = late(scope);
      if (std::ranges::find(chosen, v) == chosen.end()) chosen.push_back(v);
    }
    return chosen;
  }

  Value condition(Scope& scope) {
    Graph& graph = scope.graph;
    Value number = total(scope, late(scope));
    if (graph.type(number).dtype == DType::boolean) number = of_type(scope, {DType::f64, {}});
    if (graph.type(number).dtype != DType::f64) number = graph.cast(number, DType::f64);
    const Value given[] = {number,
                           graph.constant(DType::f64, Scalar::of_float(random_.real(false)))};
    return graph.elementwise(random_.chance(50) ? Op::lt : Op::gt, given);
  }

  void branch(Scope& scope, int depth) {
    const Value test = condition(scope);
    const std::vector<Value> used = choose(scope, 3);
    std::vector<Type> results;
    for (int64_t count = 1 + random_.below(2); count > 0; --count)
      results.push_back(scope.graph.type(late(scope)));
    Graph arms[] = {Graph(graph_.shared_dims()), Graph(graph_.shared_dims())};
    for (Graph& arm : arms) {
      Scope inner{arm, {}, scope.indices};
      for (const Value v : used) inner.values.push_back(arm.input(scope.graph.type(v)));
      if (used.empty()) of_own(inner);
      for (int64_t steps = random_.below(5); steps > 0; --steps) grow(inner, depth + 1);
      for (const Type& type : results) arm.outputs.push_back(of_type(inner, type));
    }
    for (const Value v :
         core::add_branch(scope.graph, test, std::move(arms[0]), std::move(arms[1]), used)) {
      scope.values.push_back(v);
    }
  }
  void of_own(Scope& scope) {
    add(scope, scope.graph.constant(DType::f64, Scalar::of_float(random_.real(false))));
  }

  void loop(Scope& scope, int depth) {
    Graph body(graph_.shared_dims());
    Scope inner{body, {}, scope.indices};
    const Dim k = fresh("k");
    body.scalar(DType::i64, {}, k);
    std::vector<Value> carried = choose(scope, 3), used = choose(scope, 3);
    for (const Value v : carried) inner.values.push_back(body.input(scope.graph.type(v)));
    const size_t invariant = carried.size();
    const bool counts = random_.chance(30), grows = random_.chance(20);
    Dim number, length;
    Value longer = -1;
    if (counts) {
      carried.push_back(scope.graph.constant(DType::i64, Scalar::of_int(random_.below(3))));
      number = fresh("i");
      body.scalar(DType::i64, {}, number);
    }
    if (grows) {
      carried.push_back(of_type(scope, {DType::f64, {n_}}));
      length = fresh("c");
      longer = body.input({DType::f64, {length}});
    }
    for (const Value v : used) inner.values.push_back(body.input(scope.graph.type(v)));
    if (inner.values.empty()) of_own(inner);
    core::LoopForm form = trips(inner, k);
    const std::vector<Value> arguments = body.inputs();
    if (counts && random_.chance(60)) add(inner, body.dim_value(DType::i64, number + k));
    // Something that ends a loop without a count.
    if (!form.count || random_.chance(30)) {
      const Value limit[] = {body.dim_value(DType::i64, k),
                             body.constant(DType::i64, Scalar::of_int(random_.below(4)))};
      leave(inner, body.elementwise(Op::ge, limit), arguments, carried.size());
    }
    for (int64_t steps = 1 + random_.below(5); steps > 0; --steps) grow(inner, depth + 1);
    if (random_.chance(20)) leave(inner, condition(inner), arguments, carried.size());
    for (size_t i = 0; i < invariant; ++i)
      body.outputs.push_back(of_type(inner, body.type(arguments[1 + i])));
    if (counts) body.outputs.push_back(body.dim_value(DType::i64, number + 1 + random_.below(2)));
    if (grows)
      body.outputs.push_back(random_.chance(80) ? appended(inner, longer, length) : longer);
    if (random_.chance(40)) form.trips = fresh("t");
    const Dim made = form.trips;
    const std::vector<Value> results =
        core::add_loop(scope.graph, std::move(body), carried, used, std::move(form));
    for (const Value v : results) scope.values.push_back(v);
    if (made && random_.chance(60)) add(scope, scope.graph.dim_value(DType::i64, made * 2));
    if (grows) add(scope, total(scope, results.back()));
  }

  core::LoopForm trips(Scope& inner, Dim k) {
    switch (random_.below(5)) {
      case 0:
        inner.indices.push_back({k, m_});
        return {.count = m_};
      case 1:
        inner.indices.push_back({k, n_});
        return {.count = n_};
      case 2:
        return {};
      case 3:
        if (!inner.indices.empty()) {
          const Index outer = random_.pick(inner.indices);
          inner.indices.push_back({k, outer.bound});
          return {.count = outer.number};
        }
        [[fallthrough]];
      default:
        return {.count = constant(random_.below(4))};
    }
  }

  // With what is carried, or has just been computed in its place.
  void leave(Scope& inner, Value test, const std::vector<Value>& arguments, size_t carried) {
    std::vector<Value> left;
    for (size_t i = 0; i < carried; ++i) {
      const Value argument = arguments[1 + i];
      const bool other = inner.graph.node(argument).op == Op::input &&
                         !inner.graph.type(argument).shape.empty() && random_.chance(40);
      left.push_back(other ? of_type(inner, inner.graph.type(argument)) : argument);
    }
    inner.graph.leave(test, left);
  }

  Value appended(Scope& inner, Value line, Dim length) {
    Graph& graph = inner.graph;
    const Value element = graph.reshape(of_type(inner, {DType::f64, {}}), {constant(1)});
    Value longer = graph.empty({DType::f64, {length + 1}});
    longer = graph.update(longer, line, {constant(0)}, {1});
    return graph.update(longer, element, {length}, {1});
  }

  Random random_;
  Graph graph_;
  std::vector<int64_t> values_;
  std::vector<Array> inputs_;
  Dim m_, n_;
};

inline GraphCase generate_loops(uint64_t seed) { return LoopGenerator(seed).run(); }

// Calls f on all nodes, those of bodies too.
template <typename F>
void for_each_node(const Graph& graph, F f) {
  for (const Node& node : graph.nodes()) {
    f(node);
    for (const Body& body : node.attrs.bodies) for_each_node(*body, f);
  }
}

}  // namespace dvm::test
