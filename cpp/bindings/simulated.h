// What the bindings of profiles share.
#pragma once

#include <pybind11/pybind11.h>

#include <string>

#include "driver/variants.h"
#include "vm/target/target.h"

namespace dvm::bindings {

inline pybind11::bytes bytes_of(const void* data, size_t size) {
  return {static_cast<const char*>(data), size};
}

// UnsupportedError for a target that does not exist, or is not simulated.
const vm::TargetTraits& simulated_target(const std::string& name);

// Programs with buffers numbered as their globals are, and a dict for each tiling.
pybind11::tuple encoded_tuple(const driver::EncodedRegion& encoded);

// A tile as Python asks for it: (dim, elements), or of a product ("sums", rows, columns).
vm::TileRequest tile_request(const pybind11::tuple& tile);

}  // namespace dvm::bindings
