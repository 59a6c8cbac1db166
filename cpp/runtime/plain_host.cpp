#include "runtime/plain_host.h"

#include <memory>
#include <new>
#include <utility>

#include "core/error.h"
#include "runtime/execute/size_math.h"
#include "vm/target/watch.h"

namespace dvm::runtime {

namespace {

struct Fields {
  std::string type;
  size_t constructor;
  std::vector<BufferView> values;
};

// In front of the elements, or alone where these are in memory of another, or of an object.
struct alignas(64) Header {
  std::atomic<int64_t> references{1};
  bool is_lent = false;
  std::shared_ptr<const void> lender = {};
  std::unique_ptr<Fields> fields = {};  // of an object
};

// Whether that was the last reference.
bool is_gone(Header& header) {
  return header.references.fetch_sub(1, std::memory_order_acq_rel) == 1;
}

void free(Header* header) {
  header->~Header();
  ::operator delete (header, std::align_val_t{alignof(Header)});
}

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
  auto* const header = new (block) Header;
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
  if (!is_gone(*header)) return;
  // What an object keeps goes after it, not within: a list is as long as memory goes.
  std::vector<Header*> gone{header};
  while (!gone.empty()) {
    Header* const last = gone.back();
    gone.pop_back();
    if (last->fields) {
      for (const BufferView& kept : last->fields->values) {
        auto* const inner = static_cast<Header*>(kept.owner);
        if (is_gone(*inner)) gone.push_back(inner);
      }
    }
    if (!last->is_lent) live_.fetch_sub(1, std::memory_order_relaxed);
    free(last);
  }
}

bool PlainHost::construct(const core::DataType& type, size_t constructor,
                          std::span<const BufferView> fields, BufferView& out) {
  auto kept = std::make_unique<Fields>(
      Fields{type.name, constructor, std::vector<BufferView>(fields.begin(), fields.end())});
  void* const block = ::operator new (sizeof(Header), std::align_val_t{alignof(Header)});
  auto* const header = new (block) Header;
  header->fields = std::move(kept);
  for (const BufferView& field : fields) retain(field.owner);
  live_.fetch_add(1, std::memory_order_relaxed);
  out = {.owner = header, .dtype = core::DType::boolean, .rank = kObjectRank};
  return true;
}

int PlainHost::tag(const core::DataType& type, HostValue object) {
  const auto& fields = static_cast<Header*>(object)->fields;
  if (!fields || fields->type != type.name) {
    core::fail(core::ErrorCode::wrong_arguments, "what was given is no " + type.name);
  }
  return static_cast<int>(fields->constructor);
}

bool PlainHost::field(const core::DataType& /*type*/, size_t /*constructor*/, HostValue object,
                      size_t index, BufferView& out) {
  out = static_cast<Header*>(object)->fields->values.at(index);
  retain(out.owner);
  return true;
}

core::Tensor PlainHost::lent(core::TensorData memory) {
  void* const block = ::operator new (sizeof(Header), std::align_val_t{alignof(Header)});
  auto* const header = new (block) Header;
  header->is_lent = true;
  header->lender = std::move(memory.keep);
  memory.owner = header;
  memory.keep = std::shared_ptr<const void>(header, [](Header* own) {
    if (is_gone(*own)) free(own);
  });
  return core::Tensor(std::move(memory));
}

}  // namespace dvm::runtime
