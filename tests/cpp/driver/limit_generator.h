// Random Graphs that aim at what one Region may hold: as many steps, inputs, outputs, levels of
// reductions and shapes as there may be, and some more, over rows just below and just past what the
// tiles of a target hold.
#pragma once

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "core/graph_generator.h"
#include "vm/target/target.h"

namespace dvm::driver {

struct LimitCase {
  core::Graph graph;
  bool exact;  // of operations alone that have the same bits on every SIMD level
  // Values of the symbols, one list per call: few elements first, so that what is there for small
  // sizes meets large ones.
  std::vector<std::vector<int64_t>> calls;
};

class LimitGenerator {
 public:
  explicit LimitGenerator(uint64_t seed) : random_(seed) {}

  LimitCase run() {
    constexpr int64_t kHardly = 3;
    begin();
    exact_ = random_.chance(50);
    if (random_.chance(20)) return reduce_much();
    const auto steps = some({{kHardly, 12}, {24, 40}, {54, 72}});
    inputs_left_ = some({{0, kHardly}, {0, kHardly}, {12, 34}, {58, 70}});
    const auto outputs = some({{1, kHardly}, {26, 34}, {26, 34}, {36, 64}});
    reductions_ = static_cast<int>(some({{0, 5}, {15, 45}, {15, 45}}));
    feeds_ = random_.chance(40) && reductions_ > 0;
    while (operations_ < steps || inputs_left_ > 0) grow();
    if (random_.chance(10)) multiply();
    choose_outputs(outputs);
    return finish();
  }

  // Arguments of one call: by their shapes the symbols have these values.
  std::vector<core::Array> arguments(const core::Graph& graph, std::span<const int64_t> symbols) {
    std::vector<core::Array> made;
    const bool special = random_.chance(30);
    for (const core::Value v : graph.inputs()) {
      std::vector<int64_t> shape;
      for (const core::Dim dim : graph.type(v).shape)
        shape.push_back(core::evaluate(dim, symbols).value());
      made.push_back(random_.array(graph.type(v).dtype, std::move(shape), special));
      if (is_factor(graph, v)) round(made.back());
    }
    return made;
  }

 private:
  using Op = core::Op;
  using Value = core::Value;
  using DType = core::DType;
  using Range = std::pair<int64_t, int64_t>;

  // Products are added up in other orders than the reference does it, but of whole numbers all are
  // exact.
  static bool is_factor(const core::Graph& graph, Value v) {
    return std::ranges::any_of(graph.nodes(), [v](const core::Node& node) {
      return node.op == Op::matmul && std::ranges::count(node.inputs, v) != 0;
    });
  }
  void round(core::Array& array) {
    core::dispatch(array.dtype, [&]<DType D>() {
      for (auto& x : core::elements<core::Storage<D>>(array))
        x = core::scalar::cast<core::Storage<D>>((1 + random_.below(8)) *
                                                 (random_.chance(50) ? 1 : -1));
    });
  }

  // With the sizes of its calls.
  LimitCase finish() {
    const int64_t cost = std::max(1, graph_.size());
    LimitCase made{std::move(graph_), exact_, {}};
    made.calls = {{1 + random_.below(3), 1 + random_.below(40)}, sizes(cost)};
    if (random_.chance(15)) made.calls.push_back({random_.below(3), random_.below(3)});
    return made;
  }

  int64_t some(std::initializer_list<Range> ranges) {
    const auto [low, high] = ranges.begin()[random_.below(std::ssize(ranges))];
    return low + random_.below(high - low + 1);
  }

  void begin() {
    constexpr DType kMain[] = {DType::f32, DType::f32,  DType::f32, DType::f64,
                               DType::f16, DType::bf16, DType::i32, DType::i64};
    main_ = random_.pick(kMain);
    const bool mixes = random_.chance(25);
    other_ = mixes ? random_.pick(kMain) : main_;
    full_ = {graph_.dims().symbol("s0"), graph_.dims().symbol("s1")};
    const int64_t way = random_.below(10);
    axes_ = way < 7 ? std::vector{1} : way < 9 ? std::vector{0} : std::vector{0, 1};
    reduced_ = full_;
    for (const int axis : axes_) reduced_[static_cast<size_t>(axis)] = graph_.dims().constant(1);
    wide_.push_back(graph_.input({main_, full_}));
  }

  // One Region with nearly as many results as there may be, and more reductions besides, which feed
  // one of them.
  LimitCase reduce_much() {
    constexpr Op kOps[] = {Op::sum, Op::max, Op::min, Op::prod};
    while (wide_.size() < 9)
      wide_.push_back(unary(wide_[static_cast<size_t>(random_.below(std::ssize(wide_)))]));
    for (const Value a : wide_) {
      for (const Op op : kOps) narrow_.push_back(graph_.reduce(op, a, axes_));
    }
    for (size_t k = narrow_.size(); k > 1; --k)
      std::swap(narrow_[k - 1],
                narrow_[static_cast<size_t>(random_.below(static_cast<int64_t>(k)))]);
    graph_.outputs.assign(narrow_.begin(), narrow_.begin() + 20 + random_.below(10));
    Value fed = narrow_[graph_.outputs.size()];
    for (size_t k = graph_.outputs.size() + 1; k < narrow_.size(); ++k) {
      if (random_.chance(80)) fed = binary(fed, as(narrow_[k], dtype(fed)));
    }
    if (axes_.back() == 1 && random_.chance(50))
      fed = binary(wide_[0], graph_.broadcast(as(fed, dtype(wide_[0])), full_));
    graph_.outputs.push_back(fed);
    return finish();
  }

