#include "sim/hazards.h"

#include <algorithm>
#include <iterator>

namespace dvm::sim {

bool PipeClocks::set(const vm::Sync& flag) {
  auto& pending = pending_[index(flag.src)][index(flag.dst)][flag.event];
  if (pending.size() == kMaxPendingSets) return false;
  pending.push_back(clocks_[index(flag.src)]);
  return true;
}

bool PipeClocks::wait(const vm::Sync& flag) {
  auto& pending = pending_[index(flag.src)][index(flag.dst)][flag.event];
  if (pending.empty()) return false;
  for (size_t pipe = 0; pipe < vm::kPipeCount; ++pipe) {
    int64_t& time = clocks_[index(flag.dst)][pipe];
    time = std::max(time, pending.front()[pipe]);
  }
  pending.erase(pending.begin());
  return true;
}

std::optional<vm::Sync> PipeClocks::unpaired() const {
  for (uint8_t src = 0; src < vm::kPipeCount; ++src) {
    for (uint8_t dst = 0; dst < vm::kPipeCount; ++dst) {
      for (uint8_t event = 0; event < vm::kEventIds; ++event) {
        if (pending_[src][dst][event].empty()) continue;
        return vm::Sync{1, static_cast<Pipe>(src), static_cast<Pipe>(dst), event, 0};
      }
    }
  }
  return std::nullopt;
}

void AccessHistory::split_at(int64_t byte) {
  auto after = ranges_.upper_bound(byte);
  if (after == ranges_.begin()) return;
  auto& [begin, range] = *std::prev(after);
  if (begin == byte || range.end <= byte) return;
  Range right = range;
  range.end = byte;
  ranges_.emplace_hint(after, byte, right);
}

std::optional<Hazard> AccessHistory::read(int64_t begin, int64_t end, const Access& now,
                                          const PipeClocks& clocks) {
  split_at(begin);
  split_at(end);
  int64_t known = begin;  // bytes before it have been written
  for (auto it = ranges_.lower_bound(begin); it != ranges_.end() && it->first < end; ++it) {
    auto& [first, range] = *it;
    if (first != known) break;
    if (!clocks.has_heard(now.pipe, range.writer.pipe, range.writer.time)) {
      return Hazard{range.writer, true, first, range.end};
    }
    range.readers[static_cast<size_t>(now.pipe)] = now;
    known = range.end;
  }
  if (known < end) return Hazard{{}, false, known, end};
  return std::nullopt;
}

std::optional<Hazard> AccessHistory::write(int64_t begin, int64_t end, const Access& now,
                                           const PipeClocks& clocks) {
  split_at(begin);
  split_at(end);
  const auto first = ranges_.lower_bound(begin);
  auto it = first;
  for (; it != ranges_.end() && it->first < end; ++it) {
    const auto& [low, range] = *it;
    if (!clocks.has_heard(now.pipe, range.writer.pipe, range.writer.time)) {
      return Hazard{range.writer, true, low, range.end};
    }
    for (const Access& reader : range.readers) {
      if (!clocks.has_heard(now.pipe, reader.pipe, reader.time)) {
        return Hazard{reader, false, low, range.end};
      }
    }
  }
  ranges_.erase(first, it);
  ranges_.emplace(begin, Range{end, now, {}});
  return std::nullopt;
}

}  // namespace dvm::sim
