#include "vm/target/chain_rules.h"

#include <algorithm>

namespace dvm::vm {

namespace {

enum class Trait : uint8_t { plain, quiet, function };

constexpr ChainRules make_rules() {
  ChainRules rules;
#define DVM_CHAIN_RULE(insn, elements, kind, body, trait)                                       \
  rules.rule[static_cast<size_t>(ChainElements::elements)][static_cast<size_t>(Insn::insn)] = { \
      true, Trait::trait == Trait::function};
#include "vm/target/chain_rules.def"
#undef DVM_CHAIN_RULE
  return rules;
}

int8_t width_of_cast(DType to, DType from) {
  const auto width = static_cast<int8_t>(std::max(core::byte_size(to), core::byte_size(from)));
  const auto wide = [&](DType d) { return is_wide(d) && core::byte_size(d) == width; };
  const auto narrow = [&](DType d) {
    return d == DType::u8 || (width == 4 ? core::is_half(d) : d == DType::f32 || d == DType::i32);
  };
  if (from == DType::boolean) return wide(to) ? width : kNoChain;
  if (to == DType::boolean) return wide(from) ? width : kNoChain;
  if (wide(to)) return wide(from) || narrow(from) ? width : kNoChain;
  // Floats become narrow integers by way of i32, and integers narrow floats in one rounding.
  const bool by_way = core::is_floating(from) != core::is_floating(to);
  const bool works = !by_way || (from == DType::f32 && to == DType::u8);
  return wide(from) && narrow(to) && works ? width : kNoChain;
}

}  // namespace

constexpr ChainRules kChainRules = make_rules();

int8_t chain_width(const ChainRules& rules, Insn insn, DType dtype, uint8_t aux) {
  if (insn == Insn::cast) return width_of_cast(dtype, static_cast<DType>(aux));
  if (dtype == DType::boolean) {
    return rules.of(ChainElements::bools, insn).joins ? kAnyWidth : kNoChain;
  }
  if (!is_wide(dtype)) return kNoChain;
  const auto elements = core::is_floating(dtype) ? ChainElements::floats : ChainElements::integers;
  const auto width = static_cast<int8_t>(core::byte_size(dtype));
  return rules.of(elements, insn).joins ? width : kNoChain;
}

}  // namespace dvm::vm
