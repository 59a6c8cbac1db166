#include "driver/sizes.h"

#include <algorithm>

#include "core/error.h"

namespace dvm::driver {

using core::Dim;
using core::DimCmp;
using core::DimKind;
using runtime::PlanOp;

SizeCode::SizeCode(runtime::PlanBuilder& builder, const core::DimContext& dims)
    : builder_(builder), dims_(dims), symbols_(static_cast<size_t>(dims.symbol_count()), -1) {}

int32_t SizeCode::literal(int64_t value) {
  auto [found, is_new] = known_.try_emplace({PlanOp::literal, value, 0}, -1);
  if (is_new) found->second = builder_.literal(value);
  return found->second;
}

int32_t SizeCode::emit(PlanOp op, int32_t a, int32_t b) {
  auto [found, is_new] = known_.try_emplace({op, a, b}, -1);
  if (is_new) found->second = builder_.emit(op, {a, b});
  return found->second;
}

int32_t SizeCode::atom(const core::DimAtom& atom) {
  if (atom.kind == DimKind::symbol) return symbols_[static_cast<size_t>(atom.symbol)];
  const int32_t lhs = compute(atom.lhs), rhs = compute(atom.rhs);
  switch (atom.kind) {
    case DimKind::floordiv:
      return emit(PlanOp::floordiv, lhs, rhs);
    case DimKind::mod:
      return emit(PlanOp::mod, lhs, rhs);
    case DimKind::max:
      return emit(PlanOp::max, lhs, rhs);
    case DimKind::min:
      return emit(PlanOp::min, lhs, rhs);
    case DimKind::bcast:
      return emit(PlanOp::bcast, lhs, rhs);
    default:
      break;
  }
  core::fail(core::ErrorCode::internal, "a Dim of an unknown kind: " + core::to_string(atom.self));
}

// The magnitude of the term; the caller adds or subtracts it.
int32_t SizeCode::product(const core::DimTerm& term) {
  int32_t result = -1;
  for (const core::DimFactor& factor : term.factors) {
    const int32_t value = atom(*factor.atom);
    for (int i = 0; i < factor.exponent; ++i) {
      result = result < 0 ? value : emit(PlanOp::mul, result, value);
    }
  }
  const int64_t magnitude = std::abs(term.coefficient);
  if (result < 0) return literal(magnitude);
  return magnitude == 1 ? result : emit(PlanOp::mul, result, literal(magnitude));
}

// Positive terms first: their sum has no reason to overflow, nor a leading minus.
int32_t SizeCode::compute(Dim dim) {
  int32_t sum = -1;
  for (const core::DimTerm& term : dim.terms()) {
    if (term.coefficient < 0) continue;
    const int32_t value = product(term);
    sum = sum < 0 ? value : emit(PlanOp::add, sum, value);
  }
  if (sum < 0) sum = literal(0);
  for (const core::DimTerm& term : dim.terms()) {
    if (term.coefficient < 0) sum = emit(PlanOp::sub, sum, product(term));
  }
  return sum;
}

bool SizeCode::is_known(Dim dim) const {
  const std::vector<int> symbols = core::symbols_of(dim);
  return std::all_of(symbols.begin(), symbols.end(),
                     [&](int symbol) { return symbols_[static_cast<size_t>(symbol)] >= 0; });
}

int32_t SizeCode::value(Dim dim, core::Loc loc) {
  if (dim.is_overflow()) {
    core::fail(core::ErrorCode::shape_overflow, loc, "a size of the graph is out of range");
  }
  if (!is_known(dim)) {
    core::fail(core::ErrorCode::graph_invalid, loc,
               "no shape tells the size " + core::to_string(dim));
  }
  return compute(dim);
}

std::vector<int32_t> SizeCode::values(const core::Shape& shape, core::Loc loc) {
  std::vector<int32_t> registers;
  for (Dim dim : shape) registers.push_back(value(dim, loc));
  return registers;
}

// Registers never change, so a check that held once holds.
bool SizeCode::first_check(DimCmp cmp, int32_t a, int32_t b) {
  return checked_.try_emplace({cmp, a, b}, true).second;
}

void SizeCode::check(DimCmp cmp, int32_t a, int32_t b, std::string note) {
  if (cmp == DimCmp::eq && a == b) return;
  if (first_check(cmp, a, b)) builder_.emit(PlanOp::check, {cmp, a, b}, std::move(note));
}

void SizeCode::check_broadcast(Dim from, Dim to, core::Loc loc) {
  if (from == to || from.as_constant() == 1) return;
  const int32_t target = value(to, loc);
  check(DimCmp::eq, emit(PlanOp::bcast, value(from, loc), target), target,
        core::to_string(from) + " broadcasts to " + core::to_string(to));
}

void SizeCode::check_equal(Dim a, Dim b, core::Loc loc) {
  check(DimCmp::eq, value(a, loc), value(b, loc), core::to_string(a) + " == " + core::to_string(b));
}

void SizeCode::check_at_least(Dim a, Dim b, core::Loc loc) {
  if (a.as_constant() && b.as_constant() && *a.as_constant() >= *b.as_constant()) return;
  check(DimCmp::ge, value(a, loc), value(b, loc), core::to_string(a) + " >= " + core::to_string(b));
}

// Sizes of arrays are neither negative nor above kDimMax; other values may be.
void SizeCode::bind_symbol(int symbol, int32_t size, bool check_low, bool check_high) {
  symbols_[static_cast<size_t>(symbol)] = size;
  const core::Symbol& info = dims_.symbol_info(symbol);
  if (info.lo > 0 || check_low) {
    check(DimCmp::ge, size, literal(info.lo), info.name + " >= " + std::to_string(info.lo));
  }
  if (info.hi < core::kDimMax || check_high) {
    check(DimCmp::le, size, literal(info.hi), info.name + " <= " + std::to_string(info.hi));
  }
}

void SizeCode::bind(int32_t buffer, const core::Type& type) {
  for (int32_t axis = 0; axis < type.rank(); ++axis) {
    const Dim dim = type.shape[static_cast<size_t>(axis)];
    waiting_.push_back({dim, builder_.emit(PlanOp::size, {buffer, axis}, core::to_string(dim))});
  }
  solve();
}

void SizeCode::define(Dim symbol, int32_t number) {
  waiting_.push_back({symbol, number, true});
  solve();
}

void SizeCode::solve() {
  // Each round binds a symbol or ends, so that the order of the sizes does not matter.
  for (size_t before = waiting_.size() + 1; before != waiting_.size();) {
    before = waiting_.size();
    std::erase_if(waiting_, [&](const Equation& equation) { return apply(equation, false); });
  }
}

void SizeCode::settle() {
  for (;;) {
    const auto solved = std::ranges::find_if(
        waiting_, [&](const Equation& equation) { return apply(equation, true); });
    if (solved == waiting_.end()) return;
    waiting_.erase(solved);
    solve();
  }
}

// Checks the equation or solves it for its one unknown; false when it has to wait.
bool SizeCode::apply(const Equation& equation, bool divides) {
  const auto [dim, size, number] = equation;
  if (is_known(dim)) {
    check(DimCmp::eq, size, compute(dim), "is " + core::to_string(dim));
    return true;
  }
  int unknown = -1;
  for (int symbol : core::symbols_of(dim)) {
    if (symbols_[static_cast<size_t>(symbol)] >= 0) continue;
    if (unknown >= 0) return false;
    unknown = symbol;
  }
  if (dim.is_symbol()) {
    bind_symbol(unknown, size, number, number);
    return true;
  }
  if (!divides) return false;
  // dim == slope * symbol + offset; a slope of 0 divides by zero, which gives the call up.
  const auto [slope, offset] = core::divide(dim, dims_.symbol_at(unknown));
  if (!is_known(slope) || !is_known(offset)) return false;
  const int32_t rest = emit(PlanOp::sub, size, compute(offset));
  const int32_t factor = compute(slope);
  check(DimCmp::eq, emit(PlanOp::mod, rest, factor), literal(0), "is " + core::to_string(dim));
  bind_symbol(unknown, emit(PlanOp::floordiv, rest, factor), true, false);
  return true;
}

}  // namespace dvm::driver
