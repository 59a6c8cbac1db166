// Interning and polynomial arithmetic. Hash-consing is bottom-up: atoms point to interned Dims and
// Dims to interned atoms, so hashes and equality look one level deep only.
#include "core/dims/dim.h"

#include <algorithm>
#include <functional>
#include <map>
#include <unordered_set>

#include "core/dims/dim_node.h"
#include "core/error.h"

namespace dvm::core {

namespace {

void mix(size_t& hash, size_t value) { hash = hash * 0x9E3779B97F4A7C15u + (value ^ (hash >> 29)); }

int three_way(Wide a, Wide b) { return (a > b) - (a < b); }

int degree(std::span<const DimFactor> factors) {
  int total = 0;
  for (const DimFactor& f : factors) total += f.exponent;
  return total;
}

// Symbols by shortlex of their names (s2 before s10), so that printing does not depend on the
// order in which a context met them.
int compare_atoms(const DimAtom& a, const DimAtom& b) {
  if (&a == &b) return 0;
  if (a.kind != b.kind) return three_way(static_cast<int>(a.kind), static_cast<int>(b.kind));
  if (a.kind == DimKind::symbol) {
    const std::string& x = a.self.context().symbol_info(a.symbol).name;
    const std::string& y = b.self.context().symbol_info(b.symbol).name;
    if (x.size() != y.size()) return x.size() < y.size() ? -1 : 1;
    return x.compare(y);
  }
  const int lhs = compare(a.lhs, b.lhs);
  return lhs != 0 ? lhs : compare(a.rhs, b.rhs);
}

std::vector<DimFactor> multiply(std::span<const DimFactor> a, std::span<const DimFactor> b) {
  std::vector<DimFactor> product;
  product.reserve(a.size() + b.size());
  size_t i = 0, j = 0;
  while (i < a.size() && j < b.size()) {
    if (a[i].atom == b[j].atom) {
      product.push_back({a[i].atom, a[i].exponent + b[j].exponent});
      ++i, ++j;
    } else {
      product.push_back(compare_atoms(*a[i].atom, *b[j].atom) < 0 ? a[i++] : b[j++]);
    }
  }
  product.insert(product.end(), a.begin() + static_cast<ptrdiff_t>(i), a.end());
  product.insert(product.end(), b.begin() + static_cast<ptrdiff_t>(j), b.end());
  return product;
}

Dim add_scaled(Dim a, Dim b, int64_t sign) {
  DVM_CHECK(&a.context() == &b.context(), "Dims of different contexts do not mix");
  DimContext& context = a.context();
  if (a.is_overflow() || b.is_overflow()) return context.overflow();
  std::vector<DimTerm> terms(a.terms().begin(), a.terms().end());
  for (const DimTerm& term : b.terms()) terms.push_back({sign * term.coefficient, term.factors});
  return context.sum(std::move(terms));
}

}  // namespace

struct DimContext::Tables {
  struct Hash {
    size_t operator()(const DimAtom& atom) const {
      size_t h = static_cast<size_t>(atom.kind);
      mix(h, static_cast<size_t>(atom.symbol));
      mix(h, std::hash<const void*>()(atom.lhs.node()));
      mix(h, std::hash<const void*>()(atom.rhs.node()));
      return h;
    }
    size_t operator()(const DimNode& node) const {
      size_t h = node.overflow;
      for (const DimTerm& term : node.terms) {
        mix(h, static_cast<size_t>(term.coefficient));
        for (const DimFactor& f : term.factors) {
          mix(h, std::hash<const void*>()(f.atom));
          mix(h, static_cast<size_t>(f.exponent));
        }
      }
      return h;
    }
  };

  struct Same {
    bool operator()(const DimAtom& a, const DimAtom& b) const {
      return a.kind == b.kind && a.symbol == b.symbol && a.lhs == b.lhs && a.rhs == b.rhs;
    }
    bool operator()(const DimNode& a, const DimNode& b) const {
      return a.overflow == b.overflow && a.terms == b.terms;
    }
  };

