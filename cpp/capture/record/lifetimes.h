// Which objects the program has dropped, of those that something of dvm's holds; and whether the
// program could see that they are still there.
//
// It could where code runs when the object dies (`__del__`, a file that writes what it buffered, a
// weak reference's callback), where a weak reference answers, and where another object counts who
// reads its memory (a bytearray cannot grow while a view of it is there). What can never be seen
// dying, and holds nothing that can, is not even looked at: numbers, text, plain arrays.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <deque>
#include <span>
#include <unordered_set>
#include <vector>

#include "capture/py.h"

namespace dvm::capture {

// Whether nobody can tell, now or later, when it dies, and it holds nothing of which they could.
// Weak references of the program's are made in sight.
bool is_mute(PyObject* object);

// ... at one look at its type, of those that there are most of.
inline bool is_number_or_text(PyObject* object) {
  constexpr unsigned long kWholeOrText = Py_TPFLAGS_LONG_SUBCLASS | Py_TPFLAGS_UNICODE_SUBCLASS;
  const PyTypeObject* const type = Py_TYPE(object);
  if (type->tp_flags & kWholeOrText) return (type->tp_flags & Py_TPFLAGS_HEAPTYPE) == 0;
  return type == &PyFloat_Type || type == &PyCode_Type;
}

// Whether the program can tell that the object itself dies, were that now.
bool tells_end(PyObject* object);

class Lifetimes {
 public:
  Lifetimes() = default;
  ~Lifetimes() { clear(); }
  Lifetimes(const Lifetimes&) = delete;
  Lifetimes& operator=(const Lifetimes&) = delete;

  // dvm has one reference more to the object, which it keeps until let_go() or clear(); or one
  // reference to it is about to be dropped.
  void hold(PyObject* object) {
    if (object == nullptr || is_number_or_text(object)) return;
    if (Held* const known = find(object)) return add(*known, 1);
    if (!is_mute(object)) add(add_held(object), 1);
  }
  // dvm alone has this container, and with it references to what is in it; or it is about to let
  // go of it.
  void hold_contents(PyObject* container);
  void forget_contents(PyObject* container);
  // The contents of this container are held: while the program has it, and it has them, they need
  // not be looked at one by one. Of long lists, and dicts.
  void trust(PyObject* container);
  // Such containers may have changed: what they have by now counts. How many pointers that took.
  int64_t compare();
  // How many objects are looked at each time.
  int64_t watched() const { return std::ssize(watched_); }
  // Whether the program has no more than so many references to an object of which dvm has some.
  bool has_others_at_most(PyObject* object, Py_ssize_t count) const {
    const Held* const held = find(object);
    return held != nullptr && Py_REFCNT(object) <= held->ours + count;
  }
  // Whether the program has dropped anything since the last look.
  bool any_dropped() const {
    for (const Watched& each : watched_) {
      if (Py_REFCNT(each.object) <= each.ours) return true;
    }
    return !std::ranges::all_of(trusted_, [](const Trusted& each) { return each.is_there(); });
  }
  // What of that it could tell to be still there; with what holds that and was dropped, too.
  std::unordered_set<PyObject*> look();
  // ... as if these references were gone, too.
  std::unordered_set<PyObject*> look_without(std::span<PyObject* const> references);
  // Of objects that are not held, of which these are the last references: those that hold, as far
  // down as they die, something that is. It would outlive them, and see in what order they die.
  std::vector<PyObject*> holders_among(std::span<PyObject* const> references) const;
  // In which look it was found that the program has dropped it: what it dropped before the rest
  // died before that. Not yet: the number of the next one.
  int64_t death_of(const PyObject* object) const {
    const Held* const held = find(object);
    return held != nullptr && held->died != 0 ? held->died : looks_ + 1;
  }
  // Whether something that dvm has holds the object, so that it has a reference of its own, too.
  bool is_within(PyObject* object) const {
    const Held* const held = has_own_ ? find(object) : nullptr;
    return held != nullptr && held->own;
  }
  bool any_within() const { return has_own_; }
  // These are let go: the references to them that are not the caller's own.
  std::vector<Ref> let_go(const std::unordered_set<PyObject*>& objects);
  // Before the references are let go.
  void clear();

 private:
  static constexpr size_t kNowhere = SIZE_MAX;

  struct Held {
    PyObject* object = nullptr;  // null: it was let go
    Held* next = nullptr;        // of those with the same place in the table
    Py_ssize_t ours = 0;
    size_t place = kNowhere;  // among those that are watched
    int64_t died = 0;         // in which look; 0: not yet
    int trusted = 0;          // how many trusted containers have it
    bool own = false;         // a reference is our own
  };

  // Beside each other, for they are gone through behind every other instruction.
  struct Watched {
    PyObject* object;
    Py_ssize_t ours;
    Held* held;
  };

  // A long list, or a dict, with what it had when it was last compared: while the program has the
  // container, it has that. A dict that has changed, its version says, is not trusted any more.
  struct Trusted {
    PyObject* container;
    const Held* held;
    std::vector<PyObject*> elements = {};  // of a list
    std::vector<Held*> contents = {};      // those of these, or of the dict, that are held, or null
    uint64_t version = 0;                  // of a dict

    bool is_there() const { return held->object == container && Py_REFCNT(container) > held->ours; }
    bool has_same() const;
  };

  static size_t place_of(const PyObject* object, size_t places) {
    const auto address = reinterpret_cast<uintptr_t>(object) >> 4;
    return (address ^ (address >> 8)) & (places - 1);
  }
  Held* find(const PyObject* object) const {
    Held* held = table_[place_of(object, table_.size())];
    while (held != nullptr && held->object != object) held = held->next;
    return held;
  }
  // Of one that is not held yet.
  Held& add_held(PyObject* object);
  void count_reference(PyObject* object);
  void add(Held& held, Py_ssize_t references) {
    held.ours += references;
    if (held.place != kNowhere) {
      watched_[held.place].ours = held.ours;
    } else {
      watch(held);
    }
  }
  void watch(Held& held) {
    if (held.died != 0 || held.trusted > 0 || held.place != kNowhere || held.object == nullptr)
      return;
    held.place = watched_.size();
    watched_.push_back({held.object, held.ours, &held});
  }
  // What containers had of which lost(container) says so: it is looked at again.
  template <typename Lost>
  void doubt(Lost lost);
  void trust_element(Held* held);
  void doubt_element(Held* held);
  void take_changes(Trusted& list);
  void stop_watching(Held& held);
  void add_holders(std::unordered_set<PyObject*>& telling) const;

  std::deque<Held> held_;                              // where they stay
  std::vector<Held*> table_ = std::vector<Held*>(64);  // first of each place; a power of two
  std::vector<Watched> watched_;  // those that the program had when they were last looked at
  std::vector<Trusted> trusted_;
  bool has_own_ = false;
  int64_t looks_ = 0;
};

// Those of these that others of them hold.
std::unordered_set<PyObject*> held_by_others(const std::unordered_set<PyObject*>& objects);

// Whether a container holds one of these.
bool holds_any(PyObject* container, const std::unordered_set<PyObject*>& objects);

}  // namespace dvm::capture
