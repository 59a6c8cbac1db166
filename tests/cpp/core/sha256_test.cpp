// SHA-256 by the examples of FIPS 180-4, and in pieces as in one.
#include "core/file/sha256.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "core/file/sha256_blocks.h"

namespace dvm::core {
namespace {

std::string hex(const Sha256Digest& digest) {
  std::string text;
  for (const std::byte byte : digest) {
    for (const int shift : {4, 0})
      text += "0123456789abcdef"[std::to_integer<int>(byte) >> shift & 15];
  }
  return text;
}

std::string of(std::string_view text) { return hex(sha256(std::as_bytes(std::span(text)))); }

TEST(Sha256, Examples) {
  EXPECT_EQ(of(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(of("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(of("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(of(std::string(1'000'000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Sha256, PiecesOfAnyLength) {
  std::mt19937_64 random(1);
  for (size_t size = 0; size < 300; ++size) {
    const std::string text(size, static_cast<char>(random()));
    const auto bytes = std::as_bytes(std::span(text));
    Sha256 hash;
    for (size_t at = 0; at < size;) {
      const size_t piece = std::min<size_t>(size - at, random() % 130);
      hash.add(bytes.subspan(at, piece));
      at += piece;
    }
    ASSERT_EQ(hash.finish(), sha256(bytes)) << size;
  }
}

TEST(Sha256, TheInstructionsOfTheProcessorDoAsTheTextSays) {
  std::mt19937_64 random(2);
  for (size_t count = 0; count < 40; ++count) {
    std::vector<std::byte> blocks(64 * count);
    for (std::byte& byte : blocks) byte = static_cast<std::byte>(random());
    Sha256State one;
    for (uint32_t& word : one) word = static_cast<uint32_t>(random());
    Sha256State other = one;
    sha256_blocks_plain(one, blocks.data(), count);
    sha256_blocks()(other, blocks.data(), count);
    ASSERT_EQ(one, other) << count;
  }
}

}  // namespace
}  // namespace dvm::core
