#include "fuser/grouping.h"

#include <algorithm>
#include <iterator>

namespace dvm::fuser {

using core::OpClass;
using core::Shape;
using core::Value;

namespace {

Refusal two_products() { return {"two-products", "a Region makes one product of matrices"}; }

// Sizes that a call brings along, and what they broadcast to. Nothing equates two of these but the
// rewriting that normalises them, so that there is nothing to search for.
bool is_plain(core::Dim dim) {
  const core::DimAtom* atom = dim.as_atom();
  if (atom == nullptr) return dim.as_constant().has_value();
  if (atom->kind == core::DimKind::symbol) return true;
  return atom->kind == core::DimKind::bcast && is_plain(atom->lhs) && is_plain(atom->rhs);
}

}  // namespace

Grouping::Grouping(const core::Graph& graph, const Flow& flow, const core::Facts& facts,
                   const Limits& limits)
    : graph_(graph),
      flow_(flow),
      facts_(facts),
      limits_(limits),
      group_of_(static_cast<size_t>(graph.size()), -1),
      made_(static_cast<size_t>(graph.size()), 0),
      inside_(static_cast<size_t>(graph.size()), 0),
      level_(static_cast<size_t>(graph.size()), 0) {
  for (Value v = 0; v < graph.size(); ++v) {
    const bool alone = is_own_step(graph.node(v).op);
    if (!flow[v].live || (!flow[v].computed && !alone)) continue;
    group_of_[static_cast<size_t>(v)] = group_count();
    place_.push_back(groups_.size());
    sequence_.push_back(group_count());
    groups_.push_back({{v}, alone ? Shape{} : iterated(v)});
  }
}

const Shape& Grouping::iterated(Value v) const {
  const core::Node& node = graph_.node(v);
  return core::op_class(node.op) == OpClass::reduce ? graph_.type(node.inputs[0]).shape
                                                    : node.type.shape;
}

bool Grouping::leaves(Value v, int group) const {
  const NodeFlow& flow = flow_[v];
  if (made_[static_cast<size_t>(v)] != 0) return false;
  return flow.in_memory || std::any_of(flow.readers.begin(), flow.readers.end(),
                                       [&](Value reader) { return group_of(reader) != group; });
}

bool Grouping::equal(core::Dim a, core::Dim b) const {
  if (a == b) return true;
  const auto [known, is_new] = equal_.try_emplace({a.node(), b.node()}, false);
  if (is_new) {
    const core::Dim x = facts_.normalize(a), y = facts_.normalize(b);
    const bool searched = !is_plain(x) || !is_plain(y);
    known->second = x == y || (searched && core::prove_equal(facts_, x, y) == core::Verdict::yes);
  }
  return known->second;
}

bool Grouping::equal(const Shape& a, const Shape& b) const {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [&](core::Dim x, core::Dim y) { return equal(x, y); });
}

// Only what holds for every call: the sizes are equal, or the narrow one is 1.
bool Grouping::broadcasts_to(const Shape& from, const Shape& to) const {
  if (from.size() > to.size()) return false;
  const core::Dim one = graph_.dims().constant(1);
  for (size_t d = 0; d < from.size(); ++d) {
    const core::Dim a = from[d], b = to[to.size() - from.size() + d];
    if (a != b && !equal(a, one) && !equal(a, b)) return false;
  }
  return true;
}

std::optional<Shape> Grouping::common_space(Value producer, Value consumer, bool edge) const {
  const Shape& a = groups_[static_cast<size_t>(group_of(producer))].space;
  const Shape& b = groups_[static_cast<size_t>(group_of(consumer))].space;
  if (equal(a, b) || broadcasts_to(a, b)) return b;
  if (broadcasts_to(b, a)) return a;
  // The Graph itself broadcasts one to the other; the Region checks it when the sizes are known.
  if (edge && equal(a, graph_.type(producer).shape) && equal(iterated(consumer), b)) return b;
  return std::nullopt;
}

bool Grouping::is_kept_apart(int a, int b) const {
  return std::any_of(apart_.begin(), apart_.end(), [&](const auto& pair) {
    const int first = group_of(pair.first), second = group_of(pair.second);
    return (first == a && second == b) || (first == b && second == a);
  });
}

