// Evaluates node by node on whole arrays: no views, no fusion, no shortcuts.
#include "core/reference/reference.h"

#include <algorithm>
#include <cstdlib>
#include <map>

#include "core/graph/bind_symbols.h"
#include "core/graph/module.h"
#include "core/ops/elementwise.h"
#include "core/ops/matrix.h"
#include "core/ops/reduce.h"
#include "core/ops/reductions.h"
#include "core/reference/reference_along.h"
#include "core/reference/reference_attention.h"
#include "core/reference/reference_bodies.h"
#include "core/reference/reference_matrix.h"

namespace dvm::core {

namespace {

using Sizes = std::vector<int64_t>;

std::string text_of(std::span<const int64_t> sizes) {
  std::string text = "[";
  for (const int64_t size : sizes) {
    text += (text.size() > 1 ? ", " : "") + std::to_string(size);
  }
  return text + "]";
}

// Any product of extents stays below 2**62, those of an empty array included, so that no index
// arithmetic below can overflow.
int64_t checked_bytes(DType dtype, std::span<const int64_t> shape) {
  const auto too_large = [&] {
    fail(ErrorCode::shape_overflow, "shape " + text_of(shape) + " is too large to evaluate");
  };
  int64_t elements = 1;
  bool empty = false;
  for (const int64_t extent : shape) {
    if (extent < 0 || (extent > 0 && elements > kDimMax / extent)) too_large();
    elements *= extent == 0 ? 1 : extent;
    empty |= extent == 0;
  }
  if (empty) return 0;
  if (elements > kMaxArrayBytes / byte_size(dtype)) too_large();
  return elements * byte_size(dtype);
}

// In bytes. Of no elements there are none to step over, and the extents besides the 0 may be huge.
Sizes strides_of(const Array& a) {
  return a.data.empty() ? Sizes(a.shape.size()) : dense_strides(a.dtype, a.shape);
}

// out[index] = a[offset + index . strides], in bytes: broadcasts, transposes and slices alike.
Array strided(const Array& a, Sizes shape, int64_t offset, Sizes strides) {
  const int64_t bytes = checked_bytes(a.dtype, shape);
  Array out{a.dtype, std::move(shape), {}};
  if (bytes == 0) return out;
  out.data = dense_bytes({.dtype = a.dtype,
                          .shape = out.shape,
                          .strides = std::move(strides),
                          .data = a.data.data() + offset});
  return out;
}

class Evaluator {
 public:
  Evaluator(const Graph& graph, std::span<const Array> inputs, const HostFunction& host,
            std::span<const int64_t> symbols, const Module* module = nullptr)
      : graph_(graph),
        inputs_(inputs),
        host_(host),
        binder_(graph.dims(), symbols),
        module_(module) {}

  // All inputs are bound before the first node runs, because a size may need several of them.
  BodyResult run() {
    bind_inputs();
    for (Value v = 0; v < graph_.size(); ++v) {
      const Node& node = graph_.node(v);
      if (node.op == Op::leave && is_true(operand(node, 0)))
        return {values_at(std::span(node.inputs).subspan(1)), true};
      values_.push_back(node.op == Op::leave ? operand(node, 0) : compute(node));
    }
    return {values_at(graph_.outputs), false};
  }

 private:
  std::vector<Array> values_at(std::span<const Value> which) const {
    std::vector<Array> found;
    for (const Value v : which) found.push_back(values_[static_cast<size_t>(v)]);
    return found;
  }
  const Array& operand(const Node& node, size_t i) const {
    return values_[static_cast<size_t>(node.inputs[i])];
  }

  // Arrays come from outside: nothing is read before dtype, bytes and sizes agree with the node.
  void check(const Node& node, const Array& array, const std::string& what) {
    DVM_CHECK(node.type.is_object() == (array.object != nullptr), what + " is of another kind");
    if (array.object) return;
    if (array.dtype != node.type.dtype)
      fail(ErrorCode::dtype_mismatch, node.loc,
           what + " is " + std::string(to_string(array.dtype)) + ", not " +
               std::string(to_string(node.type.dtype)));
    const auto bytes = static_cast<size_t>(checked_bytes(array.dtype, array.shape));
    DVM_CHECK(array.data.size() == bytes, what + " has missing bytes");
    binder_.bind(node.type, array.shape, what, node.loc);
    if (node.attrs.size) {
      DVM_CHECK(array.shape.empty(), what + " is no number");
      binder_.define(node.attrs.size, elements<int64_t>(array)[0], what, node.loc);
    }
  }

