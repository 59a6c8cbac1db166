#include "runtime/functions/own_functions.h"

#include "runtime/functions/suppression.h"
#include "runtime/functions/top_k.h"

namespace dvm::runtime {

OwnFunction own_function(std::string_view name) {
  if (!name.starts_with("dvm.")) return nullptr;
  if (name == "dvm.non_max_suppression") return non_max_suppression;
  if (name == "dvm.top_k") return top_k;
  return nullptr;
}

}  // namespace dvm::runtime
