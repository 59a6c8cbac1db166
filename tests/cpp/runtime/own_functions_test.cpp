// Files name these functions, and may call them with anything.
#include "runtime/functions/own_functions.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "core/error.h"
#include "runtime/fake_host.h"
#include "runtime/strided_array.h"

namespace dvm::runtime {
namespace {

class OwnFunctions : public testing::TestWithParam<const char*> {
 protected:
  // Whether it was content with arguments that are alike to what it wants, more or less.
  bool call_with_anything(std::mt19937& rng) {
    const auto below = [&](uint32_t end) { return static_cast<int64_t>(rng() % end); };
    const bool is_top_k = std::string_view(GetParam()) == "dvm.top_k";
    const bool is_near = below(4) != 0;
    const auto some = [&](int64_t wanted) { return is_near ? wanted : below(7); };
    const int64_t images = below(3), places = below(5), classes = below(3);
    const std::vector<int64_t> wanted[] = {
        {images, places, 4}, {images, classes, places}, {}, {1}, {}};
    std::vector<StridedArray> arrays;
    const int64_t count = some(is_top_k ? 1 : 5);
    for (int64_t k = 0; k < count; ++k) {
      std::vector<int64_t> shape = wanted[k % 5];
      if (!is_near || below(20) == 0) shape.assign(static_cast<size_t>(below(5)), below(4));
      auto dtype = k == 2 ? core::DType::i64 : core::DType::f32;
      if (!is_near || below(20) == 0) dtype = static_cast<core::DType>(below(core::kDTypeCount));
      arrays.emplace_back(dtype, shape, rng, false);
    }
    std::vector<BufferView> views;
    for (const StridedArray& array : arrays) views.push_back(array.view);
    std::vector<int64_t> sizes(static_cast<size_t>(some(is_top_k ? 3 : 2)));
    for (int64_t& size : sizes) size = below(6) - 1;
    std::vector<BufferView> results(static_cast<size_t>(some(is_top_k ? 2 : 1)));
    test::FakeHost host;
    const HostCall call{0, GetParam(), views, sizes, {}};
    bool is_content = true;
    try {
      EXPECT_TRUE(own_function(GetParam())(call, results, host));
      for (const BufferView& result : results) EXPECT_NE(result.owner, nullptr);
    } catch (const core::Error&) {
      is_content = false;
    }
    for (const BufferView& result : results) {
      if (result.owner != nullptr) host.release(result.owner);
    }
    EXPECT_EQ(host.live, 0);
    return is_content;
  }
};

TEST_P(OwnFunctions, TakeAnythingOrRefuseIt) {
  std::mt19937 rng(7);
  const int count = 20'000;
  int content = 0;
  for (int k = 0; k < count; ++k) content += call_with_anything(rng) ? 1 : 0;
  EXPECT_GT(content, count / 20);
  EXPECT_LT(content, count);
}

INSTANTIATE_TEST_SUITE_P(, OwnFunctions, testing::Values("dvm.non_max_suppression", "dvm.top_k"),
                         [](const auto& each) { return std::string(each.param).substr(4); });

}  // namespace
}  // namespace dvm::runtime
