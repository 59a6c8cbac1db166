// Nodes compiled, once for all sizes, and run.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "bindings/lazy/build.h"
#include "driver/compile.h"

namespace dvm::bindings::lazy {

// What nodes of one form were compiled to: for any sizes of which the same are equal, and 1.
struct Kernel {
  core::Graph graph;
  driver::Compilation compilation;
};

// Sets `sizes`. May throw.
std::shared_ptr<const Kernel> kernel_of(std::span<const Node> nodes, Sizes& sizes);
// Appends the values of the nodes that have an owner, each null that Python has no object for.
// False: there are none. In both cases a Python error is set. May throw.
bool run(const Kernel& kernel, std::span<const Node> nodes, const Sizes& sizes,
         std::vector<PyObject*>& values);

int64_t compiled_count();  // so many graphs, of this process
void forget_compiled();

}  // namespace dvm::bindings::lazy
