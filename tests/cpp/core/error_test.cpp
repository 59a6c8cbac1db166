// Locations of errors: one name per file, whoever asks for it, and whenever.
#include "core/error.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace dvm::core {
namespace {

TEST(Location, ThreadsAtOnceGetOneNamePerFile) {
  constexpr int kThreads = 4, kFiles = 500;
  std::vector<std::vector<const std::string*>> names(kThreads);
  std::vector<std::thread> threads;
  for (auto& mine : names) {
    threads.emplace_back([&mine] {
      for (int k = 0; k < kFiles; ++k)
        mine.push_back(make_loc("at_once" + std::to_string(k), k).file);
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const auto& mine : names) EXPECT_EQ(mine, names[0]);
  EXPECT_EQ(std::set(names[0].begin(), names[0].end()).size(), size_t{kFiles});
  EXPECT_EQ(to_string(make_loc("at_once7", 3)), "at_once7:3");
}

// The threads of a parent do not exist in its child: what one of them had begun must not be missed.
TEST(Location, ChildrenOfBusyThreadsGetNames) {
  std::atomic<bool> over{false};
  std::thread busy([&] {
    for (int k = 0; !over; ++k) make_loc("busy" + std::to_string(k % 1000), 1);
  });
  for (int round = 0; round < 50; ++round) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      alarm(20);  // one that hangs must not hang the tests
      _exit(to_string(make_loc("of a child", round)) == "of a child:" + std::to_string(round) ? 0
                                                                                              : 1);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  over = true;
  busy.join();
}

}  // namespace
}  // namespace dvm::core
