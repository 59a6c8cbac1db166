#include "driver/compile.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <type_traits>
#include <utility>

#include "core/error.h"
#include "core/graph/bodies.h"
#include "core/graph/module.h"
#include "core/passes/passes.h"
#include "driver/added_passes.h"
#include "driver/logs.h"
#include "driver/lower.h"
#include "driver/pipeline.h"
#include "driver/size_checks.h"
#include "vm/tile/kernel.h"

namespace dvm::driver {

namespace {

bool always(const PassSettings&) { return true; }
bool widens(const PassSettings& settings) { return !settings.halves.empty(); }
bool copies_windows(const PassSettings& settings) { return !settings.reads_windows; }
bool rounds(const PassSettings& settings) { return settings.precision != core::Precision::highest; }

template <core::Graph (*kPass)(const core::Graph&)>
core::Graph alike(const core::Graph& graph, const PassSettings&, std::vector<core::Decision>&) {
  return kPass(graph);
}
core::Graph attention(const core::Graph& graph, const PassSettings& settings,
                      std::vector<core::Decision>& decisions) {
  return core::pass_attention(graph, settings.halves, decisions);
}
core::Graph widen_half(const core::Graph& graph, const PassSettings& settings,
                       std::vector<core::Decision>&) {
  return core::pass_widen_half(graph, settings.halves);
}
core::Graph precision(const core::Graph& graph, const PassSettings& settings,
                      std::vector<core::Decision>&) {
  return core::pass_precision(graph, settings.precision);
}

constexpr bool needed = true, optional = false;
constexpr GraphPass kGraphPasses[] = {
#define DVM_PASS(name, run, applies, is_needed, synopsis) \
  {#name, run, applies, is_needed, synopsis},
#include "driver/passes.def"
#undef DVM_PASS
};

class Pipeline {
 public:
  // Records are what a report shows; without them the logs are told.
  Pipeline(const Options& options, bool records, std::span<const SizeCheck> checks,
           const ModuleNames* module = nullptr, bool is_body = false)
      : options_(options), records_(records), is_body_(is_body), checks_(checks), module_(module) {}

  Compilation run(core::Graph graph) {
    if (options_.verify) core::verify(graph);
    return finish(make_plan(std::move(graph), 0));
  }

  // Reports tell of the functions' passes, too, before those of the graph that calls them.
  static Compilation run(const core::Module& module, const Options& options, bool records,
                         std::span<const SizeCheck> checks) {
    if (module.is_graph()) return Pipeline(options, records, checks).run(module.main);
    if (options.verify) core::verify(module);
    const ModuleNames names(module);
    Pipeline whole(options, records, checks, &names);
    std::vector<runtime::PlanSignature> signatures;
    std::vector<runtime::Plan> functions;
    for (size_t k = 0; k < module.functions.size(); ++k) {
      Pipeline of(options, records, {}, &names, true);
      functions.push_back(of.make_plan(core::pass_stored_dims(module.functions[k].graph), 0));
      signatures.push_back({names.functions[k], names.gives[k]});
      std::ranges::move(of.decisions_, std::back_inserter(whole.decisions_));
      std::ranges::move(of.passes_, std::back_inserter(whole.passes_));
    }
    runtime::Plan plan = whole.make_plan(module.main, 0);
    plan.types = names.types;
    plan.signatures = std::move(signatures);
    plan.functions = std::move(functions);
    return whole.finish(std::move(plan));
  }

 private:
  Compilation finish(runtime::Plan plan) {
    if (options_.verify) runtime::verify(plan);
    vm::Target& runs_on = target(options_.target);
    return {{std::move(plan), runs_on}, std::move(decisions_), std::move(passes_)};
  }

  runtime::Plan make_plan(core::Graph graph, size_t own_arguments) {
    std::vector<core::Decision> decisions;
    const PassSettings settings{widened_halves(options_), options_.precision,
                                traits_of(options_.target).streams};
    run_added({}, graph, decisions);
    for (const GraphPass& pass : kGraphPasses) {
      if (pass.applies(settings) && !is_off(pass)) {
        graph = timed(pass.name, [&] { return pass.run(graph, settings, decisions); });
        if (options_.verify) is_body_ || module_ ? core::verify_nodes(graph) : core::verify(graph);
      }
      run_added(pass.name, graph, decisions);
    }
    fuser::Fusion fusion = timed(
        "fuse", [&] { return fuser::fuse(graph, region_limits(traits_of(options_.target))); });
    if (options_.verify) {
      for (const fuser::FusedRegion& fused : fusion.regions) core::verify(fused.region.body);
    }
    std::ranges::move(fusion.decisions, std::back_inserter(decisions));
    if (records_) {
      std::ranges::move(decisions, std::back_inserter(decisions_));
    } else {
      for (const core::Decision& decision : decisions) log_decision(decision);
    }
    const CompileBody compile_body = [&](const core::Node& owner, size_t index) {
      const bool loops = owner.op == core::Op::loop;
      return Pipeline(options_, records_, {}, module_, true)
          .make_plan(core::pass_stored_dims(*owner.attrs.bodies[index]),
                     loops ? 1 + core::carried_of(owner) : 0);
    };
    const LowerOptions to{.own_arguments = own_arguments,
                          .dense_results = options_.dense_results && !is_body_,
                          .reshapes_are_views = options_.reshapes_are_views,
                          .checks = checks_,
                          .module = module_};
    return timed("plan", [&] { return lower(graph, std::move(fusion), compile_body, to); });
  }

  bool is_off(const GraphPass& pass) const {
    return options_.passes && !pass.is_needed && options_.passes->switches_off(pass.name);
  }

  // Runs what users want behind this pass of the list. That is verified in any case.
  void run_added(std::string_view after, core::Graph& graph,
                 std::vector<core::Decision>& decisions) {
    if (!options_.passes) return;
    const std::span<const AddedPasses::Entry> entries = options_.passes->entries();
    for (size_t k = 0; k < entries.size(); ++k) {
      if (entries[k].after != after) continue;
      try {
        core::Graph made =
            timed(entries[k].name, [&] { return options_.passes->run(k, graph, decisions); });
        check_added(entries[k].name, graph, made, !is_body_ && module_ == nullptr);
        graph = std::move(made);
      } catch (const core::Error& error) {
        options_.passes->refused(error);
        throw;
      }
    }
  }

  // Runs one pass and records what it took and made. Texts are made outside of the clock.
  template <typename Run>
  std::invoke_result_t<Run> timed(std::string_view name, Run run) {
    const auto begin = std::chrono::steady_clock::now();
    auto made = run();
    const auto end = std::chrono::steady_clock::now();
    PassRecord record{std::string(name), std::chrono::nanoseconds(end - begin).count(), {}};
    if (records_ || log_enabled(LogTopic::passes)) record.text = print(made);
    if (!records_) {
      log_pass(record);
      record.text = {};
    }
    passes_.push_back(std::move(record));
    return made;
  }

  const Options& options_;
  const bool records_, is_body_;
  const std::span<const SizeCheck> checks_;
  const ModuleNames* const module_;
  std::vector<core::Decision> decisions_;
  std::vector<PassRecord> passes_;
};

}  // namespace

std::span<const GraphPass> graph_passes() { return kGraphPasses; }

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

Compilation compile(const core::Graph& graph, const Options& options,
                    std::span<const SizeCheck> checks) {
  return Pipeline(options, false, checks).run(graph);
}

Compilation compile(const core::Graph& graph, const Options& options) {
  return compile(graph, options, {});
}

Compilation compile(const core::Module& module, const Options& options,
                    std::span<const SizeCheck> checks) {
  return Pipeline::run(module, options, false, checks);
}

Compilation describe(const core::Module& module, const Options& options) {
  return Pipeline::run(module, options, true, {});
}

}  // namespace dvm::driver
