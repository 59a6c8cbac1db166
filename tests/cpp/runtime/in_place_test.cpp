// Which Regions may write over an input: what else reads its elements forbids it.
#include "runtime/execute/in_place.h"

#include <gtest/gtest.h>

namespace dvm::runtime {
namespace {

bool may(const std::string& body, size_t input) {
  return may_write_over(core::parse_graph("graph v1 {\n" + body + "\n}\n"), input);
}

TEST(InPlace, ElementByElement) {
  const std::string body = R"(%0 = input f32[s0, s1]
    %1 = input f32[s0, 1]
    %2 = broadcast(%1) f32[s0, s1]
    %3 = div(%0, %2) f32[s0, s1]
    %4 = mul(%3, %0) f32[s0, s1]
    return %4)";
  EXPECT_TRUE(may(body, 0)) << "read twice, both times before its place is written";
  EXPECT_FALSE(may(body, 1)) << "other elements read it too";
}

TEST(InPlace, NotWhereTypesDiffer) {
  EXPECT_FALSE(may("%0 = input f32[n]\n%1 = isnan(%0) bool[n]\nreturn %1", 0));
  EXPECT_FALSE(may(R"(%0 = input f32[n]
    %1 = input f32[m]
    %2 = broadcast(%0) f32[bcast(n, m)]
    %3 = broadcast(%1) f32[bcast(n, m)]
    %4 = add(%2, %3) f32[bcast(n, m)]
    return %4)",
                   0));
}

TEST(InPlace, NotWhereElementsAreReadAgain) {
  const std::string two = R"(%0 = input f32[n]
    %1 = neg(%0) f32[n]
    %2 = exp(%0) f32[n]
    return %1, %2)";
  EXPECT_FALSE(may(two, 0)) << "two results";
  EXPECT_FALSE(may("%0 = input f32[n]\n%1 = broadcast(%0) f32[n]\nreturn %1", 0)) << "a copy";
  EXPECT_FALSE(may("%0 = input f32[1]\n%1 = sum(%0) f32[1] {axes = [0]}\nreturn %1", 0));
}

}  // namespace
}  // namespace dvm::runtime
