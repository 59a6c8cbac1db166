// Fuzzes the readers of Graph, Plan, Dim and calibration text. What they accept has to read back
// the same.
#include <stdexcept>

#include "core/graph_generator.h"
#include "core/module_generator.h"
#include "fuzz/fuzz_main.h"
#include "runtime/plan_generator.h"
#include "vm/target/calibration.h"

namespace dvm {
namespace {

void require(bool same, const char* what) {
  if (!same) throw std::logic_error(what);
}

void read_graph(std::string_view text) {
  const core::Graph graph = core::parse_graph(text);
  require(core::equal(core::parse_graph(core::print(graph)), graph),
          "the Graph reads back changed");
}

void read_module(std::string_view text) {
  const core::Module module = core::parse_module(text);
  require(core::equal(core::parse_module(core::print(module)), module),
          "the Module reads back changed");
}

void read_plan(std::string_view text) {
  const runtime::Plan plan = runtime::parse_plan(text);
  require(runtime::equal(runtime::parse_plan(runtime::print(plan)), plan),
          "the Plan reads back changed");
}

void read_dim(std::string_view text) {
  const auto context = core::DimContext::create();
  const core::Dim dim = context->parse(text);
  require(context->parse(core::to_string(dim)) == dim, "the Dim reads back changed");
}

void read_calibration(std::string_view text) {
  const std::string once = vm::print(vm::parse_calibration(text));
  require(vm::print(vm::parse_calibration(once)) == once, "the calibration reads back changed");
}

std::string generate_graph(fuzz::Random& random) {
  return core::print(test::generate_graph(random()).graph);
}

std::string generate_module(fuzz::Random& random) {
  return core::print(test::generate_module(random()).module);
}

std::string generate_plan(fuzz::Random& random) {
  return runtime::print(test::PlanGenerator(random()).run());
}

// The first size expression of a generated Graph that is more than a symbol, or any text of one.
std::string generate_dim(fuzz::Random& random) {
  const core::Graph graph = test::generate_graph(random()).graph;
  for (const core::Node& node : graph.nodes()) {
    for (const core::Dim dim : node.type.shape) {
      if (!dim.is_symbol() && !dim.as_constant()) return core::to_string(dim);
    }
  }
  return "floordiv(s0*s1 + 3, 4) + max(s0, bcast(s1, s2)) - mod(s2, 5)";
}

// Values within the bounds of each constant, of some of them.
std::string generate_calibration(fuzz::Random& random) {
  vm::Calibration calibration{"avx512 1234 some processor", {}};
  vm::for_each_cost(calibration.table, [&](const vm::CostEntry& entry, double& value) {
    const double share = static_cast<double>(random() % 1000) / 1000;
    if (random() % 2 == 0) value = entry.least + share * (entry.most - entry.least);
  });
  return vm::print(calibration);
}

}  // namespace
}  // namespace dvm

int main(int argc, char** argv) {
  using namespace dvm;
  const fuzz::Reader readers[] = {{"graph-text", generate_graph, read_graph},
                                  {"module-text", generate_module, read_module},
                                  {"plan-text", generate_plan, read_plan},
                                  {"dim-text", generate_dim, read_dim},
                                  {"calibration", generate_calibration, read_calibration}};
  return fuzz::fuzz_main(argc, argv, readers);
}
