#include "capture/replay/numbers/arrays.h"

#include <algorithm>
#include <cstring>
#include <exception>
#include <functional>
#include <numeric>

#include "capture/library/extent.h"
#include "capture/replay/numbers/turn.h"
#include "capture/replay/raising_warnings.h"
#include "capture/replay/targets.h"
#include "runtime/execute/faults.h"
#include "runtime/execute/size_math.h"

namespace dvm::capture::numbers {

using runtime::BufferView;

namespace {

// What guards ask of an array's flags.
constexpr uint32_t kFlags = kCContiguous | kFContiguous | kAligned | kWriteable | kWarnsWhenWritten;

int64_t byte_count(const BufferView& view) {
  return std::accumulate(view.shape, view.shape + view.rank, int64_t{core::byte_size(view.dtype)},
                         std::multiplies<>());
}

bool is_all_of(const ArrayLook& array, const BufferView& view) {
  return array.data == view.data && array.rank == view.rank &&
         same_axes(array.rank, array.shape, view.shape) &&
         same_axes(array.rank, array.strides, view.strides);
}

}  // namespace

std::optional<Likeness> Likeness::of(PyObject* object) {
  const Library* const library = object != nullptr ? open_library_of(object) : nullptr;
  const auto dtype = library != nullptr ? library->dtype_of(object) : std::nullopt;
  if (!dtype) return {};
  const ArrayLook array = library->fields.look(object);
  if (!library->fields.has_elements(array, *dtype) || array.has(kWarnsWhenWritten) ||
      array.rank > core::kMaxRank) {
    return {};
  }
  Likeness found;
  found.library_ = library;
  found.dtype_ = *dtype;
  found.elements_ = array.elements;
  found.flags_ = array.flags & kFlags;
  found.rank_ = array.rank;
  std::copy_n(array.shape, array.rank, found.shape_);
  std::copy_n(array.strides, array.rank, found.strides_);
  return found;
}

bool Likeness::admits(PyObject* object) const {
  const ArrayFields& fields = library_->fields;
  if (object == nullptr || !Py_IS_TYPE(object, fields.type)) return false;
  const ArrayLook array = fields.look(object);
  return array.elements == elements_ && array.rank == rank_ && (array.flags & kFlags) == flags_ &&
         same_axes(rank_, array.shape, shape_) && same_axes(rank_, array.strides, strides_);
}

bool Ring::take(const Library& library, core::DType dtype, std::span<const int64_t> shape,
                BufferView& out) {
  Ref* free = nullptr;
  for (Ref& each : arrays_) {
    if (Py_REFCNT(each.get()) != 1) continue;
    const ArrayLook array = library.fields.look(each.get());
    if (library.fields.has_elements(array, dtype) && array.has_shape(shape)) {
      array.read(each.get(), dtype, out);
      return true;
    }
    free = &each;
  }
  if (!library.allocate(dtype, shape, out)) return false;
  Ref made = Ref::steal(static_cast<PyObject*>(out.owner));
  if (free == nullptr && arrays_.size() < kMost) free = &arrays_.emplace_back();
  if (free == nullptr) free = &arrays_.front();  // whoever has that one keeps it
  *free = std::move(made);
  return true;
}

void Ring::let_go(bool all) {
  std::erase_if(arrays_, [&](const Ref& each) { return all || Py_REFCNT(each.get()) != 1; });
}

// ---- segments

// Of the arrays that the Plan asks for, the n-th comes from the n-th ring.
class SegmentStep::Host final : public runtime::HostCalls {
 public:
  Host(SegmentStep& step, bool may_place)
      : step_(step), placed_(may_place ? step.target_allocation_ : -1) {}

