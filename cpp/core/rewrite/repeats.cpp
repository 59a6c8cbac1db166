#include "core/rewrite/repeats.h"

#include <algorithm>

namespace dvm::core {

namespace {

// A size that several are repeated to together: each of them.
std::vector<Dim> parts_of(Dim size) {
  std::vector<Dim> parts;
  const DimAtom* atom = size.as_atom();
  for (; atom != nullptr && atom->kind == DimKind::bcast; atom = size.as_atom()) {
    parts.push_back(atom->lhs);
    size = atom->rhs;
  }
  parts.push_back(size);
  return parts;
}

}  // namespace

Repeats::Repeats(const Graph& graph) {
  for (Value v = 0; v < graph.size(); ++v) {
    if (graph.node(v).op != Op::broadcast) continue;
    const Shape &from = graph.type(graph.node(v).inputs[0]).shape, &to = graph.type(v).shape;
    for (size_t d = 0; d < from.size(); ++d) {
      const std::pair<Dim, Dim> repeat{from[d], to[to.size() - from.size() + d]};
      const bool says_something = repeat.first != repeat.second && !repeat.first.as_constant();
      if (says_something && std::ranges::find(known_, repeat) == known_.end()) {
        known_.push_back(repeat);
      }
    }
  }
}

bool Repeats::fit(const Shape& from, const Shape& to) const {
  if (from.size() > to.size()) return false;
  const size_t lead = to.size() - from.size();
  for (size_t d = 0; d < from.size(); ++d) {
    if (!fits(from[d], to[lead + d])) return false;
  }
  return true;
}

// Sizes that are 1 or the whole: of those that are repeated to it together each is one, and what is
// repeated to one of them.
bool Repeats::fits(Dim part, Dim whole) const {
  std::vector<Dim> fitting = parts_of(whole);
  fitting.push_back(whole.context().constant(1));
  const auto all_fit = [&](Dim size) {
    return std::ranges::all_of(parts_of(size), [&](Dim each) {
      return std::ranges::find(fitting, each) != fitting.end();
    });
  };
  for (size_t before = 0; before != fitting.size() && !all_fit(part);) {
    before = fitting.size();
    for (const auto& [from, to] : known_) {
      if (!all_fit(to) || all_fit(from)) continue;
      const std::vector<Dim> more = parts_of(from);
      fitting.insert(fitting.end(), more.begin(), more.end());
    }
  }
  return all_fit(part);
}

}  // namespace dvm::core
