// prove(): normalise -> syntactic -> residues -> intervals and elimination, cheapest first.
#include "core/dims/bounds.h"

namespace dvm::core {

namespace {

Verdict negated(Verdict v) {
  return v == Verdict::unknown ? v : v == Verdict::yes ? Verdict::no : Verdict::yes;
}

Verdict decided(bool yes, bool no) {
  return yes ? Verdict::yes : no ? Verdict::no : Verdict::unknown;
}

// mod(x, k) == x - k*floordiv(x, k) for every k but 0: lets the two be compared.
Dim without_mods(Dim dim) {
  return map_atoms(dim, [](const DimAtom& atom) {
    if (atom.kind != DimKind::mod) return atom.self;
    return atom.lhs - atom.rhs * floor_div(atom.lhs, atom.rhs);
  });
}

// d cmp 0 for cmp in {eq, lt, le}. Depths are tried in turn, each with its own budget, so that a
// shallow answer never costs a deep search.
Verdict decide(const Facts& facts, DimCmp cmp, Dim d) {
  for (int depth = 0; depth <= 3; ++depth) {
    Bounds bounds(facts);
    if (cmp == DimCmp::eq) {
      d = cancel_nonzero(d, bounds);
      if (d.terms().empty()) return Verdict::yes;
      if (bounds.nonzero(d, depth)) return Verdict::no;
    }
    const Interval range = bounds.interval(d, depth);
    if (range.empty()) return Verdict::unknown;  // the facts exclude each other
    Verdict verdict = Verdict::unknown;
    if (cmp == DimCmp::eq) verdict = decided(range == Interval{0, 0}, !range.contains(0));
    if (cmp == DimCmp::lt) verdict = decided(range.hi < 0, range.lo >= 0);
    if (cmp == DimCmp::le) verdict = decided(range.hi <= 0, range.lo > 0);
    if (verdict != Verdict::unknown) return verdict;
  }
  return Verdict::unknown;
}

}  // namespace

Verdict prove(const Facts& facts, DimCmp cmp, Dim a, Dim b) {
  if (cmp == DimCmp::ne) return negated(prove(facts, DimCmp::eq, a, b));
  if (cmp == DimCmp::gt) return prove(facts, DimCmp::lt, b, a);
  if (cmp == DimCmp::ge) return prove(facts, DimCmp::le, b, a);
  if (a.is_overflow() || b.is_overflow() || facts.contradictory()) return Verdict::unknown;
  const Dim difference = facts.normalize(a - b);
  if (difference.is_overflow()) return Verdict::unknown;
  const Verdict verdict = decide(facts, cmp, difference);
  if (verdict != Verdict::unknown) return verdict;
  const Dim expanded = facts.normalize(without_mods(difference));
  if (expanded.is_overflow() || expanded == difference) return Verdict::unknown;
  return decide(facts, cmp, expanded);
}

}  // namespace dvm::core
