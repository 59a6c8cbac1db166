// The reference graph against the paper's own example (MagPy Figures 7, 9 and 11) and against
// small programs written down as events over made-up objects.
#include "core/graph/references.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

namespace dvm::core {
namespace {

using Kind = SeenEvent::Kind;
using Origin = SeenNode::Origin;

// A host whose objects are strings: "#..." has no identity, a list holds what is read from it.
class Script : public HostObjects {
 public:
  bool has_identity(HostHandle object) const override { return text(object)[0] != '#'; }
  bool is_held(const Recording&, const SeenEvent& event) const override {
    return !made_.contains(event.result);
  }
  NodeId changed_by(const Recording& r, const SeenEvent& call) const override {
    const SeenNode& callee = r.node(r.operands_of(call)[0]);
    if (text(callee.object) == "fill") return r.operands_of(call)[1];
    const auto changing = std::string("append");
    if (callee.origin != Origin::event || text(callee.object) != changing) return kNoNode;
    return r.operands_of(r.events[static_cast<size_t>(callee.index)])[0];
  }

  HostHandle handle(const std::string& name) {
    return const_cast<std::string*>(&*names_.insert(name).first);
  }
  NodeId argument(const std::string& object) {
    return recording.add({Origin::argument, slots_++, nullptr, nullptr, handle(object), nullptr});
  }
  NodeId constant(const std::string& object) {
    return recording.add({Origin::constant, 0, nullptr, nullptr, handle(object), nullptr});
  }
  // An event, and the node of its result where it has one.
  NodeId event(Kind kind, std::vector<NodeId> operands, const std::string& result = {},
               const std::string& name = {}) {
    SeenEvent made;
    made.kind = kind;
    if (!name.empty()) made.name = handle(name);
    const int32_t number = recording.record(made, operands);
    if (result.empty()) return kNoNode;
    const NodeId node =
        recording.add({Origin::event, number, nullptr, nullptr, handle(result), nullptr});
    recording.events.back().result = node;
    return node;
  }
  // As event(), for a read that makes a new object.
  NodeId view(Kind kind, std::vector<NodeId> operands, const std::string& result,
              const std::string& name = {}) {
    const NodeId node = event(kind, std::move(operands), result, name);
    made_.insert(node);
    return node;
  }
  ReferenceGraph graph() const { return ReferenceGraph(recording, *this); }

  Recording recording;

