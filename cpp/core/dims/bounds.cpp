// The arithmetic of intervals and residue classes, and what the facts add to it. Every answer is
// an over-approximation: running out of depth or budget widens it to "anything".
#include "core/dims/bounds.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace dvm::core {

namespace {

// Infinity as a Wide; finite bounds stay below 2^63, so their products never reach the type's end.
constexpr Wide kInf = Wide(1) << 126;
constexpr int64_t kLimit = Interval::kPlusInf - 1;

Wide lower(Interval a) { return a.lo == Interval::kMinusInf ? -kInf : Wide(a.lo); }
Wide upper(Interval a) { return a.hi == Interval::kPlusInf ? kInf : Wide(a.hi); }

// Rounds outwards: a lower bound too great to represent becomes the greatest that is.
Interval outward(Wide lo, Wide hi) {
  return {lo < -kLimit ? Interval::kMinusInf : static_cast<int64_t>(std::min<Wide>(lo, kLimit)),
          hi > kLimit ? Interval::kPlusInf : static_cast<int64_t>(std::max<Wide>(hi, -kLimit))};
}

Wide times(Wide a, Wide b) {
  if (a == 0 || b == 0) return 0;
  const bool infinite = a == kInf || a == -kInf || b == kInf || b == -kInf;
  return infinite ? ((a < 0) == (b < 0) ? kInf : -kInf) : a * b;
}

Interval add(Interval a, Interval b) {
  const bool no_lo = lower(a) == -kInf || lower(b) == -kInf;
  const bool no_hi = upper(a) == kInf || upper(b) == kInf;
  return outward(no_lo ? -kInf : lower(a) + lower(b), no_hi ? kInf : upper(a) + upper(b));
}

Interval multiply(Interval a, Interval b) {
  const auto [lo, hi] = std::minmax({times(lower(a), lower(b)), times(lower(a), upper(b)),
                                     times(upper(a), lower(b)), times(upper(a), upper(b))});
  return outward(lo, hi);
}

Interval power(Interval base, int exponent) {
  Interval result = base;
  for (int i = 1; i < exponent; ++i) result = multiply(result, base);
  if (exponent % 2 == 0) result.lo = std::max<int64_t>(result.lo, 0);
  return result;
}

Interval join(Interval a, Interval b) { return {std::min(a.lo, b.lo), std::max(a.hi, b.hi)}; }

// An infinite b is large enough to give the right 0 or -1.
int64_t quotient(int64_t a, int64_t b) {
  const bool infinite = a == Interval::kMinusInf || a == Interval::kPlusInf;
  return infinite ? a : floor_quotient(a, b);
}

Residue residue(Wide stride, Wide rem) {
  if (stride < 0) stride = -stride;
  if (stride == 0) return fits(rem) ? Residue{0, static_cast<int64_t>(rem)} : Residue{};
  if (!fits(stride)) return {};
  const Wide r = rem % stride;
  return {static_cast<int64_t>(stride), static_cast<int64_t>(r < 0 ? r + stride : r)};
}

Wide gcd(Wide a, Wide b) {
  while (b != 0) a = std::exchange(b, a % b);
  return a < 0 ? -a : a;
}

Residue add(Residue a, Residue b) {
  return residue(std::gcd(a.stride, b.stride), Wide(a.rem) + b.rem);
}

Residue multiply(Residue a, Residue b) {
  const Wide cross = gcd(Wide(a.stride) * b.rem, Wide(b.stride) * a.rem);
  return residue(gcd(cross, Wide(a.stride) * b.stride), Wide(a.rem) * b.rem);
}

Residue join(Residue a, Residue b) {
  return residue(gcd(std::gcd(a.stride, b.stride), Wide(a.rem) - b.rem), a.rem);
}

// Both hold (Chinese remainder). Where they exclude each other, or the search would be long, the
// sharper of the two is still a sound answer.
Residue meet(Residue a, Residue b) {
  if (a.stride != 0 && (b.stride == 0 || b.stride > a.stride)) std::swap(a, b);
  if (a.stride == 0 || b.stride == 1) return a;
  constexpr int64_t kSearch = 4096;
  const int64_t g = std::gcd(a.stride, b.stride);
  for (int64_t i = 0; i < std::min(b.stride / g, kSearch); ++i) {
    const Wide candidate = a.rem + Wide(i) * a.stride;
    if ((candidate - b.rem) % b.stride == 0) {
      const Wide stride = Wide(a.stride / g) * b.stride;
      return fits(stride) ? residue(stride, candidate) : a;
    }
  }
  return a;
}

// Moves the bounds inwards to the nearest members of the class.
Interval tighten(Interval a, Residue r) {
  if (r.stride == 0) return meet(a, {r.rem, r.rem});
  if (r.stride == 1 || a.empty()) return a;
  Wide lo = lower(a), hi = upper(a);
  if (lo != -kInf) lo += floor_remainder(static_cast<int64_t>((r.rem - lo) % r.stride), r.stride);
  if (hi != kInf) hi -= floor_remainder(static_cast<int64_t>((hi - r.rem) % r.stride), r.stride);
  return outward(lo, hi);
}

// The multiple c such that dim - c*fact no longer has this term of fact; none if there is none.
std::optional<int64_t> multiple(Dim dim, const DimTerm& term) {
  for (const DimTerm& own : dim.terms())
    if (own.factors == term.factors && own.coefficient % term.coefficient == 0)
      return own.coefficient / term.coefficient;
  return std::nullopt;
}

}  // namespace

