// Flags of random programs, checked by happens-before: whatever two instructions of different pipes
// do to one slot must be ordered, within a tile and across tiles.
#include "vm/encode/flags.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace dvm::vm {
namespace {

struct Planned {
  std::vector<SlotUse> uses;
  std::vector<SyncList> syncs;
  uint8_t loop_flags = 0;

  explicit Planned(std::vector<SlotUse> instructions)
      : uses(std::move(instructions)), syncs(uses.size()) {
    loop_flags = plan_flags(uses, syncs);
  }
};

SlotUse::Range slot(uint32_t number) { return {number * 100, number * 100 + 100}; }

// Values move through slots as the encoder moves them: loaded, computed, stored, the slot then
// free for anyone. Slots come and go at random, so that each pipe overwrites what others used.
std::vector<SlotUse> random_program(std::mt19937_64& random) {
  const auto below = [&](uint64_t n) { return static_cast<uint32_t>(random() % n); };
  const uint32_t slots = 2 + below(8);
  std::vector<bool> full(slots, false);
  std::vector<SlotUse> uses;
  const auto pick = [&](bool wanted) {
    std::vector<uint32_t> found;
    for (uint32_t s = 0; s < slots; ++s) {
      if (full[s] == wanted) found.push_back(s);
    }
    return found.empty() ? slots : found[below(found.size())];
  };
  const uint32_t length = 2 + below(24);
  while (uses.size() < length) {
    SlotUse use;
    use.pipe = static_cast<Pipe>(below(3));
    const uint32_t target = pick(false), source = pick(true);
    if (use.pipe != Pipe::store && target == slots) use.pipe = Pipe::store;
    if (use.pipe != Pipe::load) {
      if (source == slots) continue;
      use.read[use.reads++] = slot(source);
      if (use.pipe == Pipe::simd && below(2) == 0) use.read[use.reads++] = slot(pick(true));
    }
    if (use.pipe != Pipe::store) {
      use.written = slot(target);
      full[target] = true;
    }
    if (use.pipe != Pipe::load && below(2) == 0) full[source] = false;
    uses.push_back(use);
  }
  // Every value is read in the end: the encoder emits nothing that is not.
  for (uint32_t s = 0; s < slots; ++s) {
    if (!full[s]) continue;
    SlotUse use;
    use.pipe = Pipe::store;
    use.read[use.reads++] = slot(s);
    uses.push_back(use);
  }
  return uses;
}

bool conflict(const SlotUse& a, const SlotUse& b) {
  const auto touches = [](const SlotUse& writer, const SlotUse& user) {
    for (int k = 0; k < user.reads; ++k) {
      if (writer.written.overlaps(user.read[k])) return true;
    }
    return writer.written.overlaps(user.written);
  };
  return touches(a, b) || touches(b, a);
}

// order[i][j]: instruction j, counted through all tiles, cannot start before i has ended. Follows
// from the order of each pipe and from flags as counters: the k-th wait of a flag needs its k-th
// set, where the core itself makes the first set of the flags carried across tiles.
std::vector<std::vector<bool>> happens_before(const Planned& p, int tiles) {
  const int n = static_cast<int>(p.uses.size()), total = n * tiles;
  std::vector<std::vector<bool>> order(static_cast<size_t>(total),
                                       std::vector<bool>(static_cast<size_t>(total)));
  constexpr auto kFlags = size_t{9} * kEventIds;
  std::vector<std::vector<int>> sets(kFlags);
  std::vector<size_t> waits(kFlags, 0);
  const auto id = [](const Sync& s) {
    const auto pair = static_cast<size_t>(s.src) * 3 + static_cast<size_t>(s.dst);
    return pair * kEventIds + static_cast<size_t>(s.event);
  };
  for (const LoopFlagInfo& row : kLoopFlags) {
    if (p.loop_flags & row.flag) sets[id({.src = row.src, .dst = row.dst})].push_back(-1);
  }
  for (int i = 0; i < total; ++i) {
    const SyncList& list = p.syncs[static_cast<size_t>(i % n)];
    for (int k = 0; k < list.count; ++k) {
      if (list.at[k].set) sets[id(list.at[k])].push_back(i);
    }
  }
  for (int j = 0; j < total; ++j) {
    std::vector<int> direct;
    const Pipe pipe = p.uses[static_cast<size_t>(j % n)].pipe;
    for (int i = j - 1; i >= 0; --i) {
      if (p.uses[static_cast<size_t>(i % n)].pipe == pipe) {
        direct.push_back(i);
        break;
      }
    }
    const SyncList& list = p.syncs[static_cast<size_t>(j % n)];
    for (int k = 0; k < list.count; ++k) {
      if (list.at[k].set) continue;
      const size_t flag = id(list.at[k]);
      if (waits[flag] >= sets[flag].size()) {
        ADD_FAILURE() << "instruction " << j << " waits for a flag that nobody sets";
        continue;
      }
      const int setter = sets[flag][waits[flag]++];
      if (setter >= j) ADD_FAILURE() << "deadlock: " << j << " waits for " << setter;
      if (setter >= 0) direct.push_back(setter);
    }
    for (int i : direct) {
      order[static_cast<size_t>(i)][static_cast<size_t>(j)] = true;
      for (int before = 0; before < i; ++before) {
        if (order[static_cast<size_t>(before)][static_cast<size_t>(i)]) {
          order[static_cast<size_t>(before)][static_cast<size_t>(j)] = true;
        }
      }
    }
  }
  for (const LoopFlagInfo& row : kLoopFlags) {  // what is left, the core drains
    const size_t flag = id({.src = row.src, .dst = row.dst});
    if (p.loop_flags & row.flag) ++waits[flag];
  }
  for (size_t flag = 0; flag < sets.size(); ++flag) EXPECT_EQ(sets[flag].size(), waits[flag]);
  return order;
}

TEST(Flags, ThePapersListing) {
  SlotUse first{.pipe = Pipe::load}, second{.pipe = Pipe::load}, sum, out{.pipe = Pipe::store};
  first.written = sum.read[0] = slot(1);
  second.written = sum.read[1] = slot(2);
  sum.written = out.read[0] = slot(3);
  sum.reads = 2;
  out.reads = 1;
  const Planned p({first, second, sum, out});
  EXPECT_EQ(p.loop_flags, simd_to_load | store_to_simd);
  const auto expect = [&](size_t i, std::vector<Sync> syncs) {
    ASSERT_EQ(p.syncs[i].count, syncs.size());
    for (size_t k = 0; k < syncs.size(); ++k) EXPECT_EQ(p.syncs[i].at[k], syncs[k]) << i;
  };
  using enum Pipe;
  expect(0, {{0, simd, load, 0}});
  expect(1, {{1, load, simd, 0}});
  expect(2, {{0, load, simd, 0}, {0, store, simd, 0}, {1, simd, store, 0}, {1, simd, load, 0}});
  expect(3, {{0, simd, store, 0}, {1, store, simd, 0}});
}

TEST(Flags, OrderEveryConflictWithinAndAcrossTiles) {
  int carried = 0, within_backward = 0;
  for (uint64_t seed = 0; seed < 10000; ++seed) {
    std::mt19937_64 random(seed);
    const Planned p(random_program(random));
    SCOPED_TRACE("seed " + std::to_string(seed));
    const int n = static_cast<int>(p.uses.size()), total = 3 * n;
    const auto order = happens_before(p, 3);
    for (int j = 0; j < total; ++j) {
      for (int i = 0; i < j; ++i) {
        const SlotUse &a = p.uses[static_cast<size_t>(i % n)],
                      &b = p.uses[static_cast<size_t>(j % n)];
        if (a.pipe == b.pipe || !conflict(a, b)) continue;
        ASSERT_TRUE(order[static_cast<size_t>(i)][static_cast<size_t>(j)])
            << "instruction " << i << " and " << j << " of " << n << " per tile";
      }
    }
    carried += p.loop_flags != 0;
    for (const SyncList& list : p.syncs) {
      bool sets_begun = false;
      for (int k = 0; k < list.count; ++k) {
        ASSERT_FALSE(sets_begun && !list.at[k].set) << "a wait follows a set";
        sets_begun = list.at[k].set != 0;
        within_backward += list.at[k].src > list.at[k].dst && list.at[k].event > 0;
      }
    }
    if (HasFailure()) break;
  }
  EXPECT_GT(carried, 1000);
  EXPECT_GT(within_backward, 1000);
}

}  // namespace
}  // namespace dvm::vm
