#include "capture/replay/numbers/changes.h"

#include <algorithm>
#include <utility>

#include "capture/replay/loop.h"

namespace dvm::capture::numbers {

namespace {

bool has_step(const std::vector<std::unique_ptr<Path>>& paths, StepOp op) {
  return std::ranges::any_of(paths, [&](const auto& path) {
    return std::ranges::any_of(path->steps, [&](const Step& step) { return step.op == op; });
  });
}

// In a turn of these paths, or of loops within. A loop of a function that calls itself is within
// itself: those that were met are not looked at again.
bool changes_lists(const std::vector<std::unique_ptr<Path>>& paths, std::vector<const Loop*>& met) {
  const auto is_change = [&](const Path& path, const Step& step) {
    if (step.op == StepOp::effect_) return true;
    if (step.op != StepOp::loop_) return false;
    const Loop& loop = loop_of(path.object(path.operands(step)[1]));
    if (std::ranges::find(met, &loop) != met.end()) return false;
    met.push_back(&loop);
    return changes_lists(loop.paths(), met);
  };
  return std::ranges::any_of(paths, [&](const auto& path) {
    return std::ranges::any_of(path->steps,
                               [&](const Step& step) { return is_change(*path, step); });
  });
}

}  // namespace

const Path& root_of(const Path& path) {
  const Path* root = &path;
  while (root->parent != nullptr) root = root->parent;
  return *root;
}

std::vector<TreeStep> all_steps(const Path& path) {
  std::vector<std::pair<const Path*, size_t>> way{{&path, path.steps.size()}};
  while (way.back().first->parent != nullptr) {
    const Path& last = *way.back().first;
    way.push_back({last.parent, static_cast<size_t>(last.parent_step)});
  }
  std::ranges::reverse(way);
  std::vector<TreeStep> steps;
  for (const auto& [each, end] : way) {
    for (size_t i = 0; i < end; ++i) steps.push_back({each, &each->steps[i]});
  }
  return steps;
}

Returned returned_by(const Path& path) {
  const int32_t registers = root_of(path).registers;
  Returned found{std::vector<int32_t>(static_cast<size_t>(registers), -1), {}};
  std::vector<std::vector<int32_t>> tuples(static_cast<size_t>(registers));
  std::vector<PyObject*> constants(static_cast<size_t>(registers));
  for (const auto& [holder, step] : all_steps(path)) {
    const int32_t* const p = holder->operands(*step);
    if (step->op == StepOp::argument_) found.arguments[static_cast<size_t>(p[0])] = p[1];
    if (step->op == StepOp::tuple_) tuples[static_cast<size_t>(p[0])] = {p + 2, p + 2 + p[1]};
    if (step->op == StepOp::constant_) constants[static_cast<size_t>(p[0])] = holder->object(p[1]);
    if (step->op == StepOp::return_) found.registers = tuples[static_cast<size_t>(p[0])];
  }
  if (!found.registers.empty()) {
    found.tag = constants[static_cast<size_t>(found.registers[0])];
    found.registers.erase(found.registers.begin());
  }
  return found;
}

Changes changes_of(const std::vector<std::unique_ptr<Path>>& paths, int32_t variables,
                   const std::vector<int32_t>& carried) {
  Changes found{std::vector<bool>(static_cast<size_t>(variables) + 1), carried};
  found.slots.back() = true;
  for (const auto& path : paths) {
    const Returned returned = returned_by(*path);
    if (returned.tag == nullptr || PyLong_AsLong(returned.tag) >= 0) continue;
    for (size_t k = 0; k < carried.size(); ++k) {
      const int32_t from = returned.arguments[static_cast<size_t>(returned.registers[k])];
      if (from != carried[k]) found.slots[static_cast<size_t>(carried[k])] = true;
    }
  }
  std::vector<const Loop*> met;
  found.changes_lists = changes_lists(paths, met);
  found.needs_attempt = has_step(paths, StepOp::loop_) || has_step(paths, StepOp::effect_) ||
                        has_step(paths, StepOp::call_random_);
  return found;
}

}  // namespace dvm::capture::numbers
