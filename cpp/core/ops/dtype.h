// Element types of tensors (rows of dtypes.def), the fp16 storage type, and scalar values.
#pragma once

#include <bit>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace dvm::core {

// IEEE binary16 as storage: arithmetic always goes through float.
struct Half {
  uint16_t bits = 0;
  bool operator==(const Half&) const = default;
};
float to_float(Half h);
Half to_half(float f);  // round to nearest even, NaN stays NaN (quiet, top of its payload)
Half half_from_double(double d);  // rounds once, unlike to_half(float(d))

enum class DType : uint8_t {
#define DVM_DTYPE(name, storage, bytes, kind, text, numpy) name,
#include "core/ops/dtypes.def"
#undef DVM_DTYPE
};
inline constexpr int kDTypeCount = 0
#define DVM_DTYPE(name, storage, bytes, kind, text, numpy) +1
#include "core/ops/dtypes.def"
#undef DVM_DTYPE
    ;

enum class Kind : uint8_t { boolean, integer, floating };

struct DTypeInfo {
  std::string_view text, numpy;
  int bytes;
  Kind kind;
};
inline constexpr DTypeInfo kDTypes[] = {
#define DVM_DTYPE(name, storage, bytes, kind, text, numpy) {text, numpy, bytes, Kind::kind},
#include "core/ops/dtypes.def"
#undef DVM_DTYPE
};
constexpr const DTypeInfo& info(DType d) { return kDTypes[static_cast<int>(d)]; }
constexpr int byte_size(DType d) { return info(d).bytes; }
constexpr bool is_floating(DType d) { return info(d).kind == Kind::floating; }
constexpr std::string_view to_string(DType d) { return info(d).text; }
std::optional<DType> dtype_from_text(std::string_view text);

template <DType D>
struct StorageOf;
#define DVM_DTYPE(name, storage, bytes, kind, text, numpy) \
  template <>                                              \
  struct StorageOf<DType::name> {                          \
    using type = storage;                                  \
  };
#include "core/ops/dtypes.def"
#undef DVM_DTYPE
template <DType D>
using Storage = typename StorageOf<D>::type;

// Calls f.template operator()<D>() for the run-time dtype d.
template <typename F>
decltype(auto) dispatch(DType d, F&& f) {
  switch (d) {
#define DVM_DTYPE(name, storage, bytes, kind, text, numpy) \
  case DType::name:                                        \
    return f.template operator()<DType::name>();
#include "core/ops/dtypes.def"
#undef DVM_DTYPE
  }
  __builtin_unreachable();
}

// A scalar operand: a float when its dtype is floating, else an integer (bool is 0 or 1; a u64 is
// the bits of its int64).
// Compared by bits, so that NaN payloads and signed zeros survive every round trip.
class Scalar {
 public:
  static constexpr Scalar of_int(int64_t v) { return Scalar(v); }
  static constexpr Scalar of_float(double v) { return Scalar(std::bit_cast<int64_t>(v)); }
  static constexpr Scalar of_bits(int64_t bits) { return Scalar(bits); }
  constexpr Scalar() = default;
  constexpr int64_t as_int() const { return bits_; }
  constexpr double as_float() const { return std::bit_cast<double>(bits_); }
  constexpr int64_t bits() const { return bits_; }
  bool operator==(const Scalar&) const = default;

 private:
  explicit constexpr Scalar(int64_t bits) : bits_(bits) {}
  int64_t bits_ = 0;
};

// The value as that dtype holds it: floats rounded, integers wrapped, bool 0 or 1.
Scalar round_to(DType dtype, Scalar value);
// Decimal digits of a value that is no float.
std::string integer_text(DType dtype, Scalar value);

}  // namespace dvm::core
