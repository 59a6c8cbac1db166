// A host for C++ programs: arrays on the heap, host functions that are C++.
#pragma once

#include <atomic>
#include <functional>
#include <vector>

#include "runtime/host.h"

namespace dvm::runtime {

// May be used by several threads at once; so may what it allocates.
class PlainHost final : public HostCalls {
 public:
  // Fills in the result, whose owner carries one reference; false ends the call as host_error.
  using Function = std::function<bool(std::span<const BufferView> args, BufferView& result)>;

  PlainHost() = default;
  // In the order of Plan::callees.
  explicit PlainHost(std::vector<Function> functions) : functions_(std::move(functions)) {}

  bool allocate(core::DType dtype, std::span<const int64_t> shape, BufferView& out) override;
  bool call(int callee, std::span<const BufferView> args, BufferView& result) override;
  void retain(HostValue value) override;
  void release(HostValue value) override;

 private:
  std::vector<Function> functions_;
};

}  // namespace dvm::runtime
