#include "runtime/plain_host.h"

#include <new>

#include "runtime/execute/size_math.h"

namespace dvm::runtime {

namespace {

// In front of the elements.
struct alignas(64) Header {
  std::atomic<int64_t> references;
};

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
  view.data = static_cast<std::byte*>(block) + sizeof(Header);
  view.owner = header;
  out = view;
  return true;
}

bool PlainHost::call(int callee, std::span<const BufferView> args, BufferView& result) {
  return functions_.at(static_cast<size_t>(callee))(args, result);
}

void PlainHost::retain(HostValue value) {
  static_cast<Header*>(value)->references.fetch_add(1, std::memory_order_relaxed);
}

void PlainHost::release(HostValue value) {
  auto* const header = static_cast<Header*>(value);
  if (header->references.fetch_sub(1, std::memory_order_acq_rel) > 1) return;
  ::operator delete (header, std::align_val_t{alignof(Header)});
}

}  // namespace dvm::runtime