Interval meet(Interval a, Interval b) { return {std::max(a.lo, b.lo), std::min(a.hi, b.hi)}; }
Interval scaled(Interval a, int64_t factor) { return multiply(a, {factor, factor}); }
Interval shift(Interval a, int64_t offset) { return add(a, {offset, offset}); }

Interval Bounds::of_atom(const DimAtom& atom, int depth) {
  Interval result;
  if (atom.kind == DimKind::symbol) {
    const Symbol& symbol = atom.self.context().symbol_info(atom.symbol);
    result = {symbol.lo, symbol.hi};
  } else {
    const Interval a = interval(atom.lhs, depth - 1), b = interval(atom.rhs, depth - 1);
    switch (atom.kind) {
      case DimKind::floordiv:
        // Of a divisor that may be 0 or negative nothing is concluded.
        if (b.lo < 1) break;
        result.lo = quotient(a.lo, a.lo >= 0 ? b.hi : b.lo);
        result.hi = quotient(a.hi, a.hi >= 0 ? b.lo : b.hi);
        break;
      case DimKind::mod:
        if (b.lo < 1) break;
        result = {0, b.hi == Interval::kPlusInf ? b.hi : b.hi - 1};
        if (a.lo >= 0) result.hi = std::min(result.hi, a.hi);
        break;
      case DimKind::max:
        result = {std::max(a.lo, b.lo), std::max(a.hi, b.hi)};
        break;
      case DimKind::min:
        result = {std::min(a.lo, b.lo), std::min(a.hi, b.hi)};
        break;
      default:
        result = join(a, b);
        break;
    }
  }
  for (const Facts::Range& fact : facts_.ranges_)
    if (fact.dim == atom.self) result = meet(result, fact.interval);
  if (result.lo == 0 && std::ranges::count(facts_.nonzeros_, atom.self)) result.lo = 1;
  return result;
}

Interval Bounds::of_term(const DimTerm& term, int depth) {
  Interval product{term.coefficient, term.coefficient};
  for (const DimFactor& factor : term.factors)
    product = multiply(product, power(of_atom(*factor.atom, depth), factor.exponent));
  return product;
}

