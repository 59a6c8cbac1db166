#include "bindings/torch_tensors.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <optional>

#include "core/error.h"
#include "core/math/byte_range.h"
#include "runtime/execute/faults.h"
#include "runtime/memory/buffer_pool.h"
#include "vm/target/watch.h"

namespace py = pybind11;

namespace dvm::bindings {

namespace {

using core::DType;
using runtime::BufferView;

struct Torch {
  const dlpack::DLPackExchangeAPI* api = nullptr;
  // References that are never given back.
  PyTypeObject *tensor = nullptr, *parameter = nullptr;
  PyObject *forward_mode = nullptr, *level = nullptr;
  PyObject* new_empty[core::kDTypeCount] = {};  // methods of a tensor of each dtype
};
Torch g_torch;

struct ElementType {
  DType dtype;
  uint8_t code, bits;
};
constexpr ElementType kElementTypes[] = {
    {DType::boolean, dlpack::kDLBool, 8}, {DType::i8, dlpack::kDLInt, 8},
    {DType::i16, dlpack::kDLInt, 16},     {DType::i32, dlpack::kDLInt, 32},
    {DType::i64, dlpack::kDLInt, 64},     {DType::u8, dlpack::kDLUInt, 8},
    {DType::u16, dlpack::kDLUInt, 16},    {DType::u32, dlpack::kDLUInt, 32},
    {DType::u64, dlpack::kDLUInt, 64},    {DType::f16, dlpack::kDLFloat, 16},
    {DType::f32, dlpack::kDLFloat, 32},   {DType::f64, dlpack::kDLFloat, 64},
    {DType::bf16, dlpack::kDLBfloat, 16}};

std::optional<DType> dtype_from(dlpack::DLDataType type) {
  for (const ElementType& row : kElementTypes) {
    if (row.code == type.code && row.bits == type.bits && type.lanes == 1) return row.dtype;
  }
  return std::nullopt;
}

dlpack::DLDataType type_of(DType dtype) {
  const auto* row = std::find_if(std::begin(kElementTypes), std::end(kElementTypes),
                                 [&](const ElementType& r) { return r.dtype == dtype; });
  return {row->code, row->bits, 1};
}

// A tensor of torch over memory of ours, on torch's side.
struct Lent {
  dlpack::DLManagedTensorVersioned managed;
  TensorMemory* memory;
  int64_t shape[core::kMaxRank], strides[core::kMaxRank];

