#include "driver/variants.h"

#include <chrono>

#include "core/error.h"
#include "driver/dense_call.h"
#include "driver/pipeline.h"
#include "vm/encode/encode.h"
#include "vm/target/launch_words.h"

namespace dvm::driver {

namespace {

using Clock = std::chrono::steady_clock;
int64_t since(Clock::time_point begin) {
  return std::chrono::nanoseconds(Clock::now() - begin).count();
}

constexpr int64_t kUnknown = -1;  // of a symbol without a size

std::string text_of(const fuser::Equality& equality) {
  return core::to_string(equality.first) + " == " + core::to_string(equality.second);
}

VariantRegion encoded(const fuser::FusedRegion& fused, const std::vector<int64_t>& symbols,
                      const vm::TargetTraits& target,
                      const std::optional<vm::TileRequest>& request) {
  VariantRegion region{fused.region.name, fused.members, fused.inputs, {}};
  region.operands.insert(region.operands.end(), fused.outputs.begin(), fused.outputs.end());
  const vm::Kernel kernel = vm::prepare(fused.region);
  for (const core::Dim dim : kernel.dims) {
    for (const int symbol : core::symbols_of(dim)) {
      if (symbols[static_cast<size_t>(symbol)] != kUnknown) continue;
      core::fail(core::ErrorCode::shape_mismatch, "no size is known of " + core::to_string(dim));
    }
  }
  const DenseCall call(fused.region.body, kernel, symbols);
  region.encoded = encode_region(kernel, call.binding(), target, request);
  return region;
}

}  // namespace

EncodedRegion encode_region(const vm::Kernel& kernel, const vm::Binding& binding,
                            const vm::TargetTraits& target,
                            const std::optional<vm::TileRequest>& request) {
  EncodedRegion encoded;
  vm::Arena arena;
  const Clock::time_point begin = Clock::now();
  const vm::Compiled compiled = vm::encode(kernel, binding, target, arena, nullptr,
                                           request ? &*request : nullptr, &encoded.tilings);
  encoded.nanoseconds = since(begin);
  compiled.all_launches({}, [&](const vm::Launch& launch) {
    encoded.programs.push_back(vm::launch_words(launch));
    return true;
  });
  encoded.cube = compiled.cube;
  return encoded;
}

Variant fuse_otherwise(std::string_view text, std::string_view target_name,
                       const std::map<std::string, int64_t>& sizes, const Choices& choices) {
  const vm::TargetTraits* target = vm::find_target(target_name);
  if (target == nullptr) {
    core::fail(core::ErrorCode::unknown_target,
               "no target is named '" + std::string(target_name) + "'");
  }
  const core::Graph graph = core::parse_graph(text);
  for (const Pairs* pairs : {&choices.together, &choices.apart}) {
    for (const auto& [a, b] : *pairs) {
      DVM_CHECK(a >= 0 && b >= 0 && a < graph.size() && b < graph.size(), "no such node");
    }
  }
  fuser::Hints hints{choices.together, choices.apart, {}};
  std::vector<int64_t> symbols;
  for (int i = 0; i < graph.dims().symbol_count(); ++i) {
    const auto found = sizes.find(graph.dims().symbol_info(i).name);
    symbols.push_back(found == sizes.end() ? kUnknown : found->second);
    if (found == sizes.end()) continue;
    hints.assumed.emplace_back(graph.dims().symbol_at(i), graph.dims().constant(found->second));
  }
  const Clock::time_point begin = Clock::now();
  const fuser::Fusion fusion = fuser::fuse(graph, region_limits(*target), hints);
  Variant variant;
  for (const fuser::FusedRegion& fused : fusion.regions) {
    const auto tile = choices.tiles.find(variant.regions.size());
    variant.regions.push_back(
        encoded(fused, symbols, *target,
                tile == choices.tiles.end() ? std::nullopt : std::optional(tile->second)));
  }
  for (const fuser::Equality& equality : fusion.assumed) {
    variant.assumed.push_back(text_of(equality));
  }
  variant.nanoseconds = since(begin);
  return variant;
}

}  // namespace dvm::driver
