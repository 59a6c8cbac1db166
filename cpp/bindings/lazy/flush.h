// Computes what is pending: all of a buffer that the program still has, as one graph.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "bindings/lazy/buffer.h"
#include "driver/compile.h"

namespace dvm::bindings::lazy {

// What nodes of one form were compiled to: for any sizes of which the same are equal, and 1.
struct Kernel {
  core::Graph graph;
  driver::Compilation compilation;
};

// What a thread computed last.
struct LastFlush {
  std::shared_ptr<const Kernel> kernel;  // none: nothing yet
  std::string reason;
  std::vector<int64_t> sizes;  // of the graph's symbols
};
const LastFlush& last_flush();

// The array of NumPy's that it stands for, which is computed if it has to be. Borrowed; null: a
// Python error is set. `reason`: what needs it, a literal.
PyObject* value_of(Array* array, const char* reason);
// False: a Python error is set, and nothing has changed.
bool flush(Buffer& buffer, const char* reason);
// Lets the flush that has the array end, if one has. Whoever is to read `node` calls it before.
void settle(Array* array);

int64_t compiled_count();  // so many graphs, of this process
void forget_compiled();

}  // namespace dvm::bindings::lazy
