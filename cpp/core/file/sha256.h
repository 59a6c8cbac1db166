// SHA-256 (FIPS 180-4), by which a file is told from one that was damaged.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace dvm::core {

using Sha256Digest = std::array<std::byte, 32>;

// Takes the message piece by piece.
class Sha256 {
 public:
  void add(std::span<const std::byte> bytes);
  Sha256Digest finish();  // nothing is added after it

 private:
  void compress(const std::byte* blocks, size_t count);

  std::array<uint32_t, 8> state_ = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                    0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::array<std::byte, 64> block_{};  // the bytes that fill no block yet
  uint64_t length_ = 0;                // in bytes
};

Sha256Digest sha256(std::span<const std::byte> bytes);

}  // namespace dvm::core
