// The events of a running program that a recorder reads, however this version of CPython gives
// them: by a trace function (3.11) or by monitoring (3.12 and later).
#pragma once

#include <memory>

#include "capture/py.h"

namespace dvm::capture {

enum class FrameEvent : uint8_t {
  call,         // a frame begins, or a generator goes on
  thrown,       // a generator goes on with an exception
  instruction,  // one is about to run, of a frame that is attended to
  turn,         // a place of a loop whose turns are counted, its beginning among them
  exception,    // the last instruction raised this
  returned,     // the frame is about to return this, or to yield it
  unwound,      // an exception leaves it
};

// Which events of a frame are wanted.
enum class Attention : uint8_t { none, turns, instructions };

class EventReader {
 public:
  // `object`: what is raised, returned or yielded; else null. Whether the place of a `turn` is of
  // interest again.
  virtual bool on_event(PyFrameObject* frame, FrameEvent event, PyObject* object) noexcept = 0;

 protected:
  ~EventReader() = default;
};

// Events of one thread, from its making on. Readers may be within one another.
class EventSource {
 public:
  virtual ~EventSource() = default;
  // Whether nobody else reads this thread's events from the same source: some may be left out then.
  virtual bool is_alone() const = 0;
  virtual void attend(PyFrameObject* frame, Attention wanted) = 0;
  // No further events, though the call goes on.
  virtual void quit() = 0;
  // The call is over; called once, on the thread that it ran on. False: somebody else has put
  // another source in this one's place meanwhile.
  virtual bool end() = 0;
};

// Null: this interpreter has no place left for one.
std::unique_ptr<EventSource> begin_events(EventReader& reader);

}  // namespace dvm::capture
