// Read-only view of a frame in the middle of an event: the instruction, local slots, value stack.
#pragma once

#include "capture/cpython/code_table.h"
#include "capture/cpython/frame_entry.h"
#include "capture/cpython/frame_parts.h"

namespace dvm::capture {

struct FrameView {
  PyCodeObject* code;
  PyObject* globals;         // the dict
  const FrameEntry* locals;  // locals, cells and free variables: code->co_nlocalsplus slots
  const FrameEntry* stack;   // bottom of the value stack
  int depth;                 // entries on it
  Op op;                     // what is about to be done
  int arg;                   // ... with which operand
  int index;                 // the instruction's code unit
  int start;                 // the one jumps to it lead to: its first EXTENDED_ARG, if any
  Operation then;            // what it does behind that
  const CodeTable* table;    // of its code

  // As the second of two operations of one instruction.
  FrameView second() const {
    FrameView other = *this;
    other.op = then.op;
    other.arg = then.arg;
    other.then = {};
    return other;
  }
  PyObject* name(int i) const { return PyTuple_GET_ITEM(code->co_names, i); }
};

FrameView frame_view(PyFrameObject* frame);

}  // namespace dvm::capture