Interval Bounds::through(Dim dim, Dim fact, Interval known, int depth) {
  Interval result;
  for (const DimTerm& term : fact.terms()) {
    if (term.factors.empty()) continue;
    if (const auto c = multiple(dim, term)) {
      const Dim rest = dim - fact * *c;
      if (!rest.is_overflow())
        result = meet(result, add(scaled(known, *c), interval(rest, depth - 1)));
    }
  }
  return result;
}

Interval Bounds::by_elimination(Dim dim, int depth) {
  Interval result;
  for (const Facts::Range& fact : facts_.ranges_)
    if (!fact.dim.as_atom()) result = meet(result, through(dim, fact.dim, fact.interval, depth));
  // What the functions themselves say about their operands.
  constexpr Interval kNonNegative{0, Interval::kPlusInf}, kNonPositive{Interval::kMinusInf, 0};
  for (const DimTerm& term : dim.terms())
    for (const DimFactor& factor : term.factors) {
      const auto& [kind, symbol, lhs, rhs, self] = *factor.atom;
      if (kind == DimKind::max || kind == DimKind::min) {
        const Interval side = kind == DimKind::max ? kNonNegative : kNonPositive;
        result = meet(result, through(dim, self - lhs, side, depth));
        result = meet(result, through(dim, self - rhs, side, depth));
      } else if (kind == DimKind::floordiv && interval(rhs, depth - 1).lo >= 1) {
        const Dim rest = lhs - rhs * self;
        if (rest.is_overflow() || (rest - rhs).is_overflow()) continue;
        result = meet(result, through(dim, rest, kNonNegative, depth));
        result = meet(result, through(dim, rest - rhs, {Interval::kMinusInf, -1}, depth));
      }
    }
  return result;
}

// p == x*q + rest: the interval of a*b - a is lost term by term but not as a*(b - 1).
Interval Bounds::by_grouping(Dim dim, int depth) {
  Interval result;
  std::vector<const DimAtom*> tried;
  for (const DimTerm& term : dim.terms()) {
    if (term.factors.size() == 1 && term.factors[0].exponent == 1) break;  // degree falls
    for (const DimFactor& factor : term.factors) {
      if (std::ranges::count(tried, factor.atom)) continue;
      tried.push_back(factor.atom);
      const auto [q, rest] = divide(dim, factor.atom->self);
      if (q.terms().size() < 2) continue;
      const Interval product = multiply(of_atom(*factor.atom, depth - 1), interval(q, depth - 1));
      result = meet(result, add(product, interval(rest, depth - 1)));
    }
  }
  return result;
}

// max, min and bcast are always one of their operands.
Interval Bounds::by_cases(Dim dim, int depth) {
  Interval result;
  for (const DimTerm& term : dim.terms())
    for (const DimFactor& factor : term.factors) {
      const DimAtom* choice = factor.atom;
      if (choice->kind != DimKind::max && choice->kind != DimKind::min &&
          choice->kind != DimKind::bcast)
        continue;
      const auto with = [&](Dim operand) {
        return interval(
            map_atoms(dim, [&](const DimAtom& a) { return &a == choice ? operand : a.self; }),
            depth - 1);
      };
      result = meet(result, join(with(choice->lhs), with(choice->rhs)));
    }
  return result;
}

Interval Bounds::interval(Dim dim, int depth) {
  if (const auto value = dim.as_constant()) return {*value, *value};
  if (dim.is_overflow() || --budget_ < 0 || depth < -kDepth) return {};
  Interval result{0, 0};
  for (const DimTerm& term : dim.terms()) result = add(result, of_term(term, depth));
  if (depth > 0) {
    result = meet(result, by_elimination(dim, depth));
    result = meet(result, by_grouping(dim, depth));
    result = meet(result, by_cases(dim, depth));
  }
  result = tighten(result, residue(dim, depth));
  if (result.lo == 0 && std::ranges::count(facts_.nonzeros_, primitive(dim).dim)) result.lo = 1;
  return result;
}

