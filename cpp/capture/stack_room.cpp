#include "capture/stack_room.h"

#include <pthread.h>

#include <cstddef>

namespace dvm::capture {

namespace {

// The lowest address that such a call may begin at.
char* lowest_frame() {
  constexpr size_t kForOneCall = 512 * 1024;
  pthread_attr_t attributes;
  void* base = nullptr;
  size_t size = 0;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) return nullptr;
  pthread_attr_getstack(&attributes, &base, &size);
  pthread_attr_destroy(&attributes);
  return static_cast<char*>(base) + kForOneCall;
}

}  // namespace

bool has_stack_room() {
  thread_local char* const lowest = lowest_frame();
  return static_cast<char*>(__builtin_frame_address(0)) > lowest;
}

}  // namespace dvm::capture
