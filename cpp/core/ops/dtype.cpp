#include "core/ops/dtype.h"

namespace dvm::core {

std::optional<DType> dtype_from_text(std::string_view text) {
  for (int i = 0; i < kDTypeCount; ++i) {
    if (kDTypes[i].text == text) return static_cast<DType>(i);
  }
  return std::nullopt;
}

Scalar round_to(DType dtype, Scalar value) {
  return dispatch(dtype, [&]<DType D>() { return scalar_of<D>(element_of<D>(value)); });
}

std::string integer_text(DType dtype, Scalar value) {
  const int64_t bits = value.as_int();
  return dtype == DType::u64 ? std::to_string(static_cast<uint64_t>(bits)) : std::to_string(bits);
}

}  // namespace dvm::core
