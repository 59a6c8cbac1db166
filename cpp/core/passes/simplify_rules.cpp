#include "core/passes/simplify_rules.h"

#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>

#include "core/ops/fp_flags.h"
#include "core/reference/reference.h"

namespace dvm::core {

namespace {

// Recursive descent over the text of one term. The rows are ours: a mistake is a bug.
class TermParser {
 public:
  explicit TermParser(std::string_view text) : rest_(text) {}

  Term parse() {
    Term term = next();
    DVM_CHECK(rest_.empty(), "a simplification goes on: " + std::string(rest_));
    return term;
  }

 private:
  bool take(std::string_view token) {
    if (!rest_.starts_with(token)) return false;
    rest_.remove_prefix(token.size());
    return true;
  }

  Term next() {
    if (take("1/p")) return {.kind = Term::Kind::inverse};
    if (take("p-1")) return {.kind = Term::Kind::predecessor};
    if (take("log2(p)")) return {.kind = Term::Kind::logarithm};
    double number = 0;
    const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), number,
                                              std::chars_format::fixed);
    if (error == std::errc()) {
      rest_.remove_prefix(static_cast<size_t>(end - rest_.data()));
      return {.kind = Term::Kind::number, .number = number};
    }
    const std::string_view name = rest_.substr(0, rest_.find_first_of("(,) "));
    rest_.remove_prefix(name.size());
    if (name == "p") return {.kind = Term::Kind::power_of_two};
    if (!take("(")) return {.kind = Term::Kind::variable, .variable = name.at(0)};
    const std::optional<Op> op = op_from_text(name);
    DVM_CHECK(op.has_value(), "a simplification of no op: " + std::string(name));
    Term term{.kind = Term::Kind::op, .op = *op};
    do {
      term.operands.push_back(next());
    } while (take(", "));
    DVM_CHECK(take(")"), "an operand list does not end: " + std::string(rest_));
    return term;
  }

  std::string_view rest_;
};

namespace admit {
bool any(DType) { return true; }
bool numeric(DType d) { return info(d).kind != Kind::boolean; }
bool floating(DType d) { return is_floating(d); }
bool integer(DType d) { return info(d).kind == Kind::integer; }
bool integral(DType d) { return !is_floating(d); }
bool boolean(DType d) { return info(d).kind == Kind::boolean; }
}  // namespace admit

Scalar first_element(const Array& array) {
  return dispatch(array.dtype, [&]<DType D>() {
    Storage<D> value;
    std::memcpy(&value, array.data.data(), sizeof value);
    return scalar_of<D>(value);
  });
}

}  // namespace

std::span<const SimplifyRule> simplify_rules() {
  static const std::vector<SimplifyRule> rules = {
#define DVM_SIMPLIFY(dtypes, from, to) \
  {from, to, admit::dtypes, TermParser(from).parse(), TermParser(to).parse()},
#include "core/passes/simplify.def"
#undef DVM_SIMPLIFY
  };
  return rules;
}

Scalar scalar_of(DType dtype, double number) {
  const Scalar scalar =
      is_floating(dtype) ? Scalar::of_float(number) : Scalar::of_int(static_cast<int64_t>(number));
  return round_to(dtype, scalar);
}

bool is_power_of_two(DType dtype, Scalar constant) {
  if (!is_floating(dtype)) {
    return constant.as_int() > 0 && std::has_single_bit(static_cast<uint64_t>(constant.as_int()));
  }
  int exponent = 0;
  if (std::fabs(std::frexp(constant.as_float(), &exponent)) != 0.5) return false;
  const double inverse = 1 / constant.as_float();
  return std::isfinite(inverse) && round_to(dtype, Scalar::of_float(inverse)).as_float() == inverse;
}

Scalar derived(Term::Kind kind, DType dtype, Scalar power) {
  switch (kind) {
    case Term::Kind::inverse:
      return round_to(dtype, Scalar::of_float(1 / power.as_float()));
    case Term::Kind::predecessor:
      return Scalar::of_int(power.as_int() - 1);
    case Term::Kind::logarithm:
      return Scalar::of_int(std::countr_zero(static_cast<uint64_t>(power.as_int())));
    default:
      break;
  }
  DVM_CHECK(false, "no number is derived so");
  return power;
}

std::optional<Scalar> fold(const Node& node, std::span<const DType> dtypes,
                           std::span<const Scalar> operands) {
  Graph graph;
  std::vector<Value> inputs;
  for (size_t i = 0; i < operands.size(); ++i) {
    inputs.push_back(graph.constant(dtypes[i], operands[i]));
  }
  graph.outputs = {node.op == Op::cast ? graph.cast(inputs[0], node.type.dtype)
                                       : graph.elementwise(node.op, inputs)};
  const WatchFpFlags watch;
  const std::vector<Array> results = evaluate(graph, {});
  if (watch.raised() != 0) return std::nullopt;
  return first_element(results[0]);
}

}  // namespace dvm::core
