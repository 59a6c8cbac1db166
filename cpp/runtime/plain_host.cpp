#include "runtime/plain_host.h"

#include <new>

#include "core/error.h"
#include "runtime/execute/size_math.h"
#include "vm/target/watch.h"

namespace dvm::runtime {

namespace {

// In front of the elements.
struct alignas(64) Header {
  std::atomic<int64_t> references;
};

template <typename F>
const F& named(const std::map<std::string, F, std::less<>>& functions, std::string_view name) {
  const auto found = functions.find(name);
  if (found == functions.end()) {
    core::fail(core::ErrorCode::host_call, "no function is added as '" + std::string(name) + "'");
  }
  return found->second;
}

}  // namespace

bool PlainHost::allocate(core::DType dtype, std::span<const int64_t> shape, BufferView& out) {
  BufferView view{.dtype = dtype, .rank = static_cast<int32_t>(shape.size())};
  std::copy(shape.begin(), shape.end(), view.shape);
  int64_t bytes = 0;
  if (!make_dense(view, bytes)) return false;
  void* const block = ::operator new (sizeof(Header) + static_cast<size_t>(bytes),
                                      std::align_val_t{alignof(Header)}, std::nothrow);
  if (block == nullptr) return false;
  auto* const header = new (block) Header{1};
  live_.fetch_add(1, std::memory_order_relaxed);
  view.data = static_cast<std::byte*>(block) + sizeof(Header);
  vm::Watch::tell_allocated(view.data, bytes);
  view.owner = header;
  out = view;
  return true;
}

void PlainHost::add(std::string name, Function function) {
  functions_.insert_or_assign(std::move(name), std::move(function));
}
void PlainHost::add_into(std::string name, Writer writer) {
  writers_.insert_or_assign(std::move(name), std::move(writer));
}

bool PlainHost::call(const HostCall& call, std::span<BufferView> results) {
  return named(functions_, call.name)(call, results);
}
bool PlainHost::call_into(const HostCall& call, std::span<const BufferView> into) {
  return named(writers_, call.name)(call, into);
}

void PlainHost::retain(HostValue value) {
  static_cast<Header*>(value)->references.fetch_add(1, std::memory_order_relaxed);
}

void PlainHost::release(HostValue value) {
  auto* const header = static_cast<Header*>(value);
  if (header->references.fetch_sub(1, std::memory_order_acq_rel) > 1) return;
  live_.fetch_sub(1, std::memory_order_relaxed);
  ::operator delete (header, std::align_val_t{alignof(Header)});
}

}  // namespace dvm::runtime
