// The pool of buffers, as dvm.memory shows it.
#include "bindings/bindings.h"
#include "runtime/execute/faults.h"
#include "runtime/memory/buffer_pool.h"

namespace py = pybind11;

namespace dvm::bindings {

void bind_memory(py::module_& module) {
  module.def("memory_stats", [] {
    const runtime::PoolStats stats = runtime::buffer_pool().stats();
    py::dict result;
    result["used_bytes"] = stats.used_bytes;
    result["cached_bytes"] = stats.cached_bytes;
    result["cache_limit"] = stats.cache_limit;
    result["taken"] = stats.taken;
    result["reused"] = stats.reused;
    return result;
  });
  module.def("set_cache_limit",
             [](int64_t bytes) { return runtime::buffer_pool().set_cache_limit(bytes); });
  // For tests: see runtime/execute/faults.h. Gives how many were left until the fault; below 0: it
  // came.
  module.def("fail_at", [](int64_t number) { return runtime::g_until_fault.exchange(number); });
  module.def("trim_memory", [](int64_t bytes) { runtime::buffer_pool().trim(bytes); });
}

}  // namespace dvm::bindings
