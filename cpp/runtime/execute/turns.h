// The host of a body: what the trips of a loop make and let go of serves the trips after them, so
// that two arrays of a shape take turns. An array of the caller's, or one that a host function has
// seen, is never among those.
#pragma once

#include <vector>

#include "runtime/host.h"
#include "runtime/plan/plan.h"

namespace dvm::runtime {

class Turns final : public HostCalls {
 public:
  // `plan` has the body; functions are known to the host by its numbers.
  Turns(HostCalls& host, const Plan& plan) : host_(host), plan_(plan) {}
  ~Turns() override;
  Turns(const Turns&) = delete;
  Turns& operator=(const Turns&) = delete;

  bool allocate(core::DType dtype, std::span<const int64_t> shape, BufferView& out) override;
  bool call(const HostCall& call, std::span<BufferView> results) override;
  bool call_into(const HostCall& call, std::span<const BufferView> into) override;
  bool construct(const core::DataType& type, size_t constructor, std::span<const BufferView> fields,
                 BufferView& out) override;
  int tag(const core::DataType& type, HostValue object) override { return host_.tag(type, object); }
  bool field(const core::DataType& type, size_t constructor, HostValue object, size_t index,
             BufferView& out) override;
  void retain(HostValue value) override;
  void release(HostValue value) override;
  bool may_go_on() override { return host_.may_go_on(); }
  void unlock() override { host_.unlock(); }
  void lock() override { host_.lock(); }

  // Whether the one reference to the array is whoever's asks, and all of its memory lies in order.
  bool is_alone(const BufferView& array) const;
  // One more reference, that outlives this.
  void give(HostValue value) { host_.retain(value); }

 private:
  struct Made {
    BufferView array;    // as it was made
    int references = 0;  // none: to be used again
    bool seen = false;   // by a host function
  };
  Made* find(HostValue value);
  const Made* find(HostValue value) const { return const_cast<Turns*>(this)->find(value); }
  void show(std::span<const BufferView> arrays);
  void count(const BufferView& given);
  HostCall named(const HostCall& call) const;

  HostCalls& host_;
  const Plan& plan_;
  std::vector<Made> made_;
};

}  // namespace dvm::runtime
