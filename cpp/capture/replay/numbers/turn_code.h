// The steps of a path as instructions of the machine, for one turn: those of numbers are in
// turn_code.cpp, those of arrays in turn_arrays.cpp.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "capture/replay/numbers/arrays.h"
#include "capture/replay/numbers/turn.h"
#include "core/ops/fp_flags.h"

namespace dvm::capture::numbers {

// Follows the steps. A step that it has no meaning for ends it.
class TurnCode {
 public:
  TurnCode(Turn& turn, const Changes& changes)
      : turn_(turn),
        code_(turn.code_),
        registers_(turn.registers_),
        changes_(changes),
        known_(registers_.size()) {}

  bool append(const Path& path);

 private:
  // What a register holds that changes: a number, the place of an element, an array, or what an
  // index or a slice is made of; of others the object is known.
  struct Known {
    enum class Is : uint8_t {
      object,
      number,
      place,
      array,
      parts,
      slice,
      item,  // a tuple that is iterated over
      unknown
    } is = Is::object;
    Number number = {};  // of a place: its address, and the dtype of what is there
    std::vector<int32_t> parts = {};
    Slot* slot = nullptr;      // of an array
    bool is_taken = false;     // as the turn was given it
    bool is_of_array = false;  // the element of an array without axes
  };

  Known& known(int32_t reg) { return known_[static_cast<size_t>(reg)]; }
  PyObject* object(int32_t reg) const { return registers_[static_cast<size_t>(reg)].get(); }
  bool is_same(int32_t reg) { return known(reg).is == Known::Is::object; }

  bool define(int32_t reg, const Number& number);
  bool define(int32_t reg, const std::optional<Number>& number);

  // A number in a register, whether it changes or not.
  std::optional<Number> number(int32_t reg);

  // An array that is the same in all turns.
  std::optional<Elements> array(int32_t reg);

  // An array, whether it changes or not; null: it is none, or none of the machine's.
  Slot* slot(int32_t reg);
  Slot& new_slot(const Library& library, core::DType dtype) {
    return *turn_.slots_.emplace_back(std::make_unique<Slot>(library, dtype));
  }
  Slot& new_slot(const Likeness& like) { return new_slot(like.library(), like.dtype()); }
  Slot& new_slot(const Slot& like) { return new_slot(like.library, like.view.dtype); }

  template <typename Step, typename... Arguments>
  Step& append_step(Arguments&&... arguments) {
    auto made = std::make_unique<Step>(std::forward<Arguments>(arguments)...);
    Step& step = *made;
    turn_.steps_.push_back(std::move(made));
    code_.emit(Op::arrays, 0, 0, literal_of(step));
    return step;
  }
  static int64_t literal_of(ArrayStep& step) { return reinterpret_cast<int64_t>(&step); }

  // The step holds, and gives what it gives, in all turns; true.
  bool granted() {
    turn_.granted_.push_back({path_, step_});
    return true;
  }
  // Whether all of what the step is given is the same in all turns.
  bool is_of_same(const Path& path, const Step& step);
  bool append(const Path& path, const Step& step);

  // A step on what is the same in all turns, and so its result.
  bool same(const Path& path, const Step& step);
  bool argument(int32_t reg, int32_t slot);

  // A part of the tuple that is the item.
  bool item(int32_t reg, int32_t index);
  bool changing(const Path& path, const Step& step, const int32_t* p);
  static PyTypeObject* python_type(Type type);
  bool computed(int32_t result, Operator op, int32_t a, int32_t b);

  // max, min, abs, and the array of an element, for which that stands.
  bool called(const int32_t* p);

  // The array that the call copies in C order; null: the call is another one.
  const Slot* copied(const int32_t* p);

  // The place of an element of an array: indices of all axes, and maybe `...`.
  bool element(int32_t result, int32_t from, int32_t index);
  bool compared(ComparedStep::How how, const int32_t* p);

  // A view of an array by what its index is made of: integers, slices of them, and `...`.
  bool view(int32_t result, int32_t from, int32_t index);

  // What a slice is made of, or an index; a slice that the path has as a constant is refused.
  std::optional<ViewStep::Part> part_of(int32_t reg);
  bool segment(const Segment& segment);
  bool segment_of_arrays(const Segment& segment);
  std::optional<SegmentStep::Arguments> arguments_of(const Segment& segment);
  bool define_element(const Segment::Output& output, int32_t cell, const Segment& segment);
  bool segment_of_numbers(const Segment& segment);
  bool copy(int32_t to, int32_t from);
  bool copy_array(int32_t to, int32_t from);
  // Where a turn ends with one segment and one copy of what that makes, it is made in place.
  void place_result();
  // list.extend of a list of one.
  bool appended(const int32_t* p);

  // Of the tuple that a turn returns: that the loop goes on, and the variables.
  bool give(const std::vector<int32_t>& parts);

  // Whether the slot has an object that may be given on: what a step made, or a variable.
  bool is_whole(const Slot* slot) const {
    return std::ranges::find(whole_, slot) != whole_.end() ||
           std::ranges::find(turn_.array_takes_, slot, &Turn::TakenArray::slot) !=
               turn_.array_takes_.end();
  }

  Turn& turn_;
  Code& code_;
  const std::vector<Ref>& registers_;
  const Changes& changes_;
  std::vector<Known> known_;
  core::FpFlags flags_ = 0;
  std::vector<const Slot*> whole_;
  const Path* path_ = nullptr;  // whose step it is
  const Step* step_ = nullptr;
  size_t commit_ = 0;  // its place
  CommitStep* commit_step_ = nullptr;
  // Of array steps, the segments, and what lies behind the last one; the copies behind the commit.
  SegmentStep* segment_step_ = nullptr;
  std::vector<SegmentStep::Output> segment_outputs_;
  size_t segment_end_ = 0;
  CopyStep* copy_step_ = nullptr;
  int segments_ = 0, array_copies_ = 0;
  bool committed_ = false, ended_ = false, has_copies_ = false;
};

}  // namespace dvm::capture::numbers