  bool allocate(core::DType dtype, std::span<const int64_t> shape, BufferView& out) override {
    if (runtime::is_faulty()) return false;
    if (allocations_++ == placed_ && is_target(dtype, shape)) {
      step_.placed_ = true;
      if (step_.bound_->undo != nullptr) step_.bound_->undo->keep(step_.target_->view);
      assign(out, step_.target_->view);
      Py_INCREF(step_.target_->array.get());
      return true;
    }
    if (shape.empty() && elements_ < step_.elements_.size()) {
      out.data = step_.elements_[elements_++].bytes;
      out.owner = nullptr;
      out.dtype = dtype;
      out.rank = 0;
      return true;
    }
    if (arrays_ == step_.rings_.size()) step_.rings_.emplace_back();
    if (!step_.rings_[arrays_++].take(*step_.segment_.library, dtype, shape, out)) return false;
    retain(out.owner);
    return true;
  }
  bool call(const runtime::HostCall&, std::span<BufferView>) override { return false; }
  bool call_into(const runtime::HostCall&, std::span<const BufferView>) override { return false; }
  void retain(runtime::HostValue value) override { Py_XINCREF(static_cast<PyObject*>(value)); }
  void release(runtime::HostValue value) override { Py_XDECREF(static_cast<PyObject*>(value)); }

 private:
  bool is_target(core::DType dtype, std::span<const int64_t> shape) const {
    const BufferView& target = step_.target_->view;
    return target.dtype == dtype && target.rank == static_cast<int>(shape.size()) &&
           std::ranges::equal(shape, std::span(target.shape, shape.size()));
  }

