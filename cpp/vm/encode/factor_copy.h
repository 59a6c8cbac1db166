// Factors of a product that an instruction cannot read where they lie (backwards, every second
// column, repeated): a Program copies each into a workspace, and the product reads the copy.
#pragma once

#include <cstdint>

#include "vm/target/target.h"
#include "vm/tile/bind.h"
#include "vm/tile/contraction.h"

namespace dvm::vm {

enum class Factor : uint8_t { a, b };

// Whether copies are all that keeps instructions of the target from reading factors in place.
bool needs_factor_copies(const Contraction& product, const TargetTraits& target);
bool is_in_place(const Contraction& product, Factor factor);
// Whether windows have to be copied for a target to read them, as a matrix of their own.
bool needs_window_copies(const Contraction& product, const TargetTraits& target);
// Makes the Stage that copies them into operand `workspace`, dense; has `product` read it there.
// Returns the bytes of the copy.
int64_t copy_windows(int16_t workspace, Contraction& product, Stage& stage);
// Whether both factors are the same elements, so that one copy serves them.
bool is_square(const Contraction& product);
// Then reads b as a, which has been copied.
void read_as_a(Contraction& product);

// Makes the Stage that copies the factor into operand `workspace`, the matrix dense and its
// elements in the order in which they lie; has `product` read it there, and b no more where it is
// packed. Returns the bytes of the copy.
int64_t copy_factor(Factor factor, int16_t workspace, Contraction& product, Stage& stage);

}  // namespace dvm::vm
