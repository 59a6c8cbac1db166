// In which order the elements of NumPy's arrays lie in memory: what it derives the memory order of
// results from ("K order").
//
// NumPy calls an array without elements contiguous, and goes by its strides nonetheless: a
// reduction over the axis of no elements has a result with some.
#pragma once

#include "capture/library/axis_order.h"
#include "capture/numpy/numpy_api.h"

namespace dvm::capture {

// Whether that is plain to see, without a look at the strides.
bool is_in_c_order(PyArrayObject* array);

// The rank is at most core::kMaxRank.
AxisOrder layout_of(PyArrayObject* array);

// Whether the elements lie densely in this order. Where axes are of size 1 or 0, they may do so in
// several; of rank 2 nothing that NumPy makes of such an array tells which. Nothing does in one
// with repeated axes.
bool lies_in(PyArrayObject* array, const AxisOrder& order);

}  // namespace dvm::capture
