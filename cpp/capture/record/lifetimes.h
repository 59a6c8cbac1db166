// Which objects the program has dropped, of those that something of dvm's holds; and whether the
// program could see that they are still there.
//
// It could where code runs when the object dies (`__del__`, a file that writes what it buffered, a
// weak reference's callback), where a weak reference answers, and where another object counts what
// was borrowed from it (a bytearray cannot grow while an array reads its memory).
#pragma once

#include <unordered_map>
#include <vector>

#include "capture/py.h"

namespace dvm::capture {

// Numbers, text, types and the like: nobody can tell when they die, and they hold nothing that dies
// with them.
bool is_mute(PyObject* object);

// Whether the program can tell that the object itself dies, were that now.
bool tells_end(PyObject* object);

class Lifetimes {
 public:
  Lifetimes() = default;
  ~Lifetimes() { clear(); }
  Lifetimes(const Lifetimes&) = delete;
  Lifetimes& operator=(const Lifetimes&) = delete;

  // dvm has one reference more to the object, which it keeps until clear(); or one reference to it
  // is about to be dropped.
  void hold(PyObject* object);
  // dvm alone has this container, and with it references to what is in it.
  void hold_contents(PyObject* container);
  // Looks at what the program has dropped since. False: it could tell that something of it is
  // still there.
  bool look();
  // Whether something that dvm has holds the object, so that it has a reference of its own, too.
  bool is_within(PyObject* object) const;
  // Calls visit(object) with all that only dvm has.
  template <typename Visit>
  void for_each_dropped(Visit visit) const {
    for (const auto& [object, held] : held_) {
      if (held.dead) visit(object);
    }
  }
  // Before the references are let go.
  void clear();

 private:
  struct Held {
    Py_ssize_t ours = 0;
    bool watched = false, dead = false, own = false;  // own: a reference is our own
  };

  struct Watched {
    PyObject* object;
    Held* held;  // of the map, whose entries stay where they are
  };

  static int count_visit(PyObject* object, void* self);
  void count(PyObject* object);
  void meet(PyObject* object, Held& held);

  std::unordered_map<PyObject*, Held> held_;
  std::vector<Watched> watched_;  // those that the program had when they were last looked at
};

}  // namespace dvm::capture
