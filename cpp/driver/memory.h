// Which values of a Graph share memory, and how long it lives. A view is its operand's memory; an
// update takes its operand's over where it is the last to need that, and is a changed copy
// elsewhere. What an update in place is to write, its Region may write there at once. And a Region
// writes its result over an input that nobody needs any more, where its elements allow that: less
// memory to hold and to move.
#pragma once

#include <vector>

#include "core/graph/graph.h"
#include "fuser/fuse.h"

namespace dvm::driver {

struct Memory {
  bool to_host = false;   // leaves the Plan, or is seen by a call
  bool called = false;    // a call has it that may keep it, and write to it
  size_t last_use = 0;    // position in the order of units; its end for what is returned
  core::Value last = -1;  // the value it holds in the end, views aside
};

class MemoryMap {
 public:
  // `own`: inputs that the Plan may write to.
  MemoryMap(const core::Graph& graph, const fuser::Fusion& fusion, std::vector<core::Value> own);

  // The value that was the first in this memory.
  core::Value root(core::Value v) const {
    for (core::Value above = of(v); above != v; v = above, above = of(v)) of(v) = of(above);
    return v;
  }
  const Memory& operator[](core::Value v) const { return memories_[static_cast<size_t>(root(v))]; }
  bool in_place(core::Value update) const { return in_place_[static_cast<size_t>(update)] != 0; }
  // The update in place into whose memory a Region writes its output v; -1 if none.
  core::Value target(core::Value v) const { return target_[static_cast<size_t>(v)]; }
  // The value over which a Region writes its output v; -1 if none.
  core::Value over(core::Value v) const { return over_[static_cast<size_t>(v)]; }

 private:
  // A value whose memory it is, nearer to the root with each look; itself for that.
  core::Value& of(core::Value v) const { return of_[static_cast<size_t>(v)]; }
  Memory& at(core::Value v) { return memories_[static_cast<size_t>(root(v))]; }
  template <typename F>
  void for_each_use(const fuser::Fusion& fusion, F f) const;
  void find_uses(const fuser::Fusion& fusion);
  bool is_ours(core::Value v) const;
  void take_over(core::Value update, size_t position);
  void find_targets(const fuser::Fusion& fusion);
  void write_over(const fuser::FusedRegion& region, size_t position);
  void join(core::Value older, core::Value newer, size_t position);

  const core::Graph& graph_;
  const std::vector<core::Value> own_;
  mutable std::vector<core::Value> of_;
  std::vector<Memory> memories_;
  std::vector<char> in_place_;
  std::vector<core::Value> target_, over_;
};

}  // namespace dvm::driver
