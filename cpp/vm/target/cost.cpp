#include "vm/target/cost.h"

#include <atomic>

namespace dvm::vm {

namespace {

// A thread may be reading a former table, for as long as it likes: all of them stay.
struct Kept {
  CostTable table;
  const Kept* former;
};
constinit const Kept kDefaults{};
std::atomic<const Kept*> latest_table{&kDefaults};

}  // namespace

const CostTable& cost_table() { return latest_table.load(std::memory_order_acquire)->table; }

void set_cost_table(const CostTable& measured) {
  auto* const made = new Kept{measured, latest_table.load(std::memory_order_acquire)};
  while (!latest_table.compare_exchange_weak(made->former, made, std::memory_order_acq_rel)) {
  }
}

}  // namespace dvm::vm
