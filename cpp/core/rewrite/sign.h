// How a value stands for another one within a sum or a product.
#pragma once

namespace dvm::core {

struct Sign {
  bool negative = false, inverted = false;
  bool is_plain() const { return !negative && !inverted; }
};

// A sign within another one.
inline Sign operator*(Sign a, Sign b) {
  return {a.negative != b.negative, a.inverted != b.inverted};
}

inline constexpr Sign kNegative{.negative = true}, kInverted{.inverted = true};

}  // namespace dvm::core
