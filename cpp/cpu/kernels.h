// The cpu's tile kernels, gathered in one table. Each fill_* is one file of kernels.
#pragma once

#include "vm/tile_kernel.h"

namespace dvm::cpu {

const vm::KernelTable& kernel_table();

void fill_elementwise(vm::KernelTable& table);  // rows of tile_ops.h, and cmp
void fill_plain(vm::KernelTable& table);        // the other rows of elementwise.def
void fill_cast(vm::KernelTable& table);
void fill_move(vm::KernelTable& table);  // load, store, views, copy, broadcast, select
void fill_reduce(vm::KernelTable& table);

}  // namespace dvm::cpu
