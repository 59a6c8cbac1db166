// PyTorch as a library of arrays that is captured (capture/library/library.h).
#pragma once

#include <pybind11/pybind11.h>

namespace dvm::bindings {

// Once, when capture meets PyTorch; behind use_torch() (torch_tensors.h).
// elements_of: (tensor) -> (class, dtype, layout, device) of one that the core has no type for.
// is_grad_enabled: torch's function of that name.
// quiet: methods of tensors that have nothing to warn of.
void capture_torch(const pybind11::type& tensor, const pybind11::type& parameter,
                   const pybind11::function& elements_of, const pybind11::function& is_grad_enabled,
                   const pybind11::tuple& quiet);

// For the module: call_each(callables), of which a path asks what torch's functions go by, and
// strides_decrease(tensor).
extern PyMethodDef torch_functions[];

}  // namespace dvm::bindings
