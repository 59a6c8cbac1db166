// What instructions do to the lives of objects, and which calls show how long these are.
#pragma once

#include <array>

#include "capture/cpython311/frame_view.h"
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
  anything
};

// What one may do that is about to run: drop an object that is held, change a container.
struct Effects {
  bool drops = false, changes = false;
};

struct DropTable {
  std::array<Drops, 256> of;
};
extern const DropTable kDrops;

// ... to these objects, itself or by the code that it runs.
Effects effects_on_held(Drops drops, const DvmFrameView& f, const Lifetimes& lifetimes);

inline Effects effects_of(const DvmFrameView& f, const Lifetimes& lifetimes) {
  const Drops drops = kDrops.of[static_cast<uint8_t>(f.opcode)];
  if (drops == Drops::nothing) return {};
  if (drops == Drops::local) {
    PyObject* const old = f.locals[f.oparg];
    if (old == nullptr || is_number_or_text(old)) return {};
  }
  return effects_on_held(drops, f, lifetimes);
}

// Tells the record what the instruction drops that is about to run: old values of places, and what
// is only on the stack. Whether that has to be looked at.
bool tell_dropped(const DvmFrameView& f, Record& record);

// Throws Unkeepable for functions that show how long objects live and who holds them, which
// a recording changes.
void refuse_look(PyObject* callee);
// ... where the frame is about to call one.
void refuse_looking_call(const DvmFrameView& f);

}  // namespace dvm::capture
