// Products of matrices, for the reference evaluator.
#pragma once

#include "core/reference/reference.h"

namespace dvm::core {

// In the order of k, each product and each sum rounded to what `dtype` computes in.
Array multiply(const Array& a, const Array& b, DType dtype);
// The same of weights and the windows of x, which are made an array first.
Array convolve(const Array& weights, const Array& x, DType dtype, const WindowForm& form);

}  // namespace dvm::core
