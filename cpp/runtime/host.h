// The one door from the runtime back to the host language. Implemented in cpp/bindings for Python
// and by a fake in the tests; the runtime never sees a Python object.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "core/graph/module.h"
#include "core/ops/dtype.h"

namespace dvm::runtime {

using HostValue = void*;  // opaque, reference counted by the host

// A tensor in memory: strides in bytes, may be negative or zero. `owner` keeps the memory alive and
// is null for the runtime's own temporaries.
struct BufferView {
  std::byte* data = nullptr;
  HostValue owner = nullptr;
  core::DType dtype = core::DType::f32;
  int32_t rank = 0;
  int64_t shape[core::kMaxRank] = {};
  int64_t strides[core::kMaxRank] = {};
};

// In place of a rank: the view is of an object of a data type, which `owner` is.
inline constexpr int32_t kObjectRank = -1;

struct HostNumber {
  core::DType dtype;
  core::Scalar value;
};

// What a host function is called with, all of it borrowed: arrays of the host's own, sizes of any
// sign, and scalar arguments of the Plan.
struct HostCall {
  int callee;  // index into Plan::callees
  std::string_view name;
  std::span<const BufferView> arrays;
  std::span<const int64_t> sizes;
  std::span<const HostNumber> numbers;
};

class HostCalls {
 public:
  virtual ~HostCalls() = default;
  // A new C-ordered array owned by the host; out.owner carries one reference. False: the host has
  // an error pending.
  virtual bool allocate(core::DType dtype, std::span<const int64_t> shape, BufferView& out) = 0;
  // The same for what a body of the Plan makes, as often as it runs.
  virtual bool allocate_within(core::DType dtype, std::span<const int64_t> shape, BufferView& out) {
    return allocate(dtype, shape, out);
  }
  // Calls a host function and fills in its results, each owner with one reference. They come with
  // the dtype and rank that the Plan expects; rank -1 is one that nobody asked for, which may be
  // left without an owner. False: the host has an error pending. Whatever has an owner then, too,
  // and when it throws, is released.
  virtual bool call(const HostCall& call, std::span<BufferView> results) = 0;
  // Calls a host function that writes all elements of these new arrays. False, as above.
  virtual bool call_into(const HostCall& call, std::span<const BufferView> into) = 0;
  virtual void retain(HostValue value) = 0;
  virtual void release(HostValue value) = 0;
  // An object of that constructor, which keeps these arrays and objects; out.owner carries one
  // reference. False: the host has an error pending.
  virtual bool construct(const core::DataType& type, size_t /*constructor*/,
                         std::span<const BufferView> /*fields*/, BufferView& /*out*/) {
    has_no_objects(type);
  }
  // Which constructor made an object, or -1: the host has an error pending.
  virtual int tag(const core::DataType& type, HostValue /*object*/) { has_no_objects(type); }
  // One field of such an object, with one reference to what it is. Whether it is of the declared
  // kind is for the caller to check. False: the host has an error pending.
  virtual bool field(const core::DataType& type, size_t /*constructor*/, HostValue /*object*/,
                     size_t /*index*/, BufferView& /*out*/) {
    has_no_objects(type);
  }
  // Between trips of a loop, and now and then where functions call themselves: whether to go on.
  // False: the host has an error pending, an interrupt of the user's for instance.
  virtual bool may_go_on() { return true; }
  // The lock that the host holds while it runs: nothing else here is called between the two.
  virtual void unlock() {}
  virtual void lock() {}
  // As allocate, for a register of the Plan, where it matters to the host which.
  virtual bool allocate_for(int32_t /*reg*/, core::DType dtype, std::span<const int64_t> shape,
                            BufferView& out) {
    return allocate(dtype, shape, out);
  }

 private:
  [[noreturn]] static void has_no_objects(const core::DataType& type) {
    core::fail(core::ErrorCode::unsupported, "objects are not passed here, such as a " + type.name);
  }
};

// Lets other threads of the host run while it lives, if `really`.
class Unlocked {
 public:
  Unlocked(HostCalls& host, bool really) : host_(really ? &host : nullptr) {
    if (host_ != nullptr) host_->unlock();
  }
  ~Unlocked() {
    if (host_ != nullptr) host_->lock();
  }
  Unlocked(const Unlocked&) = delete;
  Unlocked& operator=(const Unlocked&) = delete;

 private:
  HostCalls* host_;
};

}  // namespace dvm::runtime
