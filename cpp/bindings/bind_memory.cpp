// The pool of buffers, as dvm.memory shows it.
#include "bindings/bindings.h"
#include "runtime/buffer_pool.h"

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
  module.def("trim_memory", [](int64_t bytes) { runtime::buffer_pool().trim(bytes); });
}

}  // namespace dvm::bindings
