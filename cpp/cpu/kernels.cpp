#include "cpu/kernels.h"

namespace dvm::cpu {

const vm::KernelTable& kernel_table() {
  static const vm::KernelTable table = [] {
    vm::KernelTable filled;
    fill_elementwise(filled);
    fill_plain(filled);
    fill_cast(filled);
    fill_move(filled);
    fill_reduce(filled);
    return filled;
  }();
  return table;
}

}  // namespace dvm::cpu
