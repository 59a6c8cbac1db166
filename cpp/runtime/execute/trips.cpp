#include "runtime/execute/trips.h"

#include <algorithm>
#include <vector>

#include "core/dims/facts.h"

namespace dvm::runtime {

namespace {

class Uses {
 public:
  explicit Uses(const Plan& body) : moving_(static_cast<size_t>(body.sizes)) {}

  // False: the number is used as `anything`.
  bool add(const Plan& body, const Instruction& instruction) {
    const std::vector<Operand> operands = operands_of(body, instruction);
    const auto moves = [&](size_t k) { return are_moving(operands[k].words); };
    switch (instruction.op) {
      case PlanOp::number:
        is_used_ = true;
        at(instruction.result) = true;
        return operands[0].words[0] == 0;
      case PlanOp::add:
      case PlanOp::sub:
      case PlanOp::mul:
        at(instruction.result) = moves(0) || moves(1);
        return instruction.op != PlanOp::mul || !(moves(0) && moves(1));
      case PlanOp::check: {
        const auto cmp = static_cast<core::DimCmp>(operands[0].words[0]);
        const bool is_order = cmp != core::DimCmp::eq && cmp != core::DimCmp::ne;
        return is_order || !(moves(1) || moves(2));
      }
      case PlanOp::slice:
        return !moves(2) && !moves(3);
      default:
        for (const Operand& operand : operands) {
          const bool is_size = operand.kind == 'i' || operand.kind == 'I';
          const bool is_number = operand.kind == 's' || operand.kind == 'S';
          if (is_size && are_moving(operand.words)) return false;
          if (is_number && !operand.words.empty()) return false;
        }
        return true;
    }
  }
  bool is_used() const { return is_used_; }

 private:
  std::vector<bool>::reference at(int32_t i) { return moving_[static_cast<size_t>(i)]; }
  bool are_moving(std::span<const int32_t> sizes) const {
    return std::ranges::any_of(sizes,
                               [&](int32_t i) { return bool{moving_[static_cast<size_t>(i)]}; });
  }

  std::vector<bool> moving_;  // sizes that go by the number of the trip
  bool is_used_ = false;
};

}  // namespace

TripUse trip_use(const Plan& body) {
  Uses uses(body);
  for (const Instruction& instruction : body.code) {
    if (!uses.add(body, instruction)) return TripUse::anything;
  }
  return uses.is_used() ? TripUse::moves : TripUse::nothing;
}

}  // namespace dvm::runtime
