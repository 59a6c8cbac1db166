// A code object's instructions, decoded once: what each does, where it leads, and how many entries
// the value stack has before it.
#pragma once

#include <array>
#include <vector>

#include "capture/cpython/ops.h"
#include "capture/py.h"

namespace dvm::capture {

struct Decoded {
  Operation first = {}, then = {};  // `then` does nothing but where one instruction stands for two
  int32_t start = 0;    // code units: of its first EXTENDED_ARG, if any, where jumps lead to
  int32_t unit = 0;     // of the instruction itself
  int32_t next = 0;     // of the one behind it
  int32_t target = -1;  // where it may jump; -1: nowhere
  int32_t depth = -1;   // entries on the value stack before it; -1: nothing leads here
  bool falls_through = true;
};

class CodeTable {
 public:
  explicit CodeTable(PyCodeObject* code);

  const std::vector<Decoded>& instructions() const { return instructions_; }
  // The instruction to which this unit belongs, be it a prefix or a cache; null: there is no such
  // unit.
  const Decoded* at(int32_t unit) const {
    if (unit < 0 || unit >= static_cast<int32_t>(places_.size())) return nullptr;
    const int32_t place = places_[static_cast<size_t>(unit)];
    return place < 0 ? nullptr : &instructions_[static_cast<size_t>(place)];
  }
  // The operation behind the instruction at this unit; Op::nothing: it is the last.
  Operation behind(int32_t unit) const;
  // The one before it.
  Operation before(int32_t unit) const;

 private:
  void find_depths(PyCodeObject* code, const std::vector<std::array<int32_t, 2>>& effects);

  std::vector<Decoded> instructions_;
  std::vector<int32_t> places_;  // by unit
};

// The code object keeps it, and has it freed when it dies.
const CodeTable& code_table(PyCodeObject* code);

// What each version of CPython says of an instruction.
struct Meaning {
  Operation first = {}, then = {};
  bool jumps = false;
  int32_t relative = 0;  // from the next instruction to where it jumps, in code units
  bool falls_through = true;
};
Meaning meaning_of(int opcode, int oparg);
// Of those that mean the same in all of them; Op::unknown: it is none of these.
Meaning common_meaning(int opcode, int oparg);
Meaning jump(Op op, int relative);
// Of Op::call_function_ex: a dict of named arguments is on top, or a null (3.14).
inline constexpr int kMaybeNamed = 2;
// Of Op::load_special.
inline constexpr int kEnter = 0, kExit = 1;

// Where a call has its callee on the stack: below the object of a method, or a null that is left
// free for that (3.13); or on top of it (3.11).
extern const bool kCalleeIsBelow;
// Whether the end of a `for` loop finds its iterator on the stack still, for an instruction of its
// own to drop (3.14).
extern const bool kIteratorStays;

}  // namespace dvm::capture
