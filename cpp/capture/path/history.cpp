#include "capture/path/history.h"

#include <algorithm>
#include <utility>

#include "capture/path/explain_step.h"
#include "capture/path/path.h"
#include "capture/replay/frame.h"

namespace dvm::capture {

const char* to_string(Event::Kind kind) {
  switch (kind) {
    case Event::Kind::capture:
      return "capture";
    case Event::Kind::fallback:
      return "fallback";
    case Event::Kind::drop:
      return "drop";
  }
  __builtin_unreachable();
}

const Event& History::added(const Path& path, int64_t call, std::vector<Miss> missed) {
  const auto kind = path.reason().empty() ? Event::Kind::capture : Event::Kind::fallback;
  return events_.emplace_back(Event{kind, &path, call, 1, std::move(missed)});
}

void History::dropped(const Frame& frame, const Step& step) {
  const auto known = std::find_if(events_.begin(), events_.end(),
                                  [&](const Event& event) { return event.step == &step; });
  if (known != events_.end()) {
    ++known->count;
    return;
  }
  events_.push_back({Event::Kind::drop, frame.path, 0, 1, {explain_drop(frame, step)}, &step});
  fresh_ = true;
}

void History::forget_paths_but(const std::vector<std::unique_ptr<Path>>& kept) {
  for (Event& event : events_) {
    const auto is_path = [&](const auto& path) { return path.get() == event.path; };
    if (std::any_of(kept.begin(), kept.end(), is_path)) continue;
    event.path = nullptr;
    event.step = nullptr;
  }
}

const Event* History::take_new_drop(int64_t call) {
  if (!std::exchange(fresh_, false)) return nullptr;
  events_.back().call = call;
  return &events_.back();
}

}  // namespace dvm::capture
