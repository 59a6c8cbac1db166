// Reads the values of symbols off concrete shapes: a plain solver for sizes that are linear in one
// symbol not yet known, e.g. s0 or 2*s0 + s1 once s1 is bound.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "core/graph/graph.h"

namespace dvm::core {

class SymbolBinder {
 public:
  explicit SymbolBinder(const DimContext& dims, std::span<const int64_t> known = {});

  // States that an array of this type has these sizes. Sizes that determine no symbol yet are kept
  // and used as soon as they do. Throws ShapeError, naming `what`, when ranks or sizes disagree or
  // a symbol leaves its range.
  void bind(const Type& type, std::span<const int64_t> sizes, const std::string& what, Loc loc);

  // States that a number has this value, of any sign: how an argument defines a symbol.
  void define(Dim dim, int64_t value, const std::string& what, Loc loc);

  // The value of a size, from its symbols or from an array that has just this size; ShapeError when
  // neither is known, or it is undefined. That of a size may not be negative.
  int64_t number(Dim dim, Loc loc) const;
  int64_t value(Dim dim, Loc loc) const;
  std::vector<int64_t> values(const Shape& shape, Loc loc) const;

 private:
  struct Equation {
    Dim dim;
    int64_t size;
    std::string what;
    Loc loc;
  };
  bool is_known(Dim dim) const;
  void solve();
  bool apply(const Equation& equation);
  const Equation* find(Dim dim) const;

  const DimContext& dims_;
  std::vector<int64_t> values_;
  std::vector<bool> known_;
  std::vector<Equation> pending_;
};

// Whether the sizes of its value come from outside, so that they tell symbols of its type.
bool tells_sizes(const Graph& graph, const Node& node);

// Whether its value, a number, is that of the symbol attrs.size.
inline bool defines_symbol(const Node& node) {
  return (node.op == Op::scalar || node.op == Op::loop) && node.attrs.size;
}

// The symbols a graph uses which no input, scalar or result of a call determines, ascending.
std::vector<int> unbound_symbols(const Graph& graph);

// The symbols that some node uses before an argument, or a result of a node before it, has told
// them, ascending: what a body has to be given.
std::vector<int> missing_symbols(const Graph& graph);

}  // namespace dvm::core
