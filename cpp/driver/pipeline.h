// The steps from a Graph to its Plan by name, for compile() and run_pass().
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/graph/graph.h"
#include "driver/compile.h"
#include "driver/lower.h"
#include "fuser/fuse.h"
#include "vm/target/target.h"

namespace dvm::driver {

struct StepSettings {
  core::DTypeSet halves;  // widened_halves()
  core::Precision precision = core::Precision::highest;
  bool reads_windows = true;  // the target does, where they lie
  bool is_body = false;       // of a loop, a branch or a function
  fuser::Limits limits = {};
  LowerOptions lower = {};
  CompileBody compile_body = {};
};

// What becomes of a Graph on its way: each step makes one of the three.
struct Build {
  core::Graph graph;
  fuser::Fusion fusion = {};
  runtime::Plan plan = {};
};

// What there is a step for. Users may switch off what is not needed.
enum class Level : uint8_t { needed, exact, rounding };

struct Step {
  Stage stage;
  std::string_view name;
  // Appends what it decided.
  void (*run)(Build&, const StepSettings&, std::vector<core::Decision>&);
  bool (*applies)(const StepSettings&);  // else it is left out
  Level level;
  std::string_view synopsis;

  bool makes_graph() const { return stage <= Stage::optimise; }
};
std::span<const Step> steps();

// What a step of that stage has made.
std::string print(const Build& build, Stage stage);
std::string print(const fuser::Fusion& fusion);
// Its verifier, of a Graph or a part of one.
void verify(const Build& build, Stage stage, bool is_whole);

// At how many places a step found what it looks for, and how many it changed: as it says itself,
// else the nodes of the Graph that are there no more.
void count_changes(PassRecord& record, const core::Graph& before, const core::Graph& after,
                   std::span<const core::Decision> decided);

// A Graph behind that step, what users added before it included.
Build build_until(const core::Graph& graph, const Options& options, const Step& last);

// UnknownTargetError for a name of none.
const vm::TargetTraits& traits_of(std::string_view name);

// Those whose operations are computed in f32: with strict numerics none, for each operation rounds
// as the eager library does, else those that the target has no arithmetic for.
core::DTypeSet widened_halves(const Options& options);

fuser::Limits region_limits(const vm::TargetTraits& target);

}  // namespace dvm::driver
