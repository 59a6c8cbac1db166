// Equations wait in the order they came until all their symbols but one are known.
#include "core/graph/bind_symbols.h"

#include <algorithm>

#include "core/dims/dim_node.h"
#include "core/graph/infer.h"

namespace dvm::core {

SymbolBinder::SymbolBinder(const DimContext& dims, std::span<const int64_t> known)
    : dims_(dims),
      values_(static_cast<size_t>(dims.symbol_count())),
      known_(static_cast<size_t>(dims.symbol_count())) {
  for (size_t i = 0; i < known.size() && i < values_.size(); ++i) {
    values_[i] = known[i];
    known_[i] = true;
  }
}

bool SymbolBinder::is_known(Dim dim) const {
  for (const int symbol : symbols_of(dim)) {
    if (!known_[static_cast<size_t>(symbol)]) return false;
  }
  return true;
}

// Checks the equation or solves it for its one unknown; false when it has to wait.
bool SymbolBinder::apply(const Equation& equation) {
  const Dim dim = equation.dim;
  const int64_t size = equation.size;
  const auto mismatch = [&](const std::string& why) {
    fail(ErrorCode::shape_mismatch, equation.loc,
         equation.what + " has size " + std::to_string(size) + " where " + to_string(dim) + " is " +
             why);
  };
  if (is_known(dim)) {
    const std::optional<int64_t> value = core::evaluate(dim, values_);
    if (value != size) mismatch(value ? std::to_string(*value) : "undefined");
    return true;
  }
  int unknown = -1;
  for (const int symbol : symbols_of(dim)) {
    if (known_[static_cast<size_t>(symbol)]) continue;
    if (unknown >= 0) return false;
    unknown = symbol;
  }
  // dim == a * symbol + b with known a and b, read off by division: r mentions the symbol or q is
  // not known where dim is anything but linear in it.
  const auto [a, b] = divide(dim, dims_.symbol_at(unknown));
  if (!is_known(a) || !is_known(b)) return false;
  const auto slope = core::evaluate(a, values_), offset = core::evaluate(b, values_);
  if (!slope || !offset) mismatch("undefined");
  if (*slope == 0 && *offset != size) mismatch(std::to_string(*offset));
  // True for every value of the symbol; kept, for it still tells the size of its own expression.
  if (*slope == 0) return false;
  const Wide rest = Wide{size} - *offset;
  if (rest % *slope != 0)
    mismatch("another number for every " + to_string(dims_.symbol_at(unknown)));
  const Symbol& symbol = dims_.symbol_info(unknown);
  const Wide value = rest / *slope;
  if (value < symbol.lo || value > symbol.hi)
    fail(ErrorCode::shape_mismatch, equation.loc,
         equation.what + " has size " + std::to_string(size) + ", which puts " + symbol.name +
             " outside of [" + std::to_string(symbol.lo) + ", " + std::to_string(symbol.hi) + "]");
  values_[static_cast<size_t>(unknown)] = static_cast<int64_t>(value);
  known_[static_cast<size_t>(unknown)] = true;
  return true;
}

void SymbolBinder::bind(const Type& type, std::span<const int64_t> sizes, const std::string& what,
                        Loc loc) {
  if (sizes.size() != type.shape.size())
    fail(ErrorCode::shape_mismatch, loc,
         what + " has rank " + std::to_string(sizes.size()) + ", not that of " +
             to_string(type.shape));
  for (size_t i = 0; i < sizes.size(); ++i) {
    // Equal expressions have equal sizes even where their symbols stay unknown.
    const Equation* same = find(type.shape[i]);
    if (same && same->size != sizes[i])
      fail(ErrorCode::shape_mismatch, loc,
           what + " has size " + std::to_string(sizes[i]) + " where " + to_string(type.shape[i]) +
               " is " + std::to_string(same->size));
    if (!same) pending_.push_back({type.shape[i], sizes[i], what, loc});
  }
  solve();
}

void SymbolBinder::define(Dim dim, int64_t value, const std::string& what, Loc loc) {
  pending_.push_back({dim, value, what, loc});
  solve();
}

void SymbolBinder::solve() {
  // Each round binds a symbol or ends, so that the order of the sizes does not matter.
  for (size_t before = pending_.size() + 1; before != pending_.size();) {
    before = pending_.size();
    for (size_t i = 0; i < pending_.size();) {
      if (apply(pending_[i])) {
        pending_.erase(pending_.begin() + static_cast<ptrdiff_t>(i));
      } else {
        ++i;
      }
    }
  }
}

const SymbolBinder::Equation* SymbolBinder::find(Dim dim) const {
  const auto same = [&](const Equation& equation) { return equation.dim == dim; };
  const auto it = std::find_if(pending_.begin(), pending_.end(), same);
  return it == pending_.end() ? nullptr : &*it;
}

int64_t SymbolBinder::number(Dim dim, Loc loc) const {
  std::optional<int64_t> value;
  if (is_known(dim)) {
    value = core::evaluate(dim, values_);
    if (!value)
      fail(ErrorCode::shape_mismatch, loc, "the size " + to_string(dim) + " is undefined");
  } else {
    const Equation* same = find(dim);
    if (!same) fail(ErrorCode::shape_mismatch, loc, "no shape tells the size " + to_string(dim));
    value = same->size;
  }
  return *value;
}

int64_t SymbolBinder::value(Dim dim, Loc loc) const {
  const int64_t value = number(dim, loc);
  if (value < 0)
    fail(ErrorCode::shape_mismatch, loc,
         "the size " + to_string(dim) + " is negative: " + std::to_string(value));
  return value;
}

std::vector<int64_t> SymbolBinder::values(const Shape& shape, Loc loc) const {
  std::vector<int64_t> sizes;
  for (const Dim dim : shape) sizes.push_back(value(dim, loc));
  return sizes;
}

bool tells_sizes(const Graph& graph, const Node& node) {
  if (node.op == Op::result) return graph.node(node.inputs[0]).op != Op::call_into;
  return node.op == Op::input || node.op == Op::call || has_bodies(node.op) ||
         is_invocation(node.op);
}

namespace {

// As above, for values not yet there: an equation settles a symbol if it is linear in it and all
// else in it is settled.
class Settled {
 public:
  explicit Settled(const DimContext& dims)
      : dims_(dims), known_(static_cast<size_t>(dims.symbol_count())) {}

