// The pipeline: Graph -> Plan, as one readable list of named passes (compile.cpp). Timing, printing
// and verifying between passes happen here and nowhere else.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/graph/module.h"
#include "core/graph/region.h"
#include "core/verifies.h"
#include "runtime/compiled_graph.h"
#include "vm/target/target.h"

namespace dvm::driver {

class AddedPasses;  // driver/added_passes.h

enum class Numerics : uint8_t { widened, strict };  // halves computed in f32, or rounded at each op

struct Options {
  std::string target = "cpu";
  Numerics numerics = Numerics::widened;  // sim targets are strict by nature
  core::Precision precision = core::Precision::highest;
  // Whether results that are transposes of others are better dense, in memory of their own.
  bool dense_results = false;
  std::shared_ptr<const AddedPasses> passes = nullptr;  // none: those of the list alone
  // Reshapes are views, as those that a library made were: a call whose strides allow none is given
  // up. Else they are copies then.
  bool reshapes_are_views = false;
  bool verify = core::verifies();  // run the verifiers between passes
};

enum class Stage : uint8_t { prepare, optimise, partition, build };
std::string_view to_string(Stage stage);

// A step of the list, or what users added to it.
struct PassRecord {
  Stage stage;
  std::string name;
  int64_t nanoseconds;
  // Of describe() alone: places where it found what it looks for, those it changed, and what it
  // made.
  int64_t matches = 0, effects = 0;
  std::string text = {};
};

struct Compilation {
  runtime::CompiledGraph graph;
  std::vector<core::Decision> decisions;  // of describe() alone
  std::vector<PassRecord> passes;
};
Compilation compile(const core::Graph& graph, const Options& options);
// The same once more for reports, with the texts and decisions that would take more memory than the
// Plan. The logs are told nothing.
Compilation describe(const core::Module& module, const Options& options);

// A Graph behind the passes that come before the list, what they did, and what is left to do: so
// they are run once, whatever is then made of it.
struct FirstDone {
  core::Graph graph;
  Options rest;
  std::vector<core::Decision> decisions;
  std::vector<PassRecord> passes;
};
FirstDone run_first(core::Graph graph, const Options& options);

// The targets, by name of targets.def; created once per process. Throws UnsupportedError.
vm::Target& target(std::string_view name);

// One step on a text form, for golden tests, tools and notebooks: `pass` is a name of pass_names().
// Graph passes: graph text -> graph text; "fuse": graph -> regions; "plan": graph -> plan;
// "tile"/"encode" (options: target and concrete sizes): graph -> tiling / bytecode of each region.
// "..NAME" is what all steps up to that one make of a graph. What users added runs in its places
// before those, plan, tile and encode.
std::string run_pass(std::string_view pass, std::string_view options, std::string_view input,
                     std::shared_ptr<const AddedPasses> added = nullptr);
std::vector<std::string> pass_names();
// Questions about a graph as the fuser was given it (the text of the last pass before "fuse"): what
// each Region computes, what it reads and writes (in the order of its Programs' globals), and
// whether two nodes share one, on that target.
std::vector<std::vector<core::Value>> region_members(std::string_view graph,
                                                     std::string_view target);
std::vector<std::vector<core::Value>> region_operands(std::string_view graph,
                                                      std::string_view target);
core::Decision explain_pair(std::string_view graph, std::string_view target, core::Value a,
                            core::Value b);

}  // namespace dvm::driver
