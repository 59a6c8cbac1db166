// The rows of targets.def, and finding one by name or by the number in a Program's header.
#include <array>

#include "vm/target/target.h"

namespace dvm::vm {

namespace {

// The sets and tables by the names that targets.def has for them.
// NOLINTBEGIN(readability-identifier-naming)
struct Halves {
  static constexpr core::DTypeSet none = {}, f16 = {core::DType::f16};
};
struct MadeOf {
  static constexpr const ChainRules *none = nullptr, *registers = &kChainRules;
};
// NOLINTEND(readability-identifier-naming)

constexpr std::array kTargets = {
#define DVM_TARGET(name, id, folder, policy, cores, cubes, local, reserve, align, streams, flags, \
                   chains, halves, overhead)                                                      \
  TargetTraits{#name,                                                                             \
               id,                                                                                \
               TilePolicy::policy,                                                                \
               cores,                                                                             \
               cubes,                                                                             \
               local,                                                                             \
               reserve,                                                                           \
               align,                                                                             \
               streams,                                                                           \
               flags,                                                                             \
               MadeOf::chains,                                                                    \
               Halves::halves,                                                                    \
               overhead,                                                                          \
               &memories::folder},
#include "vm/target/targets.def"
#undef DVM_TARGET
};

}  // namespace

std::span<const TargetTraits> all_targets() { return kTargets; }

const TargetTraits* find_target(std::string_view name) {
  for (const TargetTraits& target : kTargets) {
    if (target.name == name) return &target;
  }
  return nullptr;
}

const TargetTraits* find_target(uint8_t id) {
  for (const TargetTraits& target : kTargets) {
    if (target.id == id) return &target;
  }
  return nullptr;
}

}  // namespace dvm::vm
