// The table of steps: what each of them is, what it prints and how it is verified.
#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include "core/error.h"
#include "core/graph/bodies.h"
#include "core/graph/infer.h"
#include "core/passes/passes.h"
#include "driver/pipeline.h"

namespace dvm::driver {

namespace {

using Decisions = std::vector<core::Decision>;

bool always(const StepSettings&) { return true; }
bool widens(const StepSettings& settings) { return !settings.halves.empty(); }
bool copies_windows(const StepSettings& settings) { return !settings.reads_windows; }
bool rounds(const StepSettings& settings) { return settings.precision != core::Precision::highest; }

template <core::Graph (*kPass)(core::Graph)>
void alike(Build& build, const StepSettings&, Decisions&) {
  build.graph = kPass(std::move(build.graph));
}
void stored_dims(Build& build, const StepSettings& settings, Decisions&) {
  if (settings.is_body) build.graph = core::pass_stored_dims(build.graph);
}
void attention(Build& build, const StepSettings& settings, Decisions& decisions) {
  build.graph = core::pass_attention(std::move(build.graph), settings.halves, decisions);
}
void widen_half(Build& build, const StepSettings& settings, Decisions&) {
  build.graph = core::pass_widen_half(std::move(build.graph), settings.halves);
}
void precision(Build& build, const StepSettings& settings, Decisions&) {
  build.graph = core::pass_precision(std::move(build.graph), settings.precision);
}
void fuse(Build& build, const StepSettings& settings, Decisions& decisions) {
  build.fusion = fuser::fuse(build.graph, settings.limits);
  std::ranges::copy(build.fusion.decisions, std::back_inserter(decisions));
}
void plan(Build& build, const StepSettings& settings, Decisions&) {
  build.plan = lower(build.graph, std::move(build.fusion), settings.compile_body, settings.lower);
}

using enum Level;
constexpr Step kSteps[] = {
#define DVM_STEP(stage, name, run, applies, level, synopsis) \
  {Stage::stage, #name, run, applies, level, synopsis},
#include "driver/stages.def"
#undef DVM_STEP
};

}  // namespace

std::span<const Step> steps() { return kSteps; }

std::string_view to_string(Stage stage) {
  switch (stage) {
    case Stage::prepare:
      return "prepare";
    case Stage::optimise:
      return "optimise";
    case Stage::partition:
      return "partition";
    case Stage::build:
      break;
  }
  return "build";
}

std::string print(const Build& build, Stage stage) {
  if (stage == Stage::partition) return print(build.fusion);
  return stage == Stage::build ? runtime::print(build.plan) : core::print(build.graph);
}

void verify(const Build& build, Stage stage, bool is_whole) {
  if (stage == Stage::partition) {
    for (const fuser::FusedRegion& fused : build.fusion.regions) core::verify(fused.region.body);
  } else if (stage != Stage::build) {  // a Plan is verified with those of its functions
    is_whole ? core::verify(build.graph) : core::verify_nodes(build.graph);
  }
}

void count_changes(PassRecord& record, const core::Graph& before, const core::Graph& after,
                   std::span<const core::Decision> decided) {
  std::set<std::string_view> changed, found;
  for (const core::Decision& decision : decided) {
    found.insert(decision.what);
    if (decision.verdict == "yes") changed.insert(decision.what);
  }
  record.matches = static_cast<int64_t>(found.size());
  record.effects = static_cast<int64_t>(changed.size());
  if (!decided.empty()) return;
  std::map<std::string, int64_t> counts;
  const auto count = [&](const core::Graph& graph, int64_t by) {
    for (const core::Node& node : graph.nodes()) {
      counts[std::string(core::info(node.op).name) + core::to_string(node.type) +
             std::to_string(node.attrs.value.bits())] += by;
    }
  };
  count(before, 1);
  count(after, -1);
  for (const auto& [node, more] : counts) record.effects += std::max<int64_t>(more, 0);
  record.matches = record.effects;
}

const vm::TargetTraits& traits_of(std::string_view name) {
  const vm::TargetTraits* traits = vm::find_target(name);
  if (!traits) {
    core::fail(core::ErrorCode::unknown_target, "no target is named '" + std::string(name) + "'");
  }
  return *traits;
}

core::DTypeSet widened_halves(const Options& options) {
  const vm::TargetTraits& traits = traits_of(options.target);
  if (options.numerics == Numerics::strict) return {};
  return core::kHalves.without(traits.native_halves);
}

fuser::Limits region_limits(const vm::TargetTraits& target) {
  // A factor that is made for a tile is read where it lies.
  return {.region = core::kRegionBudget, .factors = target.streams};
}

std::string print(const fuser::Fusion& fusion) {
  std::string text;
  for (const fuser::Unit& unit : fusion.order) {
    if (unit.region < 0) {
      text += "%" + std::to_string(unit.node) + "\n";
      continue;
    }
    const fuser::FusedRegion& fused = fusion.regions[static_cast<size_t>(unit.region)];
    auto list = [](const std::vector<core::Value>& values) {
      std::string names;
      for (core::Value v : values) names += (names.empty() ? "%" : ", %") + std::to_string(v);
      return names;
    };
    text += fused.region.name + "(" + list(fused.inputs) +
            (fused.scalars.empty() ? "" : "; " + list(fused.scalars)) + ") -> " +
            list(fused.outputs) + " = " + core::print(fused.region.body);
  }
  for (const core::Decision& decision : fusion.decisions) {
    text += "# " + decision.what + ": " + decision.verdict + ", " + decision.rule + "\n";
  }
  return text;
}

}  // namespace dvm::driver
