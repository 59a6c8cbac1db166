#include "cpu/team/thread_team.h"

#include <pthread.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <string>
#include <utility>

#include "core/error.h"
#include "cpu/team/placement.h"
#include "cpu/team/thread_limit.h"
#include "cpu/team/usable_cores.h"
#include "vm/target/cost.h"

namespace dvm::cpu {

namespace {

constexpr int kMaxThreads = 1024;
constexpr int kCaller = -1;  // in place of the number of a worker
constexpr std::chrono::seconds kAskAgainAfter{1};

int hardware_threads() { return std::min(usable_cores(), kMaxThreads); }

void pause_briefly() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// Looks at `ready` until it holds or the time for spinning is over. Reading the clock costs as much
// as a few looks, hence the batches.
template <typename Ready>
bool spin(std::chrono::nanoseconds limit, Ready ready) {
  constexpr int kLooks = 32;
  const auto deadline = std::chrono::steady_clock::now() + limit;
  do {
    for (int i = 0; i < kLooks; ++i) {
      if (ready()) return true;
      pause_briefly();
    }
  } while (std::chrono::steady_clock::now() < deadline);
  return false;
}

// Threads made while it lives take no signals: those are for the threads of the program.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_;
};

}  // namespace

ThreadTeam::ThreadTeam(int threads) : threads_(std::clamp(threads, 1, kMaxThreads)) {}

ThreadTeam::~ThreadTeam() { stop_workers(); }

void ThreadTeam::set_threads(int threads) {
  threads_.store(std::clamp(threads, 1, kMaxThreads), std::memory_order_relaxed);
}

int ThreadTeam::threads() const {
  return ThreadLimit::of(std::min(threads_.load(std::memory_order_relaxed), available()));
}

int ThreadTeam::available() const {
  const int available = available_.load(std::memory_order_relaxed);
  if (available == INT_MAX) return available;
  const bool asks = std::chrono::steady_clock::now() >= asks_again_.load(std::memory_order_relaxed);
  return asks ? INT_MAX : available;
}

bool ThreadTeam::asleep() const { return sleepers_.load(std::memory_order_relaxed) > 0; }

// With more threads than processors, one that spins keeps another from working.
std::chrono::nanoseconds ThreadTeam::spin_limit() const {
  static const int hardware = hardware_threads();
  const int64_t ns = threads() > hardware ? 0 : spin_ns_.load(std::memory_order_relaxed);
  return std::chrono::nanoseconds(ns);
}

double ThreadTeam::fork_ns() const {
  const vm::CostTable& cost = vm::cost_table();
  return asleep() ? cost.fork_asleep_ns : cost.fork_spinning_ns;
}

int64_t ThreadTeam::chunk_of(int64_t count, double item_ns) const {
  if (count == 1 || threads() == 1) return count;
  if (item_ns * static_cast<double>(count) < fork_ns()) return count;
  return shared_chunk(count, item_ns);
}

int64_t ThreadTeam::shared_chunk(int64_t count, double item_ns) const {
  const vm::CostTable& cost = vm::cost_table();
  const auto least = static_cast<int64_t>(cost.chunk_ns / item_ns) + 1;
  const auto chunks = static_cast<int64_t>(threads() * cost.chunks_per_thread);
  return std::max(least, count / chunks);
}

void ThreadTeam::run(int64_t count, int64_t chunk, Work work, void* context) {
  if (threads() == 1 || count <= chunk || busy_.exchange(true, std::memory_order_acquire)) {
    work(context, 0, count);
    return;
  }
  struct Free {
    std::atomic<bool>& busy;
    ~Free() { busy.store(false, std::memory_order_release); }
  } const free{busy_};  // also where the workers cannot be changed
  spin_ns_.store(static_cast<int64_t>(vm::cost_table().spin_ns), std::memory_order_relaxed);
  const int all = std::min(threads_.load(std::memory_order_relaxed), available());
  if (static_cast<int>(workers_.size()) != all - 1) adjust_workers(all - 1);
  publish(static_cast<uint32_t>(count), static_cast<uint32_t>(chunk), threads() - 1, work, context);
  for (Chunk mine; take(mine, kCaller);) finish(mine);
  wait_until_done(static_cast<uint32_t>(count));
}

