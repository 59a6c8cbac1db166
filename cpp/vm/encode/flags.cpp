#include "vm/encode/flags.h"

#include <algorithm>

#include "core/error.h"

namespace dvm::vm {

namespace {

int at(Pipe pipe) { return static_cast<int>(pipe); }

// Whether `later` must not overtake `earlier`: read after write, write after read or after write.
bool depends(const SlotUse& later, const SlotUse& earlier) {
  for (int k = 0; k < later.reads; ++k) {
    if (later.read[k].overlaps(earlier.written)) return true;
  }
  for (int k = 0; k < earlier.reads; ++k) {
    if (later.written.overlaps(earlier.read[k])) return true;
  }
  return later.written.overlaps(earlier.written);
}

// Across tiles only writes matter: what a tile reads it has written itself.
bool overwrites(const SlotUse& later, const SlotUse& earlier) {
  for (int k = 0; k < earlier.reads; ++k) {
    if (later.written.overlaps(earlier.read[k])) return true;
  }
  return later.written.overlaps(earlier.written);
}

const LoopFlagInfo* loop_flag(Pipe src, Pipe dst) {
  for (const LoopFlagInfo& row : kLoopFlags) {
    if (row.src == src && row.dst == dst) return &row;
  }
  return nullptr;
}

class FlagPlanner {
 public:
  FlagPlanner(std::span<const SlotUse> uses, std::span<SyncList> syncs)
      : uses_(uses), syncs_(syncs), count_(static_cast<int>(uses.size())) {
    for (int i = 0; i < count_; ++i) {
      syncs_[static_cast<size_t>(i)].count = 0;
      if (is_loop(i)) depths_ = std::max(depths_, depth(i) + 1);
    }
    // Event 0 is for tiles; of the others one at least stays for each depth.
    constexpr int kOthers = kEventIds - 1;
    if (depths_ > 0) {
      carried_ = std::min(kMaxCarried, (kOthers - depths_ - 1) / depths_);
      DVM_CHECK(carried_ > 0, "loops are nested deeper than there are flags for");
    }
    events_ = (kOthers - carried_ * depths_) / (depths_ + 1);
  }

  uint8_t run() {
    plan(SlotUse::kNoLoop, 0, count_);
    for (const LoopFlagInfo& row : kLoopFlags) carry_across_tiles(row);
    return loop_flags_;
  }

 private:
  const SlotUse& use(int index) const { return uses_[static_cast<size_t>(index)]; }
  bool is_loop(int index) const { return use(index).pipe == Pipe::scalar; }
  int depth(int index) const {
    int loops = 0;
    for (; use(index).around != SlotUse::kNoLoop; index = use(index).around) ++loops;
    return loops;
  }
  // That instruction itself, or the loop that it is in, among those right inside `around`.
  int among(int around, int index) const {
    while (use(index).around != around) index = use(index).around;
    return index;
  }
  // Behind an instruction, and of a loop behind its body.
  int end_of(int index) const {
    int end = index + 1;
    if (is_loop(index)) {
      while (end < count_ && use(end).around >= index) ++end;
    }
    return end;
  }

  // Waits come before sets, sets before what is carried; the order among each is that of calls.
  void add(int index, const Sync& sync) {
    SyncList& list = syncs_[static_cast<size_t>(index)];
    DVM_CHECK(list.count < SyncList::kMax, "an instruction needs more flags than pipes allow");
    int position = list.count++;
    for (; position > 0 && list.at[position - 1].set > sync.set; --position) {
      list.at[position] = list.at[position - 1];
    }
    list.at[position] = sync;
  }
  void add(int index, SyncKind kind, Pipe src, Pipe dst, uint8_t event) {
    add(index, {.set = static_cast<uint8_t>(kind), .src = src, .dst = dst, .event = event});
  }
  void add_pair(int producer, int consumer, Pipe src, Pipe dst, uint8_t event) {
    add(producer, SyncKind::set, src, dst, event);
    add(consumer, SyncKind::wait, src, dst, event);
  }

  // Those that begin in [begin, end), right inside the loop `around`.
  void plan(int around, int begin, int end) {
    for (int i = begin; i < end; i = end_of(i)) {
      order_after_producers(around, begin, i);
      if (!is_loop(i)) continue;
      const int end_of_body = end_of(i);
      plan(i, i + 1, end_of_body);
      for (int src = 0; src < kPipeCount; ++src) {
        for (int dst = 0; dst < kPipeCount; ++dst) {
          carry_across_steps(i, end_of_body, static_cast<Pipe>(src), static_cast<Pipe>(dst));
        }
      }
    }
  }

  // Of instructions from `begin` on; those before it are what the loop around waits for.
  void order_after_producers(int around, int begin, int consumer) {
    const int end = end_of(consumer);
    for (int dst = 0; dst < kPipeCount; ++dst) {
      int latest[kPipeCount];
      std::fill_n(latest, kPipeCount, -1);
      for (int c = consumer; c < end; ++c) {
        if (at(use(c).pipe) == dst && !is_loop(c)) find_producers(begin, consumer, c, latest);
      }
      for (int src = 0; src < kPipeCount; ++src) {
        if (latest[src] < 0) continue;
        order(around, latest[src], consumer, static_cast<Pipe>(src), static_cast<Pipe>(dst));
      }
    }
  }

