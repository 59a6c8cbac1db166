// Element types of tensors (rows of dtypes.def), and scalar values.
#pragma once

#include <bit>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

#include "core/ops/half.h"

namespace dvm::core {

enum class DType : uint8_t {
#define DVM_DTYPE(name, storage, bytes, kind, computes_in, text) name,
#include "core/ops/dtypes.def"
#undef DVM_DTYPE
};
inline constexpr int kDTypeCount = 0
#define DVM_DTYPE(name, storage, bytes, kind, computes_in, text) +1
#include "core/ops/dtypes.def"
#undef DVM_DTYPE
    ;

enum class Kind : uint8_t { boolean, integer, floating };

struct DTypeInfo {
  std::string_view text;
  int bytes;
  Kind kind;
  DType computes_in;
};
inline constexpr DTypeInfo kDTypes[] = {
#define DVM_DTYPE(name, storage, bytes, kind, computes_in, text) \
  {text, bytes, Kind::kind, DType::computes_in},
#include "core/ops/dtypes.def"
#undef DVM_DTYPE
};
constexpr const DTypeInfo& info(DType d) { return kDTypes[static_cast<int>(d)]; }
constexpr int byte_size(DType d) { return info(d).bytes; }
constexpr bool is_floating(DType d) { return info(d).kind == Kind::floating; }
// What arithmetic on it is done in, each result rounded to it: itself, unless it is a half, which
// is a format of storage.
constexpr DType computes_in(DType d) { return info(d).computes_in; }
constexpr bool is_half(DType d) { return computes_in(d) != d; }
class DTypeSet {
 public:
  constexpr DTypeSet() = default;
  constexpr DTypeSet(std::initializer_list<DType> dtypes) {
    for (const DType d : dtypes) insert(d);
  }
  constexpr void insert(DType d) { bits_ |= bit(d); }
  constexpr bool contains(DType d) const { return (bits_ & bit(d)) != 0; }
  constexpr bool empty() const { return bits_ == 0; }
  constexpr DTypeSet without(DTypeSet others) const { return DTypeSet(bits_ & ~others.bits_); }
  bool operator==(const DTypeSet&) const = default;

 private:
  explicit constexpr DTypeSet(uint32_t bits) : bits_(bits) {}
  static constexpr uint32_t bit(DType d) { return uint32_t{1} << static_cast<int>(d); }
  uint32_t bits_ = 0;
};
inline constexpr DTypeSet kHalves = [] {
  DTypeSet halves;
  for (int d = 0; d < kDTypeCount; ++d) {
    if (is_half(static_cast<DType>(d))) halves.insert(static_cast<DType>(d));
  }
  return halves;
}();
constexpr std::string_view to_string(DType d) { return info(d).text; }
std::optional<DType> dtype_from_text(std::string_view text);

template <DType D>
struct StorageOf;
#define DVM_DTYPE(name, storage, bytes, kind, computes_in, text) \
  template <>                                                    \
  struct StorageOf<DType::name> {                                \
    using type = storage;                                        \
  };
#include "core/ops/dtypes.def"
#undef DVM_DTYPE
template <DType D>
using Storage = typename StorageOf<D>::type;

// Calls f.template operator()<D>() for the run-time dtype d.
template <typename F>
decltype(auto) dispatch(DType d, F&& f) {
  switch (d) {
#define DVM_DTYPE(name, storage, bytes, kind, computes_in, text) \
  case DType::name:                                              \
    return f.template operator()<DType::name>();
#include "core/ops/dtypes.def"
#undef DVM_DTYPE
  }
  __builtin_unreachable();
}

// Calls f.template operator()<Word>() with the unsigned integer of an element's size: what moves
// elements without looking at them needs one body per size, not per dtype.
template <typename F>
decltype(auto) dispatch_size(DType d, F&& f) {
  switch (byte_size(d)) {
    case 1:
      return f.template operator()<uint8_t>();
    case 2:
      return f.template operator()<uint16_t>();
    case 4:
      return f.template operator()<uint32_t>();
    default:
      return f.template operator()<uint64_t>();
  }
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

// The value as an element of that dtype: floats rounded, integers wrapped, bool 0 or 1.
template <DType D>
Storage<D> element_of(Scalar value) {
  using T = Storage<D>;
  if constexpr (D == DType::boolean) {
    return value.as_int() != 0;
  } else if constexpr (is_half(D)) {
    return half_from_double<T>(value.as_float());
  } else if constexpr (is_floating(D)) {
    return static_cast<T>(value.as_float());
  } else {
    return static_cast<T>(value.as_int());
  }
}
// And back.
template <DType D>
Scalar scalar_of(Storage<D> element) {
  if constexpr (is_half(D)) {
    return Scalar::of_float(to_float(element));
  } else if constexpr (is_floating(D)) {
    return Scalar::of_float(element);
  } else {
    return Scalar::of_int(static_cast<int64_t>(element));
  }
}
// The value as that dtype holds it.
Scalar round_to(DType dtype, Scalar value);
// Decimal digits of a value that is no float.
std::string integer_text(DType dtype, Scalar value);

}  // namespace dvm::core
