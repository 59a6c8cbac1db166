#include "driver/added_passes.h"

#include <algorithm>

#include "core/error.h"
#include "core/graph/bodies.h"
#include "core/graph/infer.h"

namespace dvm::driver {

namespace {

std::string described(const core::Graph& graph, core::Value v) {
  const core::Node& node = graph.node(v);
  return std::string(core::info(node.op).name) + " " + core::to_string(node.type);
}

// One pass, and what it made of a Graph.
struct Made {
  const std::string& pass;
  const core::Graph& before;
  const core::Graph& after;

  [[noreturn]] void refuse(const std::string& what, core::Loc loc) const {
    core::fail(core::ErrorCode::pass_failed, loc, "the pass " + pass + " " + what);
  }

  // What calls are given and give is agreed with others.
  void check(const char* what, const std::vector<core::Value>& old,
             const std::vector<core::Value>& made, bool same_ops) const {
    if (old.size() != made.size()) {
      refuse("gives a graph of " + std::to_string(made.size()) + " " + what + "s, not " +
                 std::to_string(old.size()),
             {});
    }
    for (size_t k = 0; k < old.size(); ++k) {
      const core::Node &was = before.node(old[k]), &is = after.node(made[k]);
      if (was.type == is.type && (!same_ops || (was.op == is.op && was.attrs == is.attrs)))
        continue;
      refuse("makes " + std::string(what) + " " + std::to_string(k) + ", %" +
                 std::to_string(old[k]) + " = " + described(before, old[k]) + ", into %" +
                 std::to_string(made[k]) + " = " + described(after, made[k]),
             was.loc);
    }
  }
};

}  // namespace

void check_added(const std::string& pass, const core::Graph& before, const core::Graph& after,
                 bool is_whole) {
  const Made made{pass, before, after};
  if (before.shared_dims() != after.shared_dims()) {
    made.refuse("gives a graph over other symbols: begin with the one that it is given", {});
  }
  try {
    is_whole ? core::verify(after) : core::verify_nodes(after);
  } catch (const core::Error& error) {
    made.refuse("breaks the graph: " + error.message(), error.loc());
  }
  for (const core::Value v : after.outputs) {
    if (v < 0 || v >= after.size()) {
      made.refuse("returns %" + std::to_string(v) + ", which is no node of its graph", {});
    }
  }
  made.check("argument", before.inputs(), after.inputs(), true);
  made.check("result", before.outputs, after.outputs, false);
}

}  // namespace dvm::driver
