// A persistent team of threads that shares out the items of one job at a time. The caller works
// too, and waits only for items that somebody has begun: a worker that the system has put aside
// delays nobody unless it holds a chunk.
//
// Two threads may call run() at once: the second one does all of its job itself. After fork() the
// child starts a team of its own on first use.
#pragma once

#include <atomic>
#include <chrono>
#include <climits>
#include <cstdint>
#include <thread>
#include <vector>

namespace dvm::cpu {

class ThreadTeam {
 public:
  using Work = void (*)(void* context, int64_t begin, int64_t end) noexcept;

  // Workers start with the first run() that needs them.
  explicit ThreadTeam(int threads);
  ~ThreadTeam();
  ThreadTeam(const ThreadTeam&) = delete;
  ThreadTeam& operator=(const ThreadTeam&) = delete;

  // That a job of the calling thread may use (ThreadLimit). Fewer than were set for as long as the
  // system has no more.
  int threads() const;
  void set_threads(int threads);  // caller included, at least 1; from the next run() on
  // Whether run() would have to wake a worker, which costs far more than a spinning one.
  bool asleep() const;
  // Nanoseconds of work for which it pays to run() with more than the calling thread.
  double fork_ns() const;
  // How many of `count` items of that many nanoseconds each a thread takes at a time, once there
  // are several.
  int64_t shared_chunk(int64_t count, double item_ns) const;
  // The same, or all of them where a single thread is as fast.
  int64_t chunk_of(int64_t count, double item_ns) const;

  // work(context, begin, end) for disjoint ranges of up to `chunk` items that cover [0, count);
  // count and chunk at most INT32_MAX.
  void run(int64_t count, int64_t chunk, Work work, void* context);

  // For items that wait for items before them, which then have been begun by somebody: returns once
  // `left` is 0. Who sets it there calls left.notify_all().
  void wait_until_zero(std::atomic<uint32_t>& left) const;

 private:
  struct Chunk {
    Work work;
    void* context;
    uint32_t begin, end, count;
  };
  std::chrono::nanoseconds spin_limit() const;
  bool take(Chunk& chunk, int worker);
  void finish(const Chunk& chunk);
  void publish(uint32_t count, uint32_t chunk, int helpers, Work work, void* context);
  void place_workers();
  void wait_until_done(uint32_t count);
  void adjust_workers(int count);
  void start_workers(int count);
  int available() const;
  void stop_workers();
  void worker_loop(int worker);
  void wait_for_job(uint32_t seen);

  std::atomic<int> threads_;
  // The threads that the system had, where it had too few, and when to ask for more.
  std::atomic<int> available_{INT_MAX};
  std::atomic<std::chrono::steady_clock::time_point> asks_again_;
  bool has_told_ = false;
  std::atomic<bool> busy_{false};  // a job is running, or the workers change
  // Of the cost table, as the last job found it: idle workers may not look there.
  std::atomic<int64_t> spin_ns_{0};
  std::vector<std::thread> workers_;
  // Among many processors the system finds an idle one by itself.
  static constexpr size_t kMostPlaced = 15;
  int kept_free_ = -1;  // the processor that workers keep off; -1: none

  // The job. `next_` holds its generation above the index of its first item not yet taken; taking
  // a chunk is one exchange of both, so nobody can take from a job that is not the current one.
  static constexpr uint32_t kClosed = UINT32_MAX;
  alignas(64) std::atomic<uint64_t> next_{kClosed};
  std::atomic<uint32_t> count_{0}, chunk_{0};
  std::atomic<int> helpers_{0};  // workers that may take from it: the first ones
  std::atomic<Work> work_{nullptr};
  std::atomic<void*> context_{nullptr};
  alignas(64) std::atomic<uint32_t> done_{0};  // items finished

  alignas(64) std::atomic<uint32_t> signal_{0};  // counts jobs and stops: what workers wait for
  std::atomic<int> sleepers_{0};
  std::atomic<bool> stop_{false};
};

// The team of the process. Its size is DVM_NUM_THREADS when that is set, else the number of
// hardware threads this process may use; throws UnsupportedError where the variable is no number.
ThreadTeam& thread_team();

}  // namespace dvm::cpu
