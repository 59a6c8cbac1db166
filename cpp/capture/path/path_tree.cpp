#include "capture/path/path_tree.h"

#include <algorithm>

#include "capture/path/forget_early.h"
#include "capture/path/reasons.h"
#include "capture/path/same_steps.h"
#include "capture/replay/dropped_values.h"
#include "capture/replay/lock.h"
#include "capture/replay/targets.h"

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
  segment.has_products = std::ranges::any_of(segment.graph.nodes(), [](const core::Node& node) {
    return core::op_class(node.op) == core::OpClass::matrix && core::is_floating(node.type.dtype);
  });
  segment.compilation = driver::compile(segment.graph, options);
  segment.stored.reset();  // it has the outputs of before
  find_targets(segment);
}

Segment& segment_of(const Path& path, const Step& step) {
  return *path.segments[static_cast<size_t>(path.operands(step)[0])];
}

NameGuard& names_of(const Path& path, const Step& step) {
  return path.names[static_cast<size_t>(path.operands(step)[0])];
}

// Looks for the place of one new path in the tree of one root.
class Placement {
 public:
  Placement(Path& fresh, Path& root)
      : fresh_(fresh), root_(root), renaming_(fresh.registers), next_register_(root.registers) {}

  // Walks both; true when the new path can be hung to a guard of the tree.
  bool find() {
    known_ = &root_;
    while (true) {
      if (at_ == known_->steps.size() || next_ == fresh_.steps.size()) {
        equal_ = at_ == known_->steps.size() && next_ == fresh_.steps.size() && asks_no_more();
        return false;
      }
      const Step& a = known_->steps[at_];
      const Step& b = fresh_.steps[next_];
      if (a.op == StepOp::forget_) {
        ++at_;
      } else if (a.op == StepOp::guard_names_ || b.op == StepOp::guard_names_) {
        if (!pass_names(a, b)) return false;
      } else if (a.op == StepOp::run_ && b.op == StepOp::run_) {
        if (!pass_segment(a, b)) return false;
      } else if (same_step({*known_, a}, {fresh_, b}, renaming_)) {
        ++at_, ++next_;
      } else if (!same_question({*known_, a}, {fresh_, b}, renaming_)) {
        return false;
      } else if (a.otherwise != nullptr) {
        enter(*const_cast<Path*>(a.otherwise));
      } else {
        return true;
      }
    }
  }

  // After find: the path of the tree that does the same under the same guards; null: none.
  Path* equal() const { return equal_ ? known_ : nullptr; }

  // Hangs it there.
  void apply() {
    passed_.push_back({known_, at_});
    for (const Extension& extension : extensions_) extend(extension);
    renumber();
    fresh_.steps.erase(fresh_.steps.begin(),
                       fresh_.steps.begin() + static_cast<std::ptrdiff_t>(next_));
    add_names();
    keep_alive();
    fresh_.parent = known_;
    fresh_.parent_step = static_cast<int32_t>(at_);
    known_->steps[at_].otherwise = &fresh_;
  }

 private:
  // An output of a shared segment which only the new path wants.
  struct Extension {
    Path* path;
    size_t step;
    Segment::Output output;
  };
  // The part of the tree the new path goes through: steps of a path before one of them.
  struct Passed {
    Path* path;
    size_t end;
  };

  bool asks_no_more() const {
    return extensions_.empty() &&
           std::all_of(extra_names_.begin(), extra_names_.end(), [&](const auto& name) {
             return std::find(shared_names_.begin(), shared_names_.end(), name) !=
                    shared_names_.end();
           });
  }

  void enter(Path& child) {
    passed_.push_back({known_, at_});
    known_ = &child;
    at_ = 0;
  }

  // Names that only the new path depends on are checked where it leaves; those of the known path
  // hold for both. False: one name, two objects.
  bool pass_names(const Step& a, const Step& b) {
    const bool here = a.op == StepOp::guard_names_;
    if (b.op == StepOp::guard_names_) {
      for (const NameGuard::Name& name : names_of(fresh_, b).names) extra_names_.push_back(name);
      ++next_;
    }
    if (here) {
      for (const NameGuard::Name& name : names_of(*known_, a).names) shared_names_.push_back(name);
      ++at_;
    }
    return std::none_of(extra_names_.begin(), extra_names_.end(), [&](const auto& extra) {
      return std::any_of(shared_names_.begin(), shared_names_.end(), [&](const auto& shared) {
        return extra.same_question(shared) && extra.object.get() != shared.object.get();
      });
    });
  }

  bool pass_segment(const Step& a, const Step& b) {
    const Segment& known = segment_of(*known_, a);
    const Segment& fresh = segment_of(fresh_, b);
    if (!same_segment(known, fresh, renaming_)) return false;
    for (const Segment::Output& wanted : fresh.outputs) {
      const auto found = std::find_if(
          known.outputs.begin(), known.outputs.end(), [&](const Segment::Output& output) {
            return output.value == wanted.value && output.kind == wanted.kind &&
                   output.permuted == wanted.permuted && output.order == wanted.order;
          });
      if (found != known.outputs.end()) {
        renaming_.bind(wanted.reg, found->reg);
        continue;
      }
      Segment::Output output = wanted;
      output.reg = next_register_++;
      renaming_.bind(wanted.reg, output.reg);
      extensions_.push_back({known_, at_, output});
    }
    ++at_, ++next_;
    return true;
  }

