// Passes on text, by name: what golden tests, tools and notebooks call.
#include <algorithm>
#include <charconv>
#include <map>

#include "core/error.h"
#include "driver/added_passes.h"
#include "driver/compile.h"
#include "driver/dense_call.h"
#include "driver/pipeline.h"
#include "vm/encode/encode.h"
#include "vm/tile/tiler.h"

namespace dvm::driver {

namespace {

// "target=ascend910b3 numerics=strict s0=32": what is no option is the size of a symbol.
struct PassOptions {
  Options options;
  std::map<std::string, int64_t, std::less<>> sizes;

  explicit PassOptions(std::string_view text) {
    constexpr std::string_view kSpaces = " \t\n";
    while (true) {
      text.remove_prefix(std::min(text.find_first_not_of(kSpaces), text.size()));
      if (text.empty()) break;
      const std::string word(text.substr(0, text.find_first_of(kSpaces)));
      text.remove_prefix(word.size());
      const size_t equals = word.find('=');
      if (equals == std::string::npos) bad(word);
      const std::string name = word.substr(0, equals), value = word.substr(equals + 1);
      if (name == "target") {
        options.target = value;
      } else if (name == "numerics") {
        if (value != "strict" && value != "widened") bad(word);
        options.numerics = value == "strict" ? Numerics::strict : Numerics::widened;
      } else if (name == "precision") {
        const auto precision = core::precision_from_text(value);
        if (!precision) bad(word);
        options.precision = *precision;
      } else {
        int64_t size = 0;
        const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), size);
        if (error != std::errc() || end != value.data() + value.size() || size < 0) bad(word);
        sizes[name] = size;
      }
    }
  }

  [[noreturn]] static void bad(const std::string& word) {
    core::fail(core::ErrorCode::text_syntax,
               "option '" + word + "' is none of target=, numerics=, precision= and symbol=size");
  }

  std::vector<int64_t> symbols(const core::DimContext& dims) const {
    std::vector<int64_t> values;
    for (int i = 0; i < dims.symbol_count(); ++i) {
      const auto found = sizes.find(dims.symbol_info(i).name);
      if (found == sizes.end()) {
        core::fail(core::ErrorCode::text_syntax,
                   "the options name no size of symbol " + dims.symbol_info(i).name);
      }
      values.push_back(found->second);
    }
    return values;
  }
};

// Everything one Kernel becomes on dense arrays of these sizes.
using Describe = std::string (*)(const vm::Kernel&, const vm::Binding&, const vm::TargetTraits&);

std::string list_of(std::span<const int64_t> items) {
  std::string text = "[";
  for (const int64_t item : items) text += (text.size() > 1 ? ", " : "") + std::to_string(item);
  return text + "]";
}

std::string describe_tiles(const vm::Kernel& kernel, const vm::Binding& binding,
                           const vm::TargetTraits& target) {
  vm::Arena arena;
  std::vector<vm::Tiling> tilings;
  vm::encode(kernel, binding, target, arena, nullptr, nullptr, &tilings);
  std::string text;
  for (const vm::Tiling& tiling : tilings) {
    const auto rank = static_cast<size_t>(tiling.rank);
    const int64_t full = tiling.tile[tiling.split];
    text += "  sizes " + list_of({tiling.sizes, rank}) + ", tile " + list_of({tiling.tile, rank}) +
            ", tail " +
            std::to_string(tiling.sizes[tiling.split] - (tiling.tiles(tiling.split) - 1) * full) +
            " of dim " + std::to_string(tiling.split) + ", " + std::to_string(tiling.tile_count) +
            " tiles of " + std::to_string(tiling.tile_elements) + " elements\n";
  }
  return text;
}

std::string describe_programs(const vm::Kernel& kernel, const vm::Binding& binding,
                              const vm::TargetTraits& target) {
  vm::Arena arena;
  const vm::Compiled compiled = vm::encode(kernel, binding, target, arena);
  std::string text;
  for (int k = 0; k < compiled.stage_count; ++k) text += vm::disassemble(compiled.stages[k]);
  return text;
}

