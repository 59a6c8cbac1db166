// Lowering of what is given whole arrays and objects: functions of the host and of the module,
// bodies, objects.
#pragma once

#include <map>
#include <span>
#include <string>

#include "driver/lower.h"
#include "driver/lowered.h"

namespace dvm::driver {

class CallLowering {
 public:
  CallLowering(Lowered& to, const CompileBody& compile_body)
      : to_(to), compile_body_(compile_body) {}

  void lower(core::Value v);  // of an op that core::is_call

 private:
  struct Given {
    int32_t callee;
    Registers arrays, sizes, numbers;
  };
  Given given_to(const core::Node& call);
  std::map<int, core::Value> results_of(core::Value call) const;
  Registers buffers_of(std::span<const core::Value> values);
  Registers kinds_of(const core::Graph& body) const;
  static Registers words_of(std::span<const runtime::Argument> gives);
  int32_t add_body(const core::Node& owner, size_t which);
  void place_results(core::Value owner, int32_t first);

  void lower_call(core::Value call);
  void lower_call_into(core::Value call);
  void lower_loop(core::Value loop);
  void lower_branch(core::Value branch);
  void lower_match(core::Value match);
  void lower_invoke(core::Value invoke);
  void lower_construct(core::Value made, const std::string& tag);
  void lower_apply(core::Value apply);
  runtime::Plan invoking(const core::Constructor& closure,
                         std::span<const core::Value> given) const;

  Lowered& to_;
  const CompileBody& compile_body_;
  const core::Graph& graph_ = to_.graph;
  runtime::Plan& plan_ = to_.plan;
  runtime::PlanBuilder& builder_ = to_.builder;
  SizeCode& sizes_ = to_.sizes;
};

}  // namespace dvm::driver