std::optional<Refusal> Grouping::merge(Value producer, Value consumer, bool edge) {
  const int a = group_of(producer), b = group_of(consumer);
  if (a == b) return std::nullopt;
  if (is_kept_apart(a, b)) return Refusal{"kept-apart", "it was asked to keep the two apart"};
  const std::optional<Shape> space = common_space(producer, consumer, edge);
  if (!space) {
    // What holds whatever the shapes are says more.
    if (products_in(members_of(a, b)) > 1) return two_products();
    return Refusal{"different-space",
                   "the iteration spaces are not provably equal, nor does one broadcast"};
  }
  Members members = members_of(a, b);
  // Cheap and telling, so first: most graphs are cut here.
  core::RegionBudget least = core::kNothingUsed;
  least.steps = static_cast<int>(members.size());
  if (std::optional<Refusal> refusal = over_budget(least)) return refusal;
  for (Value v : members) inside_[static_cast<size_t>(v)] = 1;
  std::optional<Refusal> refusal = check_reductions(members, *space);
  if (!refusal) refusal = check_product(members, *space);
  if (!refusal) refusal = check_outputs(members, *space);
  if (!refusal) refusal = check_limits(members);
  for (Value v : members) inside_[static_cast<size_t>(v)] = 0;
  if (!refusal && !unite_places(a, b)) {
    refusal = {"cycle", "another unit stands between the two and needs both sides of it"};
  }
  if (!refusal) unite(a, b, std::move(members), *space);
  return refusal;
}

std::optional<Refusal> Grouping::absorb(Value factor, Value product) {
  const int kept = group_of(product), dropped = group_of(factor);
  if (is_kept_apart(kept, dropped))
    return Refusal{"kept-apart", "it was asked to keep the two apart"};
  Members members = members_of(kept, dropped);
  for (Value v : members) inside_[static_cast<size_t>(v)] = 1;
  std::optional<Refusal> refusal = check_limits(members);
  for (Value v : members) inside_[static_cast<size_t>(v)] = 0;
  if (!refusal && !unite_places(kept, dropped)) {
    refusal = {"cycle", "another unit stands between the two and needs both sides of it"};
  }
  if (refusal) return refusal;
  unite(kept, dropped, std::move(members), groups_[static_cast<size_t>(kept)].space);
  made_[static_cast<size_t>(factor)] = 1;
  return std::nullopt;
}

// In node order.
Grouping::Members Grouping::members_of(int a, int b) const {
  Members all;
  std::ranges::merge(members(a), members(b), std::back_inserter(all));
  return all;
}

void Grouping::unite(int kept, int dropped, Members members, Shape space) {
  Group& gone = groups_[static_cast<size_t>(dropped)];
  for (Value v : gone.members) group_of_[static_cast<size_t>(v)] = kept;
  gone = {};
  groups_[static_cast<size_t>(kept)] = {std::move(members), std::move(space)};
}

// Whether `to` is `from` or what it broadcasts to; the sizes of a call decide which.
bool Grouping::may_widen_to(core::Dim from, core::Dim to) const {
  if (equal(from, to)) return true;
  const core::DimAtom* atom = to.as_atom();
  return atom && atom->kind == core::DimKind::bcast &&
         (may_widen_to(from, atom->lhs) || may_widen_to(from, atom->rhs));
}

// Whether no one outside of the union needs v.
bool Grouping::stays(Value v) const {
  const NodeFlow& flow = flow_[v];
  return !flow.in_memory && std::all_of(flow.readers.begin(), flow.readers.end(),
                                        [&](Value reader) { return is_inside(reader); });
}

