#include "capture/replay/numbers/graph_code.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <utility>

namespace dvm::capture::numbers {

namespace {

using core::Dim;
using core::DType;
using core::Node;

// A segment that is no code for the machine.
struct NotNumbers {};

void must(bool holds) {
  if (!holds) throw NotNumbers{};
}

class GraphCode {
 public:
  GraphCode(Code& code, const Segment& segment, std::span<const Operand> tensors,
            std::span<const Number> scalars)
      : code_(code),
        graph_(segment.graph),
        tensors_(tensors),
        scalars_(scalars),
        symbols_(static_cast<size_t>(graph_.dims().symbol_count())) {}

  void append() {
    bind();
    for (const core::Value v : graph_.outputs) need(v);
    for (core::Value v = 0; v < graph_.size(); ++v) {
      if (needed_[v]) append(v);
    }
  }

  int32_t element(core::Value v) {
    if (const auto found = cells_.find(v); found != cells_.end()) return found->second;
    const auto found = views_.find(v);
    must(found != views_.end() && is_one(graph_.type(v)));
    const auto moves = moves_of(found->second.dtype);
    must(moves.has_value());
    return cells_[v] = code_.emit(moves->load, found->second.place);
  }

 private:
  static bool is_one(const core::Type& type) {
    return std::ranges::all_of(type.shape, [](Dim d) { return d.as_constant() == 1; });
  }

  void bind() {
    size_t tensor = 0, scalar = 0;
    for (const core::Value v : graph_.inputs()) {
      const Node& node = graph_.node(v);
      if (node.op == core::Op::scalar) {
        const Number& number = scalars_[scalar++];
        arguments_[v] = {{}, number};
        if (!node.attrs.size) continue;
        must(number.type.kind == Kind::integer);
        const int symbol = node.attrs.size.symbol_index();
        const auto& [name, lo, hi] = graph_.dims().symbol_info(symbol);
        // Beyond the largest size no index is in its range.
        if (lo > -core::kDimMax || hi < core::kDimMax) {
          code_.emit(Op::expect_range, number.cell, 0, lo, hi);
        }
        symbols_[static_cast<size_t>(symbol)] = number.cell;
        continue;
      }
      const Operand& operand = tensors_[tensor++];
      arguments_[v] = operand;
      for (size_t d = 0; operand.array && d < node.type.shape.size(); ++d) {
        const Dim size = node.type.shape[d];
        if (size.is_symbol()) symbols_[index_of(size)] = operand.array->axes[d].size;
      }
    }
  }

  static size_t index_of(Dim symbol) { return static_cast<size_t>(symbol.symbol_index()); }

  void need(core::Value v) {
    std::vector<core::Value> left{v};
    while (!left.empty()) {
      const core::Value next = left.back();
      left.pop_back();
      if (std::exchange(needed_[next], true)) continue;
      for (const core::Value input : graph_.node(next).inputs) left.push_back(input);
    }
  }

  void append(core::Value v) {
    const Node& node = graph_.node(v);
    switch (node.op) {
      case core::Op::input:
        return input(v, node);
      case core::Op::scalar:
        return define(v, append_element(code_, arguments_[v].number, node.type.dtype));
      case core::Op::constant:
        return constant(v, node.type.dtype, node.attrs.value);
      case core::Op::dim:
        must(node.type.dtype == DType::i64);
        return define(v, size(node.attrs.size));
      case core::Op::slice:
        return slice(v, node);
      case core::Op::reshape:
        return reshape(v, node);
      case core::Op::broadcast:
        // Of one element to another rank.
        must(is_one(node.type));
        return define(v, element(node.inputs[0]));
      default:
        must(core::op_class(node.op) == core::OpClass::elementwise);
        return elementwise(v, node);
    }
  }

  void define(core::Value v, std::optional<int32_t> cell) {
    must(cell.has_value());
    cells_[v] = *cell;
  }

  void constant(core::Value v, DType dtype, core::Scalar value) {
    Cell cell{.i = 0};
    core::dispatch(dtype, [&]<DType D>() {
      const core::Storage<D> element = core::element_of<D>(value);
      std::memcpy(cell.bytes, &element, sizeof element);
    });
    cells_[v] = code_.cell(cell);
  }

  void input(core::Value v, const Node& node) {
    const Operand& operand = arguments_[v];
    if (!operand.array) {
      must(node.type.rank() == 0);
      return define(v, append_element(code_, operand.number, node.type.dtype));
    }
    must(operand.array->dtype == node.type.dtype &&
         std::ssize(operand.array->axes) == node.type.rank());
    views_[v] = *operand.array;
  }

  // Of each axis one element, or all.
  void slice(core::Value v, const Node& node) {
    Elements view = elements(node.inputs[0]);
    for (size_t d = 0; d < view.axes.size(); ++d) {
      const Dim start = node.attrs.starts[d], count = node.type.shape[d];
      if (count.as_constant() == 1) {
        view.place = code_.emit_place(Op::place, size(start), view.place, view.axes[d]);
        view.axes[d] = one_;
      } else {
        must(start.as_constant() == 0 && node.attrs.steps[d] == 1 &&
             count == graph_.type(node.inputs[0]).shape[d]);
      }
    }
    views_[v] = std::move(view);
  }