  std::unordered_set<DimNode, Hash, Same> nodes;
  std::unordered_set<DimAtom, Hash, Same> atoms;
  std::map<std::string, Dim, std::less<>> symbols;
};

DimContext::DimContext() : tables_(std::make_unique<Tables>()) {}
DimContext::~DimContext() = default;

std::shared_ptr<DimContext> DimContext::create() {
  return std::shared_ptr<DimContext>(new DimContext);
}

Dim DimContext::constant(int64_t value) {
  if (!fits(value)) return overflow();
  if (value == 0) return intern({}, false);
  return intern({{value, {}}}, false);
}

Dim DimContext::overflow() { return intern({}, true); }

Dim DimContext::intern(std::vector<DimTerm> terms, bool poisoned) {
  DimNode node{this, std::move(terms), poisoned};
  for (const DimTerm& term : node.terms) {
    ++node.size;
    if (degree(term.factors) > kDimMaxDegree) return overflow();
    for (const auto& [atom, exponent] : term.factors) {
      if (atom->kind == DimKind::symbol) {
        node.size += exponent;
      } else {
        const DimNode &lhs = *atom->lhs.node(), &rhs = *atom->rhs.node();
        node.depth = std::max({node.depth, lhs.depth + 1, rhs.depth + 1});
        node.size += exponent * (lhs.size + rhs.size + 1);
      }
      if (node.depth > kDimMaxDepth || node.size > kDimMaxSize) return overflow();
    }
    if (node.size > kDimMaxSize) return overflow();
  }
  return Dim(&*tables_->nodes.insert(std::move(node)).first);
}

Dim DimContext::sum(std::vector<DimTerm> terms) {
  std::sort(terms.begin(), terms.end(), [](const DimTerm& a, const DimTerm& b) {
    return compare_products(a.factors, b.factors) < 0;
  });
  size_t kept = 0;
  for (size_t i = 0; i < terms.size();) {
    Wide coefficient = 0;
    size_t j = i;
    for (; j < terms.size() && terms[j].factors == terms[i].factors; ++j)
      coefficient += terms[j].coefficient;
    if (!fits(coefficient)) return overflow();
    if (coefficient != 0) {
      if (kept != i) terms[kept].factors = std::move(terms[i].factors);
      terms[kept++].coefficient = static_cast<int64_t>(coefficient);
    }
    i = j;
  }
  terms.resize(kept);
  return intern(std::move(terms), false);
}

Dim DimContext::atom(DimKind kind, Dim lhs, Dim rhs) {
  const auto [it, fresh] = tables_->atoms.insert(DimAtom{kind, -1, lhs, rhs, Dim()});
  // `self` is no part of the key, so setting it in place keeps the set consistent.
  if (fresh) const_cast<DimAtom&>(*it).self = intern({{1, {{&*it, 1}}}}, false);
  return it->self;
}

Dim DimContext::symbol(std::string name, int64_t lo, int64_t hi) {
  if (const auto it = tables_->symbols.find(name); it != tables_->symbols.end()) {
    const Symbol& known = symbol_info(it->second.symbol_index());
    if (known.lo != lo || known.hi != hi)
      fail(ErrorCode::graph_invalid, "symbol '" + name + "' in [" + std::to_string(lo) + ", " +
                                         std::to_string(hi) + "] is already declared in [" +
                                         std::to_string(known.lo) + ", " +
                                         std::to_string(known.hi) + "]");
    return it->second;
  }
  if (!is_symbol_name(name))
    fail(ErrorCode::graph_invalid, "'" + name.substr(0, 64) + "' is not a name for a symbol");
  if (lo > hi || lo < -kDimMax || hi > kDimMax)
    fail(ErrorCode::graph_invalid, "symbol '" + name + "' has the impossible range [" +
                                       std::to_string(lo) + ", " + std::to_string(hi) + "]");
  DimAtom key{DimKind::symbol, symbol_count(), Dim(), Dim(), Dim()};
  symbols_.push_back({name, lo, hi});
  const auto it = tables_->atoms.insert(key).first;
  const Dim self = intern({{1, {{&*it, 1}}}}, false);
  const_cast<DimAtom&>(*it).self = self;
  symbol_dims_.push_back(self);
  tables_->symbols.emplace(std::move(name), self);
  return self;
}

std::optional<Dim> DimContext::find_symbol(std::string_view name) const {
  const auto it = tables_->symbols.find(name);
  return it == tables_->symbols.end() ? std::nullopt : std::optional(it->second);
}

Dim DimContext::symbol_at(int index) const {
  DVM_CHECK(0 <= index && index < symbol_count(), "no symbol " + std::to_string(index));
  return symbol_dims_[static_cast<size_t>(index)];
}

DimContext& Dim::context() const { return *node_->context; }
std::span<const DimTerm> Dim::terms() const { return node_->terms; }
bool Dim::is_overflow() const { return node_->overflow; }

std::optional<int64_t> Dim::as_constant() const {
  if (node_->overflow || node_->terms.size() > 1) return std::nullopt;
  if (node_->terms.empty()) return 0;
  if (!node_->terms[0].factors.empty()) return std::nullopt;
  return node_->terms[0].coefficient;
}

const DimAtom* Dim::as_atom() const {
  if (node_->terms.size() != 1) return nullptr;
  const DimTerm& term = node_->terms[0];
  const bool lone =
      term.coefficient == 1 && term.factors.size() == 1 && term.factors[0].exponent == 1;
  return lone ? term.factors[0].atom : nullptr;
}

DimKind Dim::kind() const {
  if (node_->overflow) return DimKind::overflow;
  if (as_constant()) return DimKind::constant;
  if (const DimAtom* atom = as_atom()) return atom->kind;
  return node_->terms.size() == 1 ? DimKind::mul : DimKind::add;
}

int Dim::symbol_index() const {
  const DimAtom* atom = as_atom();
  DVM_CHECK(atom && atom->kind == DimKind::symbol, to_string(*this) + " is not a symbol");
  return atom->symbol;
}

Dim operator+(Dim a, Dim b) { return add_scaled(a, b, 1); }
Dim operator-(Dim a, Dim b) { return add_scaled(a, b, -1); }

Dim operator*(Dim a, Dim b) {
  DVM_CHECK(&a.context() == &b.context(), "Dims of different contexts do not mix");
  DimContext& context = a.context();
  if (a.is_overflow() || b.is_overflow()) return context.overflow();
  if (a.as_constant() == 1) return b;
  if (b.as_constant() == 1) return a;
  if (a.terms().size() * b.terms().size() > kDimMaxSize) return context.overflow();
  std::vector<DimTerm> terms;
  for (const DimTerm& x : a.terms())
    for (const DimTerm& y : b.terms()) {
      const Wide coefficient = Wide(x.coefficient) * y.coefficient;
      if (!fits(coefficient)) return context.overflow();
      terms.push_back({static_cast<int64_t>(coefficient), multiply(x.factors, y.factors)});
    }
  return context.sum(std::move(terms));
}

Dim operator+(Dim a, int64_t b) { return a + a.context().constant(b); }
Dim operator-(Dim a, int64_t b) { return a - a.context().constant(b); }
Dim operator*(Dim a, int64_t b) { return a * a.context().constant(b); }
Dim operator+(int64_t a, Dim b) { return b + a; }
Dim operator-(int64_t a, Dim b) { return b.context().constant(a) - b; }
Dim operator*(int64_t a, Dim b) { return b * a; }
Dim operator-(Dim a) { return a * -1; }

int compare_products(std::span<const DimFactor> a, std::span<const DimFactor> b) {
  if (const int by_degree = degree(b) - degree(a)) return by_degree;
  for (size_t i = 0; i < a.size() && i < b.size(); ++i) {
    if (const int by_atom = compare_atoms(*a[i].atom, *b[i].atom)) return by_atom;
    if (a[i].exponent != b[i].exponent) return b[i].exponent - a[i].exponent;
  }
  return 0;
}

// Linear in the expression's size: interned operands that differ decide the order at once.
int compare(Dim a, Dim b) {
  if (a == b) return 0;
  if (a.is_overflow() != b.is_overflow()) return a.is_overflow() ? 1 : -1;
  const auto x = a.terms(), y = b.terms();
  for (size_t i = 0; i < x.size() && i < y.size(); ++i) {
    if (const int by_product = compare_products(x[i].factors, y[i].factors)) return by_product;
    if (const int by_coefficient = three_way(x[i].coefficient, y[i].coefficient))
      return by_coefficient;
  }
  return x.size() < y.size() ? -1 : x.size() > y.size();
}

std::optional<std::vector<DimFactor>> divide_product(std::span<const DimFactor> whole,
                                                     std::span<const DimFactor> part) {
  std::vector<DimFactor> left;
  size_t matched = 0;
  for (const DimFactor& f : whole) {
    int exponent = f.exponent;
    if (matched < part.size() && part[matched].atom == f.atom) exponent -= part[matched++].exponent;
    if (exponent < 0) return std::nullopt;
    if (exponent > 0) left.push_back({f.atom, exponent});
  }
  if (matched < part.size()) return std::nullopt;
  return left;
}

DimQuotient divide(Dim a, Dim b) {
  DimContext& context = a.context();
  DimQuotient result{context.constant(0), a};
  if (a.is_overflow() || b.is_overflow() || b.terms().empty()) return result;
  const DimTerm& lead = b.terms()[0];
  // Each step cancels the greatest divisible product, so the rest only has smaller ones.
  for (int step = 0; step < kDimMaxSize && !result.remainder.is_overflow(); ++step) {
    Dim factor;
    for (const DimTerm& term : result.remainder.terms()) {
      if (term.coefficient % lead.coefficient != 0) continue;
      if (auto left = divide_product(term.factors, lead.factors)) {
        factor = context.sum({{term.coefficient / lead.coefficient, std::move(*left)}});
        break;
      }
    }
    if (!factor) return result;
    result = {result.quotient + factor, result.remainder - factor * b};
  }
  return {context.constant(0), a};
}

std::vector<int> symbols_of(Dim dim) {
  std::vector<int> found;
  std::vector<Dim> pending{dim};
  while (!pending.empty()) {
    const Dim next = pending.back();
    pending.pop_back();
    for (const DimTerm& term : next.terms())
      for (const DimFactor& f : term.factors)
        if (f.atom->kind == DimKind::symbol)
          found.push_back(f.atom->symbol);
        else
          pending.insert(pending.end(), {f.atom->lhs, f.atom->rhs});
  }
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

}  // namespace dvm::core