// Sums and elements leave together where a tile holds whole rows, and then a sum may also feed what
// follows. Along other axes one pass over the inputs cannot do both.
std::optional<Refusal> Grouping::check_reductions(const Members& members, const Shape& space) {
  const std::vector<int>* axes = nullptr;
  bool exact = true;
  Value fed = -1, stored = -1;
  for (Value v : members) {
    const core::Node& node = graph_.node(v);
    if (core::op_class(node.op) != OpClass::reduce) {
      if (!stays(v)) stored = v;
      continue;
    }
    for (Value reader : flow_[v].readers) {
      if (is_inside(reader)) fed = v;
    }
    const Shape& shape = iterated(v);
    exact = exact && equal(shape, space);
    if (!std::equal(shape.begin(), shape.end(), space.begin(), space.end(),
                    [&](core::Dim a, core::Dim b) { return may_widen_to(a, b); })) {
      return Refusal{"reduction-space", "the reduction does not cover the Region's space"};
    }
    if (axes && *axes != node.attrs.axes) {
      return Refusal{"reduction-axes", "reductions of one Region share their axes"};
    }
    axes = &node.attrs.axes;
  }
  if (!axes) return std::nullopt;
  const bool innermost = axes->back() + 1 == static_cast<int>(space.size());
  if (fed >= 0 && !innermost) {
    return Refusal{"reduction-ends-region", "the consumer needs the whole result of " +
                                                std::string(core::info(graph_.node(fed).op).name) +
                                                ", which is not along the innermost axes"};
  }
  if (stored >= 0 && !innermost) {
    return Refusal{"reduction-alone", "a value besides the reduction is needed outside"};
  }
  if (fed < 0 && stored < 0) {
    if (exact) return std::nullopt;
    return Refusal{"reduction-space", "the reduction does not cover the Region's space"};
  }
  return check_levels(members);
}

bool Grouping::is_product(Value v) const {
  return core::op_class(graph_.node(v).op) == OpClass::matrix;
}

ptrdiff_t Grouping::products_in(const Members& members) const {
  return std::ranges::count_if(members, [&](Value v) { return is_product(v); });
}

// A product is made first, of what lies in memory. Elementwise steps over its elements may follow,
// and reductions of its rows: the tiles of some products hold whole ones.
std::optional<Refusal> Grouping::check_product(const Members& members, const Shape& space) const {
  const auto product =
      std::find_if(members.begin(), members.end(), [&](Value v) { return is_product(v); });
  if (product == members.end()) return std::nullopt;
  if (products_in(members) > 1) return two_products();
  const std::vector<int> columns{static_cast<int>(space.size()) - 1};
  for (Value v : members) {
    const core::Node& node = graph_.node(v);
    if (core::op_class(node.op) != OpClass::reduce) continue;
    if (graph_.node(*product).op != core::Op::matmul || node.attrs.axes != columns) {
      return Refusal{"product-reduced",
                     "of what a product of matrices gives, a Region reduces nothing but rows"};
    }
  }
  const auto& sources = flow_[*product].sources;
  if (std::any_of(sources.begin(), sources.end(), [&](Value v) { return is_inside(v); }))
    return Refusal{"product-operand", "operands of a product of matrices lie in memory"};
  if (!equal(graph_.type(*product).shape, space))
    return Refusal{"product-space", "the Region's space is not that of the product"};
  return std::nullopt;
}

// What a Region by rows becomes where its rows are too long: parts, and values kept in between.
std::optional<Refusal> Grouping::check_levels(const Members& members) {
  int kept = 0, levels = 0;
  auto level = [this](Value v) -> int& { return level_[static_cast<size_t>(v)]; };
  for (Value v : members) {
    level(v) = 0;
    for (Value source : flow_[v].sources) {
      if (!is_inside(source)) continue;
      const bool reduces = core::op_class(graph_.node(source).op) == OpClass::reduce;
      level(v) = std::max(level(v), level(source) + (reduces ? 1 : 0));
    }
    levels = std::max(levels, level(v));
  }
  for (Value v : members) {
    const bool reduces = core::op_class(graph_.node(v).op) == OpClass::reduce;
    const auto& readers = flow_[v].readers;
    // The result of a product waits in memory, too.
    kept += core::op_class(graph_.node(v).op) == OpClass::matrix;
    kept += std::any_of(readers.begin(), readers.end(), [&](Value reader) {
      return is_inside(reader) && (reduces || level(reader) > level(v));
    });
  }
  core::RegionBudget use = core::kNothingUsed;
  use.kept = kept;
  use.levels = levels;
  return over_budget(use);
}

std::optional<Refusal> Grouping::over_budget(const core::RegionBudget& use) const {
  const std::optional<core::Excess> excess = core::find_excess(use, limits_.region);
  if (!excess) return std::nullopt;
  return Refusal{excess->rule, "the Region would hold " + excess->text()};
}

