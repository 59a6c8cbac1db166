// Fusion: cuts a Graph into Regions, views, whole ops and opaque calls (DVM paper, section 5.2).
// Operations whose iteration spaces provably merge share a Region, so that what passes between them
// stays in local memory. The result of a reduction over the innermost axes may feed its own Region,
// which then is computed row by row; another one ends its Region.
#pragma once

#include <utility>
#include <vector>

#include "core/dims/facts.h"
#include "core/graph/region.h"
#include "core/graph/region_budget.h"

namespace dvm::fuser {

struct Limits {
  core::RegionBudget region;  // of each
  bool factors = false;       // steps that make the left factor of a product join its Region
};

struct FusedRegion {
  core::Region region;
  // Values of the Graph, in the order of the body's inputs, scalars and outputs.
  std::vector<core::Value> inputs, scalars, outputs;
  std::vector<core::Value> members;  // what it computes for itself, broadcasts and scalars aside
};

// One step of the program: a Region, or a view, whole op or call of the Graph.
struct Unit {
  int region = -1;
  core::Value node = -1;
};

using Equality = std::pair<core::Dim, core::Dim>;

struct Fusion {
  std::vector<FusedRegion> regions;
  std::vector<Unit> order;
  // Sizes that proofs took to be equal: to be checked before the first unit.
  std::vector<Equality> assumed;
  std::vector<core::Decision> decisions;  // one per edge, and one per pair joined by a shared input
};

Fusion fuse(const core::Graph& graph, const Limits& limits);

// What somebody asks for in place of what fuse() decides, to see what it would cost.
struct Hints {
  std::vector<std::pair<core::Value, core::Value>> together, apart;  // nodes of the graph
  // What may be taken for granted to bring `together` what fuse() does not, say the sizes of a
  // call. It is in Fusion::assumed then.
  std::vector<Equality> assumed;
};
// With the groups of fuse(), but for those that the hints change. What cannot be one Region in any
// call stays apart.
Fusion fuse(const core::Graph& graph, const Limits& limits, const Hints& hints);

// Whether two nodes of the graph share a Region, and which rule of fuse() kept them apart.
core::Decision explain_pair(const core::Graph& graph, const Limits& limits, core::Value a,
                            core::Value b);

// Regions leave dense arrays behind, but transposes and most slices do not: what they give a
// reshape that does more than split axes is copied by a broadcast to its own shape first. Run
// before fuse().
core::Graph pass_dense_reshapes(core::Graph graph);

}  // namespace dvm::fuser
