#include "capture/thread_clock.h"

#include <sys/resource.h>

#include <ctime>

namespace dvm::capture {

namespace {

// ns for which one clock stands for the other, as long as no switch is told of.
constexpr int64_t kMostRead = 20'000'000;

int64_t read(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

}  // namespace

// The kernel's clock of a thread takes a system call in which the scheduler settles accounts: a
// slice that is used up ends there, and not at the next tick, so that calls around which it is read
// would be cut in two where other programs want the processor. While nothing has interrupted the
// thread, the wall's clock goes as its own does.
Times times() {
  struct Known {
    int64_t switches = -1;
    Times times;
  };
  thread_local Known known;
  const int64_t wall = read(CLOCK_MONOTONIC);  // before the switches are counted
  rusage usage{};
  getrusage(RUSAGE_THREAD, &usage);
  const int64_t switches = usage.ru_nvcsw + usage.ru_nivcsw;
  if (switches == known.switches && wall - known.times.wall < kMostRead) {
    return {known.times.cpu + wall - known.times.wall, wall};
  }
  const int64_t cpu = read(CLOCK_THREAD_CPUTIME_ID);
  known = {switches, {cpu, read(CLOCK_MONOTONIC)}};
  return {cpu, wall};
}

Times since(const Times& begin) {
  const Times now = times();
  const int64_t cpu = now.cpu - begin.cpu, wall = now.wall - begin.wall;
  // Where the whole machine stood still, one clock that stood for the other was ahead of it.
  return {0 < cpu && cpu < wall ? cpu : wall, wall};
}

}  // namespace dvm::capture
