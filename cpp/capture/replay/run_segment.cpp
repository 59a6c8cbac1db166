// The step `run`: registers to a Plan's inputs, the Plan, and its results to Python objects.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "capture/cpython/interruption.h"
#include "capture/replay/array_host.h"
#include "capture/replay/frame.h"
#include "capture/replay/lock.h"
#include "capture/replay/raising_warnings.h"
#include "capture/replay/read_argument.h"
#include "capture/replay/scratch.h"
#include "capture/replay/targets.h"

namespace dvm::capture {

namespace {

using runtime::BufferView;

// Room for the inputs or results of most segments.
constexpr size_t kRoom = 12;

// Lets other threads run as the path allows.
class SegmentHost final : public ArrayHost {
 public:
  SegmentHost(Frame& frame, const Library& library, std::span<ValueSlot> slots, size_t used,
              std::span<const PlacedResult> placed)
      : ArrayHost(library, slots, used, placed), frame_(frame) {}

  // A path calls host functions as steps of its own, between segments.
  bool call(const runtime::HostCall&, std::span<BufferView>) override { return refused(); }
  bool call_into(const runtime::HostCall&, std::span<const BufferView>) override {
    return refused();
  }
  // What the Plan works on is held by the registers of the replay, and cannot be resized for that.
  // What the path's effects build on must not change meanwhile (lock.h).
  void unlock() override {
    if (may_unlock(frame_)) ArrayHost::unlock();
  }
  bool may_go_on() override {
    // Who listens to a simulation may have ended it by an exception, which is on its way.
    if (PyErr_Occurred() != nullptr || (frame_.call.minds_signals && dvm_is_interrupted())) {
      frame_.outcome = Outcome::interrupted;
      return false;
    }
    let_others_run();
    return true;
  }

 private:
  static bool refused() {
    PyErr_SetString(PyExc_SystemError, "a segment of a path calls a host function");
    return false;
  }

