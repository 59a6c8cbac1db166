// Policies of the process: the stance towards new captures, and where log messages go.
#include <pybind11/stl.h>

#include "bindings/bindings.h"
#include "capture/policy.h"
#include "capture/stance.h"
#include "core/error.h"
#include "driver/logs.h"

namespace py = pybind11;

namespace dvm::bindings {

namespace {

capture::Stance stance_of(const std::string& name) {
  const auto stance = capture::stance_from_text(name);
  if (!stance) core::fail(core::ErrorCode::unknown_name, "there is no stance '" + name + "'");
  return *stance;
}

std::optional<std::string> name_of(std::optional<capture::Stance> stance) {
  return stance ? std::optional(std::string(capture::to_string(*stance))) : std::nullopt;
}

// The driver's messages become calls of Python's (topic, message). Errors are shown and forgotten.
void send_logs_to(const py::object& hook) {
  static auto* target = new py::object();
  *target = hook;
  driver::set_log_sink([](std::string_view topic, std::string_view message) {
    const py::gil_scoped_acquire lock;
    try {
      (*target)(std::string(topic), std::string(message));
    } catch (py::error_already_set& error) {
      error.discard_as_unraisable("dvm's log");
    }
  });
}

}  // namespace

void bind_policies(py::module_& module) {
  py::list stances;
#define DVM_STANCE(name, synopsis) stances.append(py::make_tuple(#name, synopsis));
  DVM_STANCES(DVM_STANCE)
#undef DVM_STANCE
  module.attr("stances") = stances;
  module.def("set_stance", [](const std::string& name) {
    return std::string(capture::to_string(capture::set_stance(stance_of(name))));
  });
  module.def("set_thread_stance", [](const std::optional<std::string>& name) {
    return name_of(
        capture::set_thread_stance(name ? std::optional(stance_of(*name)) : std::nullopt));
  });
  module.def("stance", [] { return std::string(capture::to_string(capture::present_stance())); });
  // For what is bought beside captures, by the same rule: it is told of plain calls until it pays.
  py::class_<capture::Policy>(module, "Policy")
      .def(py::init())
      .def("may_capture",
           [](capture::Policy& policy, int64_t expected) {
             policy.expect(expected);
             return policy.may_capture(0);
           })
      .def("wants_plain", &capture::Policy::wants_plain)
      .def("plain", [](capture::Policy& policy, int64_t nanos) {
        policy.plain(0, {nanos, nanos}, 0);
      });
  py::list topics;
  for (const driver::LogTopicInfo& topic : driver::log_topics()) {
    topics.append(py::make_tuple(topic.name, topic.synopsis));
  }
  module.attr("log_topics") = topics;
  module.def("enable_logs", driver::enable_logs);
  module.def("send_logs_to", send_logs_to);
}

}  // namespace dvm::bindings
