// Recording facts. Equations are solved as they come: a lone symbol with coefficient +-1 is
// eliminated (Gaussian elimination with occurs check), any other zero polynomial becomes a rule
// that rewrites its leading product (one step of Buchberger's reduction, no critical pairs).
#include "core/dims/facts.h"

#include <algorithm>
#include <numeric>
#include <optional>

#include "core/dims/bounds.h"
#include "core/error.h"

namespace dvm::core {

namespace {

constexpr int kMaxSettleSteps = 256;
constexpr size_t kMaxRules = 64;

bool occurs_in(const DimAtom& atom, Dim dim) {
  for (const DimTerm& term : dim.terms())
    for (const DimFactor& f : term.factors)
      if (f.atom == &atom || (f.atom->kind != DimKind::symbol &&
                              (occurs_in(atom, f.atom->lhs) || occurs_in(atom, f.atom->rhs))))
        return true;
  return false;
}

// zero == 0 solved for an atom that is lone, has coefficient +-1 and occurs nowhere else in it.
// Symbols come before functions and later symbols before earlier ones, so that sizes known at the
// start stand for those computed on the way.
std::optional<std::pair<const DimAtom*, Dim>> solve(Dim zero) {
  std::optional<std::pair<const DimAtom*, Dim>> best;
  for (const DimTerm& term : zero.terms()) {
    if (std::abs(term.coefficient) != 1 || term.factors.size() != 1) continue;
    if (term.factors[0].exponent != 1) continue;
    const DimAtom* atom = term.factors[0].atom;
    const Dim rest = zero - zero.context().sum({term});
    if (occurs_in(*atom, rest)) continue;
    const DimAtom* other = best ? best->first : nullptr;
    if (!other || (atom->kind == DimKind::symbol &&
                   (other->kind != DimKind::symbol || atom->symbol > other->symbol)))
      best = {atom, rest * -term.coefficient};
  }
  return best;
}

int depth(const DimTerm& term) {
  int deepest = 0;
  for (const DimFactor& f : term.factors) deepest = std::max(deepest, f.atom->self.node()->depth);
  return deepest;
}

}  // namespace

Facts::Facts(std::shared_ptr<DimContext> context) : context_(std::move(context)) {}

Interval Facts::interval(Dim dim) const { return Bounds(*this).interval(normalize(dim)); }
Residue Facts::residue(Dim dim) const { return Bounds(*this).residue(normalize(dim)); }
bool Facts::nonzero(Dim dim) const { return Bounds(*this).nonzero(normalize(dim)); }

void Facts::add_equal(Dim a, Dim b) {
  // Refuted by the facts so far, though the equation alone would look harmless.
  if (prove(*this, DimCmp::eq, a, b) == Verdict::no) contradictory_ = true;
  pending_zeros_.push_back(a - b);
  settle();
}

void Facts::add_product_equal(std::span<const Dim> a, std::span<const Dim> b) {
  const auto product = [&](std::span<const Dim> factors) {
    Dim result = context_->constant(1);
    for (const Dim factor : factors) result = result * factor;
    return result;
  };
  add_equal(product(a), product(b));
}

void Facts::add_range(Dim dim, int64_t lo, int64_t hi) {
  add_interval(dim, {lo, hi});
  settle();
}

void Facts::add_divisible(Dim dim, int64_t k, int64_t remainder) {
  DVM_CHECK(k >= 1, "divisibility by " + std::to_string(k));
  add_class(dim, {k, floor_remainder(remainder, k)});
  settle();
}

void Facts::add_nonzero(Dim dim) {
  note_nonzero(dim);
  restate();
  settle();
}

void Facts::add_interval(Dim dim, Interval interval) {
  const Dim normal = normalize(dim);
  if (normal.is_overflow()) return;
  const Interval known = Bounds(*this).interval(normal);
  if (meet(known, interval).empty()) contradictory_ = true;
  if (meet(known, interval) == known) return;

  // normal == factor*q + c, hence q in (interval - c) / factor, rounded inwards.
  const int64_t c = constant_term(normal);
  const auto [q, factor] = primitive(normal - c);
  if (q.is_overflow() || q.terms().empty()) return;
  Interval bound = shift(interval, -c);
  if (factor < 0) bound = scaled(bound, -1);
  const int64_t k = std::abs(factor);
  if (bound.lo != Interval::kMinusInf) bound.lo = -floor_quotient(-bound.lo, k);
  if (bound.hi != Interval::kPlusInf) bound.hi = floor_quotient(bound.hi, k);

  auto it = std::ranges::find(ranges_, q, &Range::dim);
  if (it == ranges_.end()) it = ranges_.insert(it, Range{q, {}});
  it->interval = bound = meet(it->interval, bound);
  normal_forms_.clear();
  if (bound.lo == bound.hi) pending_zeros_.push_back(q - bound.lo);
  if (bound.lo > 0 || bound.hi < 0) note_nonzero(q);
}

void Facts::add_class(Dim dim, Residue residue) {
  const Dim normal = normalize(dim);
  if (normal.is_overflow() || residue.stride == 1) return;
  const Residue known = Bounds(*this).residue(normal);
  if (const int64_t g = std::gcd(known.stride, residue.stride); g != 0)
    if ((Wide(known.rem) - residue.rem) % g != 0) contradictory_ = true;
  if (known.stride % residue.stride == 0) return;

  // normal == factor*q + c, hence factor*q == rem - c; what factor shares with the stride divides
  // both.
  const int64_t c = constant_term(normal);
  const auto [q, factor] = primitive(normal - c);
  const int64_t g = std::gcd(factor, residue.stride), stride = residue.stride / g;
  const int64_t rem =
      floor_remainder(residue.rem - floor_remainder(c, residue.stride), residue.stride);
  if (rem % g != 0) contradictory_ = true;
  if (stride == 1 || contradictory_) return;
  const Dim d = q * (std::abs(factor) / g);
  const int64_t r = floor_remainder((factor < 0 ? -rem : rem) / g, stride);
  classes_.push_back({d, {stride, r}});
  normal_forms_.clear();
  // Exact division multiplies back: stride * floordiv(d, stride) == d - r.
  pending_zeros_.push_back(floor_div(d, context_->constant(stride)) * stride - d + r);
}

void Facts::note_nonzero(Dim dim) {
  const Dim normal = normalize(dim);
  if (normal.is_overflow()) return;
  if (normal.as_constant()) {
    if (normal.as_constant() == 0) contradictory_ = true;
    return;
  }
  const auto note = [&](Dim d) {
    if (std::ranges::count(nonzeros_, d) == 0) nonzeros_.push_back(d);
  };
  note(primitive(normal).dim);
  if (normal.terms().size() == 1)
    for (const DimFactor& factor : normal.terms()[0].factors) note(factor.atom->self);
  normal_forms_.clear();
}

void Facts::settle() {
  for (int step = 0; step < kMaxSettleSteps && !pending_zeros_.empty(); ++step) {
    const Dim zero = pending_zeros_.back();
    pending_zeros_.pop_back();
    absorb(zero);
  }
  pending_zeros_.clear();  // dropping an equation loses completeness, never soundness
}

void Facts::absorb(Dim zero) {
  Bounds bounds(*this);
  zero = cancel_nonzero(normalize(zero), bounds);
  if (zero.is_overflow() || zero.terms().empty()) return;
  if (bounds.nonzero(zero)) {
    contradictory_ = true;
    return;
  }
  if (const auto solution = solve(zero)) {
    const auto& [atom, value] = *solution;
    if (value.is_overflow()) return;
    const Interval range = bounds.interval(atom->self, 0);
    definitions_.push_back(*solution);
    normal_forms_.clear();
    restate();
    add_interval(value, range);
    keep_meaning(*atom, value);
  } else if (rules_.size() < kMaxRules) {
    // The lead is not nested in any atom of the rest, else the rule would apply to its own result.
    const auto terms = zero.terms();
    const DimTerm lead = *std::ranges::max_element(terms, {}, depth);
    const Dim rest = context_->sum({lead}) - zero;
    if (lead.factors.empty() || rest.is_overflow()) return;
    rules_.push_back({lead, rest});
    normal_forms_.clear();
    restate();
  }
}

// What the function says about its operands, which a definition in its place would hide.
void Facts::keep_meaning(const DimAtom& atom, Dim value) {
  const auto k = atom.kind == DimKind::symbol ? std::nullopt : atom.rhs.as_constant();
  if (atom.kind == DimKind::floordiv && k && *k > 0) {
    add_interval(atom.lhs - value * *k, {0, *k - 1});
  } else if (atom.kind == DimKind::mod && k && *k > 0) {
    if (const auto rem = value.as_constant()) add_class(atom.lhs, {*k, *rem});
  } else if (atom.kind == DimKind::max || atom.kind == DimKind::min) {
    const int64_t sign = atom.kind == DimKind::max ? 1 : -1;
    for (const Dim side : {atom.lhs, atom.rhs})
      add_interval((value - side) * sign, {0, Interval::kPlusInf});
  }
}

// Brings every fact into the normal form of the present definitions and rules. A fact that changed
// is recorded anew, for it may now be solvable, contradictory or implied.
void Facts::restate() {
  for (size_t i = 0; i < definitions_.size();) {
    auto& [atom, value] = definitions_[i];
    value = normalize(value);
    const bool moved = atom->kind != DimKind::symbol &&
                       (normalize(atom->lhs) != atom->lhs || normalize(atom->rhs) != atom->rhs);
    if (!moved) {
      ++i;
      continue;
    }
    pending_zeros_.push_back(atom->self - value);
    definitions_.erase(definitions_.begin() + static_cast<ptrdiff_t>(i));
    normal_forms_.clear();
  }
  for (size_t i = 0; i < rules_.size();) {
    Bounds bounds(*this);
    const Dim zero = context_->sum({rules_[i].lead}) - rules_[i].rest;
    const Dim rewritten = map_atoms(zero, [&](const DimAtom& a) { return rewrite(a); });
    const Dim normal = cancel_nonzero(reduce(rewritten, &rules_[i]), bounds);
    if (normal == primitive(zero).dim) {
      ++i;
      continue;
    }
    pending_zeros_.push_back(normal);
    rules_.erase(rules_.begin() + static_cast<ptrdiff_t>(i));
    normal_forms_.clear();
  }
  // Taken out as a group before any is recorded again, so that none is judged against itself.
  const auto take_changed = [&](auto& facts, auto dim_of) {
    const auto changed = std::stable_partition(facts.begin(), facts.end(), [&](const auto& fact) {
      return normalize(dim_of(fact)) == dim_of(fact);
    });
    std::remove_reference_t<decltype(facts)> taken(changed, facts.end());
    facts.erase(changed, facts.end());
    return taken;
  };
  for (const Range& r : take_changed(ranges_, [](const Range& f) { return f.dim; }))
    add_interval(r.dim, r.interval);
  for (const Class& c : take_changed(classes_, [](const Class& f) { return f.dim; }))
    add_class(c.dim, c.residue);
  for (const Dim d : take_changed(nonzeros_, [](Dim f) { return f; })) note_nonzero(d);
}

}  // namespace dvm::core
