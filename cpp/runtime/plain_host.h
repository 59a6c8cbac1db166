// A host for C++ programs: arrays on the heap, host functions that are C++.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <string>

#include "core/graph/tensor.h"
#include "runtime/host.h"

namespace dvm::runtime {

// May be used by several threads at once when all functions are added; so may what it allocates.
class PlainHost final : public HostCalls {
 public:
  // Fills in the results as HostCalls::call says; false ends the call of the Plan as host_error, an
  // exception goes through it. What they return is made by allocate(), or what they are given with
  // one more reference.
  using Function = std::function<bool(const HostCall& call, std::span<BufferView> results)>;
  // For op `call_into`: writes the arrays.
  using Writer = std::function<bool(const HostCall& call, std::span<const BufferView> into)>;

  // By the name that the Plan calls it by. One name may stand for one of each.
  void add(std::string name, Function function);
  void add_into(std::string name, Writer writer);

  bool allocate(core::DType dtype, std::span<const int64_t> shape, BufferView& out) override;
  bool call(const HostCall& call, std::span<BufferView> results) override;
  bool call_into(const HostCall& call, std::span<const BufferView> into) override;
  bool construct(const core::DataType& type, size_t constructor, std::span<const BufferView> fields,
                 BufferView& out) override;
  int tag(const core::DataType& type, HostValue object) override;
  bool field(const core::DataType& type, size_t constructor, HostValue object, size_t index,
             BufferView& out) override;
  void retain(HostValue value) override;
  void release(HostValue value) override;
  // What every host of this kind takes for one of its arrays: memory of another, which lives as
  // long as its `keep`, and which nobody writes to.
  static core::Tensor lent(core::TensorData memory);
  // Arrays and objects that are there.
  int64_t live() const { return live_.load(std::memory_order_relaxed); }

 private:
  std::map<std::string, Function, std::less<>> functions_;
  std::map<std::string, Writer, std::less<>> writers_;
  std::atomic<int64_t> live_{0};
};

}  // namespace dvm::runtime
