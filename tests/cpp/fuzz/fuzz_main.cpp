#include "fuzz/fuzz_main.h"

#include <sys/time.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>
#include <vector>

#include "core/error.h"
#include "fuzz/coverage.h"

// Present when a sanitizer is: tells it what to call before it ends the process.
// NOLINTNEXTLINE: the name is the sanitizers' own.
extern "C" __attribute__((weak)) void __sanitizer_set_death_callback(void (*callback)());

namespace dvm::fuzz {

namespace {

constexpr size_t kGenerated = 64, kMaxCorpus = 1024, kMaxInput = size_t{1} << 16;
// Of the processor, which nobody else can take away; and of the clock, for what waits for ever.
constexpr unsigned kSecondsPerCase = 10, kMostSeconds = 300;
constexpr uint64_t kFreshEvery = 64;  // cases between inputs of the generator

struct Options {
  double seconds = 10;
  uint64_t iterations = UINT64_MAX, seed = 1;
  std::string input;
};

// What is being read at the moment, for the handlers of crashes.
std::string current_input;
std::string current_reader;

void save_finding() {
  const std::string path = "fuzz-finding-" + current_reader;
  std::ofstream(path, std::ios::binary) << current_input;
  std::fprintf(stderr, "fuzz: input written to %s; run it with --input %s\n", path.c_str(),
               path.c_str());
}

// Not async-signal-safe, but the process is lost anyway and the input is what matters.
void on_signal(int signal) {
  std::fprintf(stderr, "fuzz: %s: %s\n", current_reader.c_str(),
               signal == SIGPROF   ? "no end within ten seconds"
               : signal == SIGALRM ? "stands still"
                                   : "crash");
  save_finding();
  std::_Exit(1);
}

// Told to end, a run says how far it came.
volatile std::sig_atomic_t told_to_end = 0;
void on_end(int) { told_to_end = 1; }

void install_handlers() {
  std::signal(SIGALRM, on_signal);
  std::signal(SIGPROF, on_signal);
  for (int signal : {SIGINT, SIGTERM}) std::signal(signal, on_end);
  if (__sanitizer_set_death_callback != nullptr) {
    __sanitizer_set_death_callback(save_finding);
    return;
  }
  for (int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGABRT, SIGILL}) std::signal(signal, on_signal);
}

void set_watch(bool on) {
  const itimerval processor{.it_interval = {}, .it_value = {on ? kSecondsPerCase : 0, 0}};
  setitimer(ITIMER_PROF, &processor, nullptr);
  alarm(on ? kMostSeconds : 0);
}

enum class Outcome { accepted, refused, finding };

Outcome run_case(const Reader& reader, const std::string& input) {
  current_input = input;
  set_watch(true);
  begin_case();
  Outcome outcome = Outcome::accepted;
  try {
    reader.read(input);
  } catch (const core::Error& error) {
    outcome = Outcome::refused;
    if (error.code() == core::ErrorCode::internal) {
      std::fprintf(stderr, "fuzz: %s: %s\n", reader.name.c_str(), error.what());
      outcome = Outcome::finding;
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "fuzz: %s: %s\n", reader.name.c_str(), error.what());
    outcome = Outcome::finding;
  }
  set_watch(false);
  if (outcome == Outcome::finding) save_finding();
  return outcome;
}

// The inputs worth damaging. What was accepted is kept, and once there is no more room replaces
// what was accepted before: such inputs drift away from the generator. What took a way through the
// code that nothing took before is kept for good.
class Corpus {
 public:
  void add(std::string input, Outcome outcome) {
    if (is_new()) {
      pioneers_.push_back(std::move(input));
    } else if (outcome == Outcome::accepted) {
      if (accepted_.size() < kMaxCorpus) {
        accepted_.push_back(std::move(input));
      } else {
        accepted_[next_++ % kMaxCorpus] = std::move(input);
      }
    }
  }
  const std::string& pick(Random& random) const {
    const bool pioneer = accepted_.empty() || (!pioneers_.empty() && random() % 2 == 0);
    const auto& from = pioneer ? pioneers_ : accepted_;
    return from[random() % from.size()];
  }

 private:
  std::vector<std::string> accepted_, pioneers_;
  size_t next_ = 0;
};

bool fuzz(const Reader& reader, const Options& options) {
  using Clock = std::chrono::steady_clock;
  Random random(options.seed);
  current_reader = reader.name;
  Corpus corpus;
  auto generate = [&] {
    std::string input = reader.generate(random);
    if (run_case(reader, input) != Outcome::accepted) {
      std::fprintf(stderr, "fuzz: %s: a generated input is refused\n", reader.name.c_str());
      save_finding();
      return false;
    }
    corpus.add(std::move(input), Outcome::accepted);
    return true;
  };
  for (size_t i = 0; i < kGenerated; ++i) {
    if (!generate()) return false;
  }
  uint64_t cases = 0, accepted = 0;
  const auto start = Clock::now();
  double elapsed = 0;
  while (cases < options.iterations && elapsed < options.seconds && told_to_end == 0) {
    if (cases % kFreshEvery == 0 && !generate()) return false;
    const std::string& other = corpus.pick(random);
    std::string input = mutate(corpus.pick(random), other, random);
    if (input.size() > kMaxInput) continue;
    const Outcome outcome = run_case(reader, input);
    if (outcome == Outcome::finding) return false;
    if (outcome == Outcome::accepted) ++accepted;
    corpus.add(std::move(input), outcome);
    ++cases;
    elapsed = std::chrono::duration<double>(Clock::now() - start).count();
  }
  std::printf("fuzz: %s: seed %llu, %llu cases, %llu accepted, %zu edges, %.0f cases/s\n",
              reader.name.c_str(), static_cast<unsigned long long>(options.seed),
              static_cast<unsigned long long>(cases), static_cast<unsigned long long>(accepted),
              edges_taken(), elapsed > 0 ? static_cast<double>(cases) / elapsed : 0.0);
  return true;
}

bool parse_options(int argc, char** argv, Options& options) {
  for (int i = 1; i < argc; i += 2) {
    const std::string_view name = argv[i];
    if (i + 1 == argc) return false;
    const char* value = argv[i + 1];
    if (name == "--seconds") {
      options.seconds = std::atof(value);
    } else if (name == "--iterations") {
      options.iterations = std::strtoull(value, nullptr, 10);
    } else if (name == "--seed") {
      options.seed = std::strtoull(value, nullptr, 10);
    } else if (name == "--input") {
      options.input = value;
    } else {
      return false;
    }
  }
  return true;
}

}  // namespace

int fuzz_main(int argc, char** argv, std::span<const Reader> readers) {
  Options options;
  if (!parse_options(argc, argv, options)) {
    std::fprintf(stderr, "usage: %s [--seconds N] [--iterations N] [--seed N] [--input FILE]\n",
                 argv[0]);
    return 2;
  }
  install_handlers();
  options.seconds /= static_cast<double>(readers.size());
  bool good = true;
  for (const Reader& reader : readers) {
    if (options.input.empty()) {
      good = fuzz(reader, options) && good;
      continue;
    }
    std::ostringstream input;
    input << std::ifstream(options.input, std::ios::binary).rdbuf();
    current_reader = reader.name;
    good = run_case(reader, input.str()) != Outcome::finding && good;
  }
  return good ? 0 : 1;
}

}  // namespace dvm::fuzz
