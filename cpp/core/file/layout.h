// Where the parts of a saved graph lie, for who writes and who reads one.
#pragma once

#include <bit>
#include <cstddef>
#include <cstring>
#include <span>

#include "core/file/saved_graph.h"

namespace dvm::core {

static_assert(std::endian::native == std::endian::little, "numbers and elements lie as in memory");

// Bytes that no text file has: a copy that changes the ends of lines, or the eighth bit, shows.
inline constexpr char kMagic[8] = {'\x89', 'd', 'v', 'm', '\r', '\n', '\x1a', '\n'};

struct FileHeader {
  char magic[8];
  uint32_t version, elements;
  uint64_t size;  // of the file
  uint32_t sections;
  uint32_t reserved;  // 0
  Sha256Digest hash;  // of what is before it, and of the table behind it
};
static_assert(sizeof(FileHeader) == 64);
inline constexpr size_t kHashed = offsetof(FileHeader, hash);

struct SectionEntry {
  uint32_t kind;
  uint32_t reserved;  // 0
  uint64_t offset, size;
  Sha256Digest hash;
  uint64_t axes;  // of elements, from the outermost to the innermost, four bits each
};
inline constexpr int kAxisBits = 4;
static_assert(sizeof(SectionEntry) == 64);

inline Sha256Digest hash_of(const FileHeader& header, std::span<const SectionEntry> table) {
  Sha256 hash;
  hash.add(std::as_bytes(std::span(&header, 1)).first(kHashed));
  hash.add(std::as_bytes(table));
  return hash.finish();
}

}  // namespace dvm::core
