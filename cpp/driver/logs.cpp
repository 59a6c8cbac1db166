#include "driver/logs.h"

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <cstdlib>

namespace dvm::driver {

namespace {

// On stderr, for stdout belongs to the program.
spdlog::logger& logger() {
  static const std::shared_ptr<spdlog::logger> log = [] {
    auto made =
        std::make_shared<spdlog::logger>("dvm", std::make_shared<spdlog::sinks::stderr_sink_mt>());
    made->set_pattern("[%n] %v");
    return made;
  }();
  return *log;
}

}  // namespace

bool log_enabled(std::string_view topic) {
  const char* topics = std::getenv("DVM_LOGS");
  for (std::string_view rest = topics ? topics : ""; !rest.empty();) {
    const size_t end = std::min(rest.find(','), rest.size());
    if (rest.substr(0, end) == topic) return true;
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return false;
}

void log_pass(const PassRecord& pass) {
  if (log_enabled("perf")) {
    logger().info("{}: {:.1f} us", pass.name, static_cast<double>(pass.nanoseconds) / 1e3);
  }
  if (log_enabled("passes")) logger().info("{}:\n{}", pass.name, pass.text);
}

void log_decision(const core::Decision& decision) {
  if (!log_enabled("fusion")) return;
  logger().info("{}: {} ({}) {} {}", decision.what, decision.verdict, decision.rule,
                decision.reason, core::to_string(decision.loc));
}

}  // namespace dvm::driver
