// Turns of a loop that follow each other on the machine. Paths are learned from turns that were
// replayed; what these have shown to be the same, or is looked at for paths that were learned
// before, holds until other code of Python runs, or a turn goes another way.
#pragma once

#include <algorithm>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "capture/replay/numbers/body.h"
#include "capture/replay/numbers/turn.h"

namespace dvm::capture::numbers {

// What is known of a loop's paths from one call to the next.
class Learning {
 public:
  static constexpr int64_t kReplayed = 4;  // turns before any is learned from

  // What turns change, as far as these paths tell.
  std::shared_ptr<const Changes> changes(const std::vector<std::unique_ptr<Path>>& paths,
                                         int32_t variables, const std::vector<int32_t>& carried);
  // Of a path that was learned before, for one who gives it back; null: there is none at hand.
  std::unique_ptr<Turn> take(const Path& path);
  void give(const Path& path, std::unique_ptr<Turn> turn, size_t paths);
  std::vector<std::pair<const Path*, std::unique_ptr<Turn>>> take_all() {
    return std::exchange(turns_, {});
  }
  // Likewise of loops of numbers.
  std::vector<std::unique_ptr<Body>> take_bodies() { return std::exchange(bodies_, {}); }
  void give(std::unique_ptr<Body> body, size_t paths) {
    if (paths == paths_) bodies_.push_back(std::move(body));
  }
  // Null: there is none of numbers alone, so far, or turns have been of too many types.
  std::unique_ptr<Body> make_body(const std::vector<std::unique_ptr<Path>>& paths,
                                  const Body::Entry& entry);
  bool may_make_body() const { return refused_bodies_ < kChances && made_bodies_ < kBodies; }
  size_t paths() const { return paths_; }
  bool is_empty() const { return turns_.empty() && bodies_.empty(); }
  // How many turns of a call are replayed before one is learned from.
  int64_t unlearned() const { return is_empty() ? std::max<int64_t>(0, kReplayed - replayed_) : 0; }
  void count_replayed() { ++replayed_; }

  bool is_hopeless(const Path& path) const;
  void note_refused(const Path& path, core::Loc at);
  void note_taken(const Path& path);
  // Where a path has a step that the machine has no instruction for; none: no path has, so far.
  std::optional<core::Loc> refused_at() const;

 private:
  struct Refused {
    const Path* path;
    core::Loc at;
    int times = 0;
  };

  size_t paths_ = 0;
  int64_t replayed_ = 0;  // turns that went on
  std::shared_ptr<const Changes> changes_ = std::make_shared<Changes>();
  static constexpr int kChances = 3, kBodies = 8;
  std::vector<std::pair<const Path*, std::unique_ptr<Turn>>> turns_;
  std::vector<std::unique_ptr<Body>> bodies_;
  int made_bodies_ = 0, refused_bodies_ = 0;
  std::vector<Refused> refused_;
};

class Stretch {
 public:
  // `undo`, `draws`: where what turns write over is kept, and what they draw.
  Stretch(Learning& learning, const std::vector<std::unique_ptr<Path>>& all,
          std::shared_ptr<const Changes> changes, Undo& undo, Draws& draws)
      : learning_(learning),
        all_paths_(all),
        changes_(std::move(changes)),
        undo_(undo.is_open() ? &undo : nullptr),
        draws_(draws),
        paths_(learning.paths()),
        replayed_(learning.unlearned()) {}
  ~Stretch() { forget(); }
  Stretch(const Stretch&) = delete;
  Stretch& operator=(const Stretch&) = delete;

  // Whether the registers of that turn are to be kept.
  bool wants(int64_t turn);
  // After a turn that was replayed and goes on; its registers, if they were wanted.
  void learn(const Path& path, std::vector<Ref> registers);
  void forget();
  bool is_empty() const { return turns_.empty() && bodies_.empty(); }

  // Runs turns until one is not for the machine, or for long: the item of the next one is then at
  // hand, if there is something to iterate over, unless nothing is left of it. False: a Python
  // error is set.
  struct Result {
    int64_t turns = 0;
    bool ended = false, was_long = false;
  };
  bool run(std::span<Ref> variables, Items& items, Ref& item, Result& result);

 private:
  struct Learned {
    const Path* path;
    std::unique_ptr<Turn> turn;
  };
  // Turns that were run without a look at anything else.
  struct Made {
    int64_t turns = 0;
    bool more = true, is_slow = false, was_long = false;
  };
  bool run(std::span<Variable> state, Items& items, bool has_item, Result& result);
  bool prepare(std::span<const Ref> variables, const Ref& item);
  bool turns(std::span<Variable> variables, Items& items, int64_t most, Made& made);
  bool turns_of_numbers(std::span<Variable> variables, Items& items, int64_t most, Made& made);
  bool has(const Path& path) const;

  Learning& learning_;
  const std::vector<std::unique_ptr<Path>>& all_paths_;
  const std::shared_ptr<const Changes> changes_;
  Undo* const undo_;
  Draws& draws_;
  const size_t paths_;
  const int64_t replayed_;
  std::vector<Learned> turns_;
  std::vector<std::unique_ptr<Body>> bodies_;
  std::vector<PyObject*> same_;  // arguments, borrowed; null: it changes
  bool wants_body_ = false;
  size_t likely_ = 0, likely_body_ = 0;
  int64_t learned_ = 0;
  int rest_ = 0;        // turns until registers are wanted again
  bool is_new_ = true;  // since what was learned of the turns before was forgotten
  int failures_ = 0;    // one after the other
};

}  // namespace dvm::capture::numbers
