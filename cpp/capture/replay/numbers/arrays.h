// Steps of a turn that have to do with arrays, as instructions of the machine beside those of
// numbers: a segment is run on arrays without objects of Python's for what it is given and makes,
// and those that a turn lets go of serve the turns after it.
//
// An array that is made here is one of its library's like any other, so that it can leave the
// machine whenever a turn is not for it. All are of libraries whose arrays can be read from
// outside.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "capture/library/library.h"
#include "capture/path/path.h"
#include "capture/replay/array_host.h"
#include "capture/replay/numbers/code.h"

namespace dvm::capture::numbers {

class Bound;

// But for the axes that it does not have.
inline void assign(runtime::BufferView& to, const runtime::BufferView& from) {
  to.data = from.data;
  to.owner = from.owner;
  to.dtype = from.dtype;
  to.rank = from.rank;
  copy_axes(from.rank, from.shape, from.strides, to);
}

// What a register holds that is an array: all of `array`, or a view of its memory. Of one library
// and dtype at all times.
struct Slot {
  Slot(const Library& whose, core::DType dtype) : library(whose) { view.dtype = dtype; }

  runtime::BufferView view;
  Ref array;
  bool whole = true;
  const Library& library;

  ArrayLook look() const { return library.fields.look(array.get()); }
  void hold(PyObject* all) {
    array = Ref::borrow(all);
    look().read(all, view.dtype, view);
    whole = true;
  }
  void hold_view(const Slot& of) {
    assign(view, of.view);
    array = of.array;
    whole = false;
  }
  void let_go() { array = Ref(); }
};

// What guards have found of an array, and so find again of another one: of arrays that are like it
// in this a path takes the same to be true.
class Likeness {
 public:
  // None: of this kind of array dvm knows too little.
  static std::optional<Likeness> of(PyObject* object);
  bool admits(PyObject* object) const;
  const Library& library() const { return *library_; }
  core::DType dtype() const { return dtype_; }
  int rank() const { return rank_; }
  bool is_for(const Slot& slot) const {
    return library_ == &slot.library && dtype_ == slot.view.dtype;
  }

 private:
  const Library* library_ = nullptr;
  core::DType dtype_ = core::DType::f64;
  const void* elements_ = nullptr;  // of dvm's dtypes, which live as long as the process
  uint32_t flags_ = 0;
  int32_t rank_ = 0;
  int64_t shape_[core::kMaxRank] = {}, strides_[core::kMaxRank] = {};
};

class ArrayStep : public CellStep {
 public:
  // Whether a replay would have written at once where the result belongs.
  virtual bool is_for_replays() const { return false; }
  // Arrays that are held for turns to come are let go of; those that others have, too, in any case.
  virtual void let_go(bool all) { (void)all; }
};

// Arrays that a step has made: those that nobody else has serve again.
class Ring {
 public:
  // False: a Python error is set. Of `out` the owner is borrowed.
  bool take(const Library& library, core::DType dtype, std::span<const int64_t> shape,
            runtime::BufferView& out);
  void let_go(bool all);

 private:
  static constexpr size_t kMost = 4;
  std::vector<Ref> arrays_;
};

// A compiled Graph.
class SegmentStep final : public ArrayStep {
 public:
  // An array; or else an element, by its cell. Of some arrays only the sizes are read.
  struct Tensor {
    const Slot* slot = nullptr;
    int32_t cell = 0;
    bool is_read = true;
  };
  // A Python number, by its cell.
  struct Scalar {
    int32_t cell = 0;
    Kind kind = Kind::integer;
  };
  struct Output {
    Slot* slot = nullptr;
    int32_t cell = 0;
  };
  // What a turn runs for the segment: its own compilation, or one of the same Graph with numbers
  // as elements, which `tensors` and `scalars` are the arguments of. `repeats`: whether those are
  // the same in all turns.
  struct Arguments {
    std::shared_ptr<const Segment::Stored> stored;
    std::vector<Tensor> tensors;
    std::vector<Scalar> scalars;
    bool repeats = true;
  };
  SegmentStep(const Segment& segment, Arguments arguments, std::vector<Output> outputs);

