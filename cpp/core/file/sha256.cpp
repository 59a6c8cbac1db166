#include "core/file/sha256.h"

#include <algorithm>

#include "core/file/sha256_blocks.h"

namespace dvm::core {

void Sha256::compress(const std::byte* blocks, size_t count) {
  static const Sha256Blocks compress_blocks = sha256_blocks();
  compress_blocks(state_, blocks, count);
}

void Sha256::add(std::span<const std::byte> bytes) {
  const size_t begun = length_ % block_.size();
  length_ += bytes.size();
  if (begun != 0) {
    const size_t taken = std::min(bytes.size(), block_.size() - begun);
    std::copy_n(bytes.begin(), taken, block_.begin() + static_cast<ptrdiff_t>(begun));
    if (begun + taken < block_.size()) return;
    compress(block_.data(), 1);
    bytes = bytes.subspan(taken);
  }
  const size_t whole = bytes.size() / block_.size();
  compress(bytes.data(), whole);
  std::ranges::copy(bytes.subspan(whole * block_.size()), block_.begin());
}

Sha256Digest Sha256::finish() {
  std::array<std::byte, 72> end{std::byte{0x80}};  // then zeros, and the length in bits
  const uint64_t bits = length_ * 8;
  const size_t zeros = (64 + 56 - 1 - length_ % 64) % 64;
  for (size_t i = 0; i < 8; ++i) {
    end[1 + zeros + i] = static_cast<std::byte>(bits >> (56 - 8 * i));
  }
  add(std::span(end).first(1 + zeros + 8));
  Sha256Digest digest;
  for (size_t i = 0; i < digest.size(); ++i) {
    digest[i] = static_cast<std::byte>(state_[i / 4] >> (24 - 8 * (i % 4)));
  }
  return digest;
}

Sha256Digest sha256(std::span<const std::byte> bytes) {
  Sha256 hash;
  hash.add(bytes);
  return hash.finish();
}

}  // namespace dvm::core
