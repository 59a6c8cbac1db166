// Random valid Graphs with inputs on which they evaluate, for property tests of every folder.
// A case is a function of its seed and options alone. Sizes are constants, symbols and expressions
// of symbols; a Graph is valid for the symbol values of its case, and usually for others.
#pragma once

#include <algorithm>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "core/graph/graph.h"
#include "core/ops/elementwise.h"
#include "core/ops/matrix.h"
#include "core/ops/reduce.h"
#include "core/ops/scalar_ops.h"
#include "core/reference/reference.h"

namespace dvm::test {

using namespace dvm::core;

struct GeneratorOptions {
  int nodes = 12;  // operations besides inputs
  std::vector<DType> dtypes = {DType::boolean, DType::i32, DType::i64, DType::f16,
                               DType::f32,     DType::f64, DType::bf16};
  bool calls = true, views = true, reductions = true, casts = true, whole = true, matrices = true;
  bool special_floats = true;   // NaN, infinities, -0.0, subnormals
  int64_t max_elements = 2000;  // of any value
  // What a symbol may be: any of them, but mostly one behind the first two.
  std::vector<int64_t> symbols = {0, 1, 1, 2, 3, 4, 5, 8, 11};
  bool tensors = true;      // constants of them
  bool named = false;       // some of these by name, whose memory has no owner
  bool attentions = false;  // whose bits differ from one target to another
  bool every_row = false;   // elementwise rows after tanh too, which have no oracle but NumPy
};

struct GraphCase {
  Graph graph;
  std::vector<int64_t> symbols;  // values, by symbol index
  std::vector<Array> inputs;     // of graph.inputs()
};

inline std::vector<Op> ops_of_class(OpClass op_class) {
  std::vector<Op> ops;
  for (size_t i = 0; i < all_ops().size(); ++i) {
    if (all_ops()[i].op_class == op_class) ops.push_back(static_cast<Op>(i));
  }
  return ops;
}

// The bits of a number of rank 0.
inline int64_t bits_of(const Array& number) {
  int64_t bits = 0;
  std::memcpy(&bits, number.data.data(), number.data.size());
  return bits;
}

// The host of generated calls, a pure function: result k is argument k in reverse order, beginning
// anew behind the last. The last of several results tells the sizes and the bits of the numbers, if
// there are any.
inline std::vector<Array> generated_host(const GivenToCall& given) {
  std::vector<Array> results;
  for (size_t k = 0; k < static_cast<size_t>(given.results); ++k) {
    const Array& from = given.arrays[k % given.arrays.size()];
    const size_t bytes = static_cast<size_t>(byte_size(from.dtype));
    results.push_back(from);
    for (size_t i = 0; i < from.data.size(); i += bytes) {
      std::memcpy(results[k].data.data() + i, from.data.data() + (from.data.size() - bytes - i),
                  bytes);
    }
  }
  const size_t told = given.sizes.size() + given.numbers.size();
  if (results.size() > 1 && told > 0) {
    Array numbers = make_array(DType::i64, {static_cast<int64_t>(told)});
    int64_t* to = elements<int64_t>(numbers).data();
    for (const int64_t size : given.sizes) *to++ = size;
    for (const Array& number : given.numbers) *to++ = bits_of(number);
    results.back() = std::move(numbers);
  }
  return results;
}

// Bytes agree, except that any NaN equals any other.
inline bool same_values(const Array& a, const Array& b) {
  if (a.dtype != b.dtype || a.shape != b.shape) return false;
  return dispatch(a.dtype, [&]<DType D>() {
    using T = Storage<D>;
    const auto x = elements<T>(a), y = elements<T>(b);
    for (size_t i = 0; i < x.size(); ++i) {
      const bool both_nan = scalar::ne{}(x[i], x[i]) && scalar::ne{}(y[i], y[i]);
      if (!both_nan && std::memcmp(&x[i], &y[i], sizeof(T)) != 0) return false;
    }
    return true;
  });
}

inline bool same_values(const std::vector<Array>& a, const std::vector<Array>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const Array& x, const Array& y) { return same_values(x, y); });
}

