#include "sim/core_group.h"

#include <algorithm>
#include <memory>
#include <optional>

#include "core/error.h"

namespace dvm::sim {

namespace {

// A core, whichever Programs it runs one after the other.
class GroupCore {
 public:
  explicit GroupCore(const vm::TargetTraits& traits)
      : memory_(static_cast<size_t>(LocalMemories::bytes(traits)) + kAlign) {}

  // `program`: which one of the launch. Each finds its memory as new.
  AiCore& run(size_t program, int64_t id, const vm::Program& of, const vm::TargetTraits& traits,
              std::span<std::byte* const> globals, CoreReport& report, const CommonRun& common) {
    if (!core_ || program_ != program) {
      core_.emplace(id, of, traits, globals, aligned(), report, common);
      program_ = program;
    }
    return *core_;
  }

 private:
  static constexpr size_t kAlign = 64;
  std::byte* aligned() {
    void* begin = memory_.data();
    size_t room = memory_.size();
    return static_cast<std::byte*>(std::align(kAlign, room - kAlign, begin, room));
  }
  std::vector<std::byte> memory_;
  std::optional<AiCore> core_;
  size_t program_ = 0;
};

class Group {
 public:
  Group(int64_t id, const vm::Launch& launch, const vm::TargetTraits& traits, SimReport& report,
        const CommonRun& common)
      : id_(id),
        launch_(launch),
        traits_(traits),
        report_(report),
        common_(common),
        globals_(launch.globals.begin(), launch.globals.end()),
        handed_(static_cast<size_t>(launch.handed.turns * launch.handed.bytes)) {
    for (int k = 0; k <= vm::kVectorCores; ++k) cores_.emplace_back(traits);
  }

  void run() {
    const vm::Header& header = launch_.program.header();
    const int64_t begin = id_ * header.body_tile;
    const int64_t end = std::min<int64_t>(begin + header.body_tile, header.tile_count);
    for (int64_t tile = begin; tile < end; ++tile) {
      std::byte* const place =
          handed_.data() + (tile - begin) % launch_.handed.turns * launch_.handed.bytes;
      globals_[static_cast<size_t>(launch_.handed.global)] = place;
      std::fill_n(place, launch_.handed.bytes, kUnwritten);
      run(0, 0, launch_.program, tile, tile + 1);
      for (size_t f = 0; f < launch_.followers.size(); ++f) {
        const vm::Follower& follower = launch_.followers[f];
        for (int core = 0; core < vm::kVectorCores; ++core) {
          const auto half = vm::half_of(follower.behind(launch_.program, tile), tile, core);
          run(1 + core, 1 + f, follower.program, half.begin, half.end);
        }
      }
    }
  }

 private:
  // NaN, and no small number; nothing reads it unless tiles do not match.
  static constexpr std::byte kUnwritten{0xff};

  void run(int place, size_t number, const vm::Program& program, int64_t begin, int64_t end) {
    if (begin == end) return;
    const auto at = static_cast<size_t>(place);
    const int64_t id = id_ * (1 + vm::kVectorCores) + place;
    AiCore& core = cores_[at].run(number, id, program, traits_, globals_,
                                  report_.cores[static_cast<size_t>(id)],
                                  {common_.done, common_.written, number});
    vm::run_tiles(program, globals_, begin, end, core);
    report_.raised |= core.more_flags();
    if (report_.fault == vm::Fault::none) report_.fault = core.fault;
  }

  const int64_t id_;
  const vm::Launch& launch_;
  const vm::TargetTraits& traits_;
  SimReport& report_;
  const CommonRun common_;
  std::vector<std::byte*> globals_;
  std::vector<std::byte> handed_;
  std::vector<GroupCore> cores_;
};

}  // namespace

SimReport run_groups(const vm::Launch& launch, const vm::TargetTraits& traits,
                     const CommonRun& common) {
  DVM_CHECK(launch.made.global < 0, "groups of AI Cores have no makers");
  SimReport report;
  const core::WatchFpFlags watch;
  const int64_t groups = launch.program.header().block_dim;
  report.cores.resize(static_cast<size_t>(groups * (1 + vm::kVectorCores)));
  for (int64_t id = 0; id < groups; ++id) Group(id, launch, traits, report, common).run();
  report.raised |= watch.raised();
  return report;
}

}  // namespace dvm::sim
