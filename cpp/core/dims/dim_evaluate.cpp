// Evaluation of a Dim for given symbol values: the meaning every other component is held to.
#include <algorithm>

#include "core/dims/dim_node.h"
#include "core/error.h"

namespace dvm::core {

namespace {

using Number = std::optional<int64_t>;

Number narrow(Wide x) { return fits(x) ? Number(static_cast<int64_t>(x)) : std::nullopt; }

Number apply(DimKind kind, int64_t a, int64_t b) {
  switch (kind) {
    case DimKind::floordiv:
      return b == 0 ? std::nullopt : Number(floor_quotient(a, b));
    case DimKind::mod:
      return b == 0 ? std::nullopt : Number(floor_remainder(a, b));
    case DimKind::max:
      return std::max(a, b);
    case DimKind::min:
      return std::min(a, b);
    case DimKind::bcast:
      return a == b || b == 1 ? Number(a) : a == 1 ? Number(b) : std::nullopt;
    default:
      return std::nullopt;
  }
}

Number value_of(const DimAtom& atom, std::span<const int64_t> symbols) {
  if (atom.kind == DimKind::symbol) {
    const auto index = static_cast<size_t>(atom.symbol);
    DVM_CHECK(index < symbols.size(), "no value for symbol " + to_string(atom.self));
    return narrow(symbols[index]);
  }
  const Number lhs = evaluate(atom.lhs, symbols), rhs = evaluate(atom.rhs, symbols);
  return lhs && rhs ? apply(atom.kind, *lhs, *rhs) : std::nullopt;
}

Number value_of(const DimTerm& term, std::span<const int64_t> symbols) {
  Wide product = term.coefficient;
  for (const DimFactor& factor : term.factors) {
    const Number value = value_of(*factor.atom, symbols);
    if (!value) return std::nullopt;
    for (int i = 0; i < factor.exponent; ++i) {
      product *= *value;
      if (!fits(product)) return std::nullopt;
    }
  }
  return static_cast<int64_t>(product);
}

}  // namespace

// Only the total must fit: terms that cancel may pass the int64 range together.
std::optional<int64_t> evaluate(Dim dim, std::span<const int64_t> symbol_values) {
  if (dim.is_overflow()) return std::nullopt;
  Wide total = 0;
  for (const DimTerm& term : dim.terms()) {
    const Number value = value_of(term, symbol_values);
    if (!value) return std::nullopt;
    total += *value;
  }
  return narrow(total);
}

}  // namespace dvm::core
