#include "vm/cost.h"

namespace dvm::vm {

namespace {
CostTable table;
}  // namespace

const CostTable& cost_table() { return table; }
void set_cost_table(const CostTable& measured) { table = measured; }

}  // namespace dvm::vm
