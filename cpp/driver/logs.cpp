#include "driver/logs.h"

#include <atomic>
#include <cstdio>

namespace dvm::driver {

namespace {

std::atomic<uint32_t> g_enabled = 0;  // a bit per topic

LogSink& embedder() {
  static auto* sink = new LogSink();
  return *sink;
}

// Hands a message to the embedder, or prints it where there is none.
void emit(LogTopic topic, std::string_view message) {
  const std::string_view name = log_topics()[static_cast<size_t>(topic)].name;
  if (embedder()) return embedder()(name, message);
  const auto length = [](std::string_view text) { return static_cast<int>(text.size()); };
  std::fprintf(stderr, "[dvm.%.*s] %.*s\n", length(name), name.data(), length(message),
               message.data());
}

}  // namespace

const std::vector<LogTopicInfo>& log_topics() {
  static const auto* topics = new std::vector<LogTopicInfo>{
#define DVM_LOG_TOPIC(name, synopsis) {#name, synopsis},
      DVM_LOG_TOPICS(DVM_LOG_TOPIC)
#undef DVM_LOG_TOPIC
  };
  return *topics;
}

bool log_enabled(LogTopic topic) {
  return (g_enabled.load(std::memory_order_relaxed) >> static_cast<int>(topic)) & 1;
}

void enable_logs(const std::vector<std::string>& topics) {
  uint32_t enabled = 0;
  for (size_t i = 0; i < log_topics().size(); ++i) {
    for (const std::string& topic : topics) {
      if (topic == log_topics()[i].name) enabled |= uint32_t{1} << i;
    }
  }
  g_enabled = enabled;
}

void set_log_sink(LogSink sink) { embedder() = std::move(sink); }

void log_pass(const PassRecord& pass) {
  const std::string name = std::string(to_string(pass.stage)) + " " + pass.name;
  if (log_enabled(LogTopic::perf)) {
    // In tenths of a microsecond, rounded.
    const int64_t tenths = (pass.nanoseconds + 50) / 100;
    emit(LogTopic::perf, name + ": " + std::to_string(tenths / 10) + "." +
                             std::to_string(tenths % 10) + " us, " + std::to_string(pass.effects) +
                             " of " + std::to_string(pass.matches) + " changed");
  }
  if (log_enabled(LogTopic::passes)) emit(LogTopic::passes, name + ":\n" + pass.text);
}

void log_decision(const core::Decision& decision) {
  if (!log_enabled(LogTopic::fusion)) return;
  emit(LogTopic::fusion, decision.what + ": " + decision.verdict + " (" + decision.rule + ") " +
                             decision.reason + " " + core::to_string(decision.loc));
}

}  // namespace dvm::driver