  static void free(dlpack::DLManagedTensorVersioned* managed) {
    const std::unique_ptr<Lent> lent(static_cast<Lent*>(managed->manager_ctx));
    lent->memory->release();
  }
};

int64_t element_count(const BufferView& view) {
  int64_t count = 1;
  for (int i = 0; i < view.rank; ++i) count *= view.shape[i];
  return count;
}

}  // namespace

void use_torch(const py::type& tensor, const py::type& parameter, const py::module_& forward_mode,
               const py::iterable& examples) {
  const py::object capsule = tensor.attr("__dlpack_c_exchange_api__");
  auto* api = static_cast<const dlpack::DLPackExchangeAPI*>(
      PyCapsule_GetPointer(capsule.ptr(), "dlpack_exchange_api"));
  if (api == nullptr) throw py::error_already_set();
  if (api->version.major != dlpack::kMajorVersion || !api->dltensor_from_py_object_no_sync ||
      !api->managed_tensor_to_py_object_no_sync) {
    core::fail(core::ErrorCode::unsupported, "this version of torch has another exchange API");
  }
  g_torch = {api, reinterpret_cast<PyTypeObject*>(tensor.inc_ref().ptr()),
             reinterpret_cast<PyTypeObject*>(parameter.inc_ref().ptr()),
             py::object(forward_mode).release().ptr(),
             PyUnicode_InternFromString("_current_level")};
  for (const py::handle example : examples) {
    BufferView view;
    DVM_CHECK(view_tensor(example.ptr(), view), "an example is no plain tensor");
    g_torch.new_empty[static_cast<size_t>(view.dtype)] =
        py::object(example.attr("new_empty")).release().ptr();
  }
}

py::object new_tensor(DType dtype, std::span<const int64_t> shape) {
  if (runtime::is_faulty()) {
    PyErr_NoMemory();
    return {};
  }
  // Sizes one by one, or as a tuple where there are none.
  PyObject* sizes[core::kMaxRank] = {};
  py::object held[core::kMaxRank];
  for (size_t i = 0; i < shape.size(); ++i) {
    held[i] = py::int_(shape[i]);
    sizes[i] = held[i].ptr();
  }
  const py::tuple none;
  if (shape.empty()) sizes[0] = none.ptr();
  PyObject* const made = PyObject_Vectorcall(g_torch.new_empty[static_cast<size_t>(dtype)], sizes,
                                             std::max<size_t>(shape.size(), 1), nullptr);
  return py::reinterpret_steal<py::object>(made);
}

bool view_tensor(PyObject* object, BufferView& view) {
  if (!Py_IS_TYPE(object, g_torch.tensor) && !Py_IS_TYPE(object, g_torch.parameter)) return false;
  dlpack::DLTensor read;
  if (g_torch.api->dltensor_from_py_object_no_sync(object, &read) != 0) {
    PyErr_Clear();  // it tells of sparse, quantised and meta tensors, which the caller goes on with
    return false;
  }
  const std::optional<DType> dtype = dtype_from(read.dtype);
  if (!dtype || read.device.device_type != dlpack::kDLCPU || read.ndim > core::kMaxRank)
    return false;
  const int64_t bytes = core::byte_size(*dtype);
  view.data = static_cast<std::byte*>(read.data) + read.byte_offset;
  view.dtype = *dtype;
  view.rank = read.ndim;
  for (int i = 0; i < read.ndim; ++i) {
    view.shape[i] = read.shape[i];
    view.strides[i] = read.strides[i] * bytes;
  }
  const bool is_aligned = reinterpret_cast<uintptr_t>(view.data) % static_cast<size_t>(bytes) == 0;
  return is_aligned && (view.data != nullptr || element_count(view) == 0);
}

bool is_negated(PyObject* tensor) {
  static PyObject* const name = PyUnicode_InternFromString("is_neg");
  const auto answer = py::reinterpret_steal<py::object>(PyObject_CallMethodNoArgs(tensor, name));
  if (!answer) throw py::error_already_set();
  return answer.ptr() == Py_True;
}

bool has_tangent(PyObject* tensor) {
  PyObject* const level = PyDict_GetItem(PyModule_GetDict(g_torch.forward_mode), g_torch.level);
  if (level == nullptr || PyLong_AsLong(level) < 0) return false;
  return !py::handle(g_torch.forward_mode)
              .attr("unpack_dual")(py::handle(tensor))
              .attr("tangent")
              .is_none();
}

// One block of malloc's for a small one: a call of few elements has little else to do, and what
// malloc aligns by itself it does not keep at hand for the next one.
TensorMemory* TensorMemory::create(int64_t bytes) {
  constexpr size_t kLine = 64;
  const bool is_pooled = bytes >= runtime::kLeastPooled;
  const size_t rounded = (static_cast<size_t>(bytes) + kLine - 1) / kLine * kLine;
  void* const block = std::malloc(sizeof(TensorMemory) + (is_pooled ? 0 : kLine + rounded));
  if (block == nullptr) return nullptr;
  const auto behind = reinterpret_cast<uintptr_t>(block) + sizeof(TensorMemory);
  auto* const data = is_pooled ? runtime::buffer_pool().take(bytes)
                               : reinterpret_cast<std::byte*>((behind + kLine - 1) / kLine * kLine);
  if (data == nullptr) {
    std::free(block);
    return nullptr;
  }
  vm::Watch::tell_allocated(data, bytes);
  return new (block) TensorMemory(data, bytes, is_pooled);
}

void TensorMemory::destroy() {
  if (is_pooled_) runtime::buffer_pool().give(data_);
  this->~TensorMemory();
  std::free(this);
}

py::object tensor_over(TensorMemory& memory, const BufferView& view) {
  auto lent = std::make_unique<Lent>();
  const int64_t bytes = core::byte_size(view.dtype);
  for (int i = 0; i < view.rank; ++i) {
    lent->shape[i] = view.shape[i];
    lent->strides[i] = view.strides[i] / bytes;
  }
  lent->memory = &memory;
  lent->managed = {.version = {dlpack::kMajorVersion, 0},
                   .manager_ctx = lent.get(),
                   .deleter = Lent::free,
                   .flags = 0,
                   .dl_tensor = {view.data,
                                 {dlpack::kDLCPU, 0},
                                 view.rank,
                                 type_of(view.dtype),
                                 lent->shape,
                                 lent->strides,
                                 0}};
  void* tensor = nullptr;
  if (g_torch.api->managed_tensor_to_py_object_no_sync(&lent->managed, &tensor) != 0) {
    throw py::error_already_set();
  }
  memory.retain();
  lent.release();  // NOLINT(bugprone-unused-return-value): the tensor owns it now
  return py::reinterpret_steal<py::object>(static_cast<PyObject*>(tensor));
}

py::object tensor_within(TensorMemory& memory, const BufferView& view) {
  core::ByteRange own{.high = core::byte_size(view.dtype)};
  for (int d = 0; d < view.rank; ++d) own.repeat(view.shape[d], view.strides[d]);
  const bool is_all = view.data == memory.data() && own.high == memory.size();
  if (is_all || element_count(view) == 0) return tensor_over(memory, view);
  BufferView whole{.data = memory.data(), .dtype = view.dtype, .rank = 1};
  whole.strides[0] = core::byte_size(view.dtype);
  whole.shape[0] = memory.size() / whole.strides[0];
  return view_of(tensor_over(memory, whole).ptr(), view);
}

std::pair<std::byte*, std::byte*> range_of(const BufferView& view) {
  core::ByteRange range{.high = core::byte_size(view.dtype)};
  for (int d = 0; d < view.rank; ++d) {
    if (view.shape[d] == 0) return {view.data, view.data};
    range.repeat(view.shape[d], view.strides[d]);
  }
  return {view.data + range.low, view.data + range.high};
}

bool is_dense(const BufferView& view) {
  int64_t stride = core::byte_size(view.dtype);
  bool dense = true;
  for (int i = view.rank - 1; i >= 0; --i) {
    dense &= view.shape[i] == 1 || view.strides[i] == stride;
    stride *= view.shape[i];
  }
  return dense || stride == 0;
}

bool is_reversed(const BufferView& view) {
  return std::any_of(view.strides, view.strides + view.rank,
                     [](int64_t stride) { return stride < 0; });
}

py::object copy_of(const BufferView& view) {
  const int64_t bytes = core::byte_size(view.dtype), count = element_count(view);
  py::object tensor = new_tensor(view.dtype, {view.shape, static_cast<size_t>(view.rank)});
  BufferView copy;
  if (!tensor || !view_tensor(tensor.ptr(), copy)) throw py::error_already_set();
  int64_t at[core::kMaxRank] = {};
  const std::byte* from = view.data;
  for (int64_t k = 0; k < count; ++k) {
    std::memcpy(copy.data + k * bytes, from, static_cast<size_t>(bytes));
    for (int i = view.rank - 1; i >= 0; --i) {
      from += view.strides[i];
      if (++at[i] < view.shape[i]) break;
      from -= view.strides[i] * view.shape[i];
      at[i] = 0;
    }
  }
  return tensor;
}

py::object view_of(PyObject* tensor, const BufferView& view) {
  BufferView whole;
  if (!view_tensor(tensor, whole)) {
    core::fail(core::ErrorCode::internal, "a tensor is no longer what it was read as");
  }
  const bool is_whole = whole.data == view.data && whole.rank == view.rank &&
                        std::equal(view.shape, view.shape + view.rank, whole.shape) &&
                        std::equal(view.strides, view.strides + view.rank, whole.strides);
  const py::handle object(tensor);
  if (is_whole) return py::reinterpret_borrow<py::object>(object);
  const int64_t bytes = core::byte_size(view.dtype);
  py::tuple shape(view.rank), strides(view.rank);
  for (int i = 0; i < view.rank; ++i) {
    shape[static_cast<size_t>(i)] = view.shape[i];
    strides[static_cast<size_t>(i)] = view.strides[i] / bytes;
  }
  const int64_t offset =
      object.attr("storage_offset")().cast<int64_t>() + (view.data - whole.data) / bytes;
  return object.attr("as_strided")(shape, strides, offset);
}

}  // namespace dvm::bindings
