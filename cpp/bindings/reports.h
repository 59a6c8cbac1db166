// What reports read of compiled functions and graphs alike.
#pragma once

#include <pybind11/pybind11.h>

#include <string>

#include "driver/compile.h"

namespace dvm::bindings {

// Graphs that were compiled, one after the other: their texts, Plans, decisions and passes.
class GraphReport {
 public:
  void add(const core::Module& module, const driver::Options& options,
           const driver::Compilation& compilation);
  // What was done with the Graph before it was compiled; comes before that.
  void add_first(const driver::FirstDone& first);
  void write(pybind11::dict& record) const;

 private:
  void add_decisions(const std::vector<core::Decision>& decisions);
  void add_pass(const driver::PassRecord& pass, int64_t nanoseconds);

  std::string graphs_, plans_;
  pybind11::list decisions_, passes_;
  int count_ = 0;
};

// A compiled Graph, as _dvm.paths() tells of a path of a function.
pybind11::dict describe_graph(const core::Module& module, const driver::Options& options,
                              const driver::Compilation& compilation,
                              const driver::FirstDone* first = nullptr);

// The Plan of a _dvm.CompiledGraph, or of a _dvm.TorchGraph; null: the object is none.
const runtime::Plan* plan_of_graph(pybind11::handle object);
const runtime::Plan* plan_of_torch_graph(pybind11::handle object);

}  // namespace dvm::bindings
