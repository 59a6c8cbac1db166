// Flags of random programs, checked by happens-before: whatever two instructions of different pipes
// do to one slot must be ordered, within a tile, across the steps of loops and across tiles.
#include "vm/encode/flags.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <deque>
#include <random>
#include <span>
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
  void expect(size_t i, const std::vector<Sync>& wanted) const {
    ASSERT_EQ(syncs[i].count, wanted.size()) << i;
    for (size_t k = 0; k < wanted.size(); ++k) EXPECT_EQ(syncs[i].at[k], wanted[k]) << i;
  }
};

constexpr auto kWait = static_cast<uint8_t>(SyncKind::wait),
               kSet = static_cast<uint8_t>(SyncKind::set),
               kCarry = static_cast<uint8_t>(SyncKind::carry);

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

// Runs tiles, and three steps of every loop, and says where two instructions of different pipes
// that touch the same bytes are in no order. Of every pipe the numbers of those instructions of the
// others are kept that it has heard of; a flag hands them on, the k-th set to the k-th wait.
class Clocks {
 public:
  static constexpr int kSteps = 3, kPipes = 3;

  explicit Clocks(const Planned& planned) : p_(planned), flags_(kPipes * kPipes * kEventIds) {}

  void run(int tiles) {
    for (const LoopFlagInfo& row : kLoopFlags) {
      if (p_.loop_flags & row.flag) set({.src = row.src, .dst = row.dst});
    }
    for (int t = 0; t < tiles; ++t) run(SlotUse::kNoLoop, 0, p_.uses.size());
    for (const LoopFlagInfo& row : kLoopFlags) {
      if (p_.loop_flags & row.flag) wait({.src = row.src, .dst = row.dst});
    }
    for (const auto& pending : flags_) EXPECT_TRUE(pending.empty());
  }

 private:
  using Clock = std::array<int, kPipes>;
  static size_t number(Pipe pipe) { return static_cast<size_t>(pipe); }
  std::deque<Clock>& flag(const Sync& s) {
    return flags_[(number(s.src) * kPipes + number(s.dst)) * kEventIds + s.event];
  }
  void set(const Sync& s) { flag(s).push_back(heard_[number(s.src)]); }
  void wait(const Sync& s) {
    auto& pending = flag(s);
    if (pending.empty()) {
      ADD_FAILURE() << "a wait for a flag that nobody sets";
      return;
    }
    Clock& clock = heard_[number(s.dst)];
    for (size_t k = 0; k < kPipes; ++k) clock[k] = std::max(clock[k], pending.front()[k]);
    pending.pop_front();
  }

  void run(int around, size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      if (p_.uses[i].around != around) continue;  // of a body, which its loop has run
      const std::span<const Sync> syncs(p_.syncs[i].at, p_.syncs[i].count);
      const auto for_each = [&](SyncKind kind, auto f) {
        for (const Sync& sync : syncs) {
          if (sync.kind() == kind) (this->*f)(sync);
        }
      };
      for_each(SyncKind::wait, &Clocks::wait);
      for_each(SyncKind::carry, &Clocks::set);
      if (p_.uses[i].pipe != Pipe::scalar) {
        execute(i);
      } else {
        for (int step = 0; step < kSteps; ++step) run(static_cast<int>(i), i + 1, end);
      }
      for_each(SyncKind::set, &Clocks::set);
      for_each(SyncKind::carry, &Clocks::wait);
    }
  }

  void execute(size_t i) {
    const SlotUse& use = p_.uses[i];
    Clock& clock = heard_[number(use.pipe)];
    for (const Ran& before : ran_) {
      const SlotUse& other = p_.uses[before.index];
      if (other.pipe == use.pipe || !conflict(other, use)) continue;
      EXPECT_GE(clock[number(other.pipe)], before.time)
          << "instructions " << before.index << " and " << i << " of " << p_.uses.size();
    }
    ran_.push_back({i, ++clock[number(use.pipe)]});
  }

  struct Ran {
    size_t index;
    int time;
  };
  const Planned& p_;
  std::vector<std::deque<Clock>> flags_;
  std::array<Clock, kPipes> heard_{};
  std::vector<Ran> ran_;
};

