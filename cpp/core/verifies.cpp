#include "core/verifies.h"

#include <cstdlib>
#include <string_view>

namespace dvm::core {

std::atomic<bool>& verifies() {
  static std::atomic<bool> verifies = [] {
    const char* text = std::getenv("DVM_VERIFY");
    if (text != nullptr) return std::string_view(text) == "1";
#ifdef NDEBUG
    return false;
#else
    return true;
#endif
  }();
  return verifies;
}

}  // namespace dvm::core
