// What is said of a name that a text has and dvm has not.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace dvm::core {

// "unknown op 'ad'; did you mean 'add'?", or the list of what there is where it is short.
std::string unknown(std::string_view what, std::string_view given,
                    const std::vector<std::string>& valid);

}  // namespace dvm::core