std::optional<Refusal> Grouping::check_outputs(const Members& members, const Shape& space) const {
  // The space, but for the axes that are reduced: what one number per row has.
  Shape row;
  for (Value v : members) {
    const core::Node& node = graph_.node(v);
    if (core::op_class(node.op) != OpClass::reduce) continue;
    row = space;
    for (int axis : node.attrs.axes) row[static_cast<size_t>(axis)] = graph_.dims().constant(1);
  }
  for (Value v : members) {
    if (core::op_class(graph_.node(v).op) == OpClass::reduce || stays(v)) continue;
    const Shape& shape = graph_.type(v).shape;
    if (!equal(shape, space) && (row.empty() || !equal(shape, row))) {
      return Refusal{"narrow-output", "a value smaller than the Region's space is needed outside"};
    }
  }
  return std::nullopt;
}

std::optional<Refusal> Grouping::check_limits(const Members& members) const {
  auto add = [](auto& set, const auto& item) {
    if (std::find(set.begin(), set.end(), item) == set.end()) set.push_back(item);
  };
  std::vector<Value> inputs, scalars, broadcasts;
  std::vector<const Shape*> shapes;
  auto add_shape = [&](Value v) {
    const Shape& shape = graph_.type(v).shape;
    if (std::none_of(shapes.begin(), shapes.end(), [&](auto* known) { return *known == shape; })) {
      shapes.push_back(&shape);
    }
  };
  int outputs = 0, copies = 0;
  auto add_operands = [&](Value v) {
    bool tensors = false;
    for (Value operand : graph_.node(v).inputs) {
      const bool scalar = flow_.is_scalar_source(operand) && !is_inside(operand);
      if (scalar) add(scalars, operand);
      tensors |= !scalar;
    }
    copies += !tensors;  // the encoder turns one scalar into a tensor
  };
  for (Value v : members) {
    const NodeFlow& flow = flow_[v];
    add_shape(v);
    add_operands(v);
    for (Value source : flow.sources) {
      if (!is_inside(source)) add(inputs, source);
    }
    for (Value broadcast : flow.broadcasts) {
      if (!is_inside(broadcast)) add(broadcasts, broadcast);
    }
    outputs += flow.in_memory || std::any_of(flow.readers.begin(), flow.readers.end(),
                                             [&](Value r) { return !is_inside(r); });
  }
  for (Value v : broadcasts) {
    add_shape(v);
    add_operands(v);
  }
  for (Value v : inputs) add_shape(v);
  core::RegionBudget use = core::kNothingUsed;
  use.steps = static_cast<int>(members.size() + broadcasts.size()) + copies;
  use.tensors = static_cast<int>(inputs.size()) + outputs;
  use.values = use.steps + static_cast<int>(inputs.size() + scalars.size());
  use.shapes = static_cast<int>(shapes.size()) + (copies > 0 ? 1 : 0);  // that of one number
  return over_budget(use);
}

// Makes one place in the sequence of the places of two groups; false where a path between them
// passes through a third group, which would have to run both before and after their union. Only
// groups that stand between the two can be on such a path (dynamic topological order of Pearce and
// Kelly): those that the later group needs move in front of the union, the others behind it.
bool Grouping::unite_places(int kept, int dropped) {
  int early = kept, late = dropped;
  if (place(early) > place(late)) std::swap(early, late);
  const size_t begin = place(early), end = place(late);
  std::vector<char> needed(end - begin + 1, 0);
  needed.back() = 1;
  for (size_t at = end; at > begin; --at) {
    const int group = sequence_[at];
    if (group < 0 || !needed[at - begin]) continue;
    for (Value v : members(group)) {
      for (Value before : flow_[v].after) {
        const int other = group_of(before);
        if (other < 0 || other == group || place(other) < begin) continue;
        if (other == early && group != late) return false;
        if (other != early) needed[place(other) - begin] = 1;
      }
    }
  }
  std::vector<int> window;
  for (size_t at = begin + 1; at < end; ++at) {
    if (sequence_[at] >= 0 && needed[at - begin]) window.push_back(sequence_[at]);
  }
  window.push_back(kept);
  for (size_t at = begin + 1; at < end; ++at) {
    if (sequence_[at] >= 0 && !needed[at - begin]) window.push_back(sequence_[at]);
  }
  window.resize(end - begin + 1, -1);
  for (size_t at = begin; at <= end; ++at) {
    sequence_[at] = window[at - begin];
    if (sequence_[at] >= 0) place_[static_cast<size_t>(sequence_[at])] = at;
  }
  return true;
}

std::vector<int> Grouping::order() const {
  std::vector<int> order = sequence_;
  std::erase(order, -1);
  return order;
}

}  // namespace dvm::fuser