Residue Bounds::residue_of(const DimAtom& atom, int depth) {
  Residue result;
  const auto known = [&](Dim dim) { return depth > -kDepth ? residue(dim, depth - 1) : Residue{}; };
  const std::optional<int64_t> k =
      atom.kind == DimKind::symbol ? std::nullopt : atom.rhs.as_constant();
  switch (atom.kind) {
    case DimKind::symbol:
      break;
    case DimKind::floordiv:
      if (!k || *k <= 0) break;
      if (const Residue a = known(atom.lhs); a.stride % *k == 0)
        result = core::residue(a.stride / *k, floor_quotient(a.rem, *k));
      break;
    case DimKind::mod:
      if (!k || *k <= 0) break;
      if (const Residue a = known(atom.lhs); a.stride % *k == 0)
        result = {0, floor_remainder(a.rem, *k)};
      else
        result = core::residue(std::gcd(a.stride, *k), a.rem);
      break;
    default:
      result = join(known(atom.lhs), known(atom.rhs));
      break;
  }
  for (const Facts::Class& fact : facts_.classes_)
    if (fact.dim == atom.self) result = meet(result, fact.residue);
  return result;
}

Residue Bounds::residue(Dim dim, int depth) {
  if (dim.is_overflow() || --budget_ < 0) return {};
  Residue result{0, 0};
  for (const DimTerm& term : dim.terms()) {
    Residue product{0, term.coefficient};
    for (const DimFactor& factor : term.factors) {
      const Residue base = residue_of(*factor.atom, depth);
      for (int i = 0; i < factor.exponent; ++i) product = multiply(product, base);
    }
    result = add(result, product);
  }
  if (depth <= 0) return result;
  for (const Facts::Class& fact : facts_.classes_) {
    if (fact.dim.as_atom()) continue;
    if (const auto c = multiple(dim, fact.dim.terms()[0])) {
      const Dim rest = dim - fact.dim * *c;
      if (!rest.is_overflow())
        result =
            meet(result, add(multiply(fact.residue, Residue{0, *c}), residue(rest, depth - 1)));
    }
  }
  return result;
}

bool Bounds::nonzero(Dim dim, int depth) {
  if (const auto value = dim.as_constant()) return *value != 0;
  if (dim.is_overflow()) return false;
  if (residue(dim, depth).rem != 0 || !interval(dim, depth).contains(0)) return true;
  if (std::ranges::count(facts_.nonzeros_, primitive(dim).dim)) return true;
  if (dim.terms().size() != 1) return false;
  return std::ranges::all_of(dim.terms()[0].factors, [&](const DimFactor& f) {
    return dim == f.atom->self ? false : nonzero(f.atom->self, depth);
  });
}

Primitive primitive(Dim dim) {
  int64_t factor = 0;
  for (const DimTerm& term : dim.terms()) factor = std::gcd(factor, term.coefficient);
  if (factor == 0) return {dim, 1};
  if (dim.terms()[0].coefficient < 0) factor = -factor;
  std::vector<DimTerm> terms(dim.terms().begin(), dim.terms().end());
  for (DimTerm& term : terms) term.coefficient /= factor;
  return {dim.context().sum(std::move(terms)), factor};
}

Dim cancel_nonzero(Dim dim, Bounds& bounds) {
  if (dim.terms().empty()) return dim;
  const std::vector<DimFactor> candidates = dim.terms()[0].factors;
  for (const DimFactor& candidate : candidates) {
    const DimFactor one{candidate.atom, 1};
    for (int i = 0; i < candidate.exponent; ++i) {
      std::vector<DimTerm> divided;
      for (const DimTerm& term : dim.terms())
        if (auto left = divide_product(term.factors, {&one, 1}))
          divided.push_back({term.coefficient, std::move(*left)});
      if (divided.size() != dim.terms().size() || !bounds.nonzero(candidate.atom->self, 1)) break;
      dim = dim.context().sum(std::move(divided));
    }
  }
  return primitive(dim).dim;
}

}  // namespace dvm::core
