#include "capture/path_tree.h"

#include <algorithm>

namespace dvm::capture {

namespace {

void compile_segment(Segment& segment, const driver::Options& options) {
  auto& outputs = segment.graph.outputs;
  outputs.clear();
  for (Segment::Output& output : segment.outputs) {
    auto found = std::find(outputs.begin(), outputs.end(), output.value);
    if (found == outputs.end()) found = outputs.insert(outputs.end(), output.value);
    output.result = static_cast<int32_t>(found - outputs.begin());
  }
  segment.compilation = driver::compile(segment.graph, options);
}

// From the step on the original runs.
void end_in_fallback(Path& path, size_t step, const core::Error& error) {
  Ref reason = Ref::steal(PyUnicode_FromString(error.what()));
  PyErr_Clear();
  if (!reason) reason = Ref::borrow(Py_None);
  const auto first = static_cast<uint32_t>(path.pool.size());
  path.pool.push_back(static_cast<int32_t>(path.objects.size()));
  path.pool.push_back(error.loc() ? static_cast<int32_t>(path.locations.size()) : -1);
  path.objects.push_back(std::move(reason));
  if (error.loc()) path.locations.push_back(error.loc());
  path.steps.resize(step);
  path.steps.push_back({StepOp::fallback_, -1, first, nullptr});
}

void compile(Path& path) {
  for (size_t i = 0; i < path.steps.size(); ++i) {
    if (path.steps[i].op != StepOp::run_) continue;
    const auto index = static_cast<size_t>(path.operands(path.steps[i])[0]);
    try {
      compile_segment(*path.segments[index], path.options);
    } catch (const core::Error& error) {
      if (error.code() == core::ErrorCode::internal) throw;
      end_in_fallback(path, i, error);
    }
  }
}

}  // namespace

void install(std::unique_ptr<Path> path, std::vector<std::unique_ptr<Path>>& paths,
             std::vector<Path*>& roots, [[maybe_unused]] bool may_share) {
  compile(*path);
  roots.push_back(path.get());
  paths.push_back(std::move(path));
}

}  // namespace dvm::capture