  // Axes of one element come and go.
  void reshape(core::Value v, const Node& node) {
    const core::Shape& from = graph_.type(node.inputs[0]).shape;
    const core::Shape& to = node.type.shape;
    const auto others = [](const core::Shape& shape) {
      core::Shape found;
      std::ranges::copy_if(shape, std::back_inserter(found),
                           [](Dim d) { return d.as_constant() != 1; });
      return found;
    };
    must(others(from) == others(to));
    if (const auto found = cells_.find(node.inputs[0]); found != cells_.end()) {
      cells_[v] = found->second;
      return;
    }
    const Elements view = elements(node.inputs[0]);
    Elements result{view.dtype, view.library, view.place};
    size_t at = 0;
    for (const Dim d : to) {
      while (d.as_constant() != 1 && from[at].as_constant() == 1) ++at;
      const bool one = d.as_constant() == 1;
      result.axes.push_back(one ? one_ : view.axes[at]);
      if (!one) ++at;
    }
    views_[v] = std::move(result);
  }

  const Elements& elements(core::Value v) const {
    const auto found = views_.find(v);
    must(found != views_.end());
    return found->second;
  }

  void elementwise(core::Value v, const Node& node) {
    const DType last = graph_.type(node.inputs.back()).dtype;
    const core::ScalarFunction function = core::scalar_function(node.op, last, node.type.dtype);
    must(function != nullptr && may_compute(node.op, last));
    int32_t of[3] = {};
    for (size_t k = 0; k < node.inputs.size(); ++k) of[k] = element(node.inputs[k]);
    if (const auto op = own_op(node.op, last)) {
      cells_[v] = code_.emit(*op, of[0], of[1]);
      return;
    }
    const int32_t d = code_.cell();
    code_.append(
        {.op = Op::element, .d = d, .a = of[0], .b = of[1], .c = of[2], .function = function});
    cells_[v] = d;
  }

  // Integers to negative powers are an exception.
  static bool may_compute(core::Op op, DType dtype) {
    return op != core::Op::power || core::is_floating(dtype);
  }

  // The machine's own instruction for what is the same there.
  static std::optional<Op> own_op(core::Op op, DType dtype) {
    if (dtype != DType::f64) return {};
    switch (op) {
      case core::Op::add:
        return Op::add_floats;
      case core::Op::sub:
        return Op::subtract_floats;
      case core::Op::mul:
        return Op::multiply_floats;
      case core::Op::lt:
        return Op::lt_floats;
      case core::Op::le:
        return Op::le_floats;
      case core::Op::gt:
        return Op::gt_floats;
      case core::Op::ge:
        return Op::ge_floats;
      default:
        return {};
    }
  }

  // A cell with the value, which is a polynomial.
  int32_t size(Dim dim) {
    must(!dim.is_overflow());
    int32_t sum = 0;
    for (const core::DimTerm& term : dim.terms()) {
      int32_t product = 0;
      for (const core::DimFactor& factor : term.factors) {
        must(factor.atom->kind == core::DimKind::symbol);
        const int32_t symbol = symbols_[static_cast<size_t>(factor.atom->symbol)];
        must(symbol != 0);
        for (int k = 0; k < factor.exponent; ++k) {
          product = product == 0 ? symbol : code_.emit(Op::multiply_integers, product, symbol);
        }
      }
      const int64_t times = term.coefficient;
      if (product == 0) {
        product = code_.integer(times);
      } else if (times != 1) {
        product = code_.emit(Op::multiply_integers, product, code_.integer(times));
      }
      sum = sum == 0 ? product : code_.emit(Op::add_integers, sum, product);
    }
    return sum == 0 ? code_.integer(0) : sum;
  }

  Code& code_;
  const core::Graph& graph_;
  const std::span<const Operand> tensors_;
  const std::span<const Number> scalars_;
  std::vector<int32_t> symbols_;  // the cells of their values; 0: not known
  const Axis one_{code_.integer(1), code_.integer(0)};
  std::map<core::Value, Operand> arguments_;
  std::map<core::Value, bool> needed_;
  std::map<core::Value, int32_t> cells_;
  std::map<core::Value, Elements> views_;
};

}  // namespace

std::optional<Moves> moves_of(DType dtype) {
  switch (core::byte_size(dtype)) {
    case 8:
      return Moves{Op::load_8, Op::store_8};
    case 4:
      return Moves{Op::load_4, Op::store_4};
    case 2:
      if (core::is_half(dtype)) return {};
      return Moves{Op::load_2, Op::store_2};
    case 1:
      return Moves{Op::load_1, Op::store_1};
    default:
      return {};
  }
}

std::optional<int32_t> append_element(Code& code, const Number& number, DType dtype) {
  const Kind kind = number.type.kind;
  if (kind == Kind::element) {
    return number.type.dtype == dtype ? std::optional(number.cell) : std::nullopt;
  }
  if (kind == Kind::floating)
    return dtype == DType::f64 ? std::optional(number.cell) : std::nullopt;
  if (kind == Kind::boolean) {
    return dtype == DType::boolean ? std::optional(number.cell) : std::nullopt;
  }
  if (dtype == DType::i64) return number.cell;
  if (dtype == DType::f64) return code.emit(Op::rounded_float, number.cell);
  return {};
}

std::optional<std::vector<int32_t>> append_graph(Code& code, const Segment& segment,
                                                 std::span<const Operand> tensors,
                                                 std::span<const Number> scalars) {
  try {
    GraphCode graph(code, segment, tensors, scalars);
    graph.append();
    std::vector<int32_t> outputs;
    for (const Segment::Output& output : segment.outputs) {
      if (output.permuted) return {};
      outputs.push_back(graph.element(output.value));
    }
    return outputs;
  } catch (const NotNumbers&) {
    return {};
  }
}

}  // namespace dvm::capture::numbers
