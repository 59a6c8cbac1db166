// What a Program writes: whether two of its tiles write the same byte, and how many elements of an
// operand it writes in all. Tiles run in no order, so that a byte that two of them write may be
// either's; and an element that none writes is whatever was there before.
//
// A store goes through a box: the elements of a tile, and the tiles and steps along each axis.
// Where each stride of a box steps over all that the smaller ones reach, no two of its elements
// meet. That is how the encoder cuts arrays; any other Program that is small enough is counted,
// element by element, and one that is not is refused.
#pragma once

#include <cstdint>
#include <span>

#include "vm/isa/program.h"

namespace dvm::vm {

// Throws FormatError where two tiles write the same byte of a global that is not `own`, or where
// what is written does not reach from the first to the last byte that the global has. `own`: the
// operand in which each tile has a place of its own (HandedOver); -1: none. The Program keeps all
// other rules of verify().
void check_coverage(const Program& program, int own = -1);

// verify() of a Program whose launch hands over, or has made, that operand.
void verify_launched(std::span<const uint64_t> words, int own);

// The elements of a global that a verified Program writes, however often.
int64_t written_elements(const Program& program, int global);

}  // namespace dvm::vm
