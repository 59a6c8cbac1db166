#include "capture/path/forget_early.h"

#include <algorithm>

namespace dvm::capture {

namespace {

// Registers of what may be large: arrays of segments, results of calls and operators.
class Computed {
 public:
  explicit Computed(const Path& path) {
    size_t end = path.steps.size();
    for (const Path* part = &path; part != nullptr; part = part->parent) {
      for (size_t i = 0; i < end; ++i) add(*part, part->steps[i]);
      end = static_cast<size_t>(std::max(part->parent_step, 0));
    }
  }
  bool operator[](int32_t reg) const {
    return static_cast<size_t>(reg) < computed_.size() && computed_[static_cast<size_t>(reg)];
  }

 private:
  void add(const Path& path, const Step& step) {
    const int32_t* p = path.operands(step);
    switch (step.op) {
      case StepOp::run_:
        for (const auto& output : path.segments[static_cast<size_t>(p[0])]->outputs) {
          if (output.kind == ResultKind::array) set(output.reg);
        }
        break;
      case StepOp::call_:
      case StepOp::call_random_:
      case StepOp::operator_:
      case StepOp::own_:
        set(p[0]);
        break;
      default:
        break;
    }
  }
  void set(int32_t reg) {
    const auto index = static_cast<size_t>(reg);
    if (index >= computed_.size()) computed_.resize(index + 1);
    computed_[index] = true;
  }

  std::vector<bool> computed_;
};

bool is_end(const Step& step) { return info(step.op).category == Category::end; }

}  // namespace

void forget_early(Path& path) {
  const Computed computed(path);
  // Backwards, so that the first reader met is the last one.
  std::vector<Step> steps;
  std::vector<int32_t> read;
  const auto commit = std::find_if(path.steps.begin(), path.steps.end(),
                                   [](const Step& s) { return s.op == StepOp::commit_; });
  const auto last = commit - path.steps.begin();
  for (auto i = std::ssize(path.steps) - 1; i >= 0; --i) {
    const Step step = path.steps[static_cast<size_t>(i)];
    std::vector<int32_t> final;
    for_each_register(path, step, [&](int32_t reg, bool defines) {
      if (defines || std::find(read.begin(), read.end(), reg) != read.end()) return;
      read.push_back(reg);
      if (computed[reg] && i < last && !is_end(step)) final.push_back(reg);
    });
    if (step.op == StepOp::own_ && !final.empty()) {
      path.pool[step.operands + 2] = 1;
      final.clear();
    }
    for (const int32_t reg : final) {
      steps.push_back({StepOp::forget_, -1, static_cast<uint32_t>(path.pool.size()), nullptr});
      path.pool.push_back(reg);
    }
    steps.push_back(step);
  }
  path.steps.assign(steps.rbegin(), steps.rend());
}

}  // namespace dvm::capture
