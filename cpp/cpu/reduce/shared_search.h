// A search of one long row that the team of threads shares, and which ends for all of them once one
// has found what it is looking for.
#pragma once

#include <cstddef>
#include <cstdint>

namespace dvm::cpu {

// Bytes of a row below which one thread is as fast.
inline constexpr int64_t kLeastShared = 131072;

// found(row, count): whether what is looked for is among `count` adjacent elements.
bool shared_search(const std::byte* row, int64_t count, int64_t element_bytes,
                   bool (*found)(const std::byte* row, int64_t count));

}  // namespace dvm::cpu
