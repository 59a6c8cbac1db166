// Which body does what an instruction says, in chains of floats, of integers of their width, and of
// bools: chain_translator.h reads these tables.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>

#include "cpu/chain/entries.h"
#include "vm/isa/program.h"

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
struct NamedRule {
  Insn insn;
  Rule rule;
};
constexpr NamedRule rule(Insn insn, Binary row, bool quiet = false) {
  return {insn, {Rule::Kind::binary, static_cast<uint8_t>(row), quiet}};
}
constexpr NamedRule rule(Insn insn, Unary row, bool quiet = false) {
  return {insn, {Rule::Kind::unary, static_cast<uint8_t>(row), quiet}};
}
constexpr NamedRule special(Insn insn) { return {insn, {Rule::Kind::special}}; }
constexpr Rules rules(std::initializer_list<NamedRule> named) {
  Rules all{};
  for (const NamedRule& one : named) all[static_cast<size_t>(one.insn)] = one.rule;
  return all;
}

inline constexpr bool kQuiet = true;
inline constexpr Rules kFloatRules = rules({
    rule(Insn::add, Binary::add),
    rule(Insn::sub, Binary::sub),
    rule(Insn::mul, Binary::mul),
    rule(Insn::square, Binary::mul),
    rule(Insn::isnan, Binary::unordered, kQuiet),
    rule(Insn::neg, Unary::neg),
    rule(Insn::abs, Unary::abs),
    rule(Insn::fabs, Unary::abs),
    rule(Insn::positive, Unary::copy),
    rule(Insn::sqrt, Unary::sqrt),
    rule(Insn::floor, Unary::floor, kQuiet),
    rule(Insn::ceil, Unary::ceil, kQuiet),
    rule(Insn::trunc, Unary::trunc, kQuiet),
    rule(Insn::rint, Unary::rint, kQuiet),
    rule(Insn::exp, Unary::exp, kQuiet),
    rule(Insn::tanh, Unary::tanh, kQuiet),
    rule(Insn::sign, Unary::sign, kQuiet),
    rule(Insn::fmax, Binary::fmax, kQuiet),
    rule(Insn::fmin, Binary::fmin, kQuiet),
    rule(Insn::copysign, Binary::copysign),
    special(Insn::div),
    special(Insn::cmp),
    special(Insn::select),
    special(Insn::maximum),
    special(Insn::minimum),
    special(Insn::reciprocal),
    special(Insn::isfinite),
    special(Insn::isinf),
    special(Insn::signbit),
    special(Insn::deg2rad),
    special(Insn::rad2deg),
#define DVM_CHAIN_IN_PLACE(name, where) rule(Insn::name, Unary::name, kQuiet),
#include "cpu/chain/bodies.def"
});
inline constexpr Rules kIntegerRules =
    rules({rule(Insn::add, Binary::add_integer), rule(Insn::sub, Binary::sub_integer),
           rule(Insn::mul, Binary::mul_integer), rule(Insn::square, Binary::mul_integer),
           rule(Insn::maximum, Binary::maximum_integer),
           rule(Insn::minimum, Binary::minimum_integer), rule(Insn::fmax, Binary::maximum_integer),
           rule(Insn::fmin, Binary::minimum_integer), rule(Insn::left_shift, Binary::left_shift),
           rule(Insn::right_shift, Binary::right_shift), rule(Insn::bitwise_and, Binary::and_bits),
           rule(Insn::bitwise_or, Binary::or_bits), rule(Insn::bitwise_xor, Binary::xor_bits),
           rule(Insn::abs, Unary::abs_integer), rule(Insn::positive, Unary::copy),
           special(Insn::neg), special(Insn::invert), special(Insn::cmp), special(Insn::select)});
inline constexpr Rules kBoolRules =
    rules({rule(Insn::mul, Binary::and_bits), rule(Insn::minimum, Binary::and_bits),
           rule(Insn::logical_and, Binary::and_bits), rule(Insn::bitwise_and, Binary::and_bits),
           rule(Insn::add, Binary::or_bits), rule(Insn::maximum, Binary::or_bits),
           rule(Insn::logical_or, Binary::or_bits), rule(Insn::bitwise_or, Binary::or_bits),
           rule(Insn::logical_xor, Binary::xor_bits), rule(Insn::bitwise_xor, Binary::xor_bits),
           special(Insn::logical_not), special(Insn::invert)});

}  // namespace dvm::cpu::chains
