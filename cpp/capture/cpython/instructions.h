// What operations do to the value stack and which event each is. Plain ones are rows of a table;
// the others are named special and have a function of their own in frame_recorder.cpp.
#pragma once

#include <cstdint>

#include "capture/cpython/ops.h"
#include "capture/py.h"
#include "core/graph/recording.h"

namespace dvm::capture {

enum class Action : uint8_t {
  refused,  // text: the code of the reason
  special,
  nothing,
  produce,  // pops the operands, pushes a result
  effect,   // pops the operands
  update,   // pops the operands but the first, which lies `oparg` below them and stays
};

// Where the number of operands and the name of the event come from, besides the row itself.
enum class Count : uint8_t { fixed, oparg, twice_oparg };
enum class Naming : uint8_t { text, variable, binary, compare, identity, contains };

struct Instruction {
  Action action = Action::refused;
  core::SeenEvent::Kind kind = core::SeenEvent::Kind::call;
  Count count = Count::fixed;
  uint8_t operands = 0;
  Naming naming = Naming::text;
  bool rotated = false;  // the value, pushed first, is the last operand
  const char* text = "unknown-instruction";
  PyObject* name = nullptr;  // the interned text
};

const Instruction& instruction(Op op);

// In the order of the arguments of BINARY_OP; from kInplaceBase on the in-place forms.
inline constexpr int kInplaceBase = 13;
PyObject* binary_operator(int oparg);
PyObject* compare_operator(int oparg);
PyObject* identity_operator(int oparg);
PyObject* contains_operator(int oparg);

}  // namespace dvm::capture
