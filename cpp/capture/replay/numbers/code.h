// A little machine for turns of loops that compute with numbers alone: cells of 64 bits, and
// instructions of numbers.def over them. It knows no Python objects, so that a turn costs a few
// nanoseconds an instruction.
#pragma once

#include <bit>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/ops/scalar_function.h"

namespace dvm::capture::numbers {

// A number of Python's (a bool is 0 or 1), the address of an element, or an element in its first
// bytes.
union Cell {
  int64_t i;
  double f;
  std::byte bytes[8];
};

enum class Op : uint8_t {
#define DVM_NUMBER(name, ...) name,
#include "capture/replay/numbers/numbers.def"
#undef DVM_NUMBER
};

struct Insn {
  Op op;
  int32_t d = 0, a = 0, b = 0, c = 0;  // cells; 0 where there is none
  int32_t size = 0;                    // a cell, of an axis
  int64_t p = 0, q = 0;
  core::ScalarFunction function = nullptr;
  int32_t otherwise = -1;  // the place where it goes on if this fails; -1: not on the machine
};

// What a cell has: a Python int, float or bool, an element of a library's, or the address of an
// object that is alive as long as the cell is read: None, or a str.
enum class Kind : uint8_t { integer, floating, boolean, element, none, text };
struct Type {
  Kind kind = Kind::integer;
  core::DType dtype = core::DType::i64;  // of an element
  uint16_t library = 0;                  // whose element, by the number of the library
  // As one word, for each turn asks it.
  bool operator==(const Type& other) const {
    return std::bit_cast<uint32_t>(*this) == std::bit_cast<uint32_t>(other);
  }
  bool is_element(core::DType of) const { return kind == Kind::element && dtype == of; }
  bool is_number() const { return kind != Kind::none && kind != Kind::text; }
};
struct Number {
  int32_t cell = 0;
  Type type;
};
// One whose type is known when it is there: the cell of its type as a word.
struct Typed {
  int32_t cell = 0, type = 0;
};
inline int64_t word_of(Type type) { return std::bit_cast<uint32_t>(type); }
constexpr int64_t kNoType = -1;

// What a register holds in each turn of a call, by the cells that are filled for that: an array, or
// a number.
struct Axis {
  int32_t size = 0, stride = 0;  // stride in bytes
};
struct Elements {
  core::DType dtype = core::DType::f64;
  uint16_t library = 0;
  int32_t place = 0;  // the address of the first
  std::vector<Axis> axes = {};
};

// What the interpreter tells of a character.
using AsksCharacter = bool (*)(uint32_t);

// An instruction that is an object of its own.
class CellStep {
 public:
  CellStep() = default;
  virtual ~CellStep() = default;
  CellStep(const CellStep&) = delete;
  CellStep& operator=(const CellStep&) = delete;

  // False: the turn is not for the machine. `cells` are all of the machine's, by their numbers.
  virtual bool run(Cell* cells) = 0;
};
inline int64_t literal_of(const CellStep& step) { return reinterpret_cast<int64_t>(&step); }

class Code {
 public:
  Code() : cells_(1) {}

  int32_t cell(Cell value = {.i = 0}) {
    cells_.push_back(value);
    return static_cast<int32_t>(cells_.size()) - 1;
  }
  int32_t integer(int64_t value) { return cell({.i = value}); }
  // The cell of its result.
  int32_t emit(Op op, int32_t a = 0, int32_t b = 0, int64_t p = 0, int64_t q = 0) {
    const int32_t d = cell();
    code_.push_back({.op = op, .d = d, .a = a, .b = b, .p = p, .q = q});
    return d;
  }
  // Goes on at that place, or at one that is not known yet: its own place tells whose that will be.
  size_t jump(size_t place = 0) {
    append({.op = Op::jump, .otherwise = static_cast<int32_t>(place)});
    return code_.size() - 1;
  }
  // The place of an element in an axis behind that place.
  int32_t emit_place(Op op, int32_t index, int32_t from, const Axis& axis) {
    const int32_t d = cell();
    code_.push_back({.op = op, .d = d, .a = index, .b = from, .c = axis.stride, .size = axis.size});
    return d;
  }
  // The turn goes on if the cell, 0 or 1, is that; a comparison that has just made it says so
  // itself. Or if it has that value.
  void expect(int32_t cell, bool truth);
  void expect_value(int32_t cell, int64_t value);
  // The instructions that say so, since that was asked last.
  const std::vector<size_t>& expectations() const { return expectations_; }
  void forget_expectations() { expectations_.clear(); }
  // What is appended from here on may be come to from elsewhere.
  size_t begin_way() { return begin_of_way_ = code_.size(); }
  void go_on_at(size_t place, size_t otherwise) {
    code_[place].otherwise = static_cast<int32_t>(otherwise);
  }
  void append(const Insn& insn) { code_.push_back(insn); }
  // Of what no instruction behind reads from where it was; what has just been made is made there.
  void move(int32_t from, int32_t to);
  // Places among the instructions: the one that the next will have, and what was appended since.
  size_t place() const { return code_.size(); }
  void take_back(size_t place) { code_.resize(place); }
  void insert(size_t place, const Insn& insn) {
    code_.insert(code_.begin() + static_cast<std::ptrdiff_t>(place), insn);
  }
  Cell& operator[](int32_t which) { return cells_[static_cast<size_t>(which)]; }

  // Once all is appended: the cells have their places then.
  void seal();
  // What it is left with, which is not negative; or else the turn is not for the machine, and has
  // written no element.
  static constexpr int64_t kFailed = -1;
  int64_t run() const { return run(steps_.data(), nullptr); }

 private:
  // A cache line.
  struct Step {
    const void* label;  // where its code is
    Cell *d, *a, *b, *c;
    int64_t p, q;
    const Step* otherwise;

    Cell& size() const { return *std::bit_cast<Cell*>(p); }
    core::ScalarFunction function() const { return std::bit_cast<core::ScalarFunction>(p); }
  };
  bool may_merge() const { return code_.size() > begin_of_way_; }
  static int64_t run(const Step* begin, const void* const** labels);
  std::vector<size_t> expectations_;
  size_t begin_of_way_ = 0;
  std::vector<Insn> code_;
  std::vector<Cell> cells_;
  std::vector<Step> steps_;
};

}  // namespace dvm::capture::numbers