class Random {
 public:
  explicit Random(uint64_t seed) : engine_(seed) {}
  // std distributions differ between libraries; a case must not.
  int64_t below(int64_t n) { return static_cast<int64_t>(engine_() % static_cast<uint64_t>(n)); }
  bool chance(int percent) { return below(100) < percent; }
  template <typename C>
  auto& pick(C& from) {
    return from[static_cast<size_t>(below(std::ssize(from)))];
  }
  uint64_t bits() { return engine_(); }

  double real(bool special) {
    if (special && chance(8)) {
      using Limits = std::numeric_limits<double>;
      const double values[] = {Limits::quiet_NaN(),
                               Limits::infinity(),
                               -Limits::infinity(),
                               -0.0,
                               0.0,
                               65519.0,
                               -65520.0,
                               0x1p-24,
                               0x1p-140,
                               3e38,
                               1e300};
      return pick(values);
    }
    return static_cast<double>(below(1 << 12) - (1 << 11)) / 256.0;
  }

  Array array(DType dtype, std::vector<int64_t> shape, bool special) {
    Array result = make_array(dtype, std::move(shape));
    dispatch(dtype, [&]<DType D>() {
      using T = Storage<D>;
      for (T& x : elements<T>(result)) {
        if constexpr (is_floating(D)) {
          x = scalar::cast<T>(real(special));
        } else if constexpr (D == DType::boolean) {
          x = static_cast<T>(below(2));
        } else {
          x = static_cast<T>(special && chance(8) ? bits() : bits() % 41 - 20);
        }
      }
    });
    return result;
  }

 private:
  std::mt19937_64 engine_;
};

class GraphGenerator {
 public:
  GraphGenerator(uint64_t seed, const GeneratorOptions& options)
      : random_(seed), options_(options) {}

  GraphCase run() {
    make_symbols();
    while (operations_ < options_.nodes) {
      const int before = graph_.size();
      grow();
      operations_ += graph_.size() > before;
    }
    const int64_t outputs = 1 + random_.below(3);
    for (int64_t i = 0; i < outputs; ++i) {
      // Mostly late values, so that most of the graph matters.
      const int64_t back =
          random_.below(random_.chance(70) ? std::min(4, graph_.size()) : graph_.size());
      graph_.outputs.push_back(defined(graph_.size() - 1 - static_cast<Value>(back)));
    }
    return {std::move(graph_), std::move(values_), std::move(inputs_)};
  }

 private:
  DimContext& dims() { return graph_.dims(); }
  Dim constant(int64_t c) { return dims().constant(c); }
  int64_t value(Dim dim) { return core::evaluate(dim, values_).value_or(-1); }
  int64_t count(const Shape& shape) {
    int64_t product = 1;
    for (const Dim dim : shape) product *= value(dim);
    return product;
  }
  bool usable(const Shape& shape) {
    for (const Dim dim : shape) {
      if (value(dim) < 0 || value(dim) > options_.max_elements) return false;
    }
    return shape.size() <= 4 && count(shape) <= options_.max_elements;
  }

  Loc loc() {
    if (random_.chance(50)) return {};
    static const std::string files[] = {"model.py", "/a b/\"q\"\\.py", "naïve.py", ""};
    return make_loc(files[random_.below(4)], static_cast<int>(random_.below(500)));
  }

  // The first input has every symbol as a size of its own, so that shapes determine the symbols,
  // but for one that a number defines: it may be negative.
  void make_symbols() {
    const int64_t n = 1 + random_.below(3);
    int64_t room = options_.max_elements;
    Shape anchor;
    for (int64_t i = 0; i < n; ++i) {
      const std::vector<int64_t>& sizes = options_.symbols;
      const size_t skipped = random_.chance(85) ? 2 : 0;
      const auto choices = std::ssize(sizes) - static_cast<int64_t>(skipped);
      const int64_t wanted = sizes[skipped + static_cast<size_t>(random_.below(choices))];
      const int64_t size = std::min(wanted, room);
      room /= std::max<int64_t>(size, 1);
      const std::string name = (random_.chance(80) ? "s" : "batch") + std::to_string(i);
      const bool ranged = random_.chance(20);
      anchor.push_back(ranged ? dims().symbol(name, size / 2, size * 2 + 1) : dims().symbol(name));
      values_.push_back(size);
    }
    add_input({random_.pick(options_.dtypes), anchor});
    if (random_.chance(30)) {
      const int64_t number = random_.below(12) - 4;
      values_.push_back(number);
      graph_.scalar(DType::i64, loc(), dims().symbol("k", -kDimMax));
      inputs_.push_back(make_array(DType::i64, {}));
      elements<int64_t>(inputs_.back())[0] = number;
    }
  }

