#include "vm/target/watch.h"

#include <algorithm>
#include <chrono>

#include "vm/target/launch_words.h"

namespace dvm::vm {

namespace {

constinit thread_local Watch* watch_of_thread = nullptr;

int32_t number_of_thread() {
  static std::atomic<int32_t> threads{0};
  thread_local const int32_t mine = threads.fetch_add(1, std::memory_order_relaxed);
  return mine;
}

}  // namespace

Watch* Watch::of_thread() { return watch_of_thread; }
void Watch::set(Watch* watch) {
  watched_threads += (watch != nullptr) - (watch_of_thread != nullptr);
  watch_of_thread = watch;
}

int64_t Watch::now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

void Watch::begin_step(const void* plan, int32_t instruction) {
  label_ = static_cast<int32_t>(steps_.size());
  steps_.push_back(
      {.plan = plan, .instruction = instruction, .dims = {}, .scalars = {}, .strides = {}});
}

void Watch::ran(std::span<const Launch> launches) {
  if (!keeps_) return;
  for (const Launch& launch : launches) {
    Ran& ran = programs_.emplace_back();
    ran.label = launch.label >= 0 ? launch.label : label_;
    ran.words = launch_words(launch);
    for (std::byte* base : launch.globals) {
      const auto [place, is_new] =
          buffers_.try_emplace(reinterpret_cast<uintptr_t>(base), buffer_count_);
      if (is_new) ++buffer_count_;
      ran.buffers.push_back(place->second);
    }
  }
}

void Watch::allocated(const std::byte* begin, int64_t bytes) {
  const auto address = reinterpret_cast<uintptr_t>(begin);
  buffers_.erase(buffers_.lower_bound(address),
                 buffers_.lower_bound(address + static_cast<uintptr_t>(bytes)));
}

void Watch::add(What what, int32_t label, int64_t begin, int64_t tiles) {
  const int64_t end = now();
  const size_t place = used_.fetch_add(1, std::memory_order_relaxed);
  if (place < spans_.size()) spans_[place] = {what, label, number_of_thread(), begin, end, tiles};
}

std::span<const Watch::Span> Watch::spans() const {
  return {spans_.data(), std::min(used_.load(std::memory_order_relaxed), spans_.size())};
}

size_t Watch::lost() const {
  const size_t used = used_.load(std::memory_order_relaxed);
  return used - std::min(used, spans_.size());
}

}  // namespace dvm::vm
