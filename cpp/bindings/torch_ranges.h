// Ranges in the timeline of torch's profiler, as long as one is on.
#pragma once

#include <pybind11/pybind11.h>

#include <string>

namespace dvm::bindings {

// Set once, by the first import of dvm.torch: the module torch.autograd.profiler, which knows
// whether a profiler is on, and what makes a range of a name.
void use_profiler(const pybind11::module_& module, const pybind11::object& record_function);

class ProfiledRange {
 public:
  // Throws Python's error.
  explicit ProfiledRange(const std::string& label);
  ~ProfiledRange();
  ProfiledRange(const ProfiledRange&) = delete;
  ProfiledRange& operator=(const ProfiledRange&) = delete;

 private:
  pybind11::object range_;  // null: no profiler is on
};

}  // namespace dvm::bindings
