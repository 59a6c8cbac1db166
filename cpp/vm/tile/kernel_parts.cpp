// Steps have levels: the number of reductions on the longest way to them. A level becomes a part
// for the elements that others need, which are stored, and one for its reductions, which read
// those.
#include "vm/tile/kernel_parts.h"

#include <algorithm>

namespace dvm::vm {

namespace {

class Cutter {
 public:
  explicit Cutter(Kernel& kernel)
      : kernel_(kernel),
        level_(kernel.values.size(), 0),
        crosses_(kernel.values.size(), 0),
        operand_(kernel.values.size(), -1) {}

  void run() {
    if (std::none_of(kernel_.steps.begin(), kernel_.steps.end(), [this](const KernelStep& step) {
          return std::any_of(step.src, step.src + step.arity,
                             [this](int16_t v) { return is_reduction(v); });
        })) {
      return;
    }
    // What is computed late does not wait in memory, but what it is made of may have to.
    find_levels(false);
    const std::ptrdiff_t early = find_crossing();
    find_levels(true);
    if (find_crossing() > early) {
      find_levels(false);
      find_crossing();
    }
    place_values();
    const int last = *std::max_element(level_.begin(), level_.end());
    for (int level = 0; level <= last; ++level) {
      add_part(level, false);
      add_part(level, true);
    }
  }

 private:
  static size_t at(int16_t value) { return static_cast<size_t>(value); }
  const KernelValue& value(int16_t v) const { return kernel_.values[at(v)]; }
  bool is_computed(int16_t v) const { return value(v).kind == KernelValue::Kind::computed; }
  bool is_reduction(int16_t v) const {
    return is_computed(v) && kernel_.steps[at(value(v).index)].axes != 0;
  }

  // Steps come as early as they can or, reductions aside, as late, at the level of their first
  // reader. Broadcasts and copies of scalars are always late.
  void find_levels(bool late) {
    std::fill(level_.begin(), level_.end(), 0);
    for (const KernelStep& step : kernel_.steps) {
      for (int k = 0; k < step.arity; ++k) {
        const int16_t source = step.src[k];
        const int ready = level_[at(source)] + (is_reduction(source) ? 1 : 0);
        level_[at(step.dst)] = std::max(level_[at(step.dst)], ready);
      }
    }
    std::vector<int> first(level_.size(), -1);  // level of the first reader
    for (auto step = kernel_.steps.rbegin(); step != kernel_.steps.rend(); ++step) {
      int& level = level_[at(step->dst)];
      const bool moves = late || is_made_anew(*step);
      if (step->axes == 0 && moves) level = std::max(level, first[at(step->dst)]);
      for (int k = 0; k < step->arity; ++k) {
        int& reader = first[at(step->src[k])];
        reader = reader < 0 ? level : std::min(reader, level);
      }
    }
  }

  // Broadcasts and copies of scalars, which each part makes for itself: what they are made of is
  // smaller.
  static bool is_made_anew(const KernelStep& step) {
    return step.insn == Insn::broadcast || step.insn == Insn::copy;
  }
  // The value that waits in memory for a part that reads `v`.
  int16_t origin(int16_t v) const {
    while (is_computed(v) && is_made_anew(kernel_.steps[at(value(v).index)]))
      v = kernel_.steps[at(value(v).index)].src[0];
    return v;
  }

  // What a part needs of an earlier one; returns how many values that are.
  std::ptrdiff_t find_crossing() {
    std::fill(crosses_.begin(), crosses_.end(), 0);
    const auto read = [&](int16_t v, int level) {
      const int16_t source = origin(v);
      const bool later = is_reduction(source) || level_[at(source)] < level;
      if (is_computed(source) && later) crosses_[at(source)] = 1;
    };
    for (const KernelStep& step : kernel_.steps) {
      if (is_made_anew(step)) continue;
      for (int k = 0; k < step.arity; ++k) read(step.src[k], level_[at(step.dst)]);
    }
    for (const int16_t output : kernel_.outputs) {
      if (origin(output) != output) read(output, level_[at(output)]);
    }
    return std::count(crosses_.begin(), crosses_.end(), 1);
  }

  void place_values() {
    for (size_t k = 0; k < kernel_.outputs.size(); ++k) {
      const int16_t v = kernel_.outputs[k];
      if (operand_[at(v)] < 0) operand_[at(v)] = kernel_.output_operands[k];
    }
    for (int16_t v = 0; v < static_cast<int16_t>(kernel_.values.size()); ++v) {
      if (!crosses_[at(v)] || operand_[at(v)] >= 0) continue;
      operand_[at(v)] = static_cast<int16_t>(kernel_.operand_count() + std::ssize(kernel_.kept));
      kernel_.kept.push_back(v);
    }
  }

  void add_part(int level, bool reductions) {
    Kernel part = kernel_;
    part.parts.clear();
    part.steps.clear();
    part.outputs.clear();
    part.output_operands.clear();
    std::vector<int16_t> added;
    auto add = [&](int16_t v, int16_t operand) {
      if (level_[at(v)] != level || is_reduction(v) != reductions) return;
      part.outputs.push_back(v);
      part.output_operands.push_back(operand);
      added.push_back(v);
    };
    for (size_t k = 0; k < kernel_.outputs.size(); ++k) {
      add(kernel_.outputs[k], kernel_.output_operands[k]);
    }
    for (const int16_t v : kernel_.kept) {
      if (is_computed(v)) add(v, operand_[at(v)]);  // not the result of a product, which is there
    }
    if (added.empty()) return;
    take_steps(part);
    stored_.insert(stored_.end(), added.begin(), added.end());
    kernel_.parts.push_back(std::move(part));
  }

  // What the outputs need, down to what earlier parts have stored.
  void take_steps(Kernel& part) const {
    for (const int16_t v : stored_) {
      if (!is_computed(v)) continue;
      part.values[at(v)].kind = KernelValue::Kind::input;
      part.values[at(v)].index = operand_[at(v)];
    }
    std::vector<char> needed(part.values.size(), 0);
    for (const int16_t v : part.outputs) needed[at(v)] = 1;
    for (auto step = kernel_.steps.rbegin(); step != kernel_.steps.rend(); ++step) {
      const KernelValue& result = part.values[at(step->dst)];
      if (!needed[at(step->dst)] || result.kind != KernelValue::Kind::computed) continue;
      part.steps.push_back(*step);
      for (int k = 0; k < step->arity; ++k) needed[at(step->src[k])] = 1;
    }
    std::reverse(part.steps.begin(), part.steps.end());
    for (size_t i = 0; i < part.steps.size(); ++i) {
      part.values[at(part.steps[i].dst)].index = static_cast<int16_t>(i);
    }
  }

  Kernel& kernel_;
  std::vector<int> level_;        // of the part that computes a value
  std::vector<char> crosses_;     // whether a later part reads it
  std::vector<int16_t> operand_;  // where it is stored, or -1
  std::vector<int16_t> stored_;   // so far
};

}  // namespace

void cut_at_reductions(Kernel& kernel) { Cutter(kernel).run(); }

}  // namespace dvm::vm