  Frame& frame_;
};

template <typename T>
T load(const BufferView& buffer) {
  T value;
  std::memcpy(&value, buffer.data, sizeof value);
  return value;
}

// The one element of a result as a Python number of its dtype's kind.
PyObject* number_of(const BufferView& buffer) {
  return core::dispatch(buffer.dtype, [&]<core::DType D>() -> PyObject* {
    using T = core::Storage<D>;
    if constexpr (core::is_floating(D)) {
      return PyFloat_FromDouble(core::scalar_of<D>(load<T>(buffer)).as_float());
    } else if constexpr (D == core::DType::boolean) {
      return PyBool_FromLong(load<T>(buffer));
    } else if constexpr (std::is_unsigned_v<T>) {
      return PyLong_FromUnsignedLongLong(load<T>(buffer));
    } else {
      return PyLong_FromLongLong(load<T>(buffer));
    }
  });
}

// Below an axis, of the elements at `at`.
bool has_nan(const BufferView& buffer, const std::byte* at, int32_t axis) {
  return core::dispatch(buffer.dtype, [&]<core::DType D>() {
    if constexpr (!core::is_floating(D)) {
      return false;
    } else {
      const auto is_nan = [](const std::byte* place) {
        core::Storage<D> value;
        std::memcpy(&value, place, sizeof value);
        if constexpr (sizeof value == 2) {
          return std::isnan(core::scalar_of<D>(value).as_float());
        } else {
          return std::isnan(value);
        }
      };
      if (axis == buffer.rank) return is_nan(at);
      const int64_t size = buffer.shape[axis], stride = buffer.strides[axis];
      for (int64_t i = 0; i < size; ++i) {
        const bool last = axis + 1 == buffer.rank;
        if (last ? is_nan(at + i * stride) : has_nan(buffer, at + i * stride, axis + 1))
          return true;
      }
      return false;
    }
  });
}

// Whether the sums of its products may have raised no flag where NumPy's raise one.
bool may_hide_invalid(const Segment& segment, core::FpFlags raised,
                      std::span<const BufferView> results) {
  const int32_t watched = segment.flags & core::kInvalid & ~raised;
  const auto has_one = [](const auto& result) { return has_nan(result, result.data, 0); };
  return segment.has_products && watched != 0 && std::ranges::any_of(results, has_one) &&
         !((segment.only_warns & watched) != 0 && ignores_runtime_warnings());
}

PyObject* object_of(const Segment::Output& output, const BufferView& result, bool is_argument,
                    const ArrayHost& host) {
  switch (output.kind) {
    case ResultKind::array: {
      PyObject* array = is_argument ? ArrayHost::argument_of(result) : host.array_of(result);
      if (array == nullptr || !output.permuted) return array;
      return library_of(array)->permuted(Ref::steal(array), output.order, !is_argument);
    }
    case ResultKind::numpy:
      return host.library().scalar_of(result.dtype, result.data);
    case ResultKind::floating:
    case ResultKind::integer:
    case ResultKind::boolean:
      return number_of(result);
  }
  __builtin_unreachable();
}

}  // namespace

namespace steps {

bool run_(Frame& f, const int32_t* p) {
  const Segment& segment = *f.path->segments[static_cast<size_t>(p[0])];
  const runtime::CompiledGraph& compiled = segment.compilation->graph;
  const runtime::Plan& plan = compiled.plan();
  const size_t input_count = segment.tensors.size(), scalar_count = segment.scalars.size();
  const auto result_count = static_cast<size_t>(plan.result_count());
  Scratch<BufferView, kRoom> inputs(input_count), results(result_count);
  Scratch<core::Scalar, kRoom> scalars(scalar_count);
  Scratch<ValueSlot, 2 * kRoom> slots(input_count + result_count);

  f.refused = Refusal::operand_;
  for (size_t i = 0; i < input_count; ++i) {
    if (!read_tensor(f[segment.tensors[i]], plan.inputs[i], slots[i], inputs[i])) return false;
  }
  for (size_t i = 0; i < scalar_count; ++i) {
    if (!read_scalar(f[segment.scalars[i]], plan.scalars[i], scalars[i])) return false;
  }
  // Input slots come first, so that the host knows those as values on the stack, too.
  Scratch<PlacedResult, kRoom> placed(segment.outputs.size());
  const size_t placed_count = place_results(f, segment, inputs.first(input_count), placed.data());
  for (size_t i = 0; i < placed_count; ++i) f.undo().keep(placed[i].array);
  SegmentHost host(f, *segment.library, slots.first(input_count + result_count), input_count,
                   placed.first(placed_count));
  runtime::BorrowedContext context(f.call.times);
  const runtime::Outcome outcome =
      compiled.run(host, inputs.first(input_count), scalars.first(scalar_count),
                   results.first(result_count), *context);
  if (outcome != runtime::Outcome::done) {
    f.refused = Refusal::sizes_;
    return false;
  }
  int32_t raised = (*context).fp_flags & segment.flags;
  if ((raised & segment.only_warns) != 0 && ignores_runtime_warnings()) {
    raised &= ~segment.only_warns;
  }
  const bool hides =
      raised == 0 && may_hide_invalid(segment, (*context).fp_flags, results.first(result_count));
  bool made = raised == 0 && !hides;
  if (raised == core::kTiedZeros) {
    f.refused = Refusal::tied_zeros_;
  } else if (hides) {
    f.refused = Refusal::nan_of_product_;
  } else if (!made) {
    f.refused = Refusal::numpy_warns_;
  }
  for (const Segment::Output& output : segment.outputs) {
    if (!made) break;
    const BufferView& result = results[static_cast<size_t>(output.result)];
    if (output.target >= 0 && result.owner == f[output.target]) {
      made = f.define(output.reg, Py_NewRef(f[output.target]));
      continue;
    }
    const bool is_argument = host.is_argument(result, inputs.first(input_count));
    made = f.define(output.reg, object_of(output, result, is_argument, host));
  }
  for (const BufferView& result : results.first(result_count)) host.release(result.owner);
  return made;
}

}  // namespace steps

}  // namespace dvm::capture