// Puts loops around some instructions, and into each other.
std::vector<SlotUse> with_loops(std::vector<SlotUse> uses, std::mt19937_64& random) {
  const auto below = [&](size_t n) { return static_cast<size_t>(random() % n); };
  for (size_t loops = 1 + below(3); loops > 0; --loops) {
    const size_t first = below(uses.size() - 1);  // what is stored last may lie behind the loop
    const int16_t around = uses[first].around;
    size_t last = first;  // of its siblings
    for (size_t more = below(8), i = first; more > 0 && i < uses.size(); ++i) {
      if (uses[i].around < around) break;
      if (uses[i].around != around) continue;
      last = i;
      --more;
    }
    while (last + 1 < uses.size() && uses[last + 1].around > around) ++last;
    const auto loop = static_cast<int16_t>(first);
    for (size_t i = 0; i < uses.size(); ++i) {
      int16_t& outside = uses[i].around;
      const bool inside = i >= first && i <= last;
      if (inside && outside == around) {
        outside = loop;
      } else if (outside >= loop) {
        ++outside;
      }
    }
    uses.insert(uses.begin() + static_cast<ptrdiff_t>(first),
                {.pipe = Pipe::scalar, .around = around});
  }
  return uses;
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
  using enum Pipe;
  p.expect(0, {{0, simd, load, 0}});
  p.expect(1, {{1, load, simd, 0}});
  p.expect(2, {{0, load, simd, 0}, {0, store, simd, 0}, {1, simd, store, 0}, {1, simd, load, 0}});
  p.expect(3, {{0, simd, store, 0}, {1, store, simd, 0}});
}

TEST(Flags, OrderEveryConflictWithinAndAcrossTilesAndSteps) {
  int carried = 0, within_backward = 0, by_loops = 0;
  for (uint64_t seed = 0; seed < 10000; ++seed) {
    std::mt19937_64 random(seed);
    std::vector<SlotUse> uses = random_program(random);
    if (seed % 2 == 1) uses = with_loops(std::move(uses), random);
    const Planned p(std::move(uses));
    SCOPED_TRACE("seed " + std::to_string(seed));
    Clocks(p).run(3);
    carried += p.loop_flags != 0;
    for (const SyncList& list : p.syncs) {
      uint8_t last = 0;
      for (int k = 0; k < list.count; ++k) {
        ASSERT_LE(last, list.at[k].set) << "waits, then sets, then what is carried";
        last = list.at[k].set;
        within_backward += list.at[k].src > list.at[k].dst && list.at[k].event > 0;
        by_loops += list.at[k].kind() == SyncKind::carry;
      }
    }
    if (HasFailure()) break;
  }
  EXPECT_GT(carried, 1000);
  EXPECT_GT(within_backward, 1000);
  EXPECT_GT(by_loops, 1000);
}

// An accumulator of a loop: what the steps carry, and what stays outside.
TEST(Flags, OfALoopOverLoadsIntoOneSlot) {
  SlotUse start{.pipe = Pipe::load}, loop{.pipe = Pipe::scalar}, next{.pipe = Pipe::load}, add,
      out{.pipe = Pipe::store};
  start.written = add.read[0] = add.written = out.read[0] = slot(1);
  next.written = add.read[1] = slot(2);
  add.reads = 2;
  out.reads = 1;
  next.around = add.around = 1;
  const Planned p({start, loop, next, add, out});
  EXPECT_EQ(p.loop_flags, simd_to_load | store_to_simd | store_to_load);
  using enum Pipe;
  p.expect(0, {{kWait, simd, load, 0},
               {kWait, store, load, 0},
               {kSet, load, simd, 1},
               {kSet, load, store, 1}});
  p.expect(1, {{kWait, load, simd, 1},
               {kWait, store, simd, 0},
               {kSet, simd, store, 1},
               {kSet, simd, load, 0},
               {kCarry, simd, load, 7}});
  p.expect(2, {{kWait, simd, load, 7}, {kSet, load, simd, 2}});
  p.expect(3, {{kWait, load, simd, 2}, {kSet, simd, load, 7}});
  p.expect(4, {{kWait, load, store, 1},
               {kWait, simd, store, 1},
               {kSet, store, simd, 0},
               {kSet, store, load, 0}});
}

// Two slots that take turns: a load waits for what has read its own slot, not for the other one.
TEST(Flags, OfSlotsThatTakeTurns) {
  std::vector<SlotUse> uses(5, {.around = 0});
  uses[0] = {.pipe = Pipe::scalar};
  for (uint32_t k = 0; k < 2; ++k) {
    uses[1 + k].pipe = Pipe::load;
    uses[1 + k].written = slot(1 + k);
    uses[3 + k].pipe = Pipe::store;
    uses[3 + k].reads = 1;
    uses[3 + k].read[0] = slot(1 + k);
  }
  const Planned p(std::move(uses));
  using enum Pipe;
  p.expect(1, {{kWait, store, load, 7}, {kSet, load, store, 2}});
  p.expect(2, {{kWait, store, load, 6}, {kSet, load, store, 2}});
  p.expect(3, {{kWait, load, store, 2}, {kSet, store, load, 7}});
  p.expect(4, {{kWait, load, store, 2}, {kSet, store, load, 6}});
  ASSERT_GE(p.syncs[0].count, 2);
  EXPECT_EQ(p.syncs[0].at[p.syncs[0].count - 2], (Sync{kCarry, store, load, 7}));
  EXPECT_EQ(p.syncs[0].at[p.syncs[0].count - 1], (Sync{kCarry, store, load, 6}));
}

}  // namespace
}  // namespace dvm::vm
