#include "runtime/memory/buffer_pool.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <random>
#include <thread>
#include <vector>

namespace dvm::runtime {
namespace {

constexpr int64_t kMiB = int64_t{1} << 20;

TEST(BufferPool, GivesTheSameBlockAgain) {
  BufferPool pool(64 * kMiB);
  std::byte* first = pool.take(3 * kMiB);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(first) % (2 * kMiB), 0u) << "begins on a huge page";
  pool.give(first);
  EXPECT_EQ(pool.take(3 * kMiB - 5), first);
  std::byte* second = pool.take(3 * kMiB);
  EXPECT_NE(second, first) << "one that is taken is nobody else's";
  const PoolStats stats = pool.stats();
  EXPECT_EQ(stats.taken, 3);
  EXPECT_EQ(stats.reused, 1);
  EXPECT_EQ(stats.used_bytes, 8 * kMiB) << "whole huge pages";
  EXPECT_EQ(stats.cached_bytes, 0);
}

TEST(BufferPool, WastesAnEighthOrAPartOfAHugePage) {
  BufferPool pool(0);
  std::mt19937_64 random(1);
  for (int i = 0; i < 2000; ++i) {
    const int64_t bytes = kLeastPooled + static_cast<int64_t>(random() % (256 * kMiB));
    std::byte* block = pool.take(bytes);
    EXPECT_GE(pool.size(block), bytes);
    EXPECT_LT(pool.size(block), bytes + std::max(bytes / 8, 2 * kMiB));
    pool.give(block);
  }
}

TEST(BufferPool, NeighbouringSizesShareBlocks) {
  BufferPool pool(64 * kMiB);
  std::byte* block = pool.take(10 * kMiB);
  pool.give(block);
  EXPECT_EQ(pool.take(9 * kMiB), block);
  EXPECT_EQ(pool.stats().used_bytes, 10 * kMiB);
}

TEST(BufferPool, SplitsWhatIsTooLargeAndJoinsItAgain) {
  BufferPool pool(64 * kMiB);
  std::byte* block = pool.take(12 * kMiB);
  pool.give(block);
  std::byte* front = pool.take(4 * kMiB);
  EXPECT_EQ(front, block);
  std::byte* rest = pool.take(8 * kMiB);
  EXPECT_EQ(rest, block + 4 * kMiB);
  EXPECT_EQ(pool.stats().used_bytes, 12 * kMiB);
  pool.give(front);
  pool.give(rest);
  EXPECT_EQ(pool.take(12 * kMiB), block) << "one block, whoever came back first";
  pool.give(block);
  rest = pool.take(4 * kMiB);
  front = pool.take(8 * kMiB);
  pool.give(front);
  pool.give(rest);
  EXPECT_EQ(pool.take(12 * kMiB), block);
  EXPECT_EQ(pool.stats().reused, 6);
}

TEST(BufferPool, MapsNoMoreThanWasInUseAtOneTime) {
  BufferPool pool(int64_t{1} << 40);
  const auto mapped = [&] { return pool.stats().used_bytes + pool.stats().cached_bytes; };
  std::byte* block = pool.take(8 * kMiB);
  pool.give(block);
  block = pool.take(20 * kMiB);
  EXPECT_EQ(mapped(), 20 * kMiB) << "the smaller one has gone";
  pool.give(block);
  block = pool.take(10 * kMiB);
  std::byte* other = pool.take(20 * kMiB);
  EXPECT_EQ(mapped(), 30 * kMiB);
  pool.give(other);
  pool.give(block);
  EXPECT_EQ(mapped(), 30 * kMiB) << "kept, for they were in use together";
  pool.trim(0);
  block = pool.take(2 * kMiB);
  other = pool.take(4 * kMiB);
  pool.give(other);
  pool.give(block);
  pool.give(pool.take(16 * kMiB));
  EXPECT_EQ(mapped(), 16 * kMiB) << "a trim begins anew";
}

TEST(BufferPool, SpareBytesKeepSizesThatTakeTurns) {
  BufferPool pool(int64_t{1} << 40, 16 * kMiB);
  for (int i = 0; i < 4; ++i) {
    std::byte* first = pool.take(6 * kMiB);
    std::byte* second = pool.take(4 * kMiB);
    pool.give(first);
    pool.give(second);
    pool.give(pool.take(8 * kMiB));
  }
  const PoolStats stats = pool.stats();
  EXPECT_EQ(stats.taken - stats.reused, 3) << "each size was mapped once";
}

TEST(BufferPool, AnySequenceOfSizes) {
  struct Mine {
    std::byte* block;
    int64_t bytes;
    std::byte mark;
  };
  std::mt19937_64 random(5);
  for (int round = 0; round < 6; ++round) {
    BufferPool pool(int64_t{1} << 40);
    std::vector<Mine> mine;
    int64_t now = 0, most = 0;  // what may be in use
    // The class of a size, and what serves as well.
    const auto largest = [](int64_t bytes) { return bytes + bytes / 2 + 6 * kMiB; };
    for (int i = 0; i < 150; ++i) {
      if (mine.size() < 6 && random() % 2 == 0) {
        const auto bytes = static_cast<int64_t>(kLeastPooled + random() % (30 * kMiB));
        const auto mark = static_cast<std::byte>(i);
        std::byte* block = pool.take(bytes);
        ASSERT_NE(block, nullptr);
        block[0] = block[bytes / 2] = block[bytes - 1] = mark;
        mine.push_back({block, bytes, mark});
        now += largest(bytes);
      } else if (!mine.empty()) {
        std::swap(mine[random() % mine.size()], mine.back());
        const auto [block, bytes, mark] = mine.back();
        EXPECT_EQ(block[0], mark);
        EXPECT_EQ(block[bytes / 2], mark);
        EXPECT_EQ(block[bytes - 1], mark);
        pool.give(block);
        now -= largest(bytes);
        mine.pop_back();
      }
      most = std::max(most, now);
      const PoolStats stats = pool.stats();
      EXPECT_LE(stats.used_bytes + stats.cached_bytes, most);
    }
    for (const Mine& each : mine) pool.give(each.block);
    EXPECT_EQ(pool.stats().used_bytes, 0);
  }
}

TEST(BufferPool, SmallSizesShareMore) {
  BufferPool pool(64 * kMiB);
  std::byte* first = pool.take(4 * kMiB);
  std::byte* last = pool.take(3 * kMiB);
  pool.give(first);
  pool.give(last);
  EXPECT_EQ(pool.take(2 * kMiB), last) << "what was returned last may be in the cache";
  EXPECT_EQ(pool.take(2 * kMiB), first);
}

TEST(BufferPool, KeepsNoMoreThanItsLimit) {
  BufferPool pool(8 * kMiB);
  std::byte* a = pool.take(4 * kMiB);
  std::byte* b = pool.take(4 * kMiB);
  std::byte* c = pool.take(4 * kMiB);
  pool.give(a);
  pool.give(b);
  pool.give(c);
  EXPECT_EQ(pool.stats().cached_bytes, 8 * kMiB) << "the oldest has gone";
  EXPECT_EQ(pool.take(4 * kMiB), c);
  EXPECT_EQ(pool.take(4 * kMiB), b);
  pool.give(b);
  pool.give(c);
  EXPECT_EQ(pool.set_cache_limit(4 * kMiB), 8 * kMiB);
  EXPECT_EQ(pool.stats().cached_bytes, 4 * kMiB);
  pool.trim(0);
  EXPECT_EQ(pool.stats().cached_bytes, 0);
  std::byte* large = pool.take(5 * kMiB);
  pool.give(large);
  EXPECT_EQ(pool.stats().cached_bytes, 0) << "more than the limit is never kept";
}

TEST(BufferPool, NoMemoryIsNull) {
  BufferPool pool(0);
  EXPECT_EQ(pool.take(int64_t{1} << 50), nullptr);
  EXPECT_EQ(pool.stats().used_bytes, 0);
}

TEST(BufferPool, ThreadsGetBlocksOfTheirOwn) {
  BufferPool pool(32 * kMiB);
  const auto work = [&pool](unsigned seed) {
    std::mt19937_64 random(seed);
    std::vector<std::pair<std::byte*, int64_t>> mine;
    for (int i = 0; i < 300; ++i) {
      if (mine.size() < 4 && random() % 2 == 0) {
        const auto bytes = static_cast<int64_t>(kLeastPooled + random() % (2 * kMiB));
        mine.emplace_back(pool.take(bytes), bytes);
        std::memset(mine.back().first, static_cast<int>(seed), static_cast<size_t>(bytes));
      } else if (!mine.empty()) {
        const auto [block, bytes] = mine.back();
        EXPECT_EQ(block[bytes - 1], static_cast<std::byte>(seed));
        EXPECT_EQ(block[0], static_cast<std::byte>(seed));
        pool.give(block);
        mine.pop_back();
      }
    }
    for (const auto& [block, bytes] : mine) pool.give(block);
  };
  std::vector<std::thread> threads;
  for (unsigned seed = 1; seed <= 4; ++seed) threads.emplace_back(work, seed);
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(pool.stats().used_bytes, 0);
}

TEST(BufferPool, AChildProcessCanUseIt) {
  std::byte* block = buffer_pool().take(kMiB);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    buffer_pool().give(block);
    _exit(buffer_pool().take(kMiB) == block ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  buffer_pool().give(block);
}

}  // namespace
}  // namespace dvm::runtime
