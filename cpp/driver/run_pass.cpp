// Passes on text, by name: what golden tests, tools and notebooks call.
#include <algorithm>
#include <charconv>
#include <map>
#include <sstream>

#include "core/error.h"
#include "driver/compile.h"
#include "driver/lower.h"
#include "driver/pipeline.h"
#include "vm/encode.h"

namespace dvm::driver {

namespace {

// "target=ascend910b3 numerics=strict s0=32": what is no option is the size of a symbol.
struct PassOptions {
  Options options;
  std::map<std::string, int64_t, std::less<>> sizes;

  explicit PassOptions(std::string_view text) {
    std::istringstream words{std::string(text)};
    for (std::string word; words >> word;) {
      const size_t equals = word.find('=');
      if (equals == std::string::npos) bad(word);
      const std::string name = word.substr(0, equals), value = word.substr(equals + 1);
      if (name == "target") {
        options.target = value;
      } else if (name == "numerics") {
        if (value != "strict" && value != "widened") bad(word);
        options.numerics = value == "strict" ? Numerics::strict : Numerics::widened;
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
               "option '" + word + "' is neither target=, numerics= nor symbol=size");
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

// One call of a Kernel on dense arrays.
class DenseCall {
 public:
  DenseCall(const runtime::PlanRegion& region, const std::vector<int64_t>& symbols)
      : scalars_(region.kernel.scalars.size()) {
    const core::Graph& body = region.region.body;
    for (core::Dim dim : region.kernel.dims) dims_.push_back(size(dim, symbols));
    int operand = 0;
    auto add = [&](const core::Type& type) {
      int64_t stride = core::byte_size(type.dtype);
      for (int d = type.rank() - 1; d >= 0; --d) {
        strides_[operand][region.kernel.rank - type.rank() + d] = stride;
        stride *= std::max<int64_t>(size(type.shape[static_cast<size_t>(d)], symbols), 1);
      }
      ++operand;
    };
    for (const core::Node& node : body.nodes()) {
      if (node.op == core::Op::input) add(node.type);
    }
    for (core::Value v : body.outputs) add(body.type(v));
  }

  vm::Binding binding() const { return {dims_.data(), scalars_.data(), strides_}; }

 private:
  static int64_t size(core::Dim dim, const std::vector<int64_t>& symbols) {
    const std::optional<int64_t> value = core::evaluate(dim, symbols);
    if (!value || *value < 0 || *value > int64_t{1} << 40) {
      core::fail(core::ErrorCode::shape_mismatch,
                 "with these sizes " + core::to_string(dim) + " is no size");
    }
    return *value;
  }

  std::vector<int64_t> dims_;
  std::vector<core::Scalar> scalars_;
  int64_t strides_[vm::kMaxGlobals][core::kMaxRank] = {};
};

std::string describe_tiles(const vm::Program& program) {
  const vm::Header& header = program.header();
  std::ostringstream out;
  out << "tiles " << header.tile_count << " (";
  for (size_t d = 0; d < program.grid().size(); ++d) out << (d ? " x " : "") << program.grid()[d];
  out << "), body " << header.body_tile << ", tail " << header.body_tile - header.tail_tile_diff
      << ", cores " << header.block_dim << ", local " << header.local_bytes << " bytes\n";
  return out.str();
}

std::string each_program(const core::Graph& graph, const PassOptions& options,
                         std::string (*describe)(const vm::Program&)) {
  const Compilation compilation = compile(graph, options.options);
  const std::vector<int64_t> symbols = options.symbols(graph.dims());
  const vm::TargetTraits& traits = *vm::find_target(options.options.target);
  vm::Arena arena;
  std::string text;
  for (const runtime::PlanRegion& region : compilation.plan.regions) {
    arena.reset();
    const DenseCall call(region, symbols);
    const vm::Compiled compiled = vm::encode(region.kernel, call.binding(), traits, arena);
    for (int stage = 0; stage < compiled.stage_count; ++stage) {
      text += region.region.name + " stage " + std::to_string(stage) + ": ";
      text += describe(compiled.stages[stage]);
    }
  }
  return text;
}

}  // namespace

std::string run_pass(std::string_view pass, std::string_view options_text, std::string_view input) {
  const PassOptions options(options_text);
  const core::Graph graph = core::parse_graph(input);
  for (const GraphPass& known : graph_passes()) {
    if (known.name == pass) return core::print(known.run(graph));
  }
  if (pass == "fuse") return print(fuser::fuse(graph, region_limits()));
  if (pass == "plan") return runtime::print(compile(graph, options.options).plan);
  if (pass == "tile") return each_program(graph, options, describe_tiles);
  if (pass == "encode") {
    return each_program(graph, options,
                        [](const vm::Program& p) { return "\n" + vm::disassemble(p); });
  }
  std::string names;
  for (const std::string& name : pass_names()) names += (names.empty() ? "" : ", ") + name;
  core::fail(core::ErrorCode::unsupported,
             "no pass is named '" + std::string(pass) + "'; there are " + names);
}

std::vector<std::string> pass_names() {
  std::vector<std::string> names;
  for (const GraphPass& pass : graph_passes()) names.emplace_back(pass.name);
  for (const char* name : {"fuse", "plan", "tile", "encode"}) names.emplace_back(name);
  return names;
}

}  // namespace dvm::driver
