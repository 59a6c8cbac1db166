// Modules compiled, against the reference evaluator, and what a recursion costs.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <cstring>

#include "core/error.h"
#include "core/module_generator.h"
#include "driver/compile.h"
#include "driver/size_checks.h"
#include "runtime/plain_host.h"

namespace dvm::driver {
namespace {

using core::Array;
using runtime::BufferView;
using runtime::Outcome;
using runtime::PlainHost;

uint64_t module_cases() {
  const char* const wanted = std::getenv("DVM_MODULES");
  return wanted ? std::strtoull(wanted, nullptr, 10) : 150;
}

const core::DataType& type_with(const std::vector<core::DataType>& types, const std::string& tag) {
  for (const core::DataType& type : types) {
    if (type.find(tag)) return type;
  }
  throw std::runtime_error("no constructor " + tag);
}

// What the host holds of a value, with one reference.
BufferView given(PlainHost& host, const std::vector<core::DataType>& types, const Array& value) {
  BufferView view;
  if (!value.object) {
    EXPECT_TRUE(host.allocate(value.dtype, value.shape, view));
    std::memcpy(view.data, value.data.data(), value.data.size());
    return view;
  }
  const core::DataType& type = type_with(types, value.object->tag);
  std::vector<BufferView> fields;
  for (const Array& field : value.object->fields) fields.push_back(given(host, types, field));
  EXPECT_TRUE(host.construct(type, *type.find(value.object->tag), fields, view));
  for (const BufferView& field : fields) host.release(field.owner);
  return view;
}

bool same(PlainHost& host, const std::vector<core::DataType>& types, const BufferView& is,
          const Array& wanted) {
  if (!wanted.object) {
    if (is.rank != static_cast<int32_t>(wanted.shape.size())) return false;
    if (!std::equal(wanted.shape.begin(), wanted.shape.end(), is.shape)) return false;
    const auto* values = reinterpret_cast<const double*>(is.data);
    for (const double element : core::elements<double>(wanted)) {
      const double got = *values++;
      if (std::isnan(element) ? !std::isnan(got)
                              : std::abs(got - element) > 1e-12 * (1 + std::abs(element)))
        return false;
    }
    return true;
  }
  const core::DataType& type = type_with(types, wanted.object->tag);
  const auto constructor = *type.find(wanted.object->tag);
  if (host.tag(type, is.owner) != static_cast<int>(constructor)) return false;
  for (size_t k = 0; k < wanted.object->fields.size(); ++k) {
    BufferView field;
    EXPECT_TRUE(host.field(type, constructor, is.owner, k, field));
    const bool equal = same(host, types, field, wanted.object->fields[k]);
    host.release(field.owner);
    if (!equal) return false;
  }
  return true;
}

struct Done {
  Outcome outcome;
  std::vector<BufferView> results;
};
Done run_module(const Compilation& compiled, PlainHost& host, std::span<const BufferView> inputs) {
  Done done{Outcome::done,
            std::vector<BufferView>(static_cast<size_t>(compiled.graph.plan().result_count()))};
  runtime::check_arguments(compiled.graph.plan(), inputs, 0);
  runtime::BorrowedContext context;
  done.outcome = compiled.graph.run(host, inputs, {}, done.results, *context);
  return done;
}

void check_module(uint64_t seed, const std::string& target) {
  const test::ModuleCase made = test::generate_module(seed);
  const std::vector<Array> expected = core::evaluate(made.module, made.inputs);
  const Compilation compiled =
      compile(made.module, {.target = target, .numerics = Numerics::strict, .verify = true}, {});
  const std::string plan = runtime::print(compiled.graph.plan());
  ASSERT_TRUE(runtime::equal(runtime::parse_plan(plan), compiled.graph.plan())) << plan;
  PlainHost host;
  const auto& types = compiled.graph.plan().types;
  std::vector<BufferView> inputs;
  for (const Array& input : made.inputs) inputs.push_back(given(host, types, input));
  const int64_t before = host.live();
  for (int call = 0; call < 2; ++call) {
    const Done done = run_module(compiled, host, inputs);
    ASSERT_EQ(done.outcome, Outcome::done) << core::print(made.module) << plan;
    for (size_t k = 0; k < expected.size(); ++k) {
      ASSERT_TRUE(same(host, types, done.results[k], expected[k]))
          << "result " << k << "\n"
          << core::print(made.module) << plan;
      host.release(done.results[k].owner);
    }
    ASSERT_EQ(host.live(), before);
  }
  for (const BufferView& input : inputs) host.release(input.owner);
  ASSERT_EQ(host.live(), 0);
}

class ModulesOn : public testing::TestWithParam<std::string> {};

TEST_P(ModulesOn, EqualTheReference) {
  for (uint64_t seed = 0; seed < module_cases() && !HasFatalFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    check_module(seed, GetParam());
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, ModulesOn, testing::Values("cpu", "ascend910b1"),
                         [](const auto& target) { return target.param; });

constexpr const char* kLength = R"(module v1 {
  data List = Nil | Cons(head: f64[?], tail: List)
  function length = graph v1 {
    %0 = input List
    %1 = match(%0) i64[] case Nil {
      %0 = constant i64[] {value = 0}
      return %0
    } case Cons {
      %0 = input f64[n]
      %1 = input List
      %2 = invoke(%1) i64[] {callee = "length"}
      %3 = constant i64[] {value = 1}
      %4 = add(%2, %3) i64[]
      return %4
    }
    return %1
  }
  graph v1 {
    %0 = input List
    %1 = invoke(%0) i64[] {callee = "length"}
    return %1
  }
}
)";

// Neither the recursion nor the end of the list is one of C++.
TEST(Modules, RecursionIsAsDeepAsMemoryGoes) {
  const Compilation compiled = compile(core::parse_module(kLength), {.verify = true}, {});
  const core::DataType& type = compiled.graph.plan().types[0];
  PlainHost host;
  BufferView list, element;
  ASSERT_TRUE(host.construct(type, 0, {}, list));
  const int64_t one = 1;
  ASSERT_TRUE(host.allocate(core::DType::f64, {&one, 1}, element));
  constexpr int64_t kDepth = 100'000;
  for (int64_t k = 0; k < kDepth; ++k) {
    const BufferView fields[] = {element, list};
    BufferView longer;
    ASSERT_TRUE(host.construct(type, 1, fields, longer));
    host.release(list.owner);
    list = longer;
  }
  const Done done = run_module(compiled, host, {&list, 1});
  ASSERT_EQ(done.outcome, Outcome::done);
  int64_t length = 0;
  std::memcpy(&length, done.results[0].data, sizeof length);
  EXPECT_EQ(length, kDepth);
  host.release(done.results[0].owner);
  host.release(list.owner);
  host.release(element.owner);
  EXPECT_EQ(host.live(), 0);
}

TEST(Modules, RecursionWithoutEndIsRefused) {
  const Compilation compiled = compile(core::parse_module(R"(module v1 {
  function forever = graph v1 {
    %0 = input f64[n]
    %1 = invoke(%0) f64[n] {callee = "forever"}
    return %1
  }
  graph v1 {
    %0 = input f64[n]
    %1 = invoke(%0) f64[n] {callee = "forever"}
    return %1
  }
}
)"),
                                       {.verify = true}, {});
  PlainHost host;
  const int64_t one = 1;
  BufferView input;
  ASSERT_TRUE(host.allocate(core::DType::f64, {&one, 1}, input));
  EXPECT_THROW(run_module(compiled, host, {&input, 1}), core::Error);
  host.release(input.owner);
  EXPECT_EQ(host.live(), 0);
}

// What is no object of the type, or has other fields than it says, gives an error.
TEST(Modules, ObjectsOfOtherTypesAreRefused) {
  const Compilation compiled = compile(core::parse_module(kLength), {.verify = true}, {});
  const core::DataType& type = compiled.graph.plan().types[0];
  const core::DataType other{.name = "Other", .constructors = type.constructors};
  PlainHost host;
  BufferView nil, strange;
  ASSERT_TRUE(host.construct(type, 0, {}, nil));
  ASSERT_TRUE(host.construct(other, 0, {}, strange));
  EXPECT_THROW(run_module(compiled, host, {&strange, 1}), core::Error);
  const BufferView fields[] = {nil, nil};
  BufferView list;
  ASSERT_TRUE(host.construct(type, 1, fields, list));
  EXPECT_EQ(run_module(compiled, host, {&list, 1}).outcome, Outcome::check_failed);
  for (const BufferView& each : {nil, strange, list}) host.release(each.owner);
  EXPECT_EQ(host.live(), 0);
}

}  // namespace
}  // namespace dvm::driver
