// The pieces of the module dvm._dvm, one per subject; module.cpp puts them together.
#pragma once

#include <pybind11/pybind11.h>

namespace dvm::bindings {

void bind_graph(pybind11::module_& module);           // Graph and Dim, for the lowering
void bind_passes(pybind11::module_& module);          // patterns, and passes of users
void bind_compiled_graph(pybind11::module_& module);  // graphs that run without capture
void bind_saved_graph(pybind11::module_& module);     // graphs in files
void bind_compiled(pybind11::module_& module);        // compiled functions and their paths
void bind_loop(pybind11::module_& module);            // loops of captured functions
void bind_costs(pybind11::module_& module);           // the constants of the cost model
void bind_memory(pybind11::module_& module);          // the pool of buffers
void bind_profile(pybind11::module_& module);         // watched calls
void bind_timing(pybind11::module_& module);          // simulated time
void bind_tuning(pybind11::module_& module);          // tiles of products
void bind_recording(pybind11::module_& module);       // recordings, for the lowering and the tests
void bind_torch_graph(pybind11::module_& module);     // graphs on tensors of torch
void bind_lazy(pybind11::module_& module);            // lazy arrays
void bind_tools(pybind11::module_& module);           // passes, assembler, tables
void bind_policies(pybind11::module_& module);        // stance, logs

}  // namespace dvm::bindings
