// The step `run`: registers to a Plan's inputs, the Plan, and its results to Python objects.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "capture/frame.h"
#include "capture/numpy_host.h"
#include "capture/raising_warnings.h"
#include "capture/scratch.h"
#include "capture/targets.h"

namespace dvm::capture {

namespace {

using runtime::BufferView;

// Room for the inputs or results of most segments.
constexpr size_t kRoom = 12;

class Context {
 public:
  explicit Context(runtime::CallTimes* times) : context_(runtime::ExecutionContext::acquire()) {
    context_.times = times;
  }
  ~Context() { runtime::ExecutionContext::release(context_); }
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;
  runtime::ExecutionContext& operator*() { return context_; }

 private:
  runtime::ExecutionContext& context_;
};

// Reads a number as the dtype; false when it does not fit or is none (an error may be set).
bool read_scalar(PyObject* object, core::DType dtype, core::Scalar& scalar) {
  if (core::is_floating(dtype)) {
    const double value =
        PyFloat_CheckExact(object) ? PyFloat_AS_DOUBLE(object) : PyFloat_AsDouble(object);
    scalar = core::Scalar::of_float(value);
    return value != -1.0 || !PyErr_Occurred();
  }
  if (core::info(dtype).kind == core::Kind::boolean) {
    const int truth = PyObject_IsTrue(object);
    scalar = core::Scalar::of_int(truth);
    return truth >= 0;
  }
  Ref index = Ref::steal(PyNumber_Index(object));
  if (!index) return false;
  int overflow = 0;
  const long long value = PyLong_AsLongLongAndOverflow(index.get(), &overflow);
  scalar = core::Scalar::of_int(value);
  return overflow == 0;
}

// An array of the declared type, or a number in its place. What a guard has promised is checked all
// the same: reading memory as another type is no way to find a bug.
bool read_tensor(PyObject* object, const runtime::Argument& declared, ValueSlot& slot,
                 BufferView& view) {
  if (PyArray_Check(object)) {
    auto* array = reinterpret_cast<PyArrayObject*>(object);
    if (PyArray_NDIM(array) != declared.rank || dtype_of(array) != declared.dtype) return false;
    view_into(array, declared.dtype, view);
    return true;
  }
  if (declared.rank != 0) return false;
  view.data = slot.bytes;
  view.owner = &slot;
  view.dtype = declared.dtype;
  view.rank = 0;
  if (PyArray_IsScalar(object, Generic)) {
    Ref descr = Ref::steal(reinterpret_cast<PyObject*>(PyArray_DescrFromScalar(object)));
    if (descr.get() != reinterpret_cast<PyObject*>(descr_of(declared.dtype))) return false;
    PyArray_ScalarAsCtype(object, slot.bytes);
    return true;
  }
  core::Scalar scalar;
  if (!read_scalar(object, declared.dtype, scalar)) return false;
  // NumPy refuses what does not fit, or warns.
  const core::Scalar held = core::round_to(declared.dtype, scalar);
  if (core::is_floating(declared.dtype)
          ? std::isinf(held.as_float()) != std::isinf(scalar.as_float())
          : held != scalar) {
    return false;
  }
  core::dispatch(declared.dtype, [&]<core::DType D>() {
    using T = core::Storage<D>;
    T value;
    if constexpr (D == core::DType::f16) {
      value = core::half_from_double(scalar.as_float());
    } else if constexpr (core::is_floating(D)) {
      value = static_cast<T>(scalar.as_float());
    } else {
      value = static_cast<T>(scalar.as_int());
    }
    std::memcpy(slot.bytes, &value, sizeof value);
  });
  return true;
}

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
    if constexpr (D == core::DType::f16) {
      return PyFloat_FromDouble(core::to_float(load<T>(buffer)));
    } else if constexpr (core::is_floating(D)) {
      return PyFloat_FromDouble(load<T>(buffer));
    } else if constexpr (D == core::DType::boolean) {
      return PyBool_FromLong(load<T>(buffer));
    } else if constexpr (std::is_unsigned_v<T>) {
      return PyLong_FromUnsignedLongLong(load<T>(buffer));
    } else {
      return PyLong_FromLongLong(load<T>(buffer));
    }
  });
}

// The result with its axes in another order. A fresh array is changed in place, so that it owns its
// memory, as NumPy's own results do.
PyObject* permuted(PyObject* object, const std::array<int8_t, core::kMaxRank>& order, bool fresh) {
  auto* array = reinterpret_cast<PyArrayObject*>(object);
  const int rank = PyArray_NDIM(array);
  npy_intp shape[core::kMaxRank], strides[core::kMaxRank], axes[core::kMaxRank];
  for (int i = 0; i < rank; ++i) {
    axes[i] = order[static_cast<size_t>(i)];
    shape[i] = PyArray_DIM(array, static_cast<int>(axes[i]));
    strides[i] = PyArray_STRIDE(array, static_cast<int>(axes[i]));
  }
  if (!fresh) {
    PyArray_Dims permutation{axes, rank};
    PyObject* view = PyArray_Transpose(array, &permutation);
    Py_DECREF(object);
    return view;
  }
  std::copy_n(shape, rank, PyArray_DIMS(array));
  std::copy_n(strides, rank, PyArray_STRIDES(array));
  PyArray_UpdateFlags(array, NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_F_CONTIGUOUS);
  return object;
}

PyObject* object_of(const Segment::Output& output, const BufferView& result, bool is_argument,
                    const NumpyHost& host) {
  switch (output.kind) {
    case ResultKind::array: {
      PyObject* array = is_argument ? NumpyHost::argument_of(result) : host.array_of(result);
      if (array == nullptr || !output.permuted) return array;
      return permuted(array, output.order, !is_argument);
    }
    case ResultKind::numpy:
      return PyArray_Scalar(result.data, descr_of(result.dtype), nullptr);
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
  const runtime::Plan& plan = segment.compilation.plan;
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
  NumpyHost host(f, slots.first(input_count + result_count), input_count,
                 placed.first(placed_count));
  Context context(f.call.times);
  const runtime::Outcome outcome =
      runtime::execute(plan, *f.path->target, host, inputs.first(input_count),
                       scalars.first(scalar_count), results.first(result_count), *context);
  if (outcome != runtime::Outcome::done) {
    f.refused = Refusal::sizes_;
    return false;
  }
  int32_t raised = (*context).fp_flags & segment.flags;
  if ((raised & segment.only_warns) != 0 && ignores_runtime_warnings()) {
    raised &= ~segment.only_warns;
  }
  bool made = raised == 0;
  if (raised == core::kTiedZeros) {
    f.refused = Refusal::tied_zeros_;
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
    const auto owns = [&](const BufferView& input) { return input.owner == result.owner; };
    const auto given = inputs.first(input_count);
    const bool is_argument =
        !host.is_slot(result.owner) && std::any_of(given.begin(), given.end(), owns);
    made = f.define(output.reg, object_of(output, result, is_argument, host));
  }
  for (const BufferView& result : results.first(result_count)) host.release(result.owner);
  return made;
}

}  // namespace steps

}  // namespace dvm::capture
