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

}  // namespace
}  // namespace dvm::runtime
