#include "core/text/elements.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>

namespace dvm::core {

namespace {

template <size_t kBytes>
using Word = std::conditional_t<
    kBytes == 8, uint64_t,
    std::conditional_t<kBytes == 4, uint32_t, std::conditional_t<kBytes == 2, uint16_t, uint8_t>>>;

template <DType D>
uint64_t bits_of(Storage<D> element) {
  return std::bit_cast<Word<sizeof element>>(element);
}

std::string hex_text(uint64_t bits) {
  char digits[16];
  const auto [end, status] = std::to_chars(digits, digits + sizeof digits, bits, 16);
  return "0x" + std::string(digits, end);
}

// The one that `nan` stands for.
template <DType D>
Storage<D> usual_nan() {
  return element_of<D>(Scalar::of_float(std::numeric_limits<double>::quiet_NaN()));
}

template <DType D>
std::string element_text(Storage<D> element) {
  if constexpr (is_floating(D)) {
    if (std::isnan(scalar_of<D>(element).as_float())) {
      const uint64_t bits = bits_of<D>(element);
      return bits == bits_of<D>(usual_nan<D>()) ? "nan" : "nan(" + hex_text(bits) + ")";
    }
  }
  return number_text(D, scalar_of<D>(element));
}

template <DType D>
Storage<D> read_element(TextLexer& lexer) {
  using T = Storage<D>;
  if constexpr (is_floating(D)) {
    if (lexer.take_word("nan")) {
      if (!lexer.take("(")) return usual_nan<D>();
      const uint64_t bits = lexer.natural();
      const T element = std::bit_cast<T>(static_cast<Word<sizeof(T)>>(bits));
      if (bits_of<D>(element) != bits || !std::isnan(scalar_of<D>(element).as_float())) {
        lexer.error("these bits are no NaN of " + std::string(to_string(D)));
      }
      lexer.expect(")");
      return element;
    }
  }
  const Scalar number = read_number(lexer, D);
  if (round_to(D, number) != number) {
    lexer.error("the number is none of " + std::string(to_string(D)));
  }
  return element_of<D>(number);
}

}  // namespace

Scalar read_number(TextLexer& lexer, DType dtype) {
  if (is_floating(dtype)) return Scalar::of_float(lexer.real());
  if (dtype == DType::u64) return Scalar::of_int(static_cast<int64_t>(lexer.natural()));
  return Scalar::of_int(lexer.integer(INT64_MIN, INT64_MAX));
}

std::string number_text(DType dtype, Scalar value) {
  return is_floating(dtype) ? real_text(value.as_float()) : integer_text(dtype, value);
}

std::string elements_text(const TensorData& tensor) {
  const std::vector<std::byte> bytes = dense_bytes(tensor);
  std::string text = "[";
  dispatch(tensor.dtype, [&]<DType D>() {
    Storage<D> element;
    for (size_t at = 0; at < bytes.size(); at += sizeof element) {
      std::memcpy(&element, bytes.data() + at, sizeof element);
      text += (at > 0 ? ", " : "") + element_text<D>(element);
    }
  });
  return text + "]";
}

Tensor read_elements(TextLexer& lexer, DType dtype, std::vector<int64_t> shape) {
  std::vector<std::byte> bytes;
  dispatch(dtype, [&]<DType D>() {
    lexer.list("[", "]", [&] {
      const Storage<D> element = read_element<D>(lexer);
      const auto* first = reinterpret_cast<const std::byte*>(&element);
      bytes.insert(bytes.end(), first, first + sizeof element);
    });
  });
  // By division: the shape may have any sizes.
  const auto count = static_cast<int64_t>(bytes.size()) / byte_size(dtype);
  const bool empty = std::find(shape.begin(), shape.end(), 0) != shape.end();
  int64_t rest = count;
  bool fits = empty ? count == 0 : count > 0;
  for (const int64_t extent : shape) {
    fits = fits && (empty || rest % extent == 0);
    if (!empty) rest /= extent;
  }
  if (!fits || (!empty && rest != 1)) {
    lexer.error(std::to_string(count) + " elements are given, not those of the shape");
  }
  return own_tensor(dtype, std::move(shape), bytes);
}

}  // namespace dvm::core
