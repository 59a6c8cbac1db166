// A simulation takes as long as it takes. Who calls for one can set a Pace for the thread: it hears
// now and then how far the work is, and may end it.
#pragma once

#include <chrono>
#include <cstdint>

namespace dvm::vm {

class Pace {
 public:
  enum class Work : uint8_t {
    tiles,       // of a list of launches, that are run
    operations,  // of a launch, that are timed
  };

  // Of this thread; null: nobody wants to hear.
  static Pace* current() { return of_thread; }

  // What was set before on this thread is there again when a Scope ends.
  class Scope {
   public:
    explicit Scope(Pace& pace) : before_(of_thread) { of_thread = &pace; }
    ~Scope() { of_thread = before_; }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    Pace* const before_;
  };

  // Thrown out of work that is not to go on.
  struct Stopped {};

  // Called often: looks at the clock, and from time to time asks goes_on().
  void at(Work work, int64_t done, int64_t total) {
    const Clock::time_point now = Clock::now();
    if (now < next_) return;
    next_ = now + kBetween;
    if (!goes_on(work, done, total)) throw Stopped{};
  }

  // Whether to go on, now that so much of the work is done.
  virtual bool goes_on(Work work, int64_t done, int64_t total) = 0;

 protected:
  Pace() = default;
  ~Pace() = default;

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::milliseconds kBetween{50};
  Clock::time_point next_ = Clock::now() + kBetween;
  static inline thread_local Pace* of_thread = nullptr;
};

}  // namespace dvm::vm
