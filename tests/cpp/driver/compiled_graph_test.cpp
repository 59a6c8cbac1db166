// A Graph from text, compiled and run by a C++ program: no capture, no host language.
#include "runtime/compiled_graph.h"

#include <gtest/gtest.h>

#include <numeric>
#include <stdexcept>
#include <thread>
#include <utility>

#include "core/error.h"
#include "driver/compile.h"
#include "runtime/plain_host.h"

namespace dvm::driver {
namespace {

using runtime::BufferView;
using runtime::CompiledGraph;
using runtime::Outcome;
using runtime::PlainHost;

constexpr const char* kText =
    "graph v1 {\n"
    "  %0 = input f32[s0, s1]\n"
    "  %1 = input f32[s1]\n"
    "  %2 = scalar f32[]\n"
    "  %3 = broadcast(%1) f32[s0, s1]\n"
    "  %4 = add(%0, %3) f32[s0, s1]\n"
    "  %5 = broadcast(%2) f32[s0, s1]\n"
    "  %6 = mul(%4, %5) f32[s0, s1]\n"
    "  %7 = sum(%6) f32[s0, 1] {axes = [1]}\n"
    "  return %6, %7\n"
    "}\n";

BufferView filled(PlainHost& host, std::vector<int64_t> shape) {
  BufferView view;
  EXPECT_TRUE(host.allocate(core::DType::f32, shape, view));
  const int64_t size = std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
  auto* values = reinterpret_cast<float*>(view.data);
  std::iota(values, values + size, 0.0F);
  return view;
}

std::span<const float> values(const BufferView& view, size_t size) {
  return {reinterpret_cast<const float*>(view.data), size};
}

class CompiledGraphTest : public ::testing::TestWithParam<const char*> {
 protected:
  CompiledGraph compiled = compile(core::parse_graph(kText), Options{.target = GetParam()}).graph;
  const core::Scalar factor[1] = {core::Scalar::of_float(2.0)};

