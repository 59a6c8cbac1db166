// Memory for the bytes [low, high) of a global and none beside them. A heap block between the red
// zones of AddressSanitizer catches what instrumented code does; assembly is not instrumented, so a
// buffer may also lie against a page that cannot be touched, behind its last byte or before its
// first.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>

namespace dvm::fuzz {

enum class Fence { heap, behind, before };
inline constexpr int kFences = 3;

class ExactBuffer {
 public:
  static constexpr size_t kAlign = 8;  // of a base, for any dtype

  ExactBuffer(int64_t low, int64_t high, Fence fence)
      : low_(low), bytes_(static_cast<size_t>(high - low)) {
    // A base is a multiple of kAlign, so `first` is as far above one as `low` is.
    const auto above = static_cast<size_t>(low) % kAlign;
    if (fence == Fence::heap) {
      heap_ = std::make_unique<std::byte[]>(above + bytes_);
      first_ = heap_.get() + above;
      return;
    }
    const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    const size_t room = (bytes_ + 2 * kAlign + page - 1) / page * page;
    mapped_ = room + 2 * page;
    map_ = static_cast<std::byte*>(
        mmap(nullptr, mapped_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
    if (map_ == MAP_FAILED || mprotect(map_ + page, room, PROT_READ | PROT_WRITE) != 0) {
      throw std::bad_alloc();
    }
    // At most kAlign - 1 bytes stay between the buffer and the fence.
    const size_t last = (room - bytes_ - above) / kAlign * kAlign + above;
    first_ = map_ + page + (fence == Fence::behind ? last : above);
  }
  ~ExactBuffer() {
    if (map_ != nullptr) munmap(map_, mapped_);
  }
  ExactBuffer(const ExactBuffer&) = delete;
  ExactBuffer& operator=(const ExactBuffer&) = delete;

  std::byte& operator[](size_t i) { return first_[i]; }
  size_t size() const { return bytes_; }
  // What a Program is given: byte 0 of the global, which may lie outside of the buffer.
  std::byte* base() const {
    return std::bit_cast<std::byte*>(reinterpret_cast<uintptr_t>(first_) -
                                     static_cast<uintptr_t>(low_));
  }

 private:
  int64_t low_;
  size_t bytes_, mapped_ = 0;
  std::unique_ptr<std::byte[]> heap_;
  std::byte *map_ = nullptr, *first_ = nullptr;
};

}  // namespace dvm::fuzz