// The previous job is done, yet a late worker may still be looking at it. So the job is closed
// before its fields change: whoever read a new field must see the closed `next_`, and fails.
void ThreadTeam::publish(uint32_t count, uint32_t chunk, int helpers, Work work, void* context) {
  const uint64_t generation = (next_.load(std::memory_order_relaxed) >> 32) + 1;
  next_.store(generation << 32 | kClosed, std::memory_order_relaxed);
  count_.store(count, std::memory_order_release);
  chunk_.store(chunk, std::memory_order_release);
  helpers_.store(helpers, std::memory_order_release);
  work_.store(work, std::memory_order_release);
  context_.store(context, std::memory_order_release);
  done_.store(0, std::memory_order_relaxed);
  next_.store(generation << 32, std::memory_order_release);

  signal_.fetch_add(1, std::memory_order_seq_cst);
  const int asleep = sleepers_.load(std::memory_order_seq_cst);
  const auto others = static_cast<int64_t>((count - 1) / chunk);  // chunks besides the caller's
  const auto wanted = std::min<int64_t>(asleep, others);
  if (wanted > 0) place_workers();
  // The system wakes any worker, and only the first ones may help.
  if (wanted > 0 && helpers < static_cast<int>(workers_.size())) return signal_.notify_all();
  for (int64_t i = 0; i < wanted; ++i) signal_.notify_one();
}

// The system may wake a worker on the caller's own processor, behind it, while another is idle; on
// machines of two processors it does so about every second time, and the job has ended before the
// worker begins. A thread seldom moves, so this seldom costs more than asking where it runs.
void ThreadTeam::place_workers() {
  if (workers_.size() > kMostPlaced) return;
  const int processor = current_processor();
  if (processor == kept_free_) return;
  kept_free_ = processor;
  keep_off(processor, workers_);
}

bool ThreadTeam::take(Chunk& chunk, int worker) {
  uint64_t seen = next_.load(std::memory_order_acquire);
  for (;;) {
    chunk.count = count_.load(std::memory_order_acquire);
    const uint32_t length = chunk_.load(std::memory_order_acquire);
    chunk.work = work_.load(std::memory_order_acquire);
    chunk.context = context_.load(std::memory_order_acquire);
    chunk.begin = static_cast<uint32_t>(seen);
    if (chunk.begin >= chunk.count || worker >= helpers_.load(std::memory_order_acquire)) {
      return false;
    }
    chunk.end = std::min(chunk.count, chunk.begin + length);
    const uint64_t rest = (seen & ~uint64_t{UINT32_MAX}) | chunk.end;
    if (next_.compare_exchange_weak(seen, rest, std::memory_order_acq_rel,
                                    std::memory_order_acquire)) {
      return true;
    }
  }
}

void ThreadTeam::finish(const Chunk& chunk) {
  chunk.work(chunk.context, chunk.begin, chunk.end);
  const uint32_t items = chunk.end - chunk.begin;
  if (done_.fetch_add(items, std::memory_order_acq_rel) + items == chunk.count) done_.notify_one();
}

void ThreadTeam::wait_until_done(uint32_t count) {
  const auto done = [&] { return done_.load(std::memory_order_acquire) == count; };
  if (done() || spin(spin_limit(), done)) return;
  for (uint32_t seen; (seen = done_.load(std::memory_order_acquire)) != count;) {
    done_.wait(seen, std::memory_order_acquire);
  }
}

void ThreadTeam::wait_until_zero(std::atomic<uint32_t>& left) const {
  const auto done = [&] { return left.load(std::memory_order_acquire) == 0; };
  if (done() || spin(spin_limit(), done)) return;
  for (uint32_t seen; (seen = left.load(std::memory_order_acquire)) != 0;) {
    left.wait(seen, std::memory_order_acquire);
  }
}

