// Room for objects on the stack of a hot call, without the cost of initialising all of it; from the
// heap where a call needs more.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <type_traits>

namespace dvm::capture {

// T is an implicit-lifetime type: assigning to an element starts its life.
template <typename T, size_t kCapacity>
class Scratch {
  static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>);

 public:
  explicit Scratch(size_t size) {
    if (size > kCapacity) {
      heap_ = std::make_unique_for_overwrite<std::byte[]>(size * sizeof(T));
      data_ = reinterpret_cast<T*>(heap_.get());
    }
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  T& operator[](size_t i) { return data_[i]; }
  T* data() { return data_; }
  std::span<T> first(size_t count) { return {data_, count}; }

 private:
  alignas(T) std::byte bytes_[kCapacity * sizeof(T)];
  T* data_ = reinterpret_cast<T*>(bytes_);
  std::unique_ptr<std::byte[]> heap_;
};

}  // namespace dvm::capture
