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
    for (SyncList& list : syncs_) list.count = 0;
  }

  uint8_t run() {
    for (int consumer = 0; consumer < count_; ++consumer) order_after_producers(consumer);
    for (const LoopFlagInfo& row : kLoopFlags) carry(row);
    return loop_flags_;
  }

 private:
  // Keeps waits before sets; the order among each is the order of calls.
  void add(int index, const Sync& sync) {
    SyncList& list = syncs_[static_cast<size_t>(index)];
    DVM_CHECK(list.count < SyncList::kMax, "an instruction needs more flags than pipes allow");
    int position = list.count++;
    for (; sync.set == 0 && position > 0 && list.at[position - 1].set != 0; --position) {
      list.at[position] = list.at[position - 1];
    }
    list.at[position] = sync;
  }

  void add_pair(int producer, int consumer, uint8_t event) {
    const Pipe src = use(producer).pipe, dst = use(consumer).pipe;
    add(producer, {.set = 1, .src = src, .dst = dst, .event = event});
    add(consumer, {.set = 0, .src = src, .dst = dst, .event = event});
  }

  void order_after_producers(int consumer) {
    const Pipe dst = use(consumer).pipe;
    int latest[kPipeCount];
    std::fill_n(latest, kPipeCount, -1);
    for (int missing = kPipeCount - 1, p = consumer - 1; missing > 0 && p >= 0; --p) {
      const Pipe src = use(p).pipe;
      if (src == dst || latest[at(src)] >= 0 || !depends(use(consumer), use(p))) continue;
      latest[at(src)] = p;
      --missing;
    }
    for (int src = 0; src < kPipeCount; ++src) {
      int& covered = covered_[src][at(dst)];
      if (latest[src] < covered) continue;
      covered = latest[src] + 1;
      uint8_t& event = next_event_[src][at(dst)];
      const uint8_t first = loop_flag(static_cast<Pipe>(src), dst) == nullptr ? 0 : 1;
      if (event < first) event = first;
      add_pair(latest[src], consumer, event);
      event = event + 1 == kEventIds ? first : static_cast<uint8_t>(event + 1);
    }
  }

  // Orders this tile's instructions of row.src before the next tile's of row.dst. A writer that
  // follows what it overwrites in the code waits for it within its own tile, hence for the tile
  // before as well: only writers that come first matter.
  void carry(const LoopFlagInfo& row) {
    int first = count_, last = -1;
    for (int writer = 0; writer < count_; ++writer) {
      if (use(writer).pipe != row.dst) continue;
      for (int user = count_ - 1; user > writer; --user) {
        if (use(user).pipe != row.src || !depends_on_slots(use(writer), use(user))) continue;
        if (first == count_) first = writer;
        if (user > last) last = user;
        break;
      }
    }
    if (last < 0) return;
    loop_flags_ |= row.flag;
    add_pair(last, first, 0);
  }

  // Across tiles only writes matter: what a tile reads it has written itself.
  static bool depends_on_slots(const SlotUse& writer, const SlotUse& user) {
    for (int k = 0; k < user.reads; ++k) {
      if (writer.written.overlaps(user.read[k])) return true;
    }
    return writer.written.overlaps(user.written);
  }

  const SlotUse& use(int index) const { return uses_[static_cast<size_t>(index)]; }

  const std::span<const SlotUse> uses_;
  const std::span<SyncList> syncs_;
  const int count_;
  // One past the latest producer that a wait of the other pipe already covers.
  int covered_[kPipeCount][kPipeCount] = {};
  uint8_t next_event_[kPipeCount][kPipeCount] = {};
  uint8_t loop_flags_ = 0;
};

}  // namespace

uint8_t plan_flags(std::span<const SlotUse> uses, std::span<SyncList> syncs) {
  return FlagPlanner(uses, syncs).run();
}

}  // namespace dvm::vm
