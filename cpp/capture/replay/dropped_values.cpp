#include "capture/replay/dropped_values.h"

#include <algorithm>
#include <array>
#include <vector>

#include "capture/record/lifetimes.h"
#include "capture/record/old_values.h"

namespace dvm::capture {

namespace {

// What a register holds, or will hold when the effect runs: constants are made where they are
// first read.
PyObject* held_in(const Frame& f, int32_t reg) {
  if (f[reg] != nullptr) return f[reg];
  for (const Step& step : f.path->steps) {
    const int32_t* p = f.path->operands(step);
    if (step.op == StepOp::constant_ && p[0] == reg) return f.path->object(p[1]);
  }
  return nullptr;  // it is made behind the commit, and nobody has seen it yet
}

void add_step(const Frame& f, const Step& step, OldValues& old) {
  const int32_t* p = f.path->operands(step);
  switch (step.op) {
    case StepOp::set_attribute_:
    case StepOp::delete_attribute_:
      return old.add_attribute(held_in(f, p[0]), f.path->object(p[1]));
    case StepOp::set_item_:
    case StepOp::delete_item_:
      return old.add_item(f[p[0]], held_in(f, p[1]));
    case StepOp::set_variable_:
      return old.add_variable(f.path->object(p[0]), f.path->object(p[1]));
    case StepOp::set_cell_:
      return old.add_contents(f[p[0]]);
    case StepOp::list_replace_:
      return old.add_all(f[p[0]]);
    case StepOp::effect_: {  // a method of a container, mostly; other calls drop nothing
      const std::array arguments = {p[2] > 0 ? f[p[3]] : nullptr,
                                    p[2] > 1 ? held_in(f, p[4]) : nullptr};
      const auto count = static_cast<size_t>(std::min(p[2], 2));
      return old.add_call(held_in(f, p[1]), std::span(arguments).first(count));
    }
    default:
      return;
  }
}

bool may_drop(StepOp op) {
  switch (op) {
    case StepOp::set_attribute_:
    case StepOp::delete_attribute_:
    case StepOp::set_item_:
    case StepOp::delete_item_:
    case StepOp::set_variable_:
    case StepOp::set_cell_:
    case StepOp::list_replace_:
    case StepOp::effect_:
      return true;
    default:
      return false;
  }
}

}  // namespace

void note_drops(Path& path) {
  const auto commit = std::ranges::find(path.steps, StepOp::commit_, &Step::op);
  std::vector<int32_t> made;  // behind the commit: nobody has it
  for (auto step = commit; step != path.steps.end(); ++step) {
    if (step->op != StepOp::constant_) {
      for_each_register(path, *step, [&](int32_t reg, bool defines) {
        if (defines) made.push_back(reg);
      });
    }
    if (!may_drop(step->op)) continue;
    const int32_t* const p = path.operands(*step);
    const bool is_call = step->op == StepOp::effect_;
    if (is_call && p[2] == 0) continue;
    const int32_t object = is_call ? p[3] : p[0];
    const bool is_new =
        step->op != StepOp::set_variable_ && std::ranges::find(made, object) != made.end();
    if (!is_new) path.drops.push_back(static_cast<int32_t>(step - path.steps.begin()));
  }
}

bool drops_tell(const Frame& frame) {
  OldValues old;
  for (const int32_t step : frame.path->drops) {
    add_step(frame, frame.path->steps[static_cast<size_t>(step)], old);
  }
  PyErr_Clear();
  std::vector<PyObject*>& values = old.values();
  if (values.empty()) return false;
  // Registers hold some of them, too, and let go at the end.
  Lifetimes lifetimes;
  for (PyObject* const value : values) lifetimes.hold(value);
  std::ranges::sort(values);
  for (int32_t reg = 0; reg < frame.call.path->registers; ++reg) {
    if (std::ranges::binary_search(values, frame[reg])) lifetimes.hold(frame[reg]);
  }
  return !lifetimes.look().empty();
}

}  // namespace dvm::capture