  Value add_input(Type type) {
    std::vector<int64_t> sizes;
    for (const Dim dim : type.shape) sizes.push_back(value(dim));
    inputs_.push_back(random_.array(type.dtype, std::move(sizes), options_.special_floats));
    const bool scalar = type.shape.empty() && random_.chance(50);
    return scalar ? graph_.scalar(type.dtype, loc()) : graph_.input(std::move(type), loc());
  }

  Dim random_dim() {
    const Dim s = dims().symbol_at(static_cast<int>(random_.below(dims().symbol_count())));
    const Dim t = dims().symbol_at(static_cast<int>(random_.below(dims().symbol_count())));
    switch (random_.below(10)) {
      case 0:
        return constant(1);
      case 1:
        return constant(random_.below(7));
      case 2:
        return s + random_.below(3);
      case 3:
        return s * t;
      case 4:
        return floor_div(s + 3, constant(2));
      case 5:
        return mod(s * 2 + t, constant(5));
      case 6:
        return max(s, t * 2 - 1);
      case 7:
        return min(s, constant(4)) + 1;
      default:
        return s;
    }
  }
  Shape random_shape() {
    while (true) {
      Shape shape;
      for (int64_t rank = random_.below(5); rank > 0; --rank) shape.push_back(random_dim());
      if (usable(shape)) return shape;
    }
  }

  // v, or where the elements of v are undefined, some value before it.
  Value defined(Value v) const {
    while (graph_.node(v).op == Op::empty) --v;
    return v;
  }

  Value any_value() {
    // Late values more often: deep graphs rather than flat ones.
    const int64_t n = graph_.size();
    return defined(static_cast<Value>(std::max(random_.below(n), random_.below(n))));
  }

  Value random_constant(DType dtype) {
    if (is_floating(dtype)) {
      double x = random_.real(options_.special_floats);
      if (options_.special_floats && random_.chance(3))
        x = std::bit_cast<double>(0xfff8000000000000 | random_.bits());  // a NaN with a payload
      return graph_.constant(dtype, Scalar::of_float(x), loc());
    }
    const auto bits = static_cast<int64_t>(random_.bits());
    const int64_t x = random_.chance(80) ? bits % 20 : bits;
    return graph_.constant(
        dtype, round_to(dtype, Scalar::of_int(dtype == DType::boolean ? bits & 1 : x)), loc());
  }

  // A value of exactly this type: found, or made of something else.
  Value of_type(const Type& type) {
    for (int attempt = 0; attempt < 4; ++attempt) {
      const Value v = any_value();
      if (graph_.type(v) == type) return v;
      if (options_.casts && graph_.type(v).shape == type.shape)
        return graph_.cast(v, type.dtype, loc());
    }
    if (random_.chance(50)) return add_input(type);
    const Value v = random_.chance(80) ? random_constant(type.dtype) : add_input({type.dtype, {}});
    return type.shape.empty() ? v : graph_.broadcast(v, type.shape, loc());
  }

