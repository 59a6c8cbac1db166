// A part of the user's code that one call runs several times, as a tree of Paths of its own: the
// turns of a loop (loop.h), the activations of a function that calls itself (recursion.h). Each is
// replayed like a call.
#pragma once

#include <memory>
#include <vector>

#include "capture/in_flight.h"
#include "capture/path/path.h"
#include "capture/replay/replay.h"

namespace dvm::capture {

struct Frame;

class Subroutine {
 public:
  explicit Subroutine(int32_t arguments) : arguments_(arguments) {}
  virtual ~Subroutine() = default;
  Subroutine(const Subroutine&) = delete;
  Subroutine& operator=(const Subroutine&) = delete;

  int32_t arguments() const { return arguments_; }
  const std::vector<std::unique_ptr<Path>>& paths() const { return paths_; }
  // Whether the path is compiled to its end; one like it may be there already.
  bool add(std::unique_ptr<Path> path);

  int traverse(visitproc visit, void* arg) const;
  // Lets go of all that it holds, for the garbage collector: what still calls it misses.
  virtual void clear();

 protected:
  // No path goes away while it lives.
  Flight begin() { return Flight(running_); }
  // By the first path whose guards hold.
  Outcome replay(Call& call);

 private:
  const int32_t arguments_;
  std::vector<std::unique_ptr<Path>> paths_;
  std::vector<Path*> roots_;
  size_t likely_ = 0;
  InFlight running_;
};

// Ends the step that ran one: its value, a new reference, in that register, or why there is none.
bool define_result(Frame& frame, int32_t reg, PyObject* value, Outcome outcome);

// Routines as Python objects, which steps hold.
PyObject* make_subroutine_type();
PyObject* new_subroutine(std::unique_ptr<Subroutine> routine);
bool is_subroutine(PyObject* object);
Subroutine& subroutine_of(PyObject* object);

}  // namespace dvm::capture