  void bind_inputs() {
    const std::vector<Value> arguments = graph_.inputs();
    if (arguments.size() != inputs_.size())
      fail(ErrorCode::graph_invalid, "the graph takes " + std::to_string(arguments.size()) +
                                         " inputs, got " + std::to_string(inputs_.size()));
    for (size_t i = 0; i < arguments.size(); ++i) {
      check(graph_.node(arguments[i]), inputs_[i], "input " + std::to_string(i));
    }
  }

  Array compute(const Node& node) {
    switch (op_class(node.op)) {
      case OpClass::source:
        return source(node);
      case OpClass::elementwise:
        return elementwise(node);
      case OpClass::broadcast:
        return broadcast(node);
      case OpClass::reduce:
        return reduce(node);
      case OpClass::matrix:
        if (node.op == Op::attention) return attention(node);
        if (node.op == Op::convolve) {
          const Attrs& attrs = node.attrs;
          return convolve(operand(node, 0), operand(node, 1), node.type.dtype,
                          {attrs.window, attrs.steps, attrs.dilations, attrs.padding});
        }
        return multiply(operand(node, 0), operand(node, 1), node.type.dtype);
      case OpClass::view:
        return view(node);
      case OpClass::whole:
        return whole(node);
      case OpClass::opaque:
        if (node.op == Op::construct) return make_object(node.attrs.tag, values_at(node.inputs));
        if (node.op == Op::closure) return make_object(node.attrs.callee, values_at(node.inputs));
        if (has_bodies(node.op) || is_invocation(node.op)) return within(node);
        return node.op == Op::result ? result(node) : call(node);
    }
    __builtin_unreachable();
  }

  Array source(const Node& node) {
    if (node.op == Op::input || node.op == Op::scalar) return inputs_[next_input_++];
    if (node.op == Op::tensor) return tensor(node);
    Array array = make_array(node.type.dtype, {});
    dispatch(node.type.dtype, [&]<DType D>() {
      using T = Storage<D>;
      T& element = elements<T>(array)[0];
      if (node.op != Op::constant) {
        element = scalar::cast<T>(binder_.number(node.attrs.size, node.loc));
      } else {
        element = element_of<D>(node.attrs.value);
      }
    });
    return array;
  }

  Array tensor(const Node& node) {
    if (!node.attrs.values)
      fail(ErrorCode::unknown_name, node.loc,
           "the graph has a constant '" + node.attrs.name + "', which is not supplied");
    Array array{node.type.dtype, node.attrs.values->shape, {}};
    checked_bytes(array.dtype, array.shape);
    array.data = dense_bytes(*node.attrs.values);
    return array;
  }

  Array elementwise(const Node& node) {
    Array out = make_array(node.type.dtype, operand(node, 0).shape);
    for (size_t i = 1; i < node.inputs.size(); ++i) {
      DVM_CHECK(operand(node, i).shape == out.shape, "equal Dims had unequal sizes");
    }
    const Array& last = operand(node, node.inputs.size() - 1);
    dispatch(last.dtype, [&]<DType D>() { elementwise_as<D>(node, out); });
    return out;
  }