  void grow() {
    switch (random_.below(26)) {
      case 0:
        add_input({random_.pick(options_.dtypes), random_shape()});
        return;
      case 1:
        random_constant(random_.pick(options_.dtypes));
        return;
      case 2:
        size_value();
        return;
      case 3:
        if (options_.calls) call();
        return;
      case 4:
      case 5:
        broadcast();
        return;
      case 6:
      case 7:
        if (options_.reductions) reduce();
        return;
      case 8:
        if (options_.views) reshape();
        return;
      case 9:
        if (options_.views) transpose();
        return;
      case 10:
        if (options_.views) slice();
        return;
      case 11:
      case 12:
        if (options_.views && options_.whole) update();
        return;
      case 13:
        if (options_.whole) along();
        return;
      case 14:
        if (options_.tensors) tensor();
        return;
      case 15:
      case 16:
        if (options_.attentions && random_.chance(60)) return attention();
        if (options_.matrices) random_.chance(70) ? matmul() : convolve();
        return;
      case 17:
        if (options_.casts) graph_.cast(any_value(), random_.pick(options_.dtypes), loc());
        return;
      default:
        elementwise();
        return;
    }
  }

  // Of the size that some value happens to have, or of another. Every element has any bits.
  void tensor() {
    std::vector<int64_t> sizes;
    for (const Dim dim : random_.chance(60) ? graph_.type(any_value()).shape : random_shape()) {
      sizes.push_back(value(dim));
    }
    Array array = random_.array(random_.pick(options_.dtypes), sizes, options_.special_floats);
    if (is_floating(array.dtype) && !array.data.empty() && options_.special_floats) {
      const size_t at = array.data.size() - static_cast<size_t>(byte_size(array.dtype));
      for (size_t i = at; random_.chance(20) && i < array.data.size(); ++i)
        array.data[i] = static_cast<std::byte>(random_.bits() | 0x7c);
    }
    const bool named = options_.named && random_.chance(50);
    if (!named && array.size() > kMaxWritten) return;
    const std::string name = named ? "weight \"" + std::to_string(graph_.size()) + "\"" : "";
    graph_.tensor(own_tensor(array.dtype, array.shape, array.data), name, loc());
  }

  void size_value() {
    const DType dtype = random_.pick(options_.dtypes);
    const Dim size = random_dim();
    if (dtype != DType::boolean && core::evaluate(size, values_))
      graph_.dim_value(dtype, size, loc());
  }

  void call() {
    std::vector<Value> operands;
    for (int64_t n = 1 + random_.below(3); n > 0; --n) operands.push_back(any_value());
    const size_t arrays = operands.size();
    CallForm form{.into = random_.chance(30)};
    if (random_.chance(50)) form.results = 1 + static_cast<int>(random_.below(4));
    while (random_.chance(25)) {
      const Dim size = random_dim() - 2;
      if (core::evaluate(size, values_)) form.sizes.push_back(size);
    }
    for (Value v = 0; v < graph_.size() && form.results > 1; ++v) {
      if (graph_.node(v).op != Op::scalar || random_.chance(50)) continue;
      operands.push_back(v);
      ++form.numbers;
    }
    form.fresh = !form.into && random_.chance(50);
    const int results = form.results;
    const bool into = form.into;
    const auto told = static_cast<int64_t>(form.sizes.size()) + form.numbers;
    const Value called = graph_.call("host\n\"" + std::to_string(random_.below(3)), operands,
                                     Type(graph_.type(operands[0])), loc(), std::move(form));
    // In any order, and not all of what is given.
    for (int k = results - 1; k > 0; --k) {
      if (!into && random_.chance(30)) continue;
      Type type = graph_.type(operands[static_cast<size_t>(k) % arrays]);
      if (k + 1 == results && told > 0) type = {DType::i64, {constant(told)}};
      graph_.result(called, k, std::move(type), loc());
    }
  }

  Op random_op(OpClass op_class) {
    std::vector<Op> ops = ops_of_class(op_class);
    std::erase(ops, Op::stored_dim);  // loop_generator.h makes those
    return random_.pick(ops);
  }

