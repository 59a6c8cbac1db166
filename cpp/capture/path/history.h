// What became of the calls that a function's Paths did not serve, and why: the records behind
// why_recompiled and the logs. There are at most as many as Paths and steps that can fail.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/error.h"

namespace dvm::capture {

struct Frame;
struct Path;
struct Step;

// Why a step did not take a call.
struct Miss {
  std::string step;          // the row of steps.def
  std::string what;          // what the user calls it: "argument x.shape[0]"; may be empty
  std::string wanted, seen;  // where these can be told apart
  std::string text;          // all of it as one sentence
  core::Loc at;              // where the program first relied on it
  std::string code = {};     // of a drop: a row of refusals.def, or "raises"
};

struct Event {
  enum class Kind : uint8_t { capture, fallback, drop };
  Kind kind;
  const Path* path;            // that was added, or whose step failed; null: it is gone
  int64_t call = 0;            // which call of the function it was, the first time
  int64_t count = 1;           // of drops at the same step
  std::vector<Miss> missed;    // of a capture: what no known Path allowed; of a drop: the reason
  const Step* step = nullptr;  // of a drop whose path is there
};
const char* to_string(Event::Kind kind);

class History {
 public:
  const std::vector<Event>& events() const { return events_; }
  const Event& added(const Path& path, int64_t call, std::vector<Miss> missed);
  // A step that fails again only counts: telling why makes texts, and some programs drop often.
  void dropped(const Frame& frame, const Step& step);
  // The drop that the last call added, with its number; null if it was one that is known.
  const Event* take_new_drop(int64_t call);
  // Others are about to be freed: events of theirs are told of without a path from now on.
  void forget_paths_but(const std::vector<std::unique_ptr<Path>>& kept);

 private:
  std::vector<Event> events_;
  bool fresh_ = false;
};

}  // namespace dvm::capture