  // Runs it once on rows of 0, 1, 2 ... and a row of the same; the results of the first column.
  void expect_sums(int64_t rows, int64_t columns) {
    PlainHost host;
    const BufferView inputs[] = {filled(host, {rows, columns}), filled(host, {columns})};
    runtime::check_arguments(compiled.plan(), inputs, 1);
    BufferView results[2];
    runtime::BorrowedContext context;
    ASSERT_EQ(compiled.run(host, inputs, factor, results, *context), Outcome::done);
    const auto sums = values(results[1], static_cast<size_t>(rows));
    for (int64_t row = 0; row < rows; ++row) {
      const auto n = static_cast<double>(columns);
      EXPECT_EQ(sums[static_cast<size_t>(row)],
                static_cast<float>(2 * (n * (n - 1) + static_cast<double>(row) * n * n)));
    }
    for (const BufferView& view : {results[0], results[1], inputs[0], inputs[1]}) {
      host.release(view.owner);
    }
  }
};

TEST_P(CompiledGraphTest, SizesNeverSeen) {
  EXPECT_EQ(compiled.target().traits().name, GetParam());
  for (const int64_t rows : {0, 1, 3, 40}) {
    for (const int64_t columns : {1, 7, 100}) expect_sums(rows, columns);
  }
}

TEST_P(CompiledGraphTest, ThreadsAtOnce) {
  std::vector<std::thread> threads;
  for (int64_t t = 1; t <= 4; ++t) {
    threads.emplace_back([&, t] {
      for (int64_t rows = 1; rows < 30; ++rows) expect_sums(rows, 10 * t);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_P(CompiledGraphTest, SizesThatDoNotFit) {
  PlainHost host;
  const BufferView inputs[] = {filled(host, {2, 5}), filled(host, {4})};
  BufferView results[2];
  runtime::BorrowedContext context;
  EXPECT_EQ(compiled.run(host, inputs, factor, results, *context), Outcome::check_failed);
  for (const BufferView& input : inputs) host.release(input.owner);
}

TEST_P(CompiledGraphTest, ArgumentsOfAnotherKind) {
  const auto message = [&](std::vector<BufferView> inputs, size_t scalars) -> std::string {
    try {
      runtime::check_arguments(compiled.plan(), inputs, scalars);
    } catch (const core::Error& error) {
      return error.message();
    }
    return "";
  };
  const BufferView matrix{.rank = 2}, row{.rank = 1}, wide{.dtype = core::DType::f64, .rank = 1};
  EXPECT_EQ(message({matrix, row}, 1), "");
  EXPECT_EQ(message({matrix}, 1),
            "the graph takes 2 tensors and 1 scalar, it was given 1 tensor and 1 scalar");
  EXPECT_EQ(message({matrix, wide}, 1), "input 1 is f64, the graph takes f32");
  EXPECT_EQ(message({row, row}, 1), "input 0 has rank 1, the graph takes rank 2");
}

// Weights that the program changes between calls, which the third and later make by record.
TEST_P(CompiledGraphTest, ConstantsOfTheProgram) {
  core::Graph graph = core::parse_graph(
      "graph v1 { %0 = input f32[n] %1 = tensor f32[3] {name = \"w\"} %2 = sum(%1) f32[1] {axes = "
      "[0]} %3 = broadcast(%2) f32[n] %4 = mul(%0, %3) f32[n] return %4, %1 }");
  PlainHost host;
  const BufferView input = filled(host, {4}), weights = filled(host, {3});
  const auto lacks = [&](const core::Graph& given) {
    const CompiledGraph without = compile(given, Options{.target = GetParam()}).graph;
    EXPECT_THROW(runtime::check_arguments(without.plan(), {&input, 1}, 0), core::Error);
  };
  lacks(graph);
  graph.supply(1, core::Tensor({.dtype = core::DType::f32,
                                .shape = {3},
                                .strides = {4},
                                .data = weights.data,
                                .owner = weights.owner}));
  const CompiledGraph scaled = compile(graph, Options{.target = GetParam()}).graph;
  runtime::check_arguments(scaled.plan(), {&input, 1}, 0);
  for (int call = 0; call < 5; ++call) {
    reinterpret_cast<float*>(weights.data)[0] = static_cast<float>(call);
    BufferView results[2];
    runtime::BorrowedContext context;
    ASSERT_EQ(scaled.run(host, {&input, 1}, {}, results, *context), Outcome::done);
    for (size_t i = 0; i < 4; ++i) {
      EXPECT_EQ(values(results[0], 4)[i], static_cast<float>(i) * static_cast<float>(call + 3));
    }
    EXPECT_EQ(results[1].data, weights.data);
    for (const BufferView& result : results) host.release(result.owner);
  }
  host.release(input.owner);
  host.release(weights.owner);
}

constexpr const char* kCalls =
    "graph v1 {\n"
    "  %0 = input f32[n]\n"
    "  %1 = scalar f32[]\n"
    "  %2 = neg(%0) f32[n]\n"
    "  %3 = call(%2, %1) f32[k] {callee = \"head\", results = 3, sizes = [n - 1], numbers = 1}\n"
    "  %4 = result(%3) i64[1] {index = 2}\n"
    "  %5 = call_into(%3, %4) f32[k] {callee = \"shift\", results = 2}\n"
    "  %6 = result(%5) f32[n] {index = 1}\n"
    "  %7 = neg(%5) f32[k]\n"
    "  return %7, %6, %4\n"
    "}\n";

// Functions of C++: the first elements times a number, and how many these are; then a sum of both.
class PlainFunctions {
 public:
  explicit PlainFunctions(PlainHost& host) {
    host.add("head", [this, &host](const runtime::HostCall& call, std::span<BufferView> results) {
      const int64_t count = call.sizes[0];
      const auto factor = static_cast<float>(call.numbers[0].value.as_float());
      EXPECT_EQ(call.numbers[0].dtype, core::DType::f32);
      EXPECT_EQ(results.size(), 3U);
      EXPECT_EQ(results[1].rank, -1) << "nobody asked for it";
      if (!host.allocate(core::DType::f32, {&count, 1}, results[0])) return false;
      for (int64_t i = 0; i < count; ++i) {
        reinterpret_cast<float*>(results[0].data)[i] =
            factor * reinterpret_cast<const float*>(call.arrays[0].data)[i];
      }
      if (fails == "head") return false;
      if (fails == "head throws") throw std::runtime_error(fails);
      const int64_t one = 1;
      if (!host.allocate(core::DType::i64, {&one, 1}, results[2])) return false;
      *reinterpret_cast<int64_t*>(results[2].data) = count;
      if (fails == "dtype") results[2].dtype = core::DType::u64;
      if (fails == "size") results[0].shape[0] = count - 1;
      if (fails == "missing") host.release(std::exchange(results[2].owner, nullptr));
      return true;
    });
    host.add_into("shift", [this](const runtime::HostCall& call, std::span<const BufferView> into) {
      const auto shift = static_cast<float>(*reinterpret_cast<int64_t*>(call.arrays[1].data));
      const int64_t count = into[0].shape[0];
      for (int64_t i = 0; i < into[1].shape[0]; ++i) {
        reinterpret_cast<float*>(into[1].data)[i] = static_cast<float>(i) + shift;
      }
      if (fails == "shift") return false;
      if (fails == "shift throws") throw std::runtime_error(fails);
      for (int64_t i = 0; i < count; ++i) {
        reinterpret_cast<float*>(into[0].data)[i] =
            reinterpret_cast<const float*>(call.arrays[0].data)[i] + shift;
      }
      return true;
    });
  }

  std::string fails;
};

TEST_P(CompiledGraphTest, CallsFunctionsOfTheProgram) {
  const CompiledGraph calls =
      compile(core::parse_graph(kCalls), Options{.target = GetParam()}).graph;
  PlainHost host;
  PlainFunctions functions(host);
  const int64_t blocks = host.live();
  for (const int64_t n : {4, 1, 2, 4}) {
    const BufferView input = filled(host, {n});
    for (const char* fails :
         {"", "head", "head throws", "shift", "shift throws", "dtype", "missing", "size", ""}) {
      functions.fails = fails;
      BufferView results[3];
      runtime::BorrowedContext context;
      const auto run = [&] { return calls.run(host, {&input, 1}, factor, results, *context); };
      if (functions.fails.ends_with("throws")) {
        EXPECT_THROW(run(), std::runtime_error);
      } else if (functions.fails.empty()) {
        ASSERT_EQ(run(), Outcome::done);
      } else {
        const bool wrong =
            functions.fails == "dtype" || functions.fails == "missing" || functions.fails == "size";
        if (functions.fails == "size" && n > 1) continue;  // k is what the function says
        EXPECT_EQ(run(), wrong ? Outcome::check_failed : Outcome::host_error) << fails;
      }
      for (const BufferView& result : results) {
        EXPECT_EQ(result.owner == nullptr, !functions.fails.empty());
        if (result.owner == nullptr) continue;
        const auto shift = static_cast<float>(n - 1);
        for (int64_t i = 0; i < n && &result == results; ++i) {
          if (i + 1 < n) {
            EXPECT_EQ(values(result, static_cast<size_t>(n))[static_cast<size_t>(i)],
                      2 * static_cast<float>(i) - shift);
          }
          EXPECT_EQ(values(results[1], static_cast<size_t>(n))[static_cast<size_t>(i)],
                    static_cast<float>(i) + shift);
        }
      }
      for (const BufferView& result : results) {
        if (result.owner != nullptr) host.release(result.owner);
      }
      EXPECT_EQ(host.live(), blocks + 1) << "arrays are lost: " << fails;
    }
    host.release(input.owner);
  }
  EXPECT_EQ(host.live(), blocks);
}

TEST_P(CompiledGraphTest, NamesFunctionsThatAreMissing) {
  const CompiledGraph calls =
      compile(core::parse_graph(kCalls), Options{.target = GetParam()}).graph;
  PlainHost host;
  const BufferView input = filled(host, {4});
  BufferView results[3];
  runtime::BorrowedContext context;
  EXPECT_THROW(calls.run(host, {&input, 1}, factor, results, *context), core::Error);
  host.release(input.owner);
}

INSTANTIATE_TEST_SUITE_P(Targets, CompiledGraphTest, ::testing::Values("cpu", "ascend910b1"));

}  // namespace
}  // namespace dvm::driver
