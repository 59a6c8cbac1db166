#include "bindings/function_host.h"

#include <cstring>

#include "capture/numpy/numpy_api.h"
#include "capture/replay/signature.h"
#include "core/error.h"

namespace py = pybind11;

namespace dvm::bindings {

namespace {

using runtime::BufferView;
using runtime::HostCall;

py::object number_of(const runtime::HostNumber& number) {
  if (core::is_floating(number.dtype)) return py::float_(number.value.as_float());
  if (number.dtype == core::DType::boolean) return py::bool_(number.value.as_int() != 0);
  if (number.dtype == core::DType::u64) {
    return py::int_(static_cast<uint64_t>(number.value.as_int()));
  }
  return py::int_(number.value.as_int());
}

[[noreturn]] void refuse(const HostCall& call, py::handle made, const std::string& expected) {
  core::fail(core::ErrorCode::host_result, std::string(call.name) + " gave " +
                                               capture::describe(made.ptr()) + "; the graph says " +
                                               expected);
}

py::object checked(PyObject* object) {
  if (object == nullptr) throw py::error_already_set();
  return py::reinterpret_steal<py::object>(object);
}

// What a function may return that writes into `out`: nothing, or just that.
bool returns(py::handle made, py::handle out) {
  if (made.is_none() || made.is(out)) return true;
  if (!py::isinstance<py::tuple>(out) || !PySequence_Check(made.ptr())) return false;
  const auto given = py::reinterpret_borrow<py::sequence>(made);
  const auto wanted = py::reinterpret_borrow<py::tuple>(out);
  if (given.size() != wanted.size()) return false;
  for (size_t k = 0; k < wanted.size(); ++k) {
    if (!py::object(given[k]).is(wanted[k])) return false;
  }
  return true;
}

}  // namespace

std::string described(const runtime::Argument& type) {
  return std::string(core::to_string(type.dtype)) + " of rank " + std::to_string(type.rank);
}

py::object behaved(py::handle object) {
  return py::reinterpret_steal<py::object>(
      PyArray_FROM_OF(object.ptr(), NPY_ARRAY_ALIGNED | NPY_ARRAY_NOTSWAPPED));
}

// An array of the memory; of a value on the stack, a copy.
py::object FunctionHost::array_for(const BufferView& buffer) const {
  if (buffer.rank == runtime::kObjectRank) {
    return py::reinterpret_borrow<py::object>(static_cast<PyObject*>(buffer.owner));
  }
  return checked(is_slot(buffer.owner) ? array_of(buffer) : argument_of(buffer));
}

py::tuple FunctionHost::arguments_of(const HostCall& call) const {
  py::tuple given(call.arrays.size() + call.sizes.size() + call.numbers.size());
  size_t at = 0;
  for (const BufferView& array : call.arrays) given[at++] = array_for(array);
  for (const int64_t size : call.sizes) given[at++] = py::int_(size);
  for (const runtime::HostNumber& number : call.numbers) given[at++] = number_of(number);
  return given;
}

bool FunctionHost::read_array(py::handle given, const runtime::Argument& expected,
                              BufferView& out) {
  const py::object array = behaved(given);
  if (!array) throw py::error_already_set();
  auto* const read = reinterpret_cast<PyArrayObject*>(array.ptr());
  if (!capture::holds(capture::dtype_of(read), expected.dtype) ||
      PyArray_NDIM(read) != expected.rank) {
    return false;
  }
  capture::view_into(read, expected.dtype, out);
  retain(out.owner);
  return true;
}

void FunctionHost::read_result(const HostCall& call, size_t place, py::handle made,
                               BufferView& result) {
  const runtime::Argument expected{result.dtype, result.rank};
  if (!read_array(made, expected, result)) {
    refuse(call, made,
           described(expected) + (place > 0 ? " for result " + std::to_string(place) : ""));
  }
}

bool FunctionHost::construct(const core::DataType& type, size_t constructor,
                             std::span<const BufferView> fields, BufferView& out) {
  py::tuple given(fields.size());
  for (size_t k = 0; k < fields.size(); ++k) given[k] = array_for(fields[k]);
  const py::object made = checked(classes_.construct(type, constructor, given));
  if (classes_.tag(type, made) != static_cast<int>(constructor)) {
    core::fail(core::ErrorCode::host_result, "the class for " +
                                                 type.constructors[constructor].name + " made " +
                                                 capture::describe(made.ptr()));
  }
  out = {
      .owner = made.inc_ref().ptr(), .dtype = core::DType::boolean, .rank = runtime::kObjectRank};
  return true;
}

int FunctionHost::tag(const core::DataType& type, runtime::HostValue object) {
  return classes_.tag_given(type, static_cast<PyObject*>(object));
}

bool FunctionHost::field(const core::DataType& type, size_t constructor, runtime::HostValue object,
                         size_t index, BufferView& out) {
  const core::Constructor& made = type.constructors[constructor];
  const core::ValueKind& kind = made.kinds[index];
  py::object found =
      checked(classes_.field(type, constructor, static_cast<PyObject*>(object), index));
  if (kind.is_object()) {
    out = {.owner = found.release().ptr(),
           .dtype = core::DType::boolean,
           .rank = runtime::kObjectRank};
    return true;
  }
  const runtime::Argument expected{kind.dtype, kind.rank};
  if (!read_array(found, expected, out)) {
    core::fail(core::ErrorCode::wrong_arguments,
               "field " + made.fields[index] + " of " + made.name + " is " +
                   capture::describe(found.ptr()) + "; the graph takes " + described(expected));
  }
  return true;
}

bool FunctionHost::call(const HostCall& call, std::span<BufferView> results) {
  const py::object& function = functions_[static_cast<size_t>(call.callee)];
  const py::object made = checked(PyObject_CallObject(function.ptr(), arguments_of(call).ptr()));
  if (results.size() == 1) {
    read_result(call, 0, made, results[0]);
    return true;
  }
  if (!py::isinstance<py::tuple>(made) && !py::isinstance<py::list>(made)) {
    refuse(call, made, std::to_string(results.size()) + " results");
  }
  // A tuple of its own, which no conversion to an array can change meanwhile.
  const py::tuple given(made);
  if (given.size() != results.size()) {
    refuse(call, made,
           std::to_string(results.size()) + " results, not " + std::to_string(given.size()));
  }
  for (size_t k = 0; k < results.size(); ++k) {
    if (results[k].rank >= 0) read_result(call, k, given[k], results[k]);
  }
  return true;
}

bool FunctionHost::call_into(const HostCall& call, std::span<const BufferView> into) {
  const py::object& function = functions_[static_cast<size_t>(call.callee)];
  py::tuple arrays(into.size());
  for (size_t k = 0; k < into.size(); ++k) arrays[k] = array_for(into[k]);
  const py::object out = arrays.size() == 1 ? py::object(arrays[0]) : py::object(arrays);
  py::dict keywords;
  keywords["out"] = out;
  const py::object made =
      checked(PyObject_Call(function.ptr(), arguments_of(call).ptr(), keywords.ptr()));
  if (!returns(made, out)) {
    refuse(call, made, "that it writes to `out`, and gives that or None");
  }
  for (size_t k = 0; k < into.size(); ++k) {
    auto* array = reinterpret_cast<PyArrayObject*>(py::object(arrays[k]).ptr());
    const bool is_value = is_slot(into[k].owner);
    // Values on the stack were lent as arrays.
    if (is_value)
      std::memcpy(into[k].data, PyArray_DATA(array),
                  static_cast<size_t>(core::byte_size(into[k].dtype)));
    auto* owner = is_value ? array : static_cast<PyArrayObject*>(into[k].owner);
    const auto* data = reinterpret_cast<const std::byte*>(PyArray_DATA(owner));
    if (!is_value && data != into[k].data)
      refuse(call, arrays[k], "that `out` stays in its memory");
  }
  return true;
}

}  // namespace dvm::bindings