  void elementwise() {
    const Op op = random_op(OpClass::elementwise);
    if (op == Op::cast) return;
    const Value a = any_value();
    const Type type = graph_.type(a);
    const ElementwiseInfo* row = elementwise_info(op);
    // Of the rows after tanh, those whose result no rounding touches.
    if (!options_.every_row && row && op > Op::tanh && row->result == ResultRule::same &&
        row->operands != OperandRule::integral)
      return;
    if (row && !allows(row->operands, type.dtype)) return;
    std::vector<Value> operands;
    if (op == Op::select) {
      const bool has_bool =
          std::count(options_.dtypes.begin(), options_.dtypes.end(), DType::boolean);
      operands.push_back(has_bool ? of_type({DType::boolean, type.shape})
                                  : graph_.elementwise(Op::lt, std::vector{a, of_type(type)}));
    }
    operands.push_back(a);
    while (static_cast<int>(operands.size()) < info(op).arity) operands.push_back(of_type(type));
    if (op != Op::select && random_.chance(50)) std::swap(operands.front(), operands.back());
    graph_.elementwise(op, operands, loc());
  }

  void broadcast() {
    const Value a = any_value();
    Shape shape = graph_.type(a).shape;
    for (Dim& dim : shape) {
      const Dim other = random_dim();
      const auto c = dim.as_constant(), d = other.as_constant();
      if (c == 1) {
        dim = other;
      } else if (!c && !d && core::evaluate(bcast(dim, other), values_) && random_.chance(60)) {
        dim = bcast(dim, other);
      } else if (value(dim) == 1 && random_.chance(60) && !c) {
        dim = bcast(dim, other);
      }
    }
    if (random_.chance(50)) shape.insert(shape.begin(), random_dim());
    if (!usable(shape)) return;
    try {
      graph_.broadcast(a, shape, loc());
    } catch (const Error&) {
      // A symbol whose range excludes 1: statically illegal, and rightly refused.
    }
  }

  void reduce() {
    const Value a = any_value();
    const Type& type = graph_.type(a);
    const Op op = random_op(OpClass::reduce);
    const ReduceInfo rules = reduce_info(op);
    if (type.rank() == 0 || !allows(rules.dtypes, type.dtype)) return;
    std::vector<int> axes{static_cast<int>(random_.below(type.rank()))};
    while (axes.back() + 1 < type.rank() && random_.chance(30)) axes.push_back(axes.back() + 1);
    int64_t extent = 1;
    for (const int axis : axes) extent *= value(type.shape[static_cast<size_t>(axis)]);
    if (rules.identity == Identity::none && extent == 0) return;
    graph_.reduce(op, a, axes, loc());
  }

  // Of integers, whose products have the same bits in any order; batches may be repeated.
  void matmul() {
    const Value a = any_value();
    const Type& type = graph_.type(a);
    const auto rank = static_cast<size_t>(type.rank());
    if (rank < 2 || is_floating(type.dtype) || !gives_product(type.dtype, type.dtype)) return;
    Shape shape = type.shape, result = type.shape;
    shape[rank - 2] = type.shape[rank - 1];
    shape[rank - 1] = result[rank - 1] = random_dim();
    if (!usable(shape) || !usable(result)) return;
    const DType dtype = type.dtype;
    Value b = -1;
    if (random_.chance(50)) {
      b = of_type({dtype, shape});
    } else {
      b = of_type({dtype, {shape[rank - 2], shape[rank - 1]}});
      if (rank > 2) b = graph_.broadcast(b, shape, loc());
    }
    graph_.matmul(a, b, dtype, loc());
  }

