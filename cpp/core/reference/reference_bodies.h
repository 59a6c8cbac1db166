// The meaning of loops and branches, given how a body is evaluated.
#pragma once

#include <functional>
#include <limits>
#include <span>
#include <vector>

#include "core/reference/reference.h"

namespace dvm::core {

struct BodyResult {
  std::vector<Array> values;  // next carried values, or those that leave
  bool left = false;
};
using EvaluateBody = std::function<BodyResult(const Graph& body, std::span<const Array>)>;

inline constexpr int64_t kUntilLeave = std::numeric_limits<int64_t>::max();

bool is_true(const Array& condition);
Array number_array(int64_t value);

// All results of the node. `given` are its operands, `sizes` the numbers it hands in.
std::vector<Array> evaluate_loop(const Node& loop, std::vector<Array> given,
                                 std::span<const int64_t> sizes, int64_t count,
                                 const EvaluateBody& evaluate);
std::vector<Array> evaluate_branch(const Node& branch, std::vector<Array> given,
                                   std::span<const int64_t> sizes, const EvaluateBody& evaluate);
std::vector<Array> evaluate_match(const Node& match, std::vector<Array> given,
                                  std::span<const int64_t> sizes, const EvaluateBody& evaluate);

}  // namespace dvm::core
