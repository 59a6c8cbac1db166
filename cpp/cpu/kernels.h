// The cpu's tile kernels, gathered in one table per SIMD level. Each fill_* is one file of kernels.
#pragma once

#include "cpu/simd_level.h"
#include "vm/run/tile_kernel.h"

namespace dvm::cpu {

const vm::KernelTable& kernel_table(SimdLevel level);

// Rows of tile_ops.h and cmp.
void fill_floats(SimdLevel level, vm::KernelTable& table);
void fill_scalings(SimdLevel level, vm::KernelTable& table);
void fill_halves(SimdLevel level, vm::KernelTable& table);  // by way of f32: after fill_floats
void fill_integers(SimdLevel level, vm::KernelTable& table);
void fill_divisions(SimdLevel level, vm::KernelTable& table);
void fill_divisors(SimdLevel level, vm::KernelTable& table);
void fill_integer_powers(SimdLevel level, vm::KernelTable& table);
void fill_math_f32(SimdLevel level, vm::KernelTable& table);
void fill_math_f64(SimdLevel level, vm::KernelTable& table);

void fill_cast(SimdLevel level, vm::KernelTable& table);
void fill_move(SimdLevel level,
               vm::KernelTable& table);  // load, store, views, copy, broadcast, select
void fill_sums(SimdLevel level, vm::KernelTable& table);
void fill_extremes(SimdLevel level, vm::KernelTable& table);
void fill_matmul(SimdLevel level, vm::KernelTable& table);
void fill_plain(vm::KernelTable& table);  // the other rows of elementwise.def

}  // namespace dvm::cpu
