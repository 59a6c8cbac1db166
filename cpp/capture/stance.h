// What compiled functions may do: a policy of the process, which a thread may replace for itself.
// While none is set, a call pays one comparison for it.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string_view>

namespace dvm::capture {

// DVM_STANCE(name, synopsis)
#define DVM_STANCES(DVM_STANCE)                                                  \
  DVM_STANCE(default, "replay known paths, capture what is new")                 \
  DVM_STANCE(force_eager, "every call runs the original")                        \
  DVM_STANCE(force_capture, "capture what is new, however long that takes")      \
  DVM_STANCE(fail_on_recompile, "a call that would be captured raises DVM-C002") \
  DVM_STANCE(eager_on_recompile, "a call that would be captured runs the original")

enum class Stance : uint8_t {
#define DVM_STANCE(name, synopsis) name##_,
  DVM_STANCES(DVM_STANCE)
#undef DVM_STANCE
};
constexpr bool captures_at(Stance stance) {
  return stance == Stance::default_ || stance == Stance::force_capture_;
}
std::string_view to_string(Stance stance);
std::optional<Stance> stance_from_text(std::string_view name);

// Both return what was set before.
Stance set_stance(Stance stance);                                       // of the process
std::optional<Stance> set_thread_stance(std::optional<Stance> stance);  // none: the process's

inline std::atomic<int> stances_in_use = 0;  // that are not the default, of all threads
Stance present_stance();                     // of this thread

}  // namespace dvm::capture
