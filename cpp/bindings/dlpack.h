// The parts of DLPack 1.3 (Apache-2.0, https://github.com/dmlc/dlpack) that torch is read through.
// Its exchange API is a table of C functions that a tensor's class holds, so nothing is linked.
#pragma once

#include <cstdint>

// The names are the standard's.
// NOLINTBEGIN(readability-identifier-naming)
namespace dvm::bindings::dlpack {

inline constexpr uint32_t kMajorVersion = 1;
inline constexpr int32_t kDLCPU = 1;

enum : uint8_t { kDLInt = 0, kDLUInt = 1, kDLFloat = 2, kDLBfloat = 4, kDLBool = 6 };

struct DLPackVersion {
  uint32_t major, minor;
};

struct DLDevice {
  int32_t device_type, device_id;
};

struct DLDataType {
  uint8_t code, bits;
  uint16_t lanes;
};

struct DLTensor {
  void* data;
  DLDevice device;
  int32_t ndim;
  DLDataType dtype;
  int64_t* shape;
  int64_t* strides;  // in elements
  uint64_t byte_offset;
};

struct DLManagedTensorVersioned {
  DLPackVersion version;
  void* manager_ctx;
  void (*deleter)(DLManagedTensorVersioned* self);
  uint64_t flags;
  DLTensor dl_tensor;
};

// Functions give 0, or another number with a Python error set.
struct DLPackExchangeAPI {
  DLPackVersion version;
  DLPackExchangeAPI* prev_api;
  int (*managed_tensor_allocator)(DLTensor* prototype, DLManagedTensorVersioned** out,
                                  void* context,
                                  void (*set_error)(void*, const char*, const char*));
  int (*managed_tensor_from_py_object_no_sync)(void* object, DLManagedTensorVersioned** out);
  // Takes over the tensor; a new reference.
  int (*managed_tensor_to_py_object_no_sync)(DLManagedTensorVersioned* tensor, void** object);
  // What it fills in is borrowed from the object.
  int (*dltensor_from_py_object_no_sync)(void* object, DLTensor* out);
  int (*current_work_stream)(int32_t device_type, int32_t device_id, void** out);
};

}  // namespace dvm::bindings::dlpack
// NOLINTEND(readability-identifier-naming)
