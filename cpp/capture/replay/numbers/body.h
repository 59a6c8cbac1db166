// The turns of a loop that have to do with numbers alone, as code of the machine: all the ways that
// they go, of which those that begin alike are one until they part. A turn that goes none of them
// is replayed.
//
// The code is made for the types that the variables have where a turn begins. A turn that gives
// others ends it, and the turn behind that is another Body's.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "capture/path/path.h"
#include "capture/replay/numbers/attempt.h"
#include "capture/replay/numbers/bound.h"
#include "capture/replay/numbers/changes.h"
#include "capture/replay/numbers/rounds.h"

namespace dvm::capture::numbers {

class Body {
 public:
  // How a turn begins: arguments that change are null, and these are the types of those that are
  // numbers, and of the parts of the item, if that is a tuple.
  struct Entry {
    PyObject* const* arguments;
    std::vector<std::optional<Type>> types, parts = {};
  };
  static Entry entry_of(PyObject* const* arguments, std::span<const Variable> variables,
                        const Items& items);
  // Null: no path of these is one of numbers alone.
  static std::unique_ptr<Body> of(const std::vector<std::unique_ptr<Path>>& paths,
                                  const Entry& entry, const Changes& changes);
  ~Body();
  Body(const Body&) = delete;
  Body& operator=(const Body&) = delete;

  // Whether turns of that path are the code's.
  bool has(const Path& path) const;
  // For the turns from the one with these arguments on; false: it is not for those.
  bool prepare(PyObject* const* arguments);
  void empty() { bound_.empty(); }

  // Whether there are more ways now that turns of loops within go.
  bool is_stale() const { return bound_.is_stale(); }

  // Runs as many turns as are this code's, at most so many; keeps what they write over in `undo`,
  // unless that is null. Each but the first takes what the one
  // before it gave, and the next item.
  struct Result {
    int64_t made = 0;
    bool more = true, was_long = false;  // whether there is a next item, in the last variable
    bool fits = true;                    // the variables have the types that the code is for
  };
  Result run(std::span<Variable> variables, Items& items, int64_t most, Undo* undo, Draws& draws);

 private:
  friend class TurnCode;
  explicit Body(size_t slots);
  // The cell that has a variable where a turn begins.
  const Number& home(size_t slot, Type type);
  void finish();

  struct Place {
    size_t slot;
    Number number;
  };

  Bound bound_;
  std::unique_ptr<Attempt> attempt_;  // null: nothing is done that would have to be taken back
  std::vector<std::optional<Number>> homes_;  // by variable
  std::vector<bool> taken_, given_;           // likewise; behind the variables, the item
  struct TakenPart {
    int32_t part;
    Number number;
  };
  std::vector<TakenPart> parts_;
  std::vector<Place> takes_;
  // What the last turn has given, by what the code is left with: that turns of other types are
  // next, or (0) others that are not known here.
  std::vector<std::vector<Place>> exits_;
  std::vector<const Path*> paths_;
  Rounds rounds_{{}, nullptr};
  bool is_too_long_ = false;
};

}  // namespace dvm::capture::numbers
