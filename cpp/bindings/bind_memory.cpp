// The pool of buffers, as dvm.memory shows it.
#include <cstring>
#include <new>

#include "bindings/bindings.h"
#include "runtime/execute/faults.h"
#include "runtime/memory/buffer_pool.h"
#include "runtime/memory/frozen_memory.h"

namespace py = pybind11;

namespace dvm::bindings {

namespace {

// A copy of bytes that nobody can write to, registered as long as it lives.
class FrozenBytes {
 public:
  explicit FrozenBytes(const py::buffer_info& from)
      : size_(from.size * from.itemsize),
        data_(static_cast<std::byte*>(::operator new(static_cast<size_t>(size_), kLine))) {
    std::memcpy(data_, from.ptr, static_cast<size_t>(size_));
    runtime::frozen_memory().add(data_, size_);
  }
  ~FrozenBytes() {
    runtime::frozen_memory().remove(data_);
    ::operator delete(data_, kLine);
  }
  FrozenBytes(const FrozenBytes&) = delete;
  FrozenBytes& operator=(const FrozenBytes&) = delete;

  py::buffer_info view() const {
    return {data_, 1, py::format_descriptor<uint8_t>::format(), 1, {size_}, {1}, true};
  }

 private:
  static constexpr std::align_val_t kLine{64};
  const py::ssize_t size_;
  std::byte* const data_;
};

}  // namespace

void bind_memory(py::module_& module) {
  module.def("memory_stats", [] {
    const runtime::PoolStats stats = runtime::buffer_pool().stats();
    py::dict result;
    result["used_bytes"] = stats.used_bytes;
    result["peak_bytes"] = stats.peak_bytes;
    result["cached_bytes"] = stats.cached_bytes;
    result["cache_limit"] = stats.cache_limit;
    result["taken"] = stats.taken;
    result["reused"] = stats.reused;
    const runtime::FrozenStats frozen = runtime::frozen_memory().stats();
    result["frozen_bytes"] = frozen.frozen_bytes;
    result["packed_bytes"] = frozen.packed_bytes;
    return result;
  });
  // Of bytes in one run.
  py::class_<FrozenBytes>(module, "FrozenBytes", py::buffer_protocol())
      .def(py::init([](const py::buffer& from) {
             return std::make_unique<FrozenBytes>(from.request());
           }),
           py::arg("bytes"))
      .def_buffer([](const FrozenBytes& bytes) { return bytes.view(); });
  module.def("set_cache_limit",
             [](int64_t bytes) { return runtime::buffer_pool().set_cache_limit(bytes); });
  // For tests: see runtime/execute/faults.h. Gives how many were left until the fault; below 0: it
  // came.
  module.def("fail_at", [](int64_t number) { return runtime::g_until_fault.exchange(number); });
  module.def("trim_memory", [](int64_t bytes) { runtime::buffer_pool().trim(bytes); });
}

}  // namespace dvm::bindings
