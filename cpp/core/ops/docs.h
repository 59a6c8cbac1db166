// Documentation rendered from the tables, so that it cannot disagree with them.
#pragma once

#include <string>

namespace dvm::core {

std::string ops_markdown();  // docs/ops.md

}  // namespace dvm::core
