// The one door from the runtime back to the host language. Implemented in cpp/bindings for Python
// and by a fake in the tests; the runtime never sees a Python object.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/graph/graph.h"
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

class HostCalls {
 public:
  virtual ~HostCalls() = default;
  // A new C-ordered array owned by the host; out.owner carries one reference. False: the host has
  // an error pending.
  virtual bool allocate(core::DType dtype, std::span<const int64_t> shape, BufferView& out) = 0;
  // Calls host function `callee` (index into Plan::callees). Arguments are borrowed and always
  // host-owned; result.owner carries one reference. False: the host has an error pending.
  virtual bool call(int callee, std::span<const BufferView> args, BufferView& result) = 0;
  virtual void retain(HostValue value) = 0;
  virtual void release(HostValue value) = 0;
  // The lock that the host holds while it runs: nothing else here is called between the two.
  virtual void unlock() {}
  virtual void lock() {}
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
