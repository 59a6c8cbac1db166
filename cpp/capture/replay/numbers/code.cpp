#include "capture/replay/numbers/code.h"

#include <cmath>
#include <cstring>

#include "capture/replay/numbers/attempt.h"
#include "capture/replay/numbers/bound.h"
#include "capture/replay/numbers/items.h"
#include "capture/replay/numbers/object_steps.h"
#include "capture/replay/numbers/rounds.h"
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

// Whose ends may lie far apart.
int64_t length_of_range(int64_t start, int64_t stop, int64_t step) {
  if (step > 0 ? start >= stop : start <= stop) return 0;
  const auto from = static_cast<uint64_t>(step > 0 ? start : stop);
  const auto to = static_cast<uint64_t>(step > 0 ? stop : start);
  const uint64_t by = step > 0 ? static_cast<uint64_t>(step) : 0 - static_cast<uint64_t>(step);
  const uint64_t length = (to - from - 1) / by + 1;
  return length > INT64_MAX ? INT64_MAX : static_cast<int64_t>(length);
}

bool compares(Op op) {
  return (Op::eq_floats <= op && op <= Op::ge_floats) ||
         (Op::eq_integers <= op && op <= Op::ge_integers) || op == Op::eq_texts ||
         op == Op::ne_texts || op == Op::in_text;
}

// Of Python's floats: whatever they are, there is a result.
bool never_fails(Op op) {
  return op == Op::add_floats || op == Op::subtract_floats || op == Op::multiply_floats;
}

// The flags are those of the turn's own arithmetic.
double quietly(int64_t function, double x) {
  const auto flags = core::fp::get();
  const double result = std::bit_cast<double (*)(double)>(function)(x);
  core::fp::set(flags);
  return result;
}

// NOLINTNEXTLINE(performance-no-int-to-ptr): cells hold addresses, too
std::byte* memory(Cell place) { return reinterpret_cast<std::byte*>(place.i); }

// NOLINTBEGIN(performance-no-int-to-ptr): so do literals of instructions
CellStep& step_of(int64_t literal) { return *reinterpret_cast<CellStep*>(literal); }
ElementStep& element_of(int64_t literal) { return *reinterpret_cast<ElementStep*>(literal); }
StoreStep& store_of(int64_t literal) { return *reinterpret_cast<StoreStep*>(literal); }
Attempt& attempt_of(int64_t literal) { return *reinterpret_cast<Attempt*>(literal); }
const Bound& bound_of(int64_t literal) { return *reinterpret_cast<Bound*>(literal); }
Rounds& rounds_of(int64_t literal) { return *reinterpret_cast<Rounds*>(literal); }
InnerTurns& inner_turns_of(int64_t literal) { return *reinterpret_cast<InnerTurns*>(literal); }
// NOLINTEND(performance-no-int-to-ptr)

}  // namespace

void Code::expect(int32_t cell, bool truth) {
  const int64_t literal = truth + 1;
  const bool is_made =
      may_merge() && code_.back().d == cell && code_.back().p == 0 && compares(code_.back().op);
  if (is_made) {
    code_.back().p = literal;
    expectations_.push_back(code_.size() - 1);
  } else if (may_merge() && code_.back().d == cell && code_.back().op == Op::truth_of_integer) {
    // The truth is not asked again.
    code_.back() = {
        .op = truth ? Op::expect_nonzero : Op::expect_zero, .d = cell, .a = code_.back().a};
    expectations_.push_back(code_.size() - 1);
  } else {
    expect_value(cell, truth);
  }
}

void Code::move(int32_t from, int32_t to) {
  const bool is_last = may_merge() && code_.back().d == from && never_fails(code_.back().op);
  if (is_last) {
    code_.back().d = to;
  } else {
    append({.op = Op::move, .d = to, .a = from});
  }
}

void Code::expect_value(int32_t cell, int64_t value) {
  emit(Op::expect, cell, 0, value);
  expectations_.push_back(code_.size() - 1);
}

void Code::seal() {
  append({.op = Op::stop});
  const void* const* labels = nullptr;
  run(nullptr, &labels);
  steps_.resize(code_.size());
  Cell* const cells = cells_.data();
  for (size_t i = 0; i < code_.size(); ++i) {
    const Insn& insn = code_[i];
    const Step* const otherwise = insn.otherwise < 0 ? nullptr : steps_.data() + insn.otherwise;
    int64_t p = insn.p;
    if (insn.size != 0) p = std::bit_cast<int64_t>(cells + insn.size);
    if (insn.function != nullptr) p = std::bit_cast<int64_t>(insn.function);
    steps_[i] = {labels[static_cast<size_t>(insn.op)],
                 cells + insn.d,
                 cells + insn.a,
                 cells + insn.b,
                 cells + insn.c,
                 p,
                 insn.q,
                 otherwise};
  }
  code_.clear();
}

// Each instruction goes on to the next by itself (labels as values, of GCC and Clang): one place
// from which all are come to is hard to predict, and half of what a turn takes. `labels` asks where
// the instructions are.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic"
int64_t Code::run(const Step* begin, const void* const** labels) {
  static const void* const kLabels[] = {
#define DVM_NUMBER(name, ...) &&name##_,
#include "capture/replay/numbers/numbers.def"
#undef DVM_NUMBER
  };
  if (labels != nullptr) {
    *labels = kLabels;
    return kFailed;
  }
#define DVM_GO_ON goto * now->label
#define DVM_FAIL goto failed
#define DVM_JUMP          \
  {                       \
    now = now->otherwise; \
    DVM_GO_ON;            \
  }
#define DVM_BEGIN \
  {               \
    now = begin;  \
    DVM_GO_ON;    \
  }
  const Step* now = begin;
  DVM_GO_ON;
failed:
  now = now->otherwise;
  if (now == nullptr) return kFailed;
  DVM_GO_ON;
#define DVM_NUMBER(name, ...)                                             \
  name##_ : {                                                             \
    [[maybe_unused]] const Step& step = *now;                             \
    [[maybe_unused]] Cell& d = *step.d;                                   \
    [[maybe_unused]] const Cell &a = *step.a, &b = *step.b, &c = *step.c; \
    [[maybe_unused]] const int64_t p = step.p, q = step.q;                \
    __VA_ARGS__;                                                          \
  }                                                                       \
  ++now;                                                                  \
  DVM_GO_ON;
#include "capture/replay/numbers/numbers.def"
#undef DVM_NUMBER
#undef DVM_BEGIN
#undef DVM_JUMP
#undef DVM_FAIL
#undef DVM_GO_ON
}
#pragma GCC diagnostic pop

}  // namespace dvm::capture::numbers