  // What the node tells.
  void add(const Graph& graph, const Node& node) {
    const Shape& shape = node.type.shape;
    if (defines_symbol(node)) equations_.push_back(node.attrs.size);
    if (tells_sizes(graph, node)) {
      equations_.insert(equations_.end(), shape.begin(), shape.end());
    }
  }
  void solve() {
    for (size_t before = equations_.size() + 1; before != equations_.size();) {
      before = equations_.size();
      std::erase_if(equations_, [&](Dim dim) { return settles(dim); });
    }
  }
  void know(int symbol) { known_[static_cast<size_t>(symbol)] = true; }
  bool knows(int symbol) const { return known_[static_cast<size_t>(symbol)]; }

 private:
  std::vector<int> unknown(Dim dim) const {
    std::vector<int> symbols = symbols_of(dim);
    std::erase_if(symbols, [&](int symbol) { return knows(symbol); });
    return symbols;
  }
  bool settles(Dim dim) {
    const std::vector<int> symbols = unknown(dim);
    if (symbols.size() > 1) return false;
    if (symbols.empty()) return true;
    const auto [slope, offset] = divide(dim, dims_.symbol_at(symbols[0]));
    if (!unknown(slope).empty() || !unknown(offset).empty()) return false;
    know(symbols[0]);
    return true;
  }

  const DimContext& dims_;
  std::vector<bool> known_;
  std::vector<Dim> equations_;
};

// The sizes that have to be known before the node is computed.
std::vector<Dim> needed_by(const Graph& graph, const Node& node) {
  const Attrs& a = node.attrs;
  std::vector<Dim> dims = a.starts;
  dims.insert(dims.end(), a.sizes.begin(), a.sizes.end());
  if (!tells_sizes(graph, node))
    dims.insert(dims.end(), node.type.shape.begin(), node.type.shape.end());
  for (const Dim dim : {defines_symbol(node) ? Dim{} : a.size, a.causal, a.count}) {
    if (dim) dims.push_back(dim);
  }
  return dims;
}

}  // namespace

std::vector<int> unbound_symbols(const Graph& graph) {
  Settled settled(graph.dims());
  for (const Node& node : graph.nodes()) settled.add(graph, node);
  settled.solve();
  std::vector<int> symbols = used_symbols(graph);
  std::erase_if(symbols, [&](int symbol) { return settled.knows(symbol); });
  return symbols;
}

std::vector<int> missing_symbols(const Graph& graph) {
  Settled settled(graph.dims());
  for (const Value v : graph.inputs()) settled.add(graph, graph.node(v));
  settled.solve();
  std::vector<int> missing;
  for (const Node& node : graph.nodes()) {
    for (const Dim dim : needed_by(graph, node)) {
      for (const int symbol : symbols_of(dim)) {
        if (settled.knows(symbol)) continue;
        settled.know(symbol);
        missing.push_back(symbol);
      }
    }
    settled.add(graph, node);
    settled.solve();
  }
  std::ranges::sort(missing);
  return missing;
}

}  // namespace dvm::core
