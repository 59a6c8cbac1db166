#include "capture/replay/numbers/object_steps.h"
#include "capture/replay/numbers/turn_code.h"

namespace dvm::capture::numbers {

bool TurnCode::is_sequence(int32_t reg) {
  return is_same(reg) && object(reg) != nullptr && numbers::is_sequence(object(reg));
}

bool TurnCode::listed(const Step& step, const int32_t* p) {
  switch (step.op) {
    case StepOp::item_:
      return is_sequence(p[1]) && PyList_Check(object(p[1])) &&
             place(p[0], p[1], code_.integer(p[2]));
    case StepOp::operator_:
      if (!is_sequence(p[2])) return false;
      if (static_cast<Operator>(p[1]) == Operator::length) {
        return define(p[0], Number{length(p[2]), {Kind::integer}});
      }
      if (static_cast<Operator>(p[1]) == Operator::getitem) {
        const auto at = index(p[3]);
        return at && place(p[0], p[2], at->cell);
      }
      return false;
    case StepOp::guard_length_:
      if (!is_sequence(p[0]) || !PyList_Check(object(p[0]))) return false;
      code_.expect_value(length(p[0]), p[1]);
      return true;
    case StepOp::guard_truth_:
      if (!is_sequence(p[0]) || !PyList_Check(object(p[0]))) return false;
      code_.expect(code_.emit(Op::truth_of_integer, length(p[0])), p[1] != 0);
      return true;
    default:
      return false;
  }
}

int32_t TurnCode::length(int32_t sequence) {
  const int32_t cell = code_.cell();
  append_object_step<LengthStep>(sequence, cell);
  return cell;
}

bool TurnCode::place(int32_t result, int32_t sequence, int32_t at) {
  const ElementStep& step = keep_object_step<ElementStep>(sequence);
  const int32_t cell = code_.emit(Op::load_item, at, 0, literal_of(step));
  return define(result, Typed{cell, code_.integer(kNoType)});
}

bool TurnCode::changes_list(const int32_t* p) {
  static PyObject *const extend = list_method("extend"), *const set = list_method("__setitem__"),
                         *const pop = list_method("pop");
  const int32_t count = p[2], list = p[3];
  if (count < 1 || p[3 + count] >= 0 || !is_same(p[1]) || !is_same(list)) return false;
  if (object(list) == nullptr || !PyList_CheckExact(object(list))) return false;
  PyObject* const callee = object(p[1]);
  if (callee == extend && count == 2) return appended(list, p[4]);
  Attempt* const attempt = this->attempt();
  if (attempt == nullptr) return false;
  const auto key = count > 1 ? index(p[4]) : Number{code_.integer(-1), {Kind::integer}};
  if (!key) return false;
  if (callee == set && count == 3) {
    const auto given = known(p[5]).is_of_array ? std::nullopt : value(p[5]);
    if (!given) return false;
    const StoreStep& step = keep_object_step<StoreStep>(list, given->type, *attempt);
    code_.emit(Op::store_item, key->cell, given->cell, literal_of(step));
    return true;
  }
  if (callee != pop || count > 2) return false;
  append_object_step<PopStep>(list, key->cell, *attempt);
  return true;
}

bool TurnCode::appended(int32_t list, int32_t parts) {
  Attempt* const attempt = this->attempt();
  if (attempt == nullptr && (has_copies_ || has_appends_)) return false;
  has_appends_ = true;
  if (known(parts).is != Known::Is::parts || known(parts).parts.size() != 1) return false;
  const int32_t part = known(parts).parts[0];
  if (known(part).is == Known::Is::array) {
    if (attempt != nullptr || !is_whole(known(part).slot)) return false;
    turn_->same_lists_.push_back({list, &append_step<AppendArrayStep>(*known(part).slot)});
    return true;
  }
  const auto given = value(part);
  if (!given || known(part).is_of_array) return false;
  append_object_step<AppendStep>(list, *given, attempt);
  return true;
}

}  // namespace dvm::capture::numbers
