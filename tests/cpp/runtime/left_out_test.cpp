// Which Regions have no elements: a size of 0 says so, a number that is 0 does not.
#include "runtime/execute/left_out.h"

#include <gtest/gtest.h>

namespace dvm::runtime {
namespace {

using core::DType;

// x[m, n] + (n - m), a number that is 0 where x is square.
core::Region with_a_number() {
  core::Graph g;
  const core::Dim m = g.dims().symbol("m"), n = g.dims().symbol("n");
  const core::Shape space{m, n};
  const core::Value x = g.input({DType::f32, space});
  const core::Value number = g.broadcast(g.dim_value(DType::f32, n - m), space);
  g.outputs = {g.elementwise(core::Op::add, std::vector{x, number})};
  return {"r0", std::move(g)};
}

TEST(LeftOut, NumbersAreNoSizes) {
  const core::Region region = with_a_number();
  const vm::Kernel kernel = vm::prepare(region);
  ASSERT_EQ(kernel.dims.size(), 3u);
  const auto dims = [&](int64_t m, int64_t n) {
    std::vector<int64_t> values;
    for (const core::Dim dim : kernel.dims) {
      values.push_back(core::evaluate(dim, std::vector{m, n}).value());
    }
    return values;
  };
  EXPECT_FALSE(is_empty(kernel, dims(3, 4).data()));
  EXPECT_FALSE(is_empty(kernel, dims(4, 4).data()));
  EXPECT_TRUE(is_empty(kernel, dims(0, 4).data()));
  EXPECT_TRUE(is_empty(kernel, dims(4, 0).data()));
  EXPECT_TRUE(is_empty(kernel, dims(0, 0).data()));
}

// Else each call without elements would encode them anew, and evict the Programs of others.
TEST(LeftOut, KernelsAreMadeOnce) {
  core::Graph g;
  const core::Dim m = g.dims().symbol("m"), n = g.dims().symbol("n");
  const core::Value x = g.input({DType::f32, {m, n}}), y = g.input({DType::f32, {n}});
  const core::Value log = g.elementwise(core::Op::log, std::vector{y});
  g.outputs = {g.elementwise(core::Op::mul, std::vector{x, g.broadcast(log, {m, n})})};
  const core::Region region{"r0", std::move(g)};
  const PlanRegion of_plan{region, vm::prepare(region)};
  std::vector<int64_t> dims;
  for (const core::Dim dim : of_plan.kernel.dims) {
    dims.push_back(core::evaluate(dim, std::vector<int64_t>{0, 3}).value());
  }
  const std::vector<LeftOut> first = left_out(of_plan, dims.data());
  ASSERT_EQ(first.size(), 1u) << "the logarithm has elements, the product has none";
  EXPECT_EQ(first[0].shape, std::vector<int64_t>{3});
  const PlanRegion copy = of_plan;
  EXPECT_EQ(left_out(copy, dims.data()).at(0).kernel.serial, first[0].kernel.serial);
}

}  // namespace
}  // namespace dvm::runtime
