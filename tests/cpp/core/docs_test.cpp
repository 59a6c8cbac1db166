#include "core/ops/docs.h"

#include <gtest/gtest.h>

#include "core/graph/graph.h"

namespace dvm::core {
namespace {

TEST(Docs, EveryOpHasExactlyOneRow) {
  const std::string text = ops_markdown();
  for (const OpInfo& op : all_ops()) {
    const std::string row = "\n| `" + std::string(op.name) + "` | ";
    const size_t at = text.find(row);
    ASSERT_NE(at, std::string::npos) << op.name;
    EXPECT_EQ(text.find(row, at + 1), std::string::npos) << op.name;
  }
  EXPECT_NE(text.find("| `fabs` | 1 | floating |  | `fabs` | d[i] = \\|a[i]\\| |\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("| `slice` | 1 | any | `shape`, `starts`, `steps` |  |"), std::string::npos);
}

}  // namespace
}  // namespace dvm::core
