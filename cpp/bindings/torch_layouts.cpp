#include "bindings/torch_layouts.h"

#include <algorithm>

#include "bindings/torch_tensors.h"
#include "core/error.h"

namespace py = pybind11;

namespace dvm::bindings {

namespace {

PyObject* g_place_copy = nullptr;  // a reference that is never given back

int64_t offset_of(const py::object& tensor) {
  static PyObject* const name = PyUnicode_InternFromString("storage_offset");
  const auto offset =
      py::reinterpret_steal<py::object>(PyObject_CallMethodNoArgs(tensor.ptr(), name));
  if (!offset) throw py::error_already_set();
  return offset.cast<int64_t>();
}

py::tuple shape_of(const runtime::BufferView& view) {
  py::tuple shape(view.rank);
  for (int d = 0; d < view.rank; ++d) shape[static_cast<size_t>(d)] = view.shape[d];
  return shape;
}

py::tuple strides_of(const Place& place, int rank) {
  py::tuple strides(rank);
  for (int d = 0; d < rank; ++d) strides[static_cast<size_t>(d)] = place.strides[d];
  return strides;
}

}  // namespace

void use_placement(const py::object& place_copy) {
  g_place_copy = py::reinterpret_borrow<py::object>(place_copy).release().ptr();
}

size_t Layout::told() const {
  return static_cast<size_t>(
      std::ranges::count_if(numbers_, [](const auto& number) { return !number; }));
}

Place Layout::place(const runtime::BufferView& shaped, std::span<const int64_t> given) const {
  Place place;
  if (numbers_.empty()) {
    int64_t stride = 1;
    for (size_t k = order_.size(); k-- > 0;) {
      place.strides[order_[k]] = stride;
      stride *= std::max<int64_t>(shaped.shape[order_[k]], 1);
    }
    return place;
  }
  size_t next = 0;
  const auto number = [&](size_t k) { return numbers_[k] ? *numbers_[k] : given[next++]; };
  const size_t rank = numbers_.size() - 1;
  for (size_t d = 0; d < rank; ++d) place.strides[d] = number(d);
  place.offset = number(rank);
  return place;
}

py::object placed(const py::object& tensor, const Place& place, int64_t& copies) {
  runtime::BufferView view;
  if (!view_tensor(tensor.ptr(), view)) {
    core::fail(core::ErrorCode::internal, "what is handed to torch is no plain tensor");
  }
  const int64_t bytes = core::byte_size(view.dtype);
  const bool is_empty = std::find(view.shape, view.shape + view.rank, 0) != view.shape + view.rank;
  bool is_same = true, is_exact = true;
  for (int d = 0; d < view.rank; ++d) {
    const bool has_stride = view.strides[d] == place.strides[d] * bytes;
    is_exact &= has_stride;
    is_same &= has_stride || view.shape[d] == 1 || is_empty;
  }
  const bool is_there = offset_of(tensor) == place.offset;
  if (is_exact && is_there) return tensor;
  const py::tuple strides = strides_of(place, view.rank);
  if (is_same && is_there) return tensor.attr("as_strided")(shape_of(view), strides, place.offset);
  ++copies;
  return py::handle(g_place_copy)(tensor, strides, place.offset);
}

}  // namespace dvm::bindings