 private:
  static const std::string& text(HostHandle object) {
    return *static_cast<const std::string*>(object);
  }
  std::set<std::string> names_;
  std::set<NodeId> made_;
  int32_t slots_ = 0;
};

using Nodes = std::vector<NodeId>;

// def f(x, y, z):
//     x[0] += y
//     x.append(x[0] * y)
//     a = tuple(x)        (returned, so that it is visible from outside)
TEST(References, FigureNine) {
  Script s;
  const NodeId x = s.argument("x"), y = s.argument("#2.0");
  s.argument("#3.0");
  const NodeId zero = s.constant("#0");
  const NodeId first = s.event(Kind::subscript, {x, zero}, "tensor");
  const NodeId sum = s.event(Kind::inplace, {first, y}, "tensor", "+");
  s.event(Kind::store_subscript, {x, zero, sum});
  const NodeId append = s.view(Kind::attribute, {x}, "append", "append");
  const NodeId again = s.event(Kind::subscript, {x, zero}, "tensor");
  const NodeId product = s.event(Kind::binary, {again, y}, "product", "*");
  s.event(Kind::call, {append, product}, "#None");
  const NodeId a = s.event(Kind::tuple, {again, product}, "a");
  s.recording.result = a;

  const ReferenceGraph graph = s.graph();
  // Figure 11a: x, y and x[0] are checked; not z, which is not used.
  EXPECT_EQ(graph.guard_nodes(), (Nodes{x, y, first}));
  // Figure 11b: the new tuple and tensor are made, x and x[0] are updated in place.
  EXPECT_EQ(graph.mock_nodes(), (Nodes{a, product, x, first}));
  EXPECT_EQ(graph.shadow_of(sum), graph.shadow_of(first));
  // Figure 7: the tensor has two versions, of which the first was there at the beginning.
  const auto& tensor = graph.shadows()[static_cast<size_t>(graph.shadow_of(first))];
  EXPECT_EQ(tensor.versions, 2);
}

TEST(References, AliasesAreOneShadowNode) {
  Script s;
  const NodeId a = s.argument("list"), b = s.argument("list");
  const NodeId value = s.constant("#1");
  s.event(Kind::store_subscript, {b, s.constant("#0"), value});
  const ReferenceGraph graph = s.graph();
  EXPECT_EQ(graph.shadow_of(a), graph.shadow_of(b));
  EXPECT_EQ(graph.guard_nodes(), Nodes{a});
  EXPECT_EQ(graph.mock_nodes(), (Nodes{value, a}));
}

TEST(References, EqualNumbersStayApart) {
  Script s;
  const NodeId a = s.argument("#1"), b = s.argument("#1");
  s.event(Kind::binary, {a, b}, "#2", "+");
  EXPECT_EQ(s.graph().guard_nodes(), (Nodes{a, b}));
}

TEST(References, ReadsReachBackAndWritesDoNot) {
  Script s;
  const NodeId v = s.argument("v"), value = s.constant("#2.0");
  s.event(Kind::store_attribute, {v, value}, {}, "x");
  const NodeId y = s.event(Kind::attribute, {v}, "old", "y");   // Figure 13a: b = v.y
  const NodeId x = s.event(Kind::attribute, {v}, "#2.0", "x");  // Figure 13a: a = v.x
  const ReferenceGraph graph = s.graph();
  EXPECT_EQ(graph.guard_nodes(), (Nodes{v, y}));
  EXPECT_EQ(graph.mock_nodes(), (Nodes{value, v}));
  EXPECT_NE(graph.shadow_of(x), graph.shadow_of(v));
}

TEST(References, WhatIsIteratedOverHoldsWhatItYields) {
  Script s;
  const NodeId x = s.argument("x");
  const NodeId iterator = s.view(Kind::iter, {x}, "iterator");
  const NodeId item = s.event(Kind::next, {iterator}, "item");
  const NodeId part = s.event(Kind::attribute, {item}, "part", "part");
  EXPECT_EQ(s.graph().guard_nodes(), (Nodes{x, item, part}));
}

TEST(References, AnArrayThatACallWritesIntoHoldsNothingNew) {
  Script s;
  const NodeId out = s.argument("out"), fill = s.constant("fill"), value = s.constant("#1");
  s.event(Kind::call, {fill, out, value}, "out");
  EXPECT_EQ(s.graph().mock_nodes(), Nodes{out});
}

TEST(References, WhatIsDroppedAgainIsNotBroughtAbout) {
  Script s;
  const NodeId v = s.argument("v");
  const NodeId made = s.event(Kind::list, {}, "made");
  s.event(Kind::store_attribute, {v, made}, {}, "x");
  s.event(Kind::delete_attribute, {v}, {}, "x");
  EXPECT_EQ(s.graph().mock_nodes(), Nodes{v});
}

TEST(References, ObjectsMadeOnReadingAreNotGuarded) {
  Script s;
  const NodeId x = s.argument("array");
  const NodeId view = s.view(Kind::attribute, {x}, "view", "T");
  s.recording.result = view;
  const ReferenceGraph graph = s.graph();
  EXPECT_EQ(graph.guard_nodes(), Nodes{x});
  EXPECT_EQ(graph.mock_nodes(), Nodes{view});
}

TEST(References, GlobalsStoredAreOutside) {
  Script s;
  SeenNode global{Origin::global, 0, s.handle("z"), s.handle("module"), s.handle("old"), nullptr};
  const NodeId old = s.recording.add(global);
  const NodeId scope = s.constant("module");
  const NodeId fresh = s.event(Kind::list, {old}, "fresh");
  s.event(Kind::store_global, {fresh, scope}, {}, "z");
  const ReferenceGraph graph = s.graph();
  EXPECT_EQ(graph.guard_nodes(), Nodes{old});
  EXPECT_EQ(graph.mock_nodes(), Nodes{fresh});
}

TEST(References, NestedContainersAreReachedThroughTheirHolders) {
  Script s;
  const NodeId outer = s.argument("outer");
  const NodeId inner = s.event(Kind::subscript, {outer, s.constant("#0")}, "inner");
  const NodeId leaf = s.event(Kind::subscript, {inner, s.constant("key")}, "leaf");
  const NodeId item = s.constant("#9");
  s.event(Kind::list_append, {leaf, item});
  const ReferenceGraph graph = s.graph();
  EXPECT_EQ(graph.guard_nodes(), (Nodes{outer, inner, leaf}));
  EXPECT_EQ(graph.mock_nodes(), (Nodes{item, leaf}));
}

// A cycle ends the search, and an object that only a dead one holds is not found.
TEST(References, CyclesAndDeadObjects) {
  Script s;
  const NodeId x = s.argument("x");
  const NodeId part = s.event(Kind::list, {x}, "part");
  s.event(Kind::list_append, {x, part});
  const NodeId dead = s.event(Kind::list, {part}, "dead");
  const ReferenceGraph graph = s.graph();
  EXPECT_EQ(graph.guard_nodes(), Nodes{x});
  EXPECT_EQ(graph.mock_nodes(), (Nodes{part, x}));
  EXPECT_EQ(graph.search(graph.shadow_of(dead), ReferenceGraph::When::finally).size(), 3U);
}

}  // namespace
}  // namespace dvm::core
