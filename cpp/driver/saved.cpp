#include "driver/saved.h"

#include <algorithm>
#include <utility>

#include "core/dims/compare_text.h"
#include "core/error.h"
#include "driver/added_passes.h"
#include "driver/pipeline.h"
#include "runtime/plain_host.h"

namespace dvm::driver {

namespace {

std::shared_ptr<const AddedPasses> without(const std::vector<std::string>& off) {
  for (const std::string& name : off) {
    const auto may_be_off = [&](const Step& step) {
      return step.name == name && step.level != Level::needed;
    };
    if (std::ranges::any_of(steps(), may_be_off)) continue;
    core::fail(core::ErrorCode::unknown_name, "no step '" + name + "' may be left out");
  }
  auto passes = std::make_shared<AddedPasses>();
  passes->off = off;
  return passes;
}

}  // namespace

Options options_of(std::string_view target, std::string_view numerics, std::string_view precision,
                   const std::vector<std::string>& off) {
  Options options;
  options.target = traits_of(target).name;
  if (numerics != "default" && numerics != "strict") {
    core::fail(core::ErrorCode::unknown_name,
               "numerics is '" + std::string(numerics) + "'; there are default, strict");
  }
  if (numerics == "strict") options.numerics = Numerics::strict;
  const auto known = core::precision_from_text(precision);
  if (!known) {
    core::fail(core::ErrorCode::unknown_name,
               "precision is '" + std::string(precision) + "'; there are highest, high, medium");
  }
  options.precision = *known;
  if (!off.empty()) options.passes = without(off);
  return options;
}

std::vector<SizeCheck> checks_of(const core::Graph& graph,
                                 const std::vector<core::SavedCheck>& checks) {
  std::vector<SizeCheck> found;
  for (const auto& [left, compare, right] : checks) {
    const auto row = core::compare_from_text(compare);
    if (!row) core::fail(core::ErrorCode::text_syntax, "there is no comparison '" + compare + "'");
    found.push_back({*row, graph.dims().parse(left), graph.dims().parse(right)});
  }
  return found;
}

LoadedGraph load(const std::string& path, std::string_view target) {
  core::SavedGraph saved = core::open_graph(path);
  core::Graph& graph = saved.module.main;
  for (core::Value v = 0; v < graph.size(); ++v) {
    if (graph.node(v).attrs.name.empty()) continue;
    graph.supply(v, runtime::PlainHost::lent(*graph.node(v).attrs.values));
  }
  if (!target.empty()) saved.settings.target = target;
  const core::SavedSettings& settings = saved.settings;
  const Options options =
      options_of(settings.target, settings.numerics, settings.precision, settings.off);
  runtime::CompiledGraph compiled =
      compile(saved.module, options, checks_of(graph, settings.checks)).graph;
  return {std::move(saved.settings), std::move(compiled)};
}

}  // namespace dvm::driver
