#include "driver/logs.h"

#include <spdlog/sinks/base_sink.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <atomic>
#include <mutex>

namespace dvm::driver {

namespace {

std::atomic<uint32_t> g_enabled = 0;  // a bit per topic

LogSink& embedder() {
  static auto* sink = new LogSink();
  return *sink;
}

// Hands messages to the embedder, or prints them where there is none.
class Sink final : public spdlog::sinks::base_sink<std::mutex> {
 protected:
  void sink_it_(const spdlog::details::log_msg& message) override {
    const std::string_view topic(message.logger_name.data(), message.logger_name.size());
    const std::string_view text(message.payload.data(), message.payload.size());
    if (embedder()) return embedder()(topic, text);
    fmt::print(stderr, "[dvm.{}] {}\n", topic, text);
  }
  void flush_() override {}
};

spdlog::logger& logger(LogTopic topic) {
  static const auto* loggers = [] {
    auto* made = new std::vector<std::unique_ptr<spdlog::logger>>();
    const auto sink = std::make_shared<Sink>();
    for (const LogTopicInfo& row : log_topics()) {
      made->push_back(std::make_unique<spdlog::logger>(std::string(row.name), sink));
    }
    return made;
  }();
  return *(*loggers)[static_cast<size_t>(topic)];
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
  if (log_enabled(LogTopic::perf)) {
    logger(LogTopic::perf)
        .info("{}: {:.1f} us", pass.name, static_cast<double>(pass.nanoseconds) / 1e3);
  }
  if (log_enabled(LogTopic::passes)) {
    logger(LogTopic::passes).info("{}:\n{}", pass.name, pass.text);
  }
}

void log_decision(const core::Decision& decision) {
  if (!log_enabled(LogTopic::fusion)) return;
  logger(LogTopic::fusion)
      .info("{}: {} ({}) {} {}", decision.what, decision.verdict, decision.rule, decision.reason,
            core::to_string(decision.loc));
}

}  // namespace dvm::driver
