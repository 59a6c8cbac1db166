#include "bindings/reports.h"

namespace py = pybind11;

namespace dvm::bindings {

py::dict decision_of(const core::Decision& decision) {
  py::dict dict;
  dict["what"] = decision.what;
  dict["verdict"] = decision.verdict;
  dict["rule"] = decision.rule;
  dict["reason"] = decision.reason;
  dict["cost"] = decision.cost;
  dict["location"] = core::to_string(decision.loc);
  return dict;
}

py::dict describe_graph(const core::Graph& graph, const driver::Options& options,
                        const driver::Compilation& compilation) {
  const driver::Compilation described = driver::describe(graph, options);
  py::list decisions, passes;
  for (const core::Decision& decision : described.decisions) {
    py::dict record = decision_of(decision);
    record["graph"] = 0;
    decisions.append(record);
  }
  for (size_t k = 0; k < described.passes.size(); ++k) {
    const driver::PassRecord& pass = described.passes[k];
    passes.append(py::make_tuple(pass.name, compilation.passes[k].nanoseconds, pass.text));
  }
  py::dict dict;
  dict["reason"] = "";
  dict["target"] = options.target;
  dict["opaque_calls"] = py::list();
  dict["graph"] = core::print(graph);
  dict["plan"] = runtime::print(compilation.graph.plan());
  dict["decisions"] = decisions;
  dict["passes"] = passes;
  return dict;
}

}  // namespace dvm::bindings
