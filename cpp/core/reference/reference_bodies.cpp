#include "core/reference/reference_bodies.h"

#include <algorithm>
#include <iterator>

#include "core/graph/bodies.h"

namespace dvm::core {

Array number_array(int64_t value) {
  Array array = make_array(DType::i64, {});
  elements<int64_t>(array)[0] = value;
  return array;
}

bool is_true(const Array& condition) { return elements<uint8_t>(condition)[0] != 0; }

std::vector<Array> evaluate_loop(const Node& loop, std::vector<Array> given,
                                 std::span<const int64_t> sizes, int64_t count,
                                 const EvaluateBody& evaluate) {
  const size_t carried = carried_of(loop);
  int64_t trip = 0;
  for (; trip < count; ++trip) {
    std::vector<Array> arguments{number_array(trip)};
    std::ranges::copy(given, std::back_inserter(arguments));
    for (const int64_t size : sizes) arguments.push_back(number_array(size));
    BodyResult made = evaluate(*loop.attrs.bodies[0], arguments);
    std::ranges::move(made.values, given.begin());
    if (made.left) break;
  }
  given.resize(carried);
  given.insert(given.begin(), number_array(trip));
  return given;
}

std::vector<Array> evaluate_branch(const Node& branch, std::vector<Array> given,
                                   std::span<const int64_t> sizes, const EvaluateBody& evaluate) {
  const Graph& body = *branch.attrs.bodies[is_true(given[0]) ? 0 : 1];
  given.erase(given.begin());
  for (const int64_t size : sizes) given.push_back(number_array(size));
  return evaluate(body, given).values;
}

std::vector<Array> evaluate_match(const Node& match, std::vector<Array> given,
                                  std::span<const int64_t> sizes, const EvaluateBody& evaluate) {
  const std::shared_ptr<const Object> object = given[0].object;
  const auto& cases = match.attrs.cases;
  const auto which = std::ranges::find(cases, object->tag) - cases.begin();
  given.erase(given.begin());
  given.insert(given.begin(), object->fields.begin(), object->fields.end());
  for (const int64_t size : sizes) given.push_back(number_array(size));
  return evaluate(*match.attrs.bodies[static_cast<size_t>(which)], given).values;
}

}  // namespace dvm::core