  void extend(const Extension& extension) {
    Path& path = *extension.path;
    const auto index = static_cast<size_t>(path.operands(path.steps[extension.step])[0]);
    path.segments[index]->outputs.push_back(extension.output);
    compile_segment(*path.segments[index], path.options);
  }

  // The new path's own registers get numbers that are free where it leaves: another way on from
  // there may use them, too.
  void renumber() {
    std::vector<bool> taken = defined_on_the_way();
    size_t free = 0;
    const auto own = [&](int32_t& reg, bool defines) {
      if (defines) {
        while (free < taken.size() && taken[free]) ++free;
        renaming_.bind(reg, static_cast<int32_t>(free++));
      }
      reg = renaming_.of(reg);
    };
    for (size_t i = next_; i < fresh_.steps.size(); ++i) {
      const Step& step = fresh_.steps[i];
      // An operand is renamed before the register that the step defines has a new number.
      for_each_register(fresh_, step, [&](int32_t& reg, bool defines) {
        if (!defines) own(reg, false);
      });
      for_each_register(fresh_, step, [&](int32_t& reg, bool defines) {
        if (defines) own(reg, true);
      });
    }
    root_.registers = std::max(next_register_, static_cast<int32_t>(free));
  }

  std::vector<bool> defined_on_the_way() const {
    std::vector<bool> taken(static_cast<size_t>(next_register_));
    for (const Passed& passed : passed_) {
      for (size_t i = 0; i < passed.end; ++i) {
        for_each_register(*passed.path, passed.path->steps[i], [&](int32_t reg, bool defines) {
          if (defines) taken[static_cast<size_t>(reg)] = true;
        });
      }
    }
    return taken;
  }

  // Behind the guard the path hangs on, so that other paths can hang on it, too.
  void add_names() {
    NameGuard guard;
    for (NameGuard::Name& name : extra_names_) {
      const bool shared =
          std::find(shared_names_.begin(), shared_names_.end(), name) != shared_names_.end();
      if (!shared) guard.add(std::move(name));
    }
    if (guard.names.empty()) return;
    const auto operands = static_cast<uint32_t>(fresh_.pool.size());
    fresh_.pool.push_back(static_cast<int32_t>(fresh_.names.size()));
    fresh_.names.push_back(std::move(guard));
    fresh_.steps.insert(fresh_.steps.begin() + 1,
                        {StepOp::guard_names_, fresh_.steps.front().at, operands, nullptr});
  }

  // What the known paths forget on the way may be read by the new one.
  void keep_alive() {
    std::vector<bool> read(static_cast<size_t>(root_.registers));
    const auto note = [&](int32_t reg, bool defines) {
      if (!defines) read[static_cast<size_t>(reg)] = true;
    };
    for (const Step& step : fresh_.steps) for_each_register(fresh_, step, note);
    for (const Passed& passed : passed_) {
      for (size_t i = 0; i < passed.end; ++i) {
        const Step& step = passed.path->steps[i];
        int32_t* const operands = passed.path->pool.data() + step.operands;
        if (step.op == StepOp::forget_ && *operands >= 0 && read[static_cast<size_t>(*operands)]) {
          *operands = -1;
        }
        if (step.op == StepOp::own_ && read[static_cast<size_t>(operands[1])]) operands[2] = 0;
      }
    }
  }

  Path& fresh_;
  Path& root_;
  Renaming renaming_;
  int32_t next_register_;
  bool equal_ = false;
  Path* known_ = nullptr;     // the path of the tree we are in, at its step at_
  size_t at_ = 0, next_ = 0;  // next_: of the new path
  std::vector<Passed> passed_;
  std::vector<Extension> extensions_;
  std::vector<NameGuard::Name> extra_names_, shared_names_;
};

// From the step on the original runs.
void end_in_fallback(Path& path, size_t step, const core::Error& error) {
  PyErr_Clear();
  Ref reason = reason_object(std::string("core\n") + error.what());
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
    try {
      compile_segment(segment_of(path, path.steps[i]), path.options);
    } catch (const core::Error& error) {
      if (error.code() == core::ErrorCode::internal) throw;
      end_in_fallback(path, i, error);
    }
  }
}

// Segments of the steps that are left.
void drop_unused_segments(Path& path) {
  std::vector<std::shared_ptr<Segment>> used;
  for (const Step& step : path.steps) {
    if (step.op != StepOp::run_) continue;
    int32_t& index = path.pool[step.operands];
    used.push_back(path.segments[static_cast<size_t>(index)]);
    index = static_cast<int32_t>(used.size()) - 1;
  }
  path.segments = std::move(used);
}

}  // namespace

Path* install(std::unique_ptr<Path> path, std::vector<std::unique_ptr<Path>>& paths,
              std::vector<Path*>& roots, bool may_share) {
  bool hung = false;
  for (size_t i = 0; !hung && i < roots.size(); ++i) {
    Placement placement(*path, *roots[i]);
    hung = placement.find() && may_share;
    if (hung) placement.apply();
    if (Path* equal = placement.equal()) return equal;
  }
  drop_unused_segments(*path);
  compile(*path);
  forget_early(*path);
  note_writes(*path);
  note_drops(*path);
  if (!hung) roots.push_back(path.get());
  paths.push_back(std::move(path));
  return paths.back().get();
}

}  // namespace dvm::capture
