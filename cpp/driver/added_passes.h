// What users make of the list of steps: passes that they add, and what they leave out.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"
#include "core/graph/graph.h"
#include "core/graph/region.h"

namespace dvm::driver {

class AddedPasses {
 public:
  struct Entry {
    std::string name;
    std::string after;  // a pass of the list; none: before all of them
  };
  std::vector<std::string> off;  // steps that are left out, none of which is needed
  // The step that the graph comes from behind of: what is up to it has been done. None: nothing.
  std::string resumes_behind;

  virtual ~AddedPasses() = default;
  virtual std::span<const Entry> entries() const { return {}; }
  // Appends what it decided. Throws what its author's code throws.
  virtual core::Graph run(size_t /*index*/, const core::Graph& graph,
                          std::vector<core::Decision>& /*decisions*/) const {
    return graph;
  }
  // Is told of the error that compile() is about to throw.
  virtual void refused(const core::Error& /*error*/) const {}
};

// Throws PassError, with the pass's name and the node, for what is no Graph of the same arguments
// and results. A body of a loop or branch may use functions and objects.
void check_added(const std::string& pass, const core::Graph& before, const core::Graph& after,
                 bool is_whole);

}  // namespace dvm::driver
