#include "vm/cost.h"

#include <atomic>

namespace dvm::vm {

namespace {
constinit const CostTable defaults;
std::atomic<const CostTable*> table{&defaults};
}  // namespace

const CostTable& cost_table() { return *table.load(std::memory_order_acquire); }

// A thread may be reading the former one, for as long as it likes.
void set_cost_table(const CostTable& measured) {
  table.store(new CostTable(measured), std::memory_order_release);
}

}  // namespace dvm::vm