  // Of integers, too.
  void convolve() {
    const Value x = any_value();
    const Type type = graph_.type(x);
    if (type.rank() < 2 || is_floating(type.dtype) || !gives_product(type.dtype, type.dtype))
      return;
    const int axes = 1 + static_cast<int>(random_.below(std::min(type.rank() - 1, kMaxWindowRank)));
    const auto batches = static_cast<size_t>(type.rank() - 1 - axes);
    if (batches + 1 + 2 * static_cast<size_t>(axes) > kMaxRank) return;
    WindowForm form;
    std::vector<int64_t> behind_each;
    int64_t elements = 1;
    for (int d = 0; d < axes; ++d) {
      const int64_t window = 1 + random_.below(3), dilation = 1 + random_.below(2);
      const int64_t before = random_.below(2), behind = random_.below(2);
      if (value(type.shape[batches + 1 + static_cast<size_t>(d)]) + before + behind <
          (window - 1) * dilation + 1)
        return;
      form.window.push_back(window);
      form.dilations.push_back(dilation);
      form.steps.push_back(1 + random_.below(3));
      form.padding.push_back(before);
      behind_each.push_back(behind);
      elements *= window;
    }
    form.padding.insert(form.padding.end(), behind_each.begin(), behind_each.end());
    Shape weights(type.shape.begin(), type.shape.begin() + static_cast<ptrdiff_t>(batches));
    weights.push_back(random_dim());
    weights.push_back(type.shape[batches] * graph_.dims().constant(elements));
    if (!usable(weights)) return;
    Value w = -1;
    if (random_.chance(50)) {
      w = of_type({type.dtype, weights});
    } else {
      w = of_type({type.dtype, {weights[batches], weights[batches + 1]}});
      if (batches > 0) w = graph_.broadcast(w, weights, loc());
    }
    Shape result = type.shape;
    result[batches] = weights[batches];
    if (!usable(result)) return;
    graph_.convolve(w, x, type.dtype, form, loc());
  }

  void attention() {
    const Value q = any_value();
    const Type type = graph_.type(q);
    const auto rank = static_cast<size_t>(type.rank());
    if (rank < 2 || !is_floating(type.dtype)) return;
    Shape k = type.shape, v, mask = type.shape, result = type.shape;
    k[rank - 2] = mask[rank - 1] = random_dim();
    v = k;
    v[rank - 1] = result[rank - 1] = random_dim();
    if (!usable(k) || !usable(v) || !usable(mask) || !usable(result)) return;
    if (value(k[rank - 2]) == 0 || value(k[rank - 1]) == 0) return;
    std::vector<Value> inputs = {q, of_type({type.dtype, k}), of_type({type.dtype, v})};
    AttentionForm form{.scale = random_.chance(50) ? 1 : 0.3};
    if (random_.chance(50)) {
      const bool fills = random_.chance(50);
      inputs.push_back(of_type({fills ? DType::boolean : type.dtype, mask}));
      if (fills && random_.chance(50)) form.fill = -100;
    }
    if (random_.chance(30))
      form.causal = random_.chance(50) ? constant(0) : k[rank - 2] - type.shape[rank - 2];
    graph_.attention(inputs, form, loc());
  }

  void reshape() {
    const Value a = any_value();
    Shape shape = graph_.type(a).shape;
    const size_t at = static_cast<size_t>(random_.below(static_cast<int64_t>(shape.size()) + 1));
    const auto position = shape.begin() + static_cast<ptrdiff_t>(at);
    switch (random_.below(4)) {
      case 0:
        shape.insert(position, constant(1));
        break;
      case 1:
        if (at + 1 < shape.size()) {
          shape[at] = shape[at] * shape[at + 1];
          shape.erase(position + 1);
        }
        break;
      case 2: {
        Dim product = constant(1);
        for (const Dim dim : shape) product = product * dim;
        shape = {product};
        break;
      }
      default:
        // Legal only because of the values at hand; a run-time check for the compiler.
        if (at < shape.size() && value(shape[at]) == 6) {
          shape[at] = constant(2);
          shape.insert(position, constant(3));
        }
    }
    if (usable(shape)) graph_.reshape(a, shape, loc());
  }

  void transpose() {
    const Value a = any_value();
    std::vector<int> axes;
    for (int i = 0; i < graph_.type(a).rank(); ++i) {
      axes.insert(axes.begin() + random_.below(i + 1), i);
    }
    graph_.transpose(a, axes, loc());
  }

  void slice() {
    const Value a = any_value();
    if (random_box(graph_.type(a).shape)) graph_.slice(a, starts_, steps_, box_, loc());
  }

