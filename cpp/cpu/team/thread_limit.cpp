#include "cpu/team/thread_limit.h"

#include <algorithm>

namespace dvm::cpu {

namespace {

thread_local int most_threads = 0;  // 0: no limit

}  // namespace

ThreadLimit::ThreadLimit(int most) : before_(most_threads) { most_threads = most; }
ThreadLimit::~ThreadLimit() { most_threads = before_; }

int ThreadLimit::of(int threads) {
  return most_threads > 0 ? std::min(most_threads, threads) : threads;
}

}  // namespace dvm::cpu
