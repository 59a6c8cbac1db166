// How exactly the factors of a product of f32 are multiplied, after torch's
// set_float32_matmul_precision.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace dvm::core {

enum class Precision : uint8_t {
  highest,  // as they are
  high,     // each as a sum of two bf16, where a target is faster with these
  medium,   // rounded to bf16, where a target is faster with these; sums stay f32
};
inline constexpr std::array<std::string_view, 3> kPrecisionNames = {"highest", "high", "medium"};

constexpr std::string_view to_string(Precision precision) {
  return kPrecisionNames[static_cast<size_t>(precision)];
}
constexpr std::optional<Precision> precision_from_text(std::string_view name) {
  for (size_t k = 0; k < kPrecisionNames.size(); ++k) {
    if (kPrecisionNames[k] == name) return static_cast<Precision>(k);
  }
  return std::nullopt;
}

}  // namespace dvm::core