  void along() {
    const Op op = random_op(OpClass::whole);
    if (op == Op::iota) {
      const DType dtype = random_.pick(options_.dtypes);
      const Shape shape{random_dim()};
      if (dtype != DType::boolean && usable(shape)) graph_.iota({dtype, shape}, loc());
      return;
    }
    const Value a = any_value();
    const Type& type = graph_.type(a);
    if (op == Op::compress || op == Op::nonzero) return choose(op, a);
    if (!(info(op).attrs & attr::axes) || type.rank() == 0) return;
    const auto axis = static_cast<size_t>(random_.below(type.rank()));
    const int64_t extent = value(type.shape[axis]);
    const bool arg = op == Op::argmax || op == Op::argmin;
    if (arg && (extent == 0 || !has(DType::i64))) return;
    std::vector<Value> operands{a};
    if (replaces_elements(op)) return scatter(op, a, static_cast<int>(axis));
    if (info(op).attrs & attr::with) return fold(op, a, static_cast<int>(axis));
    if (info(op).arity == 2) {
      if (extent == 0 || !has(DType::i64)) return;
      Shape shape = type.shape;
      shape[axis] = random_dim();
      if (op == Op::gather) {
        const Shape from = shape;
        shape = random_.chance(70) ? Shape{shape[axis]} : random_shape();
        Shape result = from;
        result.insert(result.erase(result.begin() + static_cast<ptrdiff_t>(axis)), shape.begin(),
                      shape.end());
        if (!usable(result)) return;
      }
      if (!usable(shape)) return;
      operands.push_back(indices(shape, extent));
    }
    graph_.along(op, operands, static_cast<int>(axis), {}, loc());
  }

  // A scan, a fold of pieces, or a fold whose start is the first of its elements.
  void fold(Op op, Value a, int axis) {
    const Type type = graph_.type(a);
    const auto place = static_cast<size_t>(axis);
    std::vector<std::string> rows{"mul", "maximum", "minimum"};
    if (op != Op::fold_at) rows.emplace_back("add");  // there it is a sum
    std::vector<Value> operands{a};
    if (op != Op::scan && value(type.shape[place]) == 0) return;
    if (op == Op::fold_at) {
      const Shape places{random_dim()};
      Shape pieces = type.shape;
      pieces[place] = places[0];
      if (!has(DType::i64) || !usable(pieces)) return;
      operands.push_back(indices(places, value(type.shape[place]), 0));
    } else if (op != Op::scan) {
      Shape shape = type.shape;
      shape[place] = graph_.dims().constant(1);
      const std::vector<Dim> origin(shape.size(), graph_.dims().constant(0));
      const std::vector<int64_t> steps(shape.size(), 1);
      operands.insert(operands.begin(), graph_.slice(a, origin, steps, shape, loc()));
    }
    if (op == Op::fold_where) {
      if (!has(DType::boolean)) return;
      operands.push_back(graph_.elementwise(Op::isfinite, std::vector{a}, loc()));
    }
    graph_.along(op, operands, axis, random_.pick(rows), loc());
  }

  // What a new mask of one axis is true of.
  void choose(Op op, Value a) {
    const Type type = graph_.type(a);
    if (!has(DType::boolean) || !has(DType::i64) || type.rank() == 0) return;
    const int axis = static_cast<int>(random_.below(type.rank()));
    const Dim extent = type.shape[static_cast<size_t>(axis)];
    inputs_.push_back(make_array(DType::boolean, {value(extent)}));
    int64_t count = 0;
    for (uint8_t& element : elements<uint8_t>(inputs_.back())) {
      count += element = random_.chance(50);
    }
    const Value mask = graph_.input({DType::boolean, {extent}}, loc());
    const Dim size = graph_.dims().constant(count);
    if (op == Op::nonzero) {
      graph_.nonzero(mask, size, loc());
    } else {
      graph_.compress(a, mask, axis, size, loc());
    }
  }

