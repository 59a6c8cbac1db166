// A segment of numbers as instructions of the machine: Graphs that read single elements of arrays
// and compute with those, element by element.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "capture/path/path.h"
#include "capture/replay/numbers/code.h"

namespace dvm::capture::numbers {

// Of a segment: an array that is the same in all turns, or a number.
struct Operand {
  std::optional<Elements> array;
  Number number = {};
};

// The cells of the segment's outputs, elements of their dtypes; none: it is no such Graph. What is
// appended to the code by then is of no use.
std::optional<std::vector<int32_t>> append_graph(Code& code, const Segment& segment,
                                                 std::span<const Operand> tensors,
                                                 std::span<const Number> scalars);

// A number as an element, as an argument of that dtype is read; none: as that it is not.
std::optional<int32_t> append_element(Code& code, const Number& number, core::DType dtype);

// What moves an element of the dtype from memory, and there; none for its size.
struct Moves {
  Op load, store;
};
std::optional<Moves> moves_of(core::DType dtype);

}  // namespace dvm::capture::numbers
