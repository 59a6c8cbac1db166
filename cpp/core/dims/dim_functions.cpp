// The functions of two Dims that are no polynomials, each with the rules that need no facts. A rule
// must hold for every value of the symbols on which the original is defined.
#include <algorithm>
#include <numeric>

#include "core/dims/dim_node.h"
#include "core/error.h"

namespace dvm::core {

namespace {

bool poisoned(Dim a, Dim b) {
  DVM_CHECK(&a.context() == &b.context(), "Dims of different contexts do not mix");
  return a.is_overflow() || b.is_overflow();
}

// a == k * quotient + rest, with coefficients of rest in (-k/2, k/2] and its constant in [0, k):
// the unique form that makes floordiv(s - 1, 2) and floordiv(s + 1, 2) - 1 the same Dim.
DimQuotient split(Dim a, int64_t k) {
  std::vector<DimTerm> quotient, rest;
  for (const DimTerm& term : a.terms()) {
    int64_t r = floor_remainder(term.coefficient, k);
    if (!term.factors.empty() && r > k - r) r -= k;
    const auto q = static_cast<int64_t>((Wide(term.coefficient) - r) / k);
    if (q != 0) quotient.push_back({q, term.factors});
    if (r != 0) rest.push_back({r, term.factors});
  }
  return {a.context().sum(std::move(quotient)), a.context().sum(std::move(rest))};
}

// The greatest divisor shared by k and every coefficient except the constant term.
int64_t common_divisor(Dim a, int64_t k) {
  for (const DimTerm& term : a.terms())
    if (!term.factors.empty()) k = std::gcd(k, term.coefficient);
  return k;
}

Dim divide_coefficients(Dim a, int64_t k) {
  std::vector<DimTerm> terms;
  for (const DimTerm& term : a.terms())
    if (const int64_t q = floor_quotient(term.coefficient, k)) terms.push_back({q, term.factors});
  return a.context().sum(std::move(terms));
}

Dim floor_div_constant(Dim a, int64_t k) {
  auto [quotient, rest] = split(a, k);
  if (rest.as_constant()) return quotient;
  // floor(n / (g*m)) == floor(floor(n / g) / m) for positive g and m.
  const int64_t g = common_divisor(rest, k);
  if (g > 1) return quotient + floor_div_constant(divide_coefficients(rest, g), k / g);
  // floor(x / k) == -floor((-x + k - 1) / k): a leading minus is written outside.
  if (rest.terms()[0].coefficient < 0) return quotient - floor_div_constant(k - 1 - rest, k);
  // The identity above read backwards merges nested divisions by constants.
  const int64_t c = constant_term(rest);
  if (const DimAtom* inner = (rest - c).as_atom(); inner && inner->kind == DimKind::floordiv) {
    const std::optional<int64_t> p = inner->rhs.as_constant();
    if (p && *p > 0 && fits(Wide(*p) * k)) {
      const Dim merged = inner->lhs + inner->lhs.context().constant(c) * *p;
      if (!merged.is_overflow()) return quotient + floor_div_constant(merged, *p * k);
    }
  }
  return quotient + a.context().atom(DimKind::floordiv, rest, a.context().constant(k));
}

Dim mod_constant(Dim a, int64_t k) {
  DimContext& context = a.context();
  const Dim rest = split(a, k).remainder;
  if (rest.as_constant()) return rest;
  const int64_t g = common_divisor(rest, k);
  if (g > 1) {
    const int64_t c = floor_remainder(constant_term(rest), g);
    return mod_constant(divide_coefficients(rest, g), k / g) * g + c;
  }
  // c*mod(x, p) differs from c*x by a multiple of c*p, which vanishes where k divides it.
  for (const DimTerm& term : rest.terms()) {
    if (term.factors.size() != 1 || term.factors[0].exponent != 1) continue;
    const DimAtom& inner = *term.factors[0].atom;
    if (inner.kind != DimKind::mod) continue;
    const std::optional<int64_t> p = inner.rhs.as_constant();
    if (!p || Wide(term.coefficient) * *p % k != 0) continue;
    const Dim unwrapped = rest + (inner.lhs - inner.self) * term.coefficient;
    if (!unwrapped.is_overflow()) return mod_constant(unwrapped, k);
  }
  return context.atom(DimKind::mod, rest, context.constant(k));
}

// max, min and bcast are associative, commutative and idempotent: their canonical form is a chain
// over the sorted set of operands.
std::vector<Dim> operands(DimKind kind, Dim a, Dim b) {
  std::vector<Dim> leaves;
  for (Dim side : {a, b}) {
    const DimAtom* atom = side.as_atom();
    for (; atom && atom->kind == kind; atom = side.as_atom()) {
      leaves.push_back(atom->lhs);
      side = atom->rhs;
    }
    leaves.push_back(side);
  }
  std::sort(leaves.begin(), leaves.end(), [](Dim x, Dim y) { return compare(x, y) < 0; });
  leaves.erase(std::unique(leaves.begin(), leaves.end()), leaves.end());
  return leaves;
}

Dim chain(DimKind kind, std::span<const Dim> leaves) {
  Dim result = leaves.back();
  for (size_t i = leaves.size() - 1; i-- > 0 && !result.is_overflow();)
    result = result.context().atom(kind, leaves[i], result);
  return result;
}

// sign 1 keeps the greater, -1 the smaller operand wherever their difference is constant.
Dim extremum(DimKind kind, Dim a, Dim b, int sign) {
  if (poisoned(a, b)) return a.context().overflow();
  std::vector<Dim> kept;
  for (const Dim leaf : operands(kind, a, b)) {
    bool dominated = false;
    std::erase_if(kept, [&](Dim other) {
      const std::optional<int64_t> difference = (leaf - other).as_constant();
      dominated |= difference && *difference * sign < 0;
      return difference && *difference * sign > 0;
    });
    if (!dominated) kept.push_back(leaf);
  }
  return chain(kind, kept);
}

}  // namespace

Dim floor_div(Dim a, Dim b) {
  DimContext& context = a.context();
  if (poisoned(a, b) || b.as_constant() == 0) return context.overflow();
  const std::optional<int64_t> k = b.as_constant();
  if (!k) return context.atom(DimKind::floordiv, a, b);
  return *k < 0 ? floor_div_constant(-a, -*k) : floor_div_constant(a, *k);
}

Dim mod(Dim a, Dim b) {
  DimContext& context = a.context();
  if (poisoned(a, b) || b.as_constant() == 0) return context.overflow();
  const std::optional<int64_t> k = b.as_constant();
  if (!k) return context.atom(DimKind::mod, a, b);
  return *k < 0 ? -mod_constant(-a, -*k) : mod_constant(a, *k);
}

Dim ceil_div(Dim a, Dim b) { return -floor_div(-a, b); }
Dim max(Dim a, Dim b) { return extremum(DimKind::max, a, b, 1); }
Dim min(Dim a, Dim b) { return extremum(DimKind::min, a, b, -1); }

Dim bcast(Dim a, Dim b) {
  if (poisoned(a, b)) return a.context().overflow();
  std::vector<Dim> leaves = operands(DimKind::bcast, a, b);
  std::optional<int64_t> size;
  for (const Dim leaf : leaves) {
    const std::optional<int64_t> c = leaf.as_constant();
    if (!c || *c == 1) continue;
    if (size)
      fail(ErrorCode::shape_mismatch, "sizes " + std::to_string(*size) + " and " +
                                          std::to_string(*c) + " do not broadcast together");
    size = c;
  }
  if (size) return a.context().constant(*size);
  if (leaves.size() > 1) std::erase(leaves, a.context().constant(1));
  return chain(DimKind::bcast, leaves);
}

Dim apply(DimKind kind, Dim lhs, Dim rhs) {
  switch (kind) {
    case DimKind::floordiv:
      return floor_div(lhs, rhs);
    case DimKind::mod:
      return mod(lhs, rhs);
    case DimKind::max:
      return max(lhs, rhs);
    case DimKind::min:
      return min(lhs, rhs);
    case DimKind::bcast:
      return bcast(lhs, rhs);
    default:
      break;
  }
  DVM_CHECK(false, "this kind of Dim is not a function of two");
  return lhs;
}

}  // namespace dvm::core