  // D is the dtype of the last operand: that of all of them but the condition of select.
  template <DType D>
  void elementwise_as(const Node& node, Array& out) {
    using T = Storage<D>;
    const auto map = [&]<typename R>(std::span<R> d, auto f, auto... operands) {
      for (size_t i = 0; i < d.size(); ++i) d[i] = f(operands[i]...);
    };
    const auto in = [&](size_t i) { return elements<T>(operand(node, i)); };
    switch (node.op) {
#define DVM_OPERANDS_1 in(0)
#define DVM_OPERANDS_2 in(0), in(1)
#define DVM_ELEMENTWISE(name, arity, dtypes, result, ...)                                  \
  case Op::name:                                                                           \
    if constexpr (allows(OperandRule::dtypes, D)) {                                        \
      using R = std::conditional_t<ResultRule::result == ResultRule::boolean, uint8_t, T>; \
      map(elements<R>(out), scalar::name{}, DVM_OPERANDS_##arity);                         \
    }                                                                                      \
    break;
#include "core/ops/elementwise.def"
#undef DVM_ELEMENTWISE
#undef DVM_OPERANDS_1
#undef DVM_OPERANDS_2
#define DVM_COMPARE(name, op, numpy)                           \
  case Op::name:                                               \
    map(elements<uint8_t>(out), scalar::name{}, in(0), in(1)); \
    break;
#include "core/ops/compare.def"
#undef DVM_COMPARE
      case Op::select:
        map(elements<T>(out), scalar::select{}, elements<uint8_t>(operand(node, 0)), in(1), in(2));
        break;
      case Op::cast:
        dispatch(out.dtype, [&]<DType To>() {
          using R = Storage<To>;
          map(
              elements<R>(out), [](T x) { return scalar::cast<R>(x); }, in(0));
        });
        break;
      default:
        DVM_CHECK(false, "not elementwise: " + std::string(info(node.op).name));
    }
  }

  // The graph only says that a size may be 1; here is where it must be, or equal the target.
  Array broadcast(const Node& node) {
    const Array& a = operand(node, 0);
    Sizes shape = binder_.values(node.type.shape, node.loc);
    Sizes strides(shape.size());
    const Sizes from = strides_of(a);
    const size_t lead = shape.size() - a.shape.size();
    for (size_t i = 0; i < a.shape.size(); ++i) {
      if (a.shape[i] != 1 && a.shape[i] != shape[lead + i])
        fail(ErrorCode::shape_mismatch, node.loc,
             "shape " + text_of(a.shape) + " does not broadcast to " + text_of(shape));
      strides[lead + i] = a.shape[i] == 1 ? 0 : from[i];
    }
    return strided(a, std::move(shape), 0, std::move(strides));
  }

  template <DType D, typename Load>
  static Storage<D> reduce_line(Op op, int64_t count, bool adjacent, Load load) {
    switch (op) {
#define DVM_REDUCE(name, insn, dtypes, ...)                   \
  case Op::name:                                              \
    if constexpr (allows(ReduceDtypes::dtypes, D))            \
      return scalar::insn<Storage<D>>(count, adjacent, load); \
    break;
#include "core/ops/reduce.def"
#undef DVM_REDUCE
      default:
        break;
    }
    DVM_CHECK(false, "no reduction of that dtype: " + std::string(info(op).name));
  }

  // The reduced axes are neighbours, so the array is [m, count, n] and the result [m, 1, n].
  Array reduce(const Node& node) {
    const Array& a = operand(node, 0);
    const auto first = static_cast<size_t>(node.attrs.axes.front());
    const auto last = static_cast<size_t>(node.attrs.axes.back());
    int64_t m = 1, count = 1, n = 1;
    Sizes shape = a.shape;
    for (size_t i = 0; i < shape.size(); ++i) {
      (i < first ? m : i <= last ? count : n) *= a.shape[i];
      if (first <= i && i <= last) shape[i] = 1;
    }
    // As NumPy: an empty extent is an error even where the result is empty too.
    const Identity identity = reduce_info(node.op).identity;
    if (identity == Identity::none && count == 0)
      fail(ErrorCode::shape_mismatch, node.loc,
           "zero-size array to reduction operation maximum which has no identity");
    Array out = make_array(a.dtype, std::move(shape));
    dispatch(a.dtype, [&]<DType D>() {
      using T = Storage<D>;
      if (count == 0) {
        std::ranges::fill(elements<T>(out), element_of<D>(identity_value(identity, D)));
        return;
      }
      const std::span<const T> from = elements<T>(a);
      for (int64_t i = 0; i < m * n; ++i) {
        const int64_t base = i / n * count * n + i % n;
        const auto load = [&](int64_t k) { return from[static_cast<size_t>(base + k * n)]; };
        elements<T>(out)[static_cast<size_t>(i)] = reduce_line<D>(node.op, count, n == 1, load);
      }
    });
    return out;
  }

  Array view(const Node& node) {
    switch (node.op) {
      case Op::reshape:
        return reshape(node);
      case Op::transpose:
        return transpose(node);
      default:
        return slice(node);
    }
  }

  Array reshape(const Node& node) {
    Array out = operand(node, 0);
    Sizes shape = binder_.values(node.type.shape, node.loc);
    Array target = make_array(out.dtype, shape);
    if (target.data.size() != out.data.size())
      fail(ErrorCode::shape_mismatch, node.loc,
           "cannot reshape " + text_of(out.shape) + " into " + text_of(shape));
    out.shape = std::move(shape);
    return out;
  }

  Array transpose(const Node& node) {
    const Array& a = operand(node, 0);
    const Sizes from = strides_of(a);
    Sizes shape, strides;
    for (const int axis : node.attrs.axes) {
      shape.push_back(a.shape[static_cast<size_t>(axis)]);
      strides.push_back(from[static_cast<size_t>(axis)]);
    }
    return strided(a, std::move(shape), 0, std::move(strides));
  }

  Array whole(const Node& node) {
    switch (node.op) {
      case Op::empty:
        return make_array(node.type.dtype, values(node));
      case Op::iota:
        return iota(node);
      case Op::stored_dim:
        return source(node);
      case Op::update:
        return update(node);
      case Op::compress:
      case Op::nonzero:
        return chosen(node);
      default: {
        std::vector<const Array*> operands;
        for (size_t i = 0; i < node.inputs.size(); ++i) operands.push_back(&operand(node, i));
        return evaluate_along(node, operands);
      }
    }
  }

  Array iota(const Node& node) {
    Array out = make_array(node.type.dtype, values(node));
    dispatch(out.dtype, [&]<DType D>() {
      int64_t i = 0;
      for (Storage<D>& element : elements<Storage<D>>(out)) element = scalar::cast<Storage<D>>(i++);
    });
    return out;
  }

  // A gather from where a mask is true.
  Array chosen(const Node& node) {
    const Array& mask = operand(node, node.inputs.size() - 1);
    Sizes found;
    for (int64_t i = 0; i < mask.size(); ++i) {
      if (elements<uint8_t>(mask)[static_cast<size_t>(i)] != 0) found.push_back(i);
    }
    Array places = make_array(DType::i64, {static_cast<int64_t>(found.size())});
    std::copy(found.begin(), found.end(), elements<int64_t>(places).begin());
    const int64_t wanted = binder_.value(node.attrs.size, node.loc);
    if (places.size() != wanted)
      fail(ErrorCode::shape_mismatch, node.loc,
           std::to_string(places.size()) + " are true, not " + std::to_string(wanted));
    if (node.op == Op::nonzero) return places;
    Node gather = node;
    gather.op = Op::gather;
    const Array* const operands[] = {&operand(node, 0), &places};
    return evaluate_along(gather, operands);
  }

  Sizes values(const Node& node) const { return binder_.values(node.type.shape, node.loc); }

  Array attention(const Node& node) {
    std::vector<const Array*> operands;
    for (size_t i = 0; i < node.inputs.size(); ++i) operands.push_back(&operand(node, i));
    const Dim causal = node.attrs.causal;
    return attend(node, operands, causal ? binder_.number(causal, node.loc) : kSeesAll);
  }

  Array slice(const Node& node) {
    Sizes shape = values(node);
    auto [offset, strides] = box(node, shape);
    return strided(operand(node, 0), std::move(shape), offset, std::move(strides));
  }

  Array update(const Node& node) {
    Array out = operand(node, 0);
    const Array& part = operand(node, 1);
    const auto [offset, strides] = box(node, part.shape);
    const auto bytes = static_cast<size_t>(byte_size(out.dtype));
    for_each_element(part.shape, strides,
                     [&, offset = offset, from = part.data.data()](int64_t to) mutable {
                       std::copy_n(from, bytes, out.data.data() + offset + to);
                       from += bytes;
                     });
    return out;
  }

  struct Box {
    int64_t offset = 0;
    Sizes strides;
  };
  // The elements of operand 0 that a slice of that shape takes, or an update replaces.
  Box box(const Node& node, const Sizes& shape) const {
    const Array& a = operand(node, 0);
    Sizes strides = strides_of(a);
    int64_t offset = 0;
    for (size_t i = 0; i < shape.size(); ++i) {
      const int64_t start = binder_.value(node.attrs.starts[i], node.loc);
      const int64_t step = node.attrs.steps[i];
      // Steps over at most `extent` elements, tested by division: start + count * step may
      // overflow.
      const int64_t room = step > 0 ? a.shape[i] - 1 - start : start;
      const bool inside =
          start < a.shape[i] &&
          (shape[i] <= 1 || (step != INT64_MIN && room / std::abs(step) >= shape[i] - 1));
      if (shape[i] > 0 && !inside)
        fail(ErrorCode::shape_mismatch, node.loc,
             "axis " + std::to_string(i) + " of size " + std::to_string(a.shape[i]) +
                 " ends before " + std::to_string(shape[i]) + " elements from " +
                 std::to_string(start) + " with step " + std::to_string(step));
      if (shape[i] > 0) offset += start * strides[i];
      strides[i] = shape[i] > 1 ? strides[i] * step : 0;
    }
    return {offset, std::move(strides)};
  }

  // A result may bind symbols that no input knows (the size of a boolean selection, say).
  Array call(const Node& node) {
    if (!host_) fail(ErrorCode::host_call, node.loc, "no host to call '" + node.attrs.callee + "'");
    std::vector<Array> arguments, into;
    for (size_t i = 0; i < node.inputs.size(); ++i) arguments.push_back(operand(node, i));
    const std::span<const Array> given(arguments);
    const auto count = static_cast<size_t>(node.attrs.numbers);
    Sizes sizes;
    for (const Dim dim : node.attrs.sizes) sizes.push_back(binder_.number(dim, node.loc));
    const auto called = static_cast<Value>(values_.size());
    if (node.op == Op::call_into) into = written_by(called);
    std::vector<Array>& results = results_[called];
    results = host_({node.attrs.callee, given.first(given.size() - count), sizes, given.last(count),
                     node.attrs.results, into});
    if (std::ssize(results) != node.attrs.results)
      fail(ErrorCode::host_result, node.loc,
           "'" + node.attrs.callee + "' gave " + std::to_string(results.size()) + " results, not " +
               std::to_string(node.attrs.results));
    check(node, results[0], "the result of '" + node.attrs.callee + "'");
    return results[0];
  }

  Array result(const Node& node) {
    const Value called = node.inputs[0];
    const Array& found = results_.at(called)[static_cast<size_t>(node.attrs.index)];
    const Node& of = graph_.node(called);
    check(node, found,
          "result " + std::to_string(node.attrs.index) + " of " +
              (of.attrs.callee.empty() ? std::string(info(of.op).name)
                                       : "'" + of.attrs.callee + "'"));
    return found;
  }

  // What runs another graph: a body, or a function.
  Array within(const Node& node) {
    std::vector<Array> given = values_at(node.inputs);
    std::vector<int64_t> sizes;
    for (const Dim dim : node.attrs.sizes) sizes.push_back(binder_.number(dim, node.loc));
    const auto run_body = [&](const Graph& body, std::span<const Array> arguments) {
      return Evaluator(body, arguments, host_, {}, module_).run();
    };
    const auto called = static_cast<Value>(values_.size());
    std::vector<Array>& results = results_[called];
    if (node.op == Op::match) {
      results = evaluate_match(node, std::move(given), sizes, run_body);
    } else if (is_invocation(node.op)) {
      std::string callee = node.attrs.callee;
      if (node.op == Op::apply) {
        const Object closure = *given[0].object;
        callee = closure.tag;
        given.erase(given.begin());
        given.insert(given.begin(), closure.fields.begin(), closure.fields.end());
      }
      for (const int64_t size : sizes) given.push_back(number_array(size));
      results = run_body(*module_->function(callee), given).values;
    } else if (node.op == Op::branch) {
      results = evaluate_branch(node, std::move(given), sizes, run_body);
    } else {
      const Dim count = node.attrs.count;
      results = evaluate_loop(node, std::move(given), sizes,
                              count ? binder_.number(count, node.loc) : kUntilLeave, run_body);
    }
    check(node, results[0], "result 0 of " + std::string(info(node.op).name));
    return results[0];
  }

  // The arrays that a call writes, by index.
  std::vector<Array> written_by(Value called) {
    const Node& first = graph_.node(called);
    std::vector<Array> arrays(static_cast<size_t>(first.attrs.results));
    arrays[0] = make_array(first.type.dtype, values(first));
    for (const Node& node : graph_.nodes()) {
      if (node.op != Op::result || node.inputs[0] != called) continue;
      arrays[static_cast<size_t>(node.attrs.index)] = make_array(node.type.dtype, values(node));
    }
    return arrays;
  }

  const Graph& graph_;
  std::span<const Array> inputs_;
  const HostFunction& host_;
  SymbolBinder binder_;
  std::vector<Array> values_;
  std::map<Value, std::vector<Array>> results_;  // of calls
  const Module* const module_;
  size_t next_input_ = 0;
};

}  // namespace

int64_t Array::size() const {
  int64_t count = 1;
  for (const int64_t extent : shape) count *= extent;
  return count;
}

Array make_array(DType dtype, std::vector<int64_t> shape) {
  const int64_t bytes = checked_bytes(dtype, shape);
  return Array{dtype, std::move(shape), std::vector<std::byte>(static_cast<size_t>(bytes))};
}

Array make_object(std::string tag, std::vector<Array> fields) {
  Array array{DType::boolean, {}, {}};
  array.object = std::make_shared<Object>(Object{std::move(tag), std::move(fields)});
  return array;
}

std::vector<Array> evaluate(const Module& module, std::span<const Array> inputs,
                            const HostFunction& host) {
  return Evaluator(module.main, inputs, host, {}, &module).run().values;
}

std::vector<Array> evaluate(const Graph& graph, std::span<const Array> inputs,
                            const HostFunction& host, std::span<const int64_t> symbols) {
  return Evaluator(graph, inputs, host, symbols).run().values;
}

}  // namespace dvm::core
