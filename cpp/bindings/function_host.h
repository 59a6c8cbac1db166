// Python functions as the host functions of a Plan. Those that give results are called as
// `f(*arrays, *sizes, *numbers)`, those that write arrays with the keyword `out` besides.
#pragma once

#include <pybind11/pybind11.h>

#include <span>
#include <string>

#include "bindings/data_classes.h"
#include "capture/replay/array_host.h"
#include "runtime/plan/plan.h"

namespace dvm::bindings {

// "f32 of rank 2"
std::string described(const runtime::Argument& type);

// The object as an array that Plans can read, itself if it is one: aligned, and in this machine's
// order of bytes. Null: a Python error is set.
pybind11::object behaved(pybind11::handle object);

class FunctionHost final : public capture::ArrayHost {
 public:
  // The functions by their index in Plan::callees.
  FunctionHost(std::span<capture::ValueSlot> slots, size_t used,
               std::span<const pybind11::object> functions, const DataClasses& classes)
      : ArrayHost(*capture::libraries().front(), slots, used),
        functions_(functions),
        classes_(classes) {}

  bool construct(const core::DataType& type, size_t constructor,
                 std::span<const runtime::BufferView> fields, runtime::BufferView& out) override;
  int tag(const core::DataType& type, runtime::HostValue object) override;
  bool field(const core::DataType& type, size_t constructor, runtime::HostValue object,
             size_t index, runtime::BufferView& out) override;
  bool call(const runtime::HostCall& call, std::span<runtime::BufferView> results) override;
  bool call_into(const runtime::HostCall& call, std::span<const runtime::BufferView> into) override;

 private:
  pybind11::object array_for(const runtime::BufferView& buffer) const;
  pybind11::tuple arguments_of(const runtime::HostCall& call) const;
  // With one reference to the array. False: it is of another kind.
  bool read_array(pybind11::handle given, const runtime::Argument& expected,
                  runtime::BufferView& out);
  void read_result(const runtime::HostCall& call, size_t place, pybind11::handle made,
                   runtime::BufferView& result);

  std::span<const pybind11::object> functions_;
  const DataClasses& classes_;
};

}  // namespace dvm::bindings