  // Mostly late values, so that steps hang together.
  Value late(const std::vector<Value>& of) {
    const int64_t n = std::ssize(of);
    return of[static_cast<size_t>(n - 1 -
                                  random_.below(random_.chance(70) ? std::min<int64_t>(4, n) : n))];
  }

  core::DType dtype(Value v) const { return graph_.type(v).dtype; }

  void grow() {
    const Value a = late(wide_);
    if (inputs_left_ > 0 && random_.chance(50)) return add_input(a);
    if (random_.chance(reductions_)) return reduce(a);
    if (feeds_ && !narrow_.empty() && random_.chance(35)) return feed(a);
    add(random_.chance(50) ? unary(a) : binary(a, as(late(wide_), dtype(a))), wide_);
  }

  void add(Value v, std::vector<Value>& to) {
    to.push_back(v);
    ++operations_;
  }

  void add_input(Value a) {
    --inputs_left_;
    core::Shape shape = full_;
    const bool repeats = random_.chance(40);
    if (repeats) shape[static_cast<size_t>(random_.below(2))] = graph_.dims().constant(1);
    Value input = graph_.input({dtype(a), shape});
    if (repeats) input = graph_.broadcast(input, full_);
    add(binary(a, input), wide_);
  }

  void reduce(Value a) {
    constexpr Op kOps[] = {Op::sum, Op::max, Op::min, Op::prod};
    add(graph_.reduce(random_.pick(kOps), a, axes_), narrow_);
  }

  // A step on what reductions gave, or on elements and that.
  void feed(Value a) {
    const Value row = late(narrow_);
    if (random_.chance(30)) return add(unary(row), narrow_);
    if (random_.chance(30)) return add(binary(row, as(late(narrow_), dtype(row))), narrow_);
    add(binary(a, graph_.broadcast(as(row, dtype(a)), full_)), wide_);
  }

  Value as(Value v, DType type) { return dtype(v) == type ? v : graph_.cast(v, type); }

  Value unary(Value a) {
    constexpr Op kExact[] = {Op::neg, Op::abs, Op::square};
    constexpr Op kReal[] = {Op::neg, Op::abs, Op::exp, Op::sqrt, Op::tanh, Op::square};
    if (other_ != main_ && random_.chance(25)) return as(a, dtype(a) == main_ ? other_ : main_);
    const bool any = core::is_floating(dtype(a)) && !exact_;
    const Op op = any ? random_.pick(kReal) : random_.pick(kExact);
    return graph_.elementwise(op, std::array{a});
  }

  Value binary(Value a, Value b) {
    constexpr Op kOps[] = {Op::add, Op::sub, Op::mul, Op::maximum, Op::minimum};
    return graph_.elementwise(random_.pick(kOps), std::array{a, b});
  }

  // A product in front of all that is there would change every shape: it is of its own space.
  void multiply() {
    if (main_ != DType::f32 && main_ != DType::f64) return;
    const core::Dim k = graph_.dims().constant(1 + random_.below(40));
    const Value a = graph_.input({main_, {full_[0], k}});
    const Value b = graph_.input({main_, {k, full_[1]}});
    Value v = graph_.matmul(a, b, main_);
    for (int64_t n = random_.below(40); n > 0; --n) {
      v = random_.chance(50) ? unary(v) : binary(v, as(late(wide_), dtype(v)));
      wide_.push_back(v);
      if (random_.chance(20)) narrow_.push_back(graph_.reduce(Op::sum, v, {1}));
    }
  }

  void choose_outputs(int64_t count) {
    const int64_t narrow = random_.chance(70) ? 90 : 20;
    for (; count > 0; --count) {
      const bool from_narrow = !narrow_.empty() && random_.chance(static_cast<int>(narrow));
      std::vector<Value>& from = from_narrow ? narrow_ : wide_;
      // All of them before one a second time.
      const auto at = static_cast<size_t>(random_.below(std::ssize(from)));
      graph_.outputs.push_back(from[at]);
      if (from.size() > 1) from.erase(from.begin() + static_cast<std::ptrdiff_t>(at));
    }
  }

  // Rows, or columns, about as long as what a memory holds of some values, or of so many chunks.
  std::vector<int64_t> sizes(int64_t cost) {
    constexpr int64_t kMemories[] = {278528, 196096, 32768, 8192};
    constexpr int64_t kDeltas[] = {-1, 0, 1, 3, 17, 511, 512, 600};
    const int64_t bytes = core::byte_size(main_);
    int64_t length = random_.chance(75)
                         ? random_.pick(kMemories) / (bytes * (1 + random_.below(40)))
                         : 512 * (1 + random_.below(40));
    length = std::max<int64_t>(1, length + random_.pick(kDeltas));
    const int64_t room = (random_.chance(10) ? int64_t{1} << 21 : int64_t{1} << 19) / cost;
    length = std::min(length, std::max<int64_t>(room, 1));
    const int64_t across = 1 + random_.below(std::clamp<int64_t>(room / length, 1, 6));
    return axes_.front() == 0 && axes_.size() == 1 ? std::vector{length, across}
                                                   : std::vector{across, length};
  }

  test::Random random_;
  core::Graph graph_;
  DType main_ = DType::f32, other_ = DType::f32;
  core::Shape full_, reduced_;
  std::vector<int> axes_;
  std::vector<Value> wide_, narrow_;  // of all elements; what is left of them by reductions
  int reductions_ = 0;                // percent of the steps
  bool exact_ = false;                // see LimitCase
  bool feeds_ = false;                // whether steps read what reductions gave
  int64_t operations_ = 0, inputs_left_ = 0;
};

}  // namespace dvm::driver
