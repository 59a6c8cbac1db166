// What instructions do to the lives of objects, and which calls show how long these are.
#pragma once

#include <array>

#include "capture/cpython/frame_view.h"
#include "capture/record/record.h"

namespace dvm::capture {

// What an instruction drops.
enum class Drops : uint8_t {
  nothing,
  local,
  top,
  operands,
  changed,
  called,
  iterated,
  iterator,
  unpacked,
  stored,
  sliced,
  anything
};

// What one may do that is about to run: drop an object that is held, change a container.
struct Effects {
  bool drops = false, changes = false;
};

struct DropTable {
  std::array<Drops, static_cast<size_t>(Op::count)> of;
};
extern const DropTable kDrops;

// ... to these objects, itself or by the code that it runs.
Effects effects_on_held(Drops drops, const FrameView& f, const Lifetimes& lifetimes);

inline Effects effects_of(const FrameView& f, const Lifetimes& lifetimes) {
  const Drops drops = kDrops.of[static_cast<size_t>(f.op)];
  if (drops == Drops::nothing) return {};
  if (drops == Drops::local) {
    PyObject* const old = f.locals[f.arg];
    if (old == nullptr || is_number_or_text(old)) return {};
  }
  return effects_on_held(drops, f, lifetimes);
}

// Tells the record what the instruction drops that is about to run: old values of places, and what
// is only on the stack. Whether that has to be looked at.
bool tell_dropped(const FrameView& f, Record& record);

// Throws Unkeepable for functions that show how long objects live and who holds them, which
// a recording changes.
void refuse_look(PyObject* callee);
// ... where the frame is about to call one.
void refuse_looking_call(const FrameView& f);

}  // namespace dvm::capture
