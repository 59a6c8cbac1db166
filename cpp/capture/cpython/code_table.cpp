#include "capture/cpython/code_table.h"

#include <algorithm>
#include <utility>

#include "capture/cpython/handlers.h"
#include "capture/cpython/kept_by_code.h"
#include "opcode.h"

namespace dvm::capture {

namespace {

// As the compiler wrote them, whatever the interpreter has written over them since.
std::vector<std::pair<uint8_t, uint8_t>> units_of(PyCodeObject* code) {
  const Ref bytes = made(PyCode_GetCode(code));
  const auto* const at = reinterpret_cast<const unsigned char*>(PyBytes_AS_STRING(bytes.get()));
  std::vector<std::pair<uint8_t, uint8_t>> units;
  for (Py_ssize_t i = 0; i + 1 < PyBytes_GET_SIZE(bytes.get()); i += 2) {
    units.emplace_back(at[i], at[i + 1]);
  }
  return units;
}

}  // namespace

const char* name_of(Op op) {
  static constexpr const char* kNames[] = {
#define DVM_OP(name) #name,
#include "capture/cpython/ops.def"
#undef DVM_OP
  };
  return kNames[static_cast<size_t>(op)];
}

CodeTable::CodeTable(PyCodeObject* code) {
  const auto units = units_of(code);
  places_.assign(units.size(), -1);
  std::vector<std::array<int32_t, 2>> effects;  // on the depth: going on, and jumping
  for (size_t unit = 0; unit < units.size();) {
    Decoded each;
    each.start = static_cast<int32_t>(unit);
    int oparg = units[unit].second;
    while (units[unit].first == EXTENDED_ARG && unit + 1 < units.size()) {
      places_[unit] = static_cast<int32_t>(instructions_.size());
      oparg = oparg << 8 | units[++unit].second;
    }
    places_[unit] = static_cast<int32_t>(instructions_.size());
    const int opcode = units[unit].first;
    const Meaning meaning = meaning_of(opcode, oparg);
    each.first = meaning.first;
    each.then = meaning.then;
    each.falls_through = meaning.falls_through;
    // Since 3.13 the compiler writes one for the other.
    const bool is_cell = each.first.op == Op::load_fast && each.then.op == Op::nothing &&
                         dvm_frame_holds_cell(code, each.first.arg);
    if (is_cell) each.first.op = Op::load_closure;
    each.unit = static_cast<int32_t>(unit);
    while (++unit < units.size() && units[unit].first == CACHE) {
      places_[unit] = static_cast<int32_t>(instructions_.size());
    }
    each.next = static_cast<int32_t>(unit);
    if (meaning.jumps) each.target = each.next + meaning.relative;
    const bool iterates = meaning.first.op == Op::for_iter;
    effects.push_back({PyCompile_OpcodeStackEffectWithJump(opcode, oparg, 0),
                       !iterates        ? PyCompile_OpcodeStackEffectWithJump(opcode, oparg, 1)
                       : kIteratorStays ? 0
                                        : -1});
    instructions_.push_back(each);
  }
  find_depths(code, effects);
}

// Along all ways from where the frame is made, and from handlers.
void CodeTable::find_depths(PyCodeObject* code,
                            const std::vector<std::array<int32_t, 2>>& effects) {
  std::vector<std::pair<int32_t, int32_t>> waiting;  // unit, depth
  const auto begins = std::ranges::find(instructions_, Op::resume,
                                        [](const Decoded& each) { return each.first.op; });
  if (begins != instructions_.end()) waiting.emplace_back(begins->start, 0);
  for (const Handler& handler : handlers_of(code)) {
    waiting.emplace_back(handler.target, handler.depth + 1 + (handler.lasti ? 1 : 0));
  }
  while (!waiting.empty()) {
    const auto [unit, depth] = waiting.back();
    waiting.pop_back();
    if (unit < 0 || unit >= std::ssize(places_) || places_[static_cast<size_t>(unit)] < 0) continue;
    const auto place = static_cast<size_t>(places_[static_cast<size_t>(unit)]);
    Decoded& each = instructions_[place];
    if (each.depth >= 0) continue;
    each.depth = depth;
    if (each.target >= 0) waiting.emplace_back(each.target, depth + effects[place][1]);
    if (each.falls_through) waiting.emplace_back(each.next, depth + effects[place][0]);
  }
}

Operation CodeTable::behind(int32_t unit) const {
  const Decoded* const here = at(unit);
  const Decoded* const next = here ? at(here->next) : nullptr;
  return next ? next->first : Operation();
}

Operation CodeTable::before(int32_t unit) const {
  const Decoded* const here = at(unit);
  return here == nullptr || here == instructions_.data() ? Operation() : here[-1].first;
}

const CodeTable& code_table(PyCodeObject* code) {
  return kept_by<CodeTable>(code,
                            [](PyCodeObject* each) { return std::make_unique<CodeTable>(each); });
}

}  // namespace dvm::capture
