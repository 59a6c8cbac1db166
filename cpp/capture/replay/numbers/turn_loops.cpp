#include "capture/replay/loop.h"
#include "capture/replay/numbers/inner_loop.h"
#include "capture/replay/numbers/turn_code.h"

namespace dvm::capture::numbers {

bool TurnCode::iterates(const int32_t* p) {
  const int32_t count = p[2];
  if (p[3 + count] >= 0 || p[4 + count] != 0 || !is_same(p[1])) return false;
  static PyObject* const iter = PyDict_GetItemString(PyEval_GetBuiltins(), "iter");
  if (object(p[1]) == iter && count == 1) {
    const Known& of = known(p[3]);
    if (of.is != Known::Is::range && !(is_same(p[3]) && object(p[3]))) return false;
    known(p[0]) = {.is = Known::Is::iterator, .parts = of.parts, .over = {p[3]}};
    return true;
  }
  const auto is_there = [&](int32_t reg) { return is_same(reg) && object(reg) != nullptr; };
  if (object(p[1]) == reinterpret_cast<PyObject*>(&PyEnum_Type) ||
      object(p[1]) == reinterpret_cast<PyObject*>(&PyZip_Type)) {
    known(p[0]) = {.is = Known::Is::iterator, .over = {p + 3, p + 3 + count}};
    known(p[0]).over.push_back(p[1]);
    return std::all_of(p + 3, p + 3 + count, is_there);
  }
  if (object(p[1]) != reinterpret_cast<PyObject*>(&PyRange_Type) || count != 3) return false;
  std::vector<int32_t> cells;
  for (int32_t i = 0; i < count; ++i) {
    const auto given = number(p[3 + i]);
    if (!given || given->type.kind != Kind::integer) return false;
    cells.push_back(given->cell);
  }
  known(p[0]) = {.is = Known::Is::range, .parts = std::move(cells)};
  return true;
}

bool TurnCode::inner_loop(const int32_t* p) {
  InnerLoop::Over over;
  if (p[2] >= 0) {
    const Known& by = known(p[2]);
    if (by.is != Known::Is::iterator) return false;
    over.range = by.parts;
    if (by.parts.empty()) {
      for (const int32_t reg : by.over) over.same.push_back(home(reg));
    }
  }
  std::vector<InnerLoop::Given> given;
  for (int32_t i = 0; i < p[3]; ++i) {
    const int32_t reg = p[4 + i];
    const bool has_object = is_same(reg) && object(reg) != nullptr;
    given.push_back({has_object ? home(reg) : -1, value(reg)});
  }
  InnerLoop& loop = bound_.append(
      std::make_unique<InnerLoop>(loop_of(path_->object(p[1])), p[4 + p[3]], std::move(given),
                                  std::move(over), changes_.changes_lists, *attempt()));
  known(p[0]) = {.is = Known::Is::loop, .loop = &loop};
  holds_loop_ = true;
  return true;
}

bool TurnCode::part(int32_t result, InnerLoop& loop, int32_t index) {
  if (index == 0) {
    const Number tag{code_.cell(), {Kind::integer}};
    loop.give_tag(tag.cell);
    return define(result, tag);
  }
  const Typed part = new_typed();
  loop.give(index, part);
  return define(result, part);
}

}  // namespace dvm::capture::numbers
