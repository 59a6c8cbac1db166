#include "capture/replay/numbers/code.h"

#include <cmath>
#include <cstring>

#include "capture/replay/numbers/attempt.h"
#include "core/ops/fp_flags.h"

namespace dvm::capture::numbers {

namespace {

constexpr int64_t kExact = int64_t{1} << 53;  // up to here every integer is a float

bool is_exact(int64_t x) { return -kExact <= x && x <= kExact; }

// Of a comparison: any, or what the literal of its instruction says.
bool is_expected(int64_t truth, int64_t literal) { return literal == 0 || literal == truth + 1; }

bool divides(int64_t a, int64_t b) { return b != 0 && !(a == INT64_MIN && b == -1); }

// Rounded down.
int64_t floor_quotient(int64_t a, int64_t b) { return a / b - (a % b != 0 && (a < 0) != (b < 0)); }

bool can_shift(int64_t a, int64_t by) { return 0 <= by && by < 63 && (a << by) >> by == a; }

bool compares(Op op) {
  return (Op::eq_floats <= op && op <= Op::ge_floats) ||
         (Op::eq_integers <= op && op <= Op::ge_integers);
}

// NOLINTNEXTLINE(performance-no-int-to-ptr): cells hold addresses, too
std::byte* memory(Cell place) { return reinterpret_cast<std::byte*>(place.i); }

// NOLINTBEGIN(performance-no-int-to-ptr): so do literals of instructions
CellStep& step_of(int64_t literal) { return *reinterpret_cast<CellStep*>(literal); }
Attempt& attempt_of(int64_t literal) { return *reinterpret_cast<Attempt*>(literal); }
// NOLINTEND(performance-no-int-to-ptr)

}  // namespace

void Code::expect(int32_t cell, bool truth) {
  const int64_t literal = truth + 1;
  if (!code_.empty() && code_.back().d == cell && code_.back().p == 0 &&
      compares(code_.back().op)) {
    code_.back().p = literal;
  } else {
    emit(Op::expect, cell, 0, truth);
  }
}

void Code::seal() {
  Cell* const cells = cells_.data();
  for (const Insn& insn : code_) {
    steps_.push_back({insn.op, cells + insn.d, cells + insn.a, cells + insn.b, cells + insn.c,
                      cells + insn.size, insn.p, insn.q, insn.function});
  }
  code_.clear();
}

bool Code::run() const {
  for (const Step& step : steps_) {
    Cell& d = *step.d;
    const Cell &a = *step.a, &b = *step.b, &c = *step.c;
    [[maybe_unused]] const int64_t p = step.p, q = step.q;
    switch (step.op) {
#define DVM_NUMBER(name, ...) \
  case Op::name: {            \
    __VA_ARGS__;              \
    break;                    \
  }
#include "capture/replay/numbers/numbers.def"
#undef DVM_NUMBER
    }
  }
  return true;
}

}  // namespace dvm::capture::numbers
