// What the driver says while it works, by topic. Nothing is on until somebody asks for it; messages
// go to stderr, for stdout belongs to the program, or where the embedder sends them.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "driver/compile.h"

namespace dvm::driver {

// DVM_LOG_TOPIC(name, what it prints)
#define DVM_LOG_TOPICS(DVM_LOG_TOPIC)                               \
  DVM_LOG_TOPIC(passes, "what each step of the compiler made")      \
  DVM_LOG_TOPIC(fusion, "why operations share a Region, or do not") \
  DVM_LOG_TOPIC(perf, "how long each step took, and how much it changed")

enum class LogTopic : uint8_t {
#define DVM_LOG_TOPIC(name, synopsis) name,
  DVM_LOG_TOPICS(DVM_LOG_TOPIC)
#undef DVM_LOG_TOPIC
};
struct LogTopicInfo {
  std::string_view name, synopsis;
};
const std::vector<LogTopicInfo>& log_topics();

bool log_enabled(LogTopic topic);
// Turns on these topics and all others off; names of topics that are not the driver's are ignored.
void enable_logs(const std::vector<std::string>& topics);
// Must not throw, and may be called by several threads at once. Set it before there are threads
// that compile.
using LogSink = std::function<void(std::string_view topic, std::string_view message)>;
void set_log_sink(LogSink sink);

void log_pass(const PassRecord& pass);
void log_decision(const core::Decision& decision);

}  // namespace dvm::driver