std::string each_region(const core::Graph& graph, const PassOptions& options, Describe describe) {
  const Compilation compilation = compile(graph, options.options);
  const std::vector<int64_t> symbols = options.symbols(graph.dims());
  const vm::TargetTraits& target = *vm::find_target(options.options.target);
  std::string text;
  for (const runtime::PlanRegion& region : compilation.graph.plan().regions) {
    const DenseCall call(region.region.body, region.kernel, symbols);
    text += region.region.name + ":\n" + describe(region.kernel, call.binding(), target);
  }
  return text;
}

// Whether or not it applies.
std::string alone(const Step& step, const core::Graph& graph, const Options& options) {
  Build build{graph};
  std::vector<core::Decision> decisions;
  const StepSettings settings{.halves = core::kHalves,
                              .precision = options.precision,
                              .reads_windows = false,
                              .is_body = true,
                              .limits = region_limits(traits_of(options.target))};
  step.run(build, settings, decisions);
  std::string text = print(build, step.stage);
  if (!step.makes_graph()) return text;
  for (const core::Decision& decision : decisions) {
    text += "# " + decision.what + ": " + decision.verdict + ", " + decision.rule + "\n";
  }
  return text;
}

}  // namespace

std::string run_pass(std::string_view pass, std::string_view options_text, std::string_view input,
                     std::shared_ptr<const AddedPasses> added) {
  PassOptions options(options_text);
  const core::Graph graph = core::parse_graph(input);
  options.options.passes = std::move(added);
  const bool is_prefix = pass.starts_with("..");
  const std::string_view name = is_prefix ? pass.substr(2) : pass;
  for (const Step& step : steps()) {
    if (step.name != name) continue;
    if (is_prefix) return print(build_until(graph, options.options, step), step.stage);
    if (step.stage == Stage::build) break;
    return alone(step, graph, options.options);
  }
  if (pass == "plan") return runtime::print(compile(graph, options.options).graph.plan());
  if (pass == "tile") return each_region(graph, options, describe_tiles);
  if (pass == "encode") return each_region(graph, options, describe_programs);
  std::string names;
  for (const std::string& known : pass_names()) names += (names.empty() ? "" : ", ") + known;
  core::fail(core::ErrorCode::unsupported,
             "no pass is named '" + std::string(pass) + "'; there are " + names);
}

std::vector<std::vector<core::Value>> region_members(std::string_view graph,
                                                     std::string_view target) {
  std::vector<std::vector<core::Value>> members;
  const fuser::Fusion fusion =
      fuser::fuse(core::parse_graph(graph), region_limits(traits_of(target)));
  for (const fuser::FusedRegion& fused : fusion.regions) members.push_back(fused.members);
  return members;
}

std::vector<std::vector<core::Value>> region_operands(std::string_view graph,
                                                      std::string_view target) {
  std::vector<std::vector<core::Value>> operands;
  const fuser::Fusion fusion =
      fuser::fuse(core::parse_graph(graph), region_limits(traits_of(target)));
  for (const fuser::FusedRegion& fused : fusion.regions) {
    operands.push_back(fused.inputs);
    operands.back().insert(operands.back().end(), fused.outputs.begin(), fused.outputs.end());
  }
  return operands;
}

core::Decision explain_pair(std::string_view graph, std::string_view target, core::Value a,
                            core::Value b) {
  return fuser::explain_pair(core::parse_graph(graph), region_limits(traits_of(target)), a, b);
}

std::vector<std::string> pass_names() {
  std::vector<std::string> names;
  for (const Step& step : steps()) names.emplace_back(step.name);
  for (const char* name : {"tile", "encode"}) names.emplace_back(name);
  return names;
}

}  // namespace dvm::driver
