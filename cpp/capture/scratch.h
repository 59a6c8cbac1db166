// Fixed room for objects on the stack of a hot call, without the cost of initialising all of it.
#pragma once

#include <cstddef>
#include <span>
#include <type_traits>

namespace dvm::capture {

// T is an implicit-lifetime type: assigning to an element starts its life.
template <typename T, size_t kCapacity>
class Scratch {
  static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>);

 public:
  T& operator[](size_t i) { return data()[i]; }
  std::span<T> first(size_t count) { return {data(), count}; }

 private:
  T* data() { return reinterpret_cast<T*>(bytes_); }
  alignas(T) std::byte bytes_[kCapacity * sizeof(T)];
};

}  // namespace dvm::capture