  // The output goes into this array, if it may be written by then, rather than into one of its own.
  void place(size_t output, const Slot& target, const Bound& bound);
  // Whether it went there in the last run.
  bool has_placed() const { return placed_; }

  bool run(Cell* cells) override;
  void let_go(bool all) override;
  bool is_for_replays() const override { return is_for_replays_; }

 private:
  class Host;

  bool may_place() const;

  bool read(Cell* cells);
  bool keep(const runtime::BufferView& result, size_t number, Cell* cells);
  bool is_quiet(core::FpFlags raised) const;

  const runtime::CompiledGraph& compiled() const {
    return (given_.stored ? given_.stored->compilation : *segment_.compilation).graph;
  }

  const Segment& segment_;
  const Arguments given_;
  const std::vector<Output> outputs_;
  const Slot* target_ = nullptr;
  const Bound* bound_ = nullptr;
  size_t target_output_ = 0;
  int32_t target_allocation_ = -1;  // of the host arrays that the Plan asks for
  bool is_for_replays_ = false, placed_ = false;
  std::vector<runtime::BufferView> inputs_, results_;
  std::vector<core::Scalar> values_;
  std::vector<ValueSlot> elements_;
  std::vector<Ring> rings_;  // one for each array that the Plan asks for
};

// An array of its own with the elements of another one, in C order.
class CloneStep final : public ArrayStep {
 public:
  CloneStep(const Slot& from, Slot& to) : from_(from), to_(to) {}
  bool run(Cell* cells) override;
  void let_go(bool all) override;

 private:
  const Slot& from_;
  Slot& to_;
  Ring ring_;
};

// A view by indices and slices.
class ViewStep final : public ArrayStep {
 public:
  // Of one axis: an index, or a slice whose numbers are cells, 0 where it has none; `rest`: `...`.
  struct Part {
    enum class Is : uint8_t { index, slice, rest } is = Is::rest;
    int32_t first = 0, stop = 0, step = 0;
  };
  ViewStep(const Slot& from, Slot& to, std::vector<Part> parts)
      : from_(from), to_(to), parts_(std::move(parts)) {}
  bool run(Cell* cells) override;

 private:
  const Slot& from_;
  Slot& to_;
  const std::vector<Part> parts_;
};

// Whether two arrays are one (`same`), or their bytes overlap, as a guard expects it.
class ComparedStep final : public ArrayStep {
 public:
  enum class How : uint8_t { same, overlap, shared };
  ComparedStep(How how, const Slot& a, const Slot& b, bool expected)
      : how_(how), a_(a), b_(b), expected_(expected) {}
  bool run(Cell* cells) override;

 private:
  const How how_;
  const Slot &a_, &b_;
  const bool expected_;
};

// Elements of an array, or one of a cell, into another array. What could go wrong with that is
// asked before any is written (CommitStep).
class CopyStep final : public ArrayStep {
 public:
  CopyStep(const Bound& bound, const Slot& to, const Slot& from)
      : bound_(bound), to_(to), from_(&from) {}
  CopyStep(const Bound& bound, const Slot& to, int32_t cell)
      : bound_(bound), to_(to), cell_(cell) {}
  const Slot* source() const { return from_; }
  const Slot& target() const { return to_; }
  // There is nothing to copy where this step has put it there.
  void follow(const SegmentStep& writer) { writer_ = &writer; }
  bool run(Cell* cells) override;
  bool may_run() const;

 private:
  const Bound& bound_;
  const Slot& to_;
  const Slot* from_ = nullptr;
  int32_t cell_ = 0;
  const SegmentStep* writer_ = nullptr;
};

// Appends an array to a list. Where that fails nothing has happened, so that a turn may have one,
// and no other effects.
class AppendArrayStep final : public ArrayStep {
 public:
  explicit AppendArrayStep(const Slot& slot) : slot_(slot) {}
  void fill(PyObject* list) { list_ = list; }  // borrowed
  bool run(Cell* cells) override;

 private:
  PyObject* list_ = nullptr;
  const Slot& slot_;
};

class CommitStep final : public ArrayStep {
 public:
  void add(const CopyStep& copy) { copies_.push_back(&copy); }
  bool run(Cell* cells) override;

 private:
  std::vector<const CopyStep*> copies_;
};

}  // namespace dvm::capture::numbers
