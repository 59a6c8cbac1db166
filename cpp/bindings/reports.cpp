#include "bindings/reports.h"

#include <algorithm>

namespace py = pybind11;

namespace dvm::bindings {

namespace {

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

}  // namespace

void GraphReport::add(const core::Module& module, const driver::Options& options,
                      const driver::Compilation& compilation) {
  const driver::Compilation described = driver::describe(module, options);
  graphs_ += core::print(module);
  plans_ += runtime::print(compilation.graph.plan());
  add_decisions(described.decisions);
  ++count_;
  // The times are those of the call that captured it.
  const size_t passes = std::min(described.passes.size(), compilation.passes.size());
  for (size_t k = 0; k < passes; ++k) {
    add_pass(described.passes[k], compilation.passes[k].nanoseconds);
  }
}

void GraphReport::add_first(const driver::FirstDone& first) {
  add_decisions(first.decisions);
  for (const driver::PassRecord& pass : first.passes) add_pass(pass, pass.nanoseconds);
}

void GraphReport::add_decisions(const std::vector<core::Decision>& decisions) {
  for (const core::Decision& decision : decisions) {
    py::dict record = decision_of(decision);
    record["graph"] = count_;
    decisions_.append(record);
  }
}

void GraphReport::add_pass(const driver::PassRecord& pass, int64_t nanoseconds) {
  passes_.append(py::make_tuple(pass.name, nanoseconds, pass.text,
                                std::string(driver::to_string(pass.stage)), pass.matches,
                                pass.effects));
}

void GraphReport::write(py::dict& record) const {
  record["graph"] = graphs_;
  record["plan"] = plans_;
  record["decisions"] = decisions_;
  record["passes"] = passes_;
}

py::dict describe_graph(const core::Module& module, const driver::Options& options,
                        const driver::Compilation& compilation, const driver::FirstDone* first) {
  py::dict record;
  record["reason"] = "";
  record["target"] = options.target;
  record["opaque_calls"] = py::list();
  GraphReport report;
  if (first != nullptr) report.add_first(*first);
  report.add(module, options, compilation);
  report.write(record);
  return record;
}

}  // namespace dvm::bindings
