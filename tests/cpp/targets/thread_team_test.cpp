// The thread team: every item once, callers side by side, team sizes that change, fork.
#include "cpu/team/thread_team.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "core/error.h"
#include "cpu/cpu_target.h"
#include "cpu/team/thread_limit.h"

namespace dvm::testing {
namespace {

using cpu::ThreadTeam;

struct Counters {
  explicit Counters(size_t count) : seen(count) {}
  std::vector<std::atomic<int>> seen;
  std::atomic<int> calls{0};

  static void work(void* context, int64_t begin, int64_t end) noexcept {
    auto& self = *static_cast<Counters*>(context);
    ++self.calls;
    for (int64_t i = begin; i < end; ++i) ++self.seen[static_cast<size_t>(i)];
  }
  bool all(int times) const {
    for (const auto& count : seen) {
      if (count != times) return false;
    }
    return true;
  }
};

TEST(ThreadTeam, RunsEveryItemOnce) {
  ThreadTeam team(3);
  for (const int64_t count : {1, 2, 7, 64, 1000}) {
    for (const int64_t chunk : {1, 2, 5, 999, 5000}) {
      Counters counters(static_cast<size_t>(count));
      team.run(count, chunk, Counters::work, &counters);
      ASSERT_TRUE(counters.all(1)) << count << " items in chunks of " << chunk;
    }
  }
}

TEST(ThreadTeam, ManySmallJobsInARow) {
  ThreadTeam team(4);
  Counters counters(64);
  for (int i = 0; i < 5000; ++i) team.run(64, 1, Counters::work, &counters);
  EXPECT_TRUE(counters.all(5000));
}

TEST(ThreadTeam, SleepersWakeUp) {
  ThreadTeam team(2);
  struct Pair {
    std::atomic<int> arrived{0};
    // Each item waits for the other one: only two threads can finish.
    static void work(void* context, int64_t, int64_t) noexcept {
      auto& arrived = static_cast<Pair*>(context)->arrived;
      ++arrived;
      while (arrived < 2) std::this_thread::yield();
    }
  };
  for (int i = 0; i < 20; ++i) {
    Pair pair;
    team.run(2, 1, Pair::work, &pair);
    if (i % 2 == 0) {
      while (!team.asleep()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }
}

TEST(ThreadTeam, CallersAndNestedJobsDoNotWaitForEachOther) {
  ThreadTeam team(2);
  Counters counters(100);
  std::vector<std::thread> callers;
  callers.reserve(4);
  for (int t = 0; t < 4; ++t) {
    callers.emplace_back([&] {
      for (int i = 0; i < 500; ++i) team.run(100, 3, Counters::work, &counters);
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_TRUE(counters.all(4 * 500));

  struct Nested {
    ThreadTeam& team;
    Counters counters{10};
    static void work(void* context, int64_t, int64_t) noexcept {
      auto& self = *static_cast<Nested*>(context);
      self.team.run(10, 1, Counters::work, &self.counters);
    }
  } nested{team};
  team.run(8, 1, Nested::work, &nested);
  EXPECT_TRUE(nested.counters.all(8));
}

TEST(ThreadTeam, ChangesSizeBetweenJobs) {
  ThreadTeam team(1);
  Counters counters(50);
  int runs = 0;
  for (const int threads : {1, 4, 2, 0, 3, 3, 1, 2}) {
    team.set_threads(threads);
    EXPECT_EQ(team.threads(), std::max(threads, 1));
    for (int i = 0; i < 20; ++i, ++runs) team.run(50, 1, Counters::work, &counters);
  }
  EXPECT_TRUE(counters.all(runs));
}

// Those of a job, each of which waits until so many have come.
struct Meeting {
  explicit Meeting(size_t count) : wanted(count) {}
  size_t wanted;
  std::mutex mutex;
  std::set<std::thread::id> threads;

  static void work(void* context, int64_t, int64_t) noexcept {
    auto& self = *static_cast<Meeting*>(context);
    for (size_t met = 0; met < self.wanted; std::this_thread::yield()) {
      const std::lock_guard lock(self.mutex);
      self.threads.insert(std::this_thread::get_id());
      met = self.threads.size();
    }
  }
};

TEST(ThreadTeam, KeepsToTheLimitOfTheCaller) {
  ThreadTeam team(4);
  const auto meets = [&](size_t wanted) {
    Meeting meeting(wanted);
    team.run(64, 1, Meeting::work, &meeting);
    return meeting.threads.size();
  };
  for (int round = 0; round < 20; ++round) {
    {
      const cpu::ThreadLimit limit(2);
      EXPECT_EQ(team.threads(), 2);
      EXPECT_EQ(meets(2), 2);
      const cpu::ThreadLimit one(1);
      EXPECT_EQ(meets(1), 1);
      const cpu::ThreadLimit none(0);
      EXPECT_EQ(meets(4), 4);
    }
    EXPECT_EQ(meets(4), 4);
    const cpu::ThreadLimit more(7);
    EXPECT_EQ(meets(4), 4);
    // Workers that may not help were woken, and sleep again.
    if (round % 2 == 0) {
      while (!team.asleep()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }
}

TEST(ThreadTeam, OneThreadRunsInOneCall) {
  ThreadTeam team(1);
  Counters counters(50);
  team.run(50, 1, Counters::work, &counters);
  EXPECT_EQ(counters.calls, 1);
}

#ifndef __SANITIZE_THREAD__  // which does not support threads in the child of a threaded process
TEST(ThreadTeam, ForkedChildStartsItsOwn) {
  cpu::set_thread_count(3);
  Counters counters(100);
  cpu::thread_team().run(100, 1, Counters::work, &counters);
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);  // a child that hangs must not hang the tests
    setenv("DVM_NUM_THREADS", "2", 1);
    Counters mine(100);
    cpu::thread_team().run(100, 1, Counters::work, &mine);
    const bool good = mine.all(1) && cpu::thread_count() == 2;
    _exit(good ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  cpu::thread_team().run(100, 1, Counters::work, &counters);
  EXPECT_TRUE(counters.all(2));
}

#ifndef __SANITIZE_ADDRESS__  // which needs more memory than there is here
// A system that has no room for threads now may have it later. The stacks of some that have ended
// are there to be used again, so there are more.
TEST(ThreadTeam, AsksAgainWhereTheSystemHadNoThreads) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);
    std::fclose(stderr);
    rlimit before{};
    getrlimit(RLIMIT_AS, &before);
    const rlimit little{.rlim_cur = 1 << 20, .rlim_max = before.rlim_max};  // less than is in use
    setrlimit(RLIMIT_AS, &little);
    constexpr int kThreads = 40;
    ThreadTeam team(kThreads);
    Counters few(100);
    team.run(100, 1, Counters::work, &few);
    const int had = team.threads();
    setrlimit(RLIMIT_AS, &before);
    while (team.threads() != kThreads) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    Meeting meeting(kThreads);
    team.run(2 * kThreads, 1, Meeting::work, &meeting);
    _exit(few.all(1) && had < kThreads && meeting.threads.size() == kThreads ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}
#endif

// In a child, because the team of this process exists already.
TEST(ThreadTeam, RejectsAThreadCountThatIsNone) {
  for (const char* text : {"0", "-1", "two", "3x", "99999999999"}) {
    const pid_t child = fork();
    if (child == 0) {
      setenv("DVM_NUM_THREADS", text, 1);
      try {
        cpu::thread_team();
      } catch (const core::Error& error) {
        const std::string expected =
            "DVM_NUM_THREADS is '" + std::string(text) + "', not a number in [1, 1024]";
        _exit(error.message() == expected ? 0 : 2);
      }
      _exit(1);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << text << ": " << status;
  }
}
#endif

}  // namespace
}  // namespace dvm::testing
