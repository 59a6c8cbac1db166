#include "driver/compile.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <optional>
#include <utility>

#include "core/error.h"
#include "core/graph/bodies.h"
#include "core/graph/module.h"
#include "driver/added_passes.h"
#include "driver/logs.h"
#include "driver/pipeline.h"
#include "driver/size_checks.h"

namespace dvm::driver {

namespace {

// Those that come behind steps of the list.
class LaterPasses : public AddedPasses {
 public:
  explicit LaterPasses(std::shared_ptr<const AddedPasses> all) : all_(std::move(all)) {
    off = all_->off;
    resumes_behind = all_->resumes_behind;
    for (size_t k = 0; k < all_->entries().size(); ++k) {
      if (all_->entries()[k].after.empty()) continue;
      entries_.push_back(all_->entries()[k]);
      places_.push_back(k);
    }
  }
  std::span<const Entry> entries() const override { return entries_; }
  core::Graph run(size_t index, const core::Graph& graph,
                  std::vector<core::Decision>& decisions) const override {
    return all_->run(places_[index], graph, decisions);
  }
  void refused(const core::Error& error) const override { all_->refused(error); }

 private:
  std::shared_ptr<const AddedPasses> all_;
  std::vector<Entry> entries_;
  std::vector<size_t> places_;
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
      functions.push_back(of.make_plan(module.functions[k].graph, 0));
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

  FirstDone run_first(core::Graph graph) {
    run_added({}, Stage::prepare, graph, decisions_);
    for (const core::Decision& decision : decisions_) log_decision(decision);
    for (const PassRecord& pass : passes_) log_pass(pass);
    Options rest = options_;
    rest.passes = std::make_shared<LaterPasses>(options_.passes);
    return {std::move(graph), std::move(rest), std::move(decisions_), std::move(passes_)};
  }

  // What there is behind that step; else all of them run.
  Build build(core::Graph graph, size_t own_arguments, const Step* last = nullptr) {
    Build build{std::move(graph)};
    std::vector<core::Decision> decisions;
    const vm::TargetTraits& target = traits_of(options_.target);
    const StepSettings settings{.halves = widened_halves(options_),
                                .precision = options_.precision,
                                .reads_windows = target.streams,
                                .is_body = is_body_,
                                .limits = region_limits(target),
                                .lower = {.own_arguments = own_arguments,
                                          .dense_results = options_.dense_results && !is_body_,
                                          .reshapes_are_views = options_.reshapes_are_views,
                                          .checks = checks_,
                                          .module = module_},
                                .compile_body = [this](const core::Node& owner, size_t index) {
                                  const bool loops = owner.op == core::Op::loop;
                                  return Pipeline(options_, records_, {}, module_, true)
                                      .make_plan(*owner.attrs.bodies[index],
                                                 loops ? 1 + core::carried_of(owner) : 0);
                                }};
    // Bodies are compiled from the beginning, whatever was done with the Graph around them.
    const std::string_view done =
        options_.passes && !is_body_ ? options_.passes->resumes_behind : std::string_view();
    bool is_done = !done.empty();
    if (!is_done) run_added({}, Stage::prepare, build.graph, decisions);
    for (const Step& step : steps()) {
      if (!is_done && step.applies(settings) && !is_off(step)) {
        recorded(std::string(step.name), step.stage, build, decisions,
                 [&] { step.run(build, settings, decisions); });
        if (options_.verify) verify(build, step.stage, is_whole());
      }
      is_done &= step.name != done;
      if (&step == last) break;
      if (!is_done && step.makes_graph()) {
        run_added(step.name, step.stage, build.graph, decisions);
      }
    }
    if (records_) {
      std::ranges::move(decisions, std::back_inserter(decisions_));
    } else {
      for (const core::Decision& decision : decisions) log_decision(decision);
    }
    return build;
  }

 private:
  Compilation finish(runtime::Plan plan) {
    if (options_.verify) runtime::verify(plan);
    vm::Target& runs_on = target(options_.target);
    return {{std::move(plan), runs_on}, std::move(decisions_), std::move(passes_)};
  }

  runtime::Plan make_plan(core::Graph graph, size_t own_arguments) {
    return std::move(build(std::move(graph), own_arguments).plan);
  }

  bool is_whole() const { return !is_body_ && module_ == nullptr; }
  bool is_off(const Step& step) const {
    return options_.passes &&
           std::ranges::find(options_.passes->off, step.name) != options_.passes->off.end();
  }

  // Runs what users want behind this pass of the list. That is verified in any case.
  void run_added(std::string_view after, Stage stage, core::Graph& graph,
                 std::vector<core::Decision>& decisions) {
    if (!options_.passes) return;
    const std::span<const AddedPasses::Entry> entries = options_.passes->entries();
    for (size_t k = 0; k < entries.size(); ++k) {
      if (entries[k].after != after) continue;
      try {
        Build made{graph};
        recorded(entries[k].name, stage, made, decisions,
                 [&] { made.graph = options_.passes->run(k, graph, decisions); });
        check_added(entries[k].name, graph, made.graph, is_whole());
        graph = std::move(made.graph);
      } catch (const core::Error& error) {
        options_.passes->refused(error);
        throw;
      }
    }
  }

  // Runs a step and records what it took and made. All but the step is done outside of the clock.
  template <typename Run>
  void recorded(std::string name, Stage stage, const Build& build,
                const std::vector<core::Decision>& decisions, Run run) {
    const bool has_text = records_ || log_enabled(LogTopic::passes);
    const bool counts = records_ || log_enabled(LogTopic::perf);
    const size_t decided = decisions.size();
    std::optional<core::Graph> before;
    if (counts) before = build.graph;
    const auto begin = std::chrono::steady_clock::now();
    run();
    const auto end = std::chrono::steady_clock::now();
    PassRecord record{.stage = stage,
                      .name = std::move(name),
                      .nanoseconds = std::chrono::nanoseconds(end - begin).count()};
    if (has_text) record.text = print(build, stage);
    if (counts) {
      count_changes(record, *before, build.graph, std::span(decisions).subspan(decided));
    }
    if (!records_) {
      log_pass(record);
      record.text = {};
    }
    passes_.push_back(std::move(record));
  }

  const Options& options_;
  const bool records_, is_body_;
  const std::span<const SizeCheck> checks_;
  const ModuleNames* const module_;
  std::vector<core::Decision> decisions_;
  std::vector<PassRecord> passes_;
};

}  // namespace

Build build_until(const core::Graph& graph, const Options& options, const Step& last) {
  return Pipeline(options, true, {}).build(graph, 0, &last);
}

FirstDone run_first(core::Graph graph, const Options& options) {
  const bool has_first = options.passes && options.passes->resumes_behind.empty();
  if (!has_first) return {std::move(graph), options, {}, {}};
  return Pipeline(options, true, {}).run_first(std::move(graph));
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
