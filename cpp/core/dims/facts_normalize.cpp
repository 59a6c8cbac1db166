// Rewriting a Dim by the facts: solved atoms are replaced, functions simplify once bounds,
// residues and nonzero divisors are known, and terms reduce by the unsolved equations.
#include <algorithm>

#include "core/dims/bounds.h"

namespace dvm::core {

namespace {

// Rewriting shrinks Dims in all but contrived systems of equations; these end the contrived ones.
constexpr int kMaxPasses = 8, kMaxReductions = 64;

}  // namespace

Dim Facts::normalize(Dim dim) const {
  if (dim.is_overflow() || dim.as_constant()) return dim;
  if (const auto it = normal_forms_.find(dim.node()); it != normal_forms_.end()) return it->second;
  Dim current = dim;
  for (int pass = 0; pass < kMaxPasses; ++pass) {
    const Dim next = reduce(map_atoms(current, [&](const DimAtom& a) { return rewrite(a); }));
    if (next == current) break;
    current = next;
  }
  // A poisoned result says only that the simpler form is out of range.
  if (current.is_overflow()) current = dim;
  normal_forms_.emplace(current.node(), current);
  return normal_forms_.insert_or_assign(dim.node(), current).first->second;
}

Dim Facts::rewrite(const DimAtom& atom) const {
  const auto defined = [&](const DimAtom* a) {
    const auto it = std::ranges::find(definitions_, a, &std::pair<const DimAtom*, Dim>::first);
    return it == definitions_.end() ? a->self : it->second;
  };
  if (atom.kind == DimKind::symbol) return defined(&atom);
  const Dim lhs = normalize(atom.lhs), rhs = normalize(atom.rhs);
  // Sizes that contradict the facts do not broadcast: leave the failure to run time.
  const auto fixed = [](Dim d) { return d.as_constant() && d.as_constant() != 1; };
  if (atom.kind == DimKind::bcast && fixed(lhs) && fixed(rhs) && lhs != rhs) return atom.self;
  const Dim result = apply(atom.kind, lhs, rhs);
  if (result.is_overflow()) return atom.self;
  const DimAtom* same = result.as_atom();
  if (!same || same->kind != atom.kind) return result;
  const Dim simple = simplify(*same);
  const DimAtom* lone = simple.as_atom();
  return lone ? defined(lone) : simple;
}

Dim Facts::simplify(const DimAtom& atom) const {
  const Dim lhs = atom.lhs, rhs = atom.rhs;
  Bounds bounds(*this);
  switch (atom.kind) {
    case DimKind::max:
    case DimKind::min: {
      const Interval difference = bounds.interval(lhs - rhs, 1);
      const bool is_max = atom.kind == DimKind::max;
      if (difference.lo >= 0) return is_max ? lhs : rhs;
      if (difference.hi <= 0) return is_max ? rhs : lhs;
      return atom.self;
    }
    case DimKind::bcast:
      if (bounds.interval(lhs, 1).lo >= 2) return lhs;
      if (bounds.interval(rhs, 1).lo >= 2) return rhs;
      return atom.self;
    case DimKind::floordiv:
    case DimKind::mod:
      break;
    default:
      return atom.self;
  }

  const bool is_mod = atom.kind == DimKind::mod;
  if (const auto k = rhs.as_constant()) {
    // With lhs == rem (mod k), rounding down drops exactly rem.
    const Residue r = bounds.residue(lhs, 1);
    if (r.stride % *k == 0) {
      const int64_t rem = floor_remainder(r.rem, *k);
      return is_mod ? lhs.context().constant(rem) : floor_div(lhs - rem, rhs);
    }
  }
  const Interval divisor = bounds.interval(rhs, 1), dividend = bounds.interval(lhs, 1);
  if (divisor.lo >= 1 && dividend.lo >= 0 && bounds.interval(rhs - lhs, 1).lo >= 1)
    return is_mod ? lhs : lhs.context().constant(0);
  if (divisor.lo >= 1 && divisor.lo == divisor.hi && dividend.lo > Interval::kMinusInf) {
    const int64_t q = floor_quotient(dividend.lo, divisor.lo);
    if (q == floor_quotient(dividend.hi, divisor.lo))
      return is_mod ? lhs - rhs * q : lhs.context().constant(q);
  }
  const auto [quotient, rest] = divide(lhs, rhs);
  if ((quotient.terms().empty() && !rest.terms().empty()) || !bounds.nonzero(rhs)) return atom.self;
  if (rest.terms().empty()) return is_mod ? rest : quotient;
  return is_mod ? mod(rest, rhs) : quotient + floor_div(rest, rhs);
}

Dim Facts::reduce(Dim dim, const Rule* except) const {
  const auto step = [&]() -> std::optional<Dim> {
    for (const DimTerm& term : dim.terms())
      for (const Rule& rule : rules_) {
        if (&rule == except || term.coefficient % rule.lead.coefficient != 0) continue;
        auto left = divide_product(term.factors, rule.lead.factors);
        if (!left) continue;
        DimContext& dims = dim.context();
        const Dim factor = dims.sum({{term.coefficient / rule.lead.coefficient, std::move(*left)}});
        return dim - dims.sum({term}) + factor * rule.rest;
      }
    return std::nullopt;
  };
  for (int i = 0; i < kMaxReductions; ++i) {
    const std::optional<Dim> next = step();
    if (!next || next->is_overflow()) break;
    dim = *next;
  }
  return dim;
}

}  // namespace dvm::core
