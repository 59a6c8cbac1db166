// The extension's own operator new: malloc, unless a test wants this request to fail. Sanitizers
// bring theirs.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

#include <cstdlib>
#include <new>

#include "runtime/execute/faults.h"

namespace {

void* checked(void* block) {
  if (block == nullptr) throw std::bad_alloc();
  return block;
}

void* allocate(size_t bytes) {
  if (dvm::runtime::is_faulty()) throw std::bad_alloc();
  return checked(std::malloc(bytes ? bytes : 1));
}

void* allocate(size_t bytes, std::align_val_t align) {
  if (dvm::runtime::is_faulty()) throw std::bad_alloc();
  const auto step = static_cast<size_t>(align);
  return checked(std::aligned_alloc(step, (bytes + step - 1) / step * step));
}

}  // namespace

void* operator new(size_t bytes) { return allocate(bytes); }
void* operator new[](size_t bytes) { return allocate(bytes); }
void* operator new(size_t bytes, std::align_val_t align) { return allocate(bytes, align); }
void* operator new[](size_t bytes, std::align_val_t align) { return allocate(bytes, align); }
void operator delete(void* block) noexcept { std::free(block); }
void operator delete[](void* block) noexcept { std::free(block); }
void operator delete(void* block, size_t) noexcept { std::free(block); }
void operator delete[](void* block, size_t) noexcept { std::free(block); }
void operator delete(void* block, std::align_val_t) noexcept { std::free(block); }
void operator delete[](void* block, std::align_val_t) noexcept { std::free(block); }
void operator delete(void* block, size_t, std::align_val_t) noexcept { std::free(block); }
void operator delete[](void* block, size_t, std::align_val_t) noexcept { std::free(block); }

#endif
