// Which body does what an instruction says, in chains of floats, of integers of their width, and of
// bools: translator.h reads these tables.
#pragma once

#include <array>
#include <cstdint>

#include "cpu/chain/entries.h"
#include "vm/target/chain_rules.h"

namespace dvm::cpu::chains {

using vm::Insn;

// What most operations become: one entry of the table. A `square` has its source twice.
struct Rule {
  enum class Kind : uint8_t { none, unary, binary, special };
  Kind kind = Kind::none;
  uint8_t row = 0;
  bool quiet = false;
};
using Rules = std::array<Rule, vm::kInsnCount>;

// The rows of chain_rules.def for these elements.
constexpr Rules rules_of(vm::ChainElements wanted) {
  enum class Trait : uint8_t { plain, quiet, function };
  Rules all{};
  const auto set = [&](vm::ChainElements elements, Insn insn, Rule rule) {
    if (elements == wanted) all[static_cast<size_t>(insn)] = rule;
  };
#define DVM_BODY_unary(body) static_cast<uint8_t>(Unary::body)
#define DVM_BODY_binary(body) static_cast<uint8_t>(Binary::body)
#define DVM_BODY_special(body) static_cast<uint8_t>(0)
#define DVM_CHAIN_RULE(insn, elements, kind, body, trait) \
  set(vm::ChainElements::elements, Insn::insn,            \
      {Rule::Kind::kind, DVM_BODY_##kind(body), Trait::trait != Trait::plain});
#include "vm/target/chain_rules.def"
#undef DVM_CHAIN_RULE
#undef DVM_BODY_unary
#undef DVM_BODY_binary
#undef DVM_BODY_special
  return all;
}
inline constexpr Rules kFloatRules = rules_of(vm::ChainElements::floats);
inline constexpr Rules kIntegerRules = rules_of(vm::ChainElements::integers);
inline constexpr Rules kBoolRules = rules_of(vm::ChainElements::bools);

}  // namespace dvm::cpu::chains