  SegmentStep& step_;
  const int32_t placed_;  // which of the allocations is the target; -1: none
  int32_t allocations_ = 0;
  size_t elements_ = 0, arrays_ = 0;
};

SegmentStep::SegmentStep(const Segment& segment, Arguments arguments, std::vector<Output> outputs)
    : segment_(segment), given_(std::move(arguments)), outputs_(std::move(outputs)) {
  const auto results = static_cast<size_t>(compiled().plan().result_count());
  inputs_.resize(given_.tensors.size());
  values_.resize(given_.scalars.size());
  results_.resize(results);
  elements_.resize(results);
}

void SegmentStep::place(size_t output, const Slot& target, const Bound& bound) {
  if (&target.library != segment_.library) return;
  target_ = &target;
  bound_ = &bound;
  target_output_ = output;
  target_allocation_ = placeable(compiled().plan(), segment_.outputs[output].result);
}

// A turn that is given up behind this is replayed, and writes all of the target again, which it
// must not have read.
bool SegmentStep::may_place() const {
  if (target_ == nullptr || target_allocation_ < 0) return false;
  const BufferView& target = target_->view;
  if (byte_count(target) < kLeastPlacedBytes || !target_->look().may_be_written()) return false;
  const Extent extent = extent_of(target);
  for (size_t i = 0; i < inputs_.size(); ++i) {
    if (given_.tensors[i].is_read && extent.meets(extent_of(inputs_[i]))) return false;
  }
  return true;
}

bool SegmentStep::read(Cell* cells) {
  const runtime::Plan& plan = compiled().plan();
  for (size_t i = 0; i < given_.tensors.size(); ++i) {
    const Tensor& tensor = given_.tensors[i];
    const runtime::Argument& declared = plan.inputs[i];
    if (tensor.slot == nullptr) {
      inputs_[i].data = cells[tensor.cell].bytes;
      inputs_[i].dtype = declared.dtype;
      inputs_[i].rank = 0;
      continue;
    }
    if (tensor.slot->view.rank != declared.rank) return false;
    assign(inputs_[i], tensor.slot->view);
    inputs_[i].dtype = declared.dtype;
  }
  for (size_t i = 0; i < given_.scalars.size(); ++i) {
    const Cell& cell = cells[given_.scalars[i].cell];
    const bool floats = core::is_floating(plan.scalars[i]);
    const bool truth = core::info(plan.scalars[i]).kind == core::Kind::boolean;
    if (given_.scalars[i].kind == Kind::floating) {
      if (!floats) return false;
      values_[i] = core::Scalar::of_float(cell.f);
    } else if (floats) {
      values_[i] = core::Scalar::of_float(static_cast<double>(cell.i));
    } else {
      values_[i] = core::Scalar::of_int(truth ? cell.i != 0 : cell.i);
    }
  }
  return true;
}

bool SegmentStep::is_quiet(core::FpFlags raised) const {
  int32_t told = raised & segment_.flags;
  if ((told & segment_.only_warns) != 0 && ignores_runtime_warnings()) {
    told &= ~segment_.only_warns;
  }
  return told == 0;
}

// One result, of which the reference goes over to the slot.
bool SegmentStep::keep(const BufferView& result, size_t number, Cell* cells) {
  const Output& output = outputs_[number];
  if (placed_ && number == target_output_) {
    output.slot->hold_view(*target_);
    return true;
  }
  if (output.slot == nullptr) {
    Cell& cell = cells[output.cell];
    cell.i = 0;
    std::memcpy(cell.bytes, result.data, static_cast<size_t>(core::byte_size(result.dtype)));
    return true;
  }
  auto* const owner = static_cast<PyObject*>(result.owner);
  const auto is_given = [&](const BufferView& input) { return input.owner == owner; };
  if (owner == nullptr || std::ranges::any_of(inputs_, is_given) ||
      !is_all_of(segment_.library->fields.look(owner), result)) {
    return false;
  }
  for (size_t k = 0; k < number; ++k) {
    if (outputs_[k].slot != nullptr && outputs_[k].slot->array.get() == owner) return false;
  }
  is_for_replays_ = is_for_replays_ || (segment_.outputs[number].allocation >= 0 &&
                                        byte_count(result) >= kLeastPlacedBytes);
  assign(output.slot->view, result);
  output.slot->array = Ref::borrow(owner);
  output.slot->whole = true;
  return true;
}

bool SegmentStep::run(Cell* cells) {
  if (!read(cells)) return false;
  placed_ = false;
  const bool places = may_place();
  Host host(*this, places);
  runtime::BorrowedContext context;
  // What is recalled knows of dense results alone.
  (*context).repeats = given_.repeats && !places;
  runtime::Outcome outcome = runtime::Outcome::check_failed;
  try {
    outcome = compiled().run(host, inputs_, values_, results_, *context);
  } catch (const std::exception&) {
    return false;  // who replays the turn meets it again
  }
  if (outcome != runtime::Outcome::done) {
    PyErr_Clear();
    return false;
  }
  bool kept = is_quiet((*context).fp_flags);
  for (size_t k = 0; kept && k < outputs_.size(); ++k) {
    kept = keep(results_[static_cast<size_t>(segment_.outputs[k].result)], k, cells);
  }
  for (const BufferView& result : results_) host.release(result.owner);
  return kept;
}

void SegmentStep::let_go(bool all) {
  for (const Output& output : outputs_) {
    if (output.slot != nullptr) output.slot->let_go();
  }
  for (Ring& ring : rings_) ring.let_go(all);
}

// ---- views and copies

bool ViewStep::run(Cell* cells) {
  to_.hold_view(from_);
  BufferView& view = to_.view;
  int axis = 0, made = 0;  // the next one of `from`, and of the view
  const auto keep_axis = [&](int from) {
    view.shape[made] = view.shape[from];
    view.strides[made++] = view.strides[from];
  };
  for (size_t k = 0; k < parts_.size(); ++k) {
    const Part& part = parts_[k];
    const int behind = static_cast<int>(parts_.size() - k) - 1;
    if (part.is == Part::Is::rest) {
      while (axis < from_.view.rank - behind) keep_axis(axis++);
      continue;
    }
    if (axis >= from_.view.rank) return false;
    const int64_t size = view.shape[axis], stride = view.strides[axis];
    if (part.is == Part::Is::index) {
      int64_t at = cells[part.first].i;
      if (at < 0) at += size;
      if (at < 0 || at >= size) return false;
      view.data += at * stride;
      ++axis;
      continue;
    }
    const Py_ssize_t step = part.step != 0 ? cells[part.step].i : 1;
    if (step == 0 || step < -PY_SSIZE_T_MAX) return false;
    Py_ssize_t start = part.first != 0 ? cells[part.first].i : step < 0 ? PY_SSIZE_T_MAX : 0;
    Py_ssize_t stop = part.stop != 0 ? cells[part.stop].i
                      : step < 0     ? PY_SSIZE_T_MIN
                                     : PY_SSIZE_T_MAX;
    const Py_ssize_t count = PySlice_AdjustIndices(size, &start, &stop, step);
    if (count > 0) view.data += start * stride;
    view.shape[made] = count;
    view.strides[made++] = count > 1 ? stride * step : stride;
    ++axis;
  }
  while (axis < from_.view.rank) keep_axis(axis++);
  view.rank = made;
  return true;
}

bool ComparedStep::run(Cell*) {
  if (how_ == How::same) {
    if (!a_.whole || !b_.whole) return false;
    return (a_.array.get() == b_.array.get()) == expected_;
  }
  const bool meet = extent_of(a_.view).meets(extent_of(b_.view));
  // Whether they share an element then is for their library to say.
  if (how_ == How::shared && meet) return false;
  return meet == expected_;
}

bool CopyStep::may_run() const {
  if (writer_ != nullptr && writer_->has_placed()) return true;
  const BufferView& to = to_.view;
  if (!to_.look().may_be_written()) return false;
  if (from_ == nullptr) return true;
  const BufferView& from = from_->view;
  return from.dtype == to.dtype && from.rank == to.rank &&
         same_axes(from.rank, from.shape, to.shape) && !extent_of(from).meets(extent_of(to));
}

namespace {

// Elements of `bytes` each: of the axes from `axis` on.
void copy_elements(const BufferView& to, std::byte* at, const std::byte* from,
                   const int64_t* strides, int axis, size_t bytes) {
  if (axis == to.rank) {
    std::memcpy(at, from, bytes);
    return;
  }
  const int64_t count = to.shape[axis], step = to.strides[axis], from_step = strides[axis];
  if (axis + 1 < to.rank) {
    for (int64_t i = 0; i < count; ++i) {
      copy_elements(to, at + i * step, from + i * from_step, strides, axis + 1, bytes);
    }
    return;
  }
  const auto size = static_cast<int64_t>(bytes);
  if (step == size && from_step == size) {
    std::memcpy(at, from, static_cast<size_t>(count) * bytes);
  } else if (bytes == 8) {
    for (int64_t i = 0; i < count; ++i) std::memcpy(at + i * step, from + i * from_step, 8);
  } else {
    for (int64_t i = 0; i < count; ++i) std::memcpy(at + i * step, from + i * from_step, bytes);
  }
}

}  // namespace

bool CopyStep::run(Cell* cells) {
  if (writer_ != nullptr && writer_->has_placed()) return true;
  constexpr int64_t kNowhere[core::kMaxRank] = {};
  const BufferView& to = to_.view;
  if (bound_.undo != nullptr) bound_.undo->keep(to);
  const std::byte* const from = from_ != nullptr ? from_->view.data : cells[cell_].bytes;
  const int64_t* const strides = from_ != nullptr ? from_->view.strides : kNowhere;
  copy_elements(to, to.data, from, strides, 0, static_cast<size_t>(core::byte_size(to.dtype)));
  return true;
}

bool CloneStep::run(Cell*) {
  const BufferView& from = from_.view;
  const std::span shape(from.shape, static_cast<size_t>(from.rank));
  if (!ring_.take(to_.library, from.dtype, shape, to_.view)) {
    PyErr_Clear();
    return false;
  }
  to_.array = Ref::borrow(static_cast<PyObject*>(to_.view.owner));
  to_.whole = true;
  const auto bytes = static_cast<size_t>(core::byte_size(from.dtype));
  copy_elements(to_.view, to_.view.data, from.data, from.strides, 0, bytes);
  return true;
}

void CloneStep::let_go(bool all) {
  to_.let_go();
  ring_.let_go(all);
}

bool AppendArrayStep::run(Cell*) {
  const bool appended = slot_.array && PyList_Append(list_, slot_.array.get()) == 0;
  if (!appended) PyErr_Clear();
  return appended;
}

bool CommitStep::run(Cell*) {
  return std::ranges::all_of(copies_, [](const CopyStep* copy) { return copy->may_run(); });
}

}  // namespace dvm::capture::numbers
