#include "capture/stance.h"

#include <array>
#include <utility>

namespace dvm::capture {

namespace {

constexpr std::array kNames = {
#define DVM_STANCE(name, synopsis) std::string_view(#name),
    DVM_STANCES(DVM_STANCE)
#undef DVM_STANCE
};

std::atomic<Stance> g_stance = Stance::default_;
thread_local std::optional<Stance> t_stance;

int uses(std::optional<Stance> stance) {
  return stance.value_or(Stance::default_) == Stance::default_ ? 0 : 1;
}

}  // namespace

std::string_view to_string(Stance stance) { return kNames[static_cast<size_t>(stance)]; }

std::optional<Stance> stance_from_text(std::string_view name) {
  for (size_t i = 0; i < kNames.size(); ++i) {
    if (kNames[i] == name) return static_cast<Stance>(i);
  }
  return std::nullopt;
}

Stance set_stance(Stance stance) {
  const Stance before = g_stance.exchange(stance);
  stances_in_use += uses(stance) - uses(before);
  return before;
}

std::optional<Stance> set_thread_stance(std::optional<Stance> stance) {
  const std::optional<Stance> before = std::exchange(t_stance, stance);
  stances_in_use += uses(stance) - uses(before);
  return before;
}

Stance present_stance() {
  if (stances_in_use.load(std::memory_order_relaxed) == 0) return Stance::default_;
  return t_stance.value_or(g_stance.load(std::memory_order_relaxed));
}

}  // namespace dvm::capture