  // Elements of the same array, or one for all places, into one that may be updated already.
  void scatter(Op op, Value a, int axis) {
    const Type type = graph_.type(a);
    const auto place = static_cast<size_t>(axis);
    const int64_t extent = value(type.shape[place]);
    Shape places = type.shape;
    places[place] = random_dim();
    if (extent == 0 || !has(DType::i64) || !usable(places)) return;
    const bool per_position = op == Op::scatter;
    const auto shape = [&] { return per_position ? Shape{places[place]} : places; };
    Value given = graph_.along(per_position ? Op::gather : Op::take_along,
                               std::vector{a, indices(shape(), extent)}, axis, {}, loc());
    if (random_.chance(20)) {
      const std::vector<Dim> origin(places.size(), graph_.dims().constant(0));
      const Shape one(places.size(), graph_.dims().constant(1));
      for (const Dim dim : places) {
        if (value(dim) == 0) return;
      }
      given = graph_.slice(given, origin, std::vector<int64_t>(places.size(), 1), one, loc());
    }
    const std::vector<std::string> with{"", "add", "mul", "maximum", "minimum"};
    const Value to = graph_.along(op, std::vector{a, indices(shape(), extent), given}, axis,
                                  random_.pick(with), loc());
    if (random_.chance(30)) {
      graph_.along(op, std::vector{to, indices(shape(), extent), given}, axis, random_.pick(with),
                   loc());
    }
  }

  bool has(DType dtype) const {
    return std::count(options_.dtypes.begin(), options_.dtypes.end(), dtype) != 0;
  }

  // An input that holds indices of that extent, from either end or from `lowest` on.
  Value indices(const Shape& shape, int64_t extent) { return indices(shape, extent, -extent); }
  Value indices(const Shape& shape, int64_t extent, int64_t lowest) {
    std::vector<int64_t> sizes;
    for (const Dim dim : shape) sizes.push_back(value(dim));
    inputs_.push_back(make_array(DType::i64, std::move(sizes)));
    for (int64_t& index : elements<int64_t>(inputs_.back())) {
      index = random_.below(extent - lowest) + lowest;
    }
    return graph_.input({DType::i64, shape}, loc());
  }

  // Of anything, of an array whose elements are not defined yet, and of what is updated already.
  void update() {
    const Value last = graph_.size() - 1;
    const bool again = graph_.node(last).op == Op::update && random_.chance(60);
    Value a = again ? last : any_value();
    const Type type = graph_.type(a);
    if (!again && random_.chance(30)) {
      a = filled(type);
    }
    if (!random_box(type.shape)) return;
    const Value part = of_type({type.dtype, box_});
    graph_.update(a, part, starts_, steps_, loc());
  }

  // An empty array and the update of all of it.
  Value filled(const Type& type) {
    const Value part = of_type(type);
    const std::vector<Dim> starts(type.shape.size(), constant(0));
    return graph_.update(graph_.empty(type, loc()), part, starts,
                         std::vector<int64_t>(type.shape.size(), 1), loc());
  }

  // A box of elements of a shape; false where there is none.
  bool random_box(const Shape& from) {
    std::vector<Dim>& starts = starts_;
    std::vector<int64_t>& steps = steps_;
    Shape& shape = box_;
    starts.clear();
    steps.clear();
    shape.clear();
    for (const Dim dim : from) {
      const int64_t start = random_.below(3);
      if (random_.chance(40)) {  // a[start:extent:step], symbolic
        const int64_t step = 1 + random_.below(2);
        starts.push_back(constant(start));
        steps.push_back(step);
        shape.push_back(ceil_div(dim - start, constant(step)));
      } else if (random_.chance(50) && value(dim) > 0) {  // a[::-1]
        starts.push_back(dim - 1);
        steps.push_back(-1);
        shape.push_back(dim);
      } else {
        starts.push_back(constant(0));
        steps.push_back(1);
        shape.push_back(dim);
      }
      if (value(shape.back()) > 0 && value(starts.back()) >= value(dim)) return false;
    }
    for (const Dim dim : shape) {
      if (dim.as_constant().value_or(0) < 0) return false;
    }
    return usable(shape);
  }

  Random random_;
  GeneratorOptions options_;
  Graph graph_;
  std::vector<int64_t> values_;
  std::vector<Array> inputs_;
  std::vector<Dim> starts_;  // of the last random_box()
  std::vector<int64_t> steps_;
  Shape box_;
  int operations_ = 0;
};

inline GraphCase generate_graph(uint64_t seed, const GeneratorOptions& options = {}) {
  return GraphGenerator(seed, options).run();
}

}  // namespace dvm::test
