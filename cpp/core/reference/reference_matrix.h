// Products of matrices, for the reference evaluator.
#pragma once

#include "core/reference/reference.h"

namespace dvm::core {

// In the order of k, each product and each sum rounded to what `dtype` computes in.
Array multiply(const Array& a, const Array& b, DType dtype);

}  // namespace dvm::core