void ThreadTeam::worker_loop(int worker) {
  for (;;) {
    // Read before looking for work: a job published in between changes it, and is not missed.
    const uint32_t seen = signal_.load(std::memory_order_seq_cst);
    if (stop_.load(std::memory_order_acquire)) return;
    for (Chunk chunk; take(chunk, worker);) finish(chunk);
    wait_for_job(seen);
  }
}

void ThreadTeam::wait_for_job(uint32_t seen) {
  const auto called = [&] { return signal_.load(std::memory_order_acquire) != seen; };
  if (spin(spin_limit(), called)) return;
  // Either publish() sees this sleeper, or the wait sees its signal.
  sleepers_.fetch_add(1, std::memory_order_seq_cst);
  signal_.wait(seen, std::memory_order_seq_cst);
  sleepers_.fetch_sub(1, std::memory_order_relaxed);
}

void ThreadTeam::adjust_workers(int count) {
  stop_workers();
  start_workers(count);
}

void ThreadTeam::start_workers(int count) {
  kept_free_ = -1;
  const SignalsBlocked blocked;
  try {
    workers_.reserve(static_cast<size_t>(count));
    for (int worker = 0; worker < count; ++worker) {
      workers_.emplace_back([this, worker] { worker_loop(worker); });
    }
    available_.store(INT_MAX, std::memory_order_relaxed);
  } catch (const std::exception&) {
    // The system has no more threads now, or no memory: the team is what it could get.
    const int started = static_cast<int>(workers_.size()) + 1;
    available_.store(started, std::memory_order_relaxed);
    asks_again_.store(std::chrono::steady_clock::now() + kAskAgainAfter, std::memory_order_relaxed);
    if (std::exchange(has_told_, true)) return;
    std::fprintf(
        stderr,
        "[dvm.threads] the system has %d of the %d threads that dvm is to use; it is asked "
        "again each second\n",
        started, count + 1);
  }
}

void ThreadTeam::stop_workers() {
  stop_.store(true, std::memory_order_release);
  signal_.fetch_add(1, std::memory_order_seq_cst);
  signal_.notify_all();
  for (std::thread& worker : workers_) worker.join();
  workers_.clear();
  stop_.store(false, std::memory_order_relaxed);
}

namespace {

std::atomic<ThreadTeam*> process_team{nullptr};

int configured_threads() {
  const char* text = std::getenv("DVM_NUM_THREADS");
  if (text == nullptr || *text == '\0') return hardware_threads();
  int threads = 0;
  const char* end = text + std::strlen(text);
  const auto [stop, error] = std::from_chars(text, end, threads);
  if (error != std::errc{} || stop != end || threads < 1 || threads > kMaxThreads) {
    core::fail(core::ErrorCode::unsupported, "DVM_NUM_THREADS is '" + std::string(text) +
                                                 "', not a number in [1, " +
                                                 std::to_string(kMaxThreads) + "]");
  }
  return threads;
}

}  // namespace

ThreadTeam& thread_team() {
  ThreadTeam* team = process_team.load(std::memory_order_acquire);
  if (team != nullptr) return *team;
  // The child of a fork has none of its parent's workers, and locks of the team may be held for
  // ever: it forgets the team. Nothing can free it, for the same reason.
  static const int registered = pthread_atfork(
      nullptr, nullptr, [] { process_team.store(nullptr, std::memory_order_relaxed); });
  (void)registered;
  // Never deleted: workers may outlive static destructors. No lock either, which a fork could
  // leave behind; a team that lost the race has no threads yet.
  auto* created = new ThreadTeam(configured_threads());
  if (process_team.compare_exchange_strong(team, created, std::memory_order_acq_rel)) {
    return *created;
  }
  delete created;
  return *team;
}

}  // namespace dvm::cpu
