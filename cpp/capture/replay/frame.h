// What the steps of a replay work on, and the signature they all have. Registers live on the stack
// of the call, so replays may nest and run in several threads.
#pragma once

#include "capture/replay/draws.h"
#include "capture/replay/program_locks.h"
#include "capture/replay/raising_state.h"
#include "capture/replay/replay.h"
#include "capture/replay/undo.h"

namespace dvm::capture {

enum class Refusal : uint8_t {
#define DVM_REFUSAL(name, text) name##_,
#include "capture/path/refusals.def"
#undef DVM_REFUSAL
};

struct Frame {
  Call& call;
  PyObject** registers;  // owned; null until defined
  const Path* path;      // whose step is running
  Outcome outcome = Outcome::missed;
  Refusal refused = Refusal::failed_;  // why a step failed that set no Python error
  bool committed = false;              // from here on warnings are the program's own
  ProgramLocks locks{};                // let go of behind all else
  RaisingState raising{};
  // A loop has gone on too far for another path to begin where it began.
  bool is_spent = false;
  Draws own_draws{};
  Undo own_undo{};

  // Where what is written into arrays of the caller is kept, as long as it may be taken back.
  Undo& undo() { return call.undo != nullptr ? *call.undo : own_undo; }
  Draws& draws() { return call.draws != nullptr ? *call.draws : own_draws; }

  PyObject* operator[](int32_t reg) const { return registers[reg]; }
  // Takes the reference; false: the object is null.
  bool define(int32_t reg, PyObject* object) {
    registers[reg] = object;
    return object != nullptr;
  }
};

// One function per row of steps.def, with its operands. False: the step failed, a Python error may
// be set (the loop knows what that means for the row's category); an `end` is always false.
namespace steps {
#define DVM_STEP(name, category, operands, synopsis) bool name##_(Frame& f, const int32_t* p);
#include "capture/path/steps.def"
#undef DVM_STEP
}  // namespace steps

}  // namespace dvm::capture
