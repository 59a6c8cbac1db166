// What SHA-256 does with blocks of 64 bytes, as fast as this processor can.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace dvm::core {

using Sha256State = std::array<uint32_t, 8>;
using Sha256Blocks = void (*)(Sha256State& state, const std::byte* blocks, size_t count);

void sha256_blocks_plain(Sha256State& state, const std::byte* blocks, size_t count);

// By instructions for it where the processor has them: ten times as fast.
Sha256Blocks sha256_blocks();

}  // namespace dvm::core
