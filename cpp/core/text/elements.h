// The elements of a tensor constant in text: a list of numbers in C order, `[0x1p+0, -inf, nan]`.
// Every bit survives: a NaN that is not the usual one is written as the bits of the element,
// `nan(0x7f800001)`.
#pragma once

#include <string>
#include <vector>

#include "core/graph/tensor.h"
#include "core/text/text_lexer.h"

namespace dvm::core {

std::string elements_text(const TensorData& tensor);

// As many as the shape has; anything else is an error of the text.
Tensor read_elements(TextLexer& lexer, DType dtype, std::vector<int64_t> shape);

// One number as that dtype has it.
Scalar read_number(TextLexer& lexer, DType dtype);
std::string number_text(DType dtype, Scalar value);

}  // namespace dvm::core