  // The last in [begin, end) of each other pipe that `consumer` depends on, where that is later.
  void find_producers(int begin, int end, int consumer, int (&latest)[kPipeCount]) const {
    bool found[kPipeCount] = {};
    for (int missing = kPipeCount - 1, p = end - 1; missing > 0 && p >= begin; --p) {
      const Pipe src = use(p).pipe;
      if (src == use(consumer).pipe || found[at(src)] || !depends(use(consumer), use(p))) continue;
      found[at(src)] = true;
      latest[at(src)] = std::max(latest[at(src)], p);
      --missing;
    }
  }

  void order(int around, int producer, int consumer, Pipe src, Pipe dst) {
    int& covered = covered_[at(src)][at(dst)];
    if (producer < covered) return;
    producer = among(around, producer);
    covered = end_of(producer);
    const int inside = depth(consumer);
    uint8_t& next = next_event_[inside][at(src)][at(dst)];
    const int first = loop_flag(src, dst) == nullptr && depths_ == 0 ? 0 : 1;
    const int count = depths_ == 0 ? kEventIds - first : events_;
    const auto event = static_cast<uint8_t>(first + inside * events_ + next);
    next = static_cast<uint8_t>((next + 1) % count);
    add_pair(producer, consumer, src, dst, event);
  }

  // Orders a step's instructions of `src` before the next step's of `dst`. In the order of the code
  // the one that waits comes first; otherwise it waits in its own step, and so for the steps
  // before. What a loop inside this one orders between its steps, it has ordered when it ends.
  void carry_across_steps(int loop, int end, Pipe src, Pipe dst) {
    if (src == dst) return;
    int& covered = covered_[at(src)][at(dst)];
    // What waits, and for what of the step before: both in ascending order.
    struct {
      int first, last;
    } links[kMaxCarried];
    int count = 0;
    for (int later = loop + 1; later < end; ++later) {
      if (use(later).pipe != dst) continue;
      int last = end - 1;
      while (last > later && (use(last).pipe != src || !depends(use(later), use(last)) ||
                              among(loop, later) == among(loop, last)))
        --last;
      if (last == later || last < covered) continue;  // none, or the step itself waits for it
      const int first = among(loop, later);
      last = among(loop, last);
      if (count > 0 && last <= links[count - 1].last) continue;
      if (count == carried_ || (count > 0 && first == links[count - 1].first)) {
        links[count - 1].last = last;
      } else {
        links[count++] = {first, last};
      }
    }
    for (int k = 0; k < count; ++k) {
      const auto event = static_cast<uint8_t>(kEventIds - 1 - depth(loop) * carried_ - k);
      add_pair(links[k].last, links[k].first, src, dst, event);
      add(loop, SyncKind::carry, src, dst, event);
    }
    if (count > 0) covered = end_of(links[count - 1].last);  // the loop waits for it in the end
  }

  // Orders this tile's instructions of row.src before the next tile's of row.dst. A writer that
  // follows what it overwrites in the code waits for it within its own tile, hence for the tile
  // before as well: only writers that come first matter, and only outside of one loop.
  void carry_across_tiles(const LoopFlagInfo& row) {
    int first = count_, last = -1;
    for (int writer = 0; writer < count_; ++writer) {
      if (use(writer).pipe != row.dst) continue;
      for (int user = count_ - 1; user > writer; --user) {
        if (use(user).pipe != row.src || !overwrites(use(writer), use(user)) ||
            among(SlotUse::kNoLoop, writer) == among(SlotUse::kNoLoop, user))
          continue;
        if (first == count_) first = writer;
        if (user > last) last = user;
        break;
      }
    }
    if (last < 0) return;
    loop_flags_ |= row.flag;
    add_pair(among(SlotUse::kNoLoop, last), among(SlotUse::kNoLoop, first), row.src, row.dst, 0);
  }

  const std::span<const SlotUse> uses_;
  const std::span<SyncList> syncs_;
  const int count_;
  // Buffers of a ring: more than take turns anywhere.
  static constexpr int kMaxCarried = 4;
  int depths_ = 0, events_ = 0,
      carried_ = 0;  // of loops; events for each depth, in turn and carried
  // One past the latest producer that a wait of the other pipe already covers.
  int covered_[kPipeCount][kPipeCount] = {};
  uint8_t next_event_[kMaxLoops + 1][kPipeCount][kPipeCount] = {};
  uint8_t loop_flags_ = 0;
};

}  // namespace

uint8_t plan_flags(std::span<const SlotUse> uses, std::span<SyncList> syncs) {
  return FlagPlanner(uses, syncs).run();
}

}  // namespace dvm::vm
