// The reference evaluator: runs a Graph node by node on dense arrays with the scalar meanings of
// core/ops/scalar_ops.h, in the plainest possible way. Every target and pass is compared with it.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "core/graph/graph.h"

namespace dvm::core {

struct Module;

struct Object;
// A dense C-ordered array, or an object of a data type.
struct Array {
  DType dtype = DType::f32;
  std::vector<int64_t> shape;
  std::vector<std::byte> data;
  std::shared_ptr<const Object> object = {};
  int64_t size() const;
};
// Of a function that is a value the tag is its name, the fields are what it has with it.
struct Object {
  std::string tag;
  std::vector<Array> fields;
};
Array make_object(std::string tag, std::vector<Array> fields);
Array make_array(DType dtype, std::vector<int64_t> shape);  // zeros; at most kMaxArrayBytes
inline constexpr int64_t kMaxArrayBytes = int64_t{1} << 31;

template <typename T>
std::span<T> elements(Array& array) {
  return {reinterpret_cast<T*>(array.data.data()), array.data.size() / sizeof(T)};
}
template <typename T>
std::span<const T> elements(const Array& array) {
  return {reinterpret_cast<const T*>(array.data.data()), array.data.size() / sizeof(T)};
}

// What the host function of a call is given.
struct GivenToCall {
  const std::string& callee;
  std::span<const Array> arrays;
  std::span<const int64_t> sizes;
  std::span<const Array> numbers;  // of rank 0
  int results;                     // how many arrays it is to return
  std::span<const Array> into;     // call_into: arrays of the types it is to return
};
using HostFunction = std::function<std::vector<Array>(const GivenToCall&)>;

// `inputs` match graph.inputs() (a scalar is a rank-0 Array). Symbol values are read off the shapes
// of inputs and of results of calls (core/graph/bind_symbols.h); `symbols` gives those known
// beforehand, by index, which a Region needs whose sizes come from the program around it. Throws
// ShapeError where an array contradicts the graph's types or a broadcast, reshape, slice or max
// fails.
std::vector<Array> evaluate(const Graph& graph, std::span<const Array> inputs,
                            const HostFunction& host = {}, std::span<const int64_t> symbols = {});
std::vector<Array> evaluate(const Module& module, std::span<const Array> inputs,
                            const HostFunction& host = {});

}  // namespace dvm::core
