// The nodes that so far share a Region, and whether two such groups may become one. A merge is
// judged on the union alone, so that the order of merges cannot make an illegal group legal.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/dims/facts.h"
#include "fuser/flow.h"
#include "fuser/fuse.h"

namespace dvm::fuser {

struct Refusal {
  std::string rule, reason;
};

class Grouping {
 public:
  Grouping(const core::Graph& graph, const Flow& flow, const core::Facts& facts,
           const Limits& limits);

  // Group of a computed node; own steps have one each; -1 for other nodes.
  int group_of(core::Value v) const { return group_of_[static_cast<size_t>(v)]; }
  // In node order; empty for a group merged into another.
  const std::vector<core::Value>& members(int group) const {
    return groups_[static_cast<size_t>(group)].members;
  }
  int group_count() const { return static_cast<int>(groups_.size()); }
  bool leaves(core::Value v, int group) const;  // someone needs it in memory

  // From now on no merge brings the two together.
  void keep_apart(core::Value a, core::Value b) { apart_.emplace_back(a, b); }
  // The facts have become more.
  void forget_proofs() { equal_.clear(); }

  // Merges the groups of two computed nodes; `edge`: `producer` is a source of `consumer`.
  std::optional<Refusal> merge(core::Value producer, core::Value consumer, bool edge);

  // Makes the group of `factor` part of that of `product`, which reads it: the steps of a factor go
  // over other dims than the product does, whose space stays that of the Region.
  std::optional<Refusal> absorb(core::Value factor, core::Value product);

  // Groups in an order that respects every dependency.
  std::vector<int> order() const;

 private:
  using Members = std::vector<core::Value>;
  struct Group {
    Members members;
    core::Shape space;  // what the Region iterates over
  };

  bool equal(const core::Shape& a, const core::Shape& b) const;
  bool equal(core::Dim a, core::Dim b) const;
  bool broadcasts_to(const core::Shape& from, const core::Shape& to) const;
  std::optional<core::Shape> common_space(core::Value producer, core::Value consumer,
                                          bool edge) const;
  bool may_widen_to(core::Dim from, core::Dim to) const;
  bool stays(core::Value v) const;
  bool is_kept_apart(int a, int b) const;
  std::optional<Refusal> check_reductions(const Members& members, const core::Shape& space);
  bool is_product(core::Value v) const;
  ptrdiff_t products_in(const Members& members) const;
  std::optional<Refusal> check_product(const Members& members, const core::Shape& space) const;
  std::optional<Refusal> check_levels(const Members& members);
  std::optional<Refusal> check_outputs(const Members& members, const core::Shape& space) const;
  std::optional<Refusal> check_limits(const Members& members) const;
  std::optional<Refusal> over_budget(const core::RegionBudget& use) const;
  bool unite_places(int kept, int dropped);
  void unite(int kept, int dropped, Members members, core::Shape space);
  Members members_of(int a, int b) const;
  size_t place(int group) const { return place_[static_cast<size_t>(group)]; }
  const core::Shape& iterated(core::Value v) const;

  const core::Graph& graph_;
  const Flow& flow_;
  const core::Facts& facts_;
  // Proofs, because every pair of groups asks for the same few sizes again.
  mutable std::map<std::pair<const core::DimNode*, const core::DimNode*>, bool> equal_;
  const Limits& limits_;
  std::vector<std::pair<core::Value, core::Value>> apart_;
  std::vector<Group> groups_;
  std::vector<int> group_of_;
  std::vector<char> made_;  // factors that the Region of their product makes, and nobody else needs
  // The order so far: groups, with -1 where one was merged away, and where each group stands.
  std::vector<int> sequence_;
  std::vector<size_t> place_;
  // Of the union being judged.
  std::vector<char> inside_;
  std::vector<int> level_;  // reductions on the longest way to a member
  bool is_inside(core::Value v) const { return inside_[static_cast<size_t>(v)] != 0; }
};

}  // namespace dvm::fuser
