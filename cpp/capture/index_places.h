// What the places that an index names are, before anything is written there.
#pragma once

#include "capture/py.h"

namespace dvm::capture {

// For Python:
//   check_index(array, key, value)  raises IndexError or ValueError where `array[key] = value`,
//   with
//                                   integers and arrays of integers for the first axes, would
//   distinct_places(array, key)     each place along the first axis once, and which of them every
//                                   element of the key is: array[places][inverse] is array[key]
extern PyMethodDef index_functions[];

}  // namespace dvm::capture
