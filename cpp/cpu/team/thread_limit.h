// How many threads the calls of one thread may use, where that is less than the process has.
#pragma once

namespace dvm::cpu {

// While it lives, Programs and searches that the calling thread runs use at most so many threads,
// itself included; 0: as many as there are. The last one made counts.
class ThreadLimit {
 public:
  explicit ThreadLimit(int most);
  ~ThreadLimit();
  ThreadLimit(const ThreadLimit&) = delete;
  ThreadLimit& operator=(const ThreadLimit&) = delete;

  // Of so many threads, those that the calling thread may use.
  static int of(int threads);

 private:
  int before_;
};

}  // namespace dvm::cpu
