// The tables of the instruction set, and the document made of them.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>
#include <string>

#include "vm/isa/program.h"
#include "vm/target/target.h"

namespace dvm::vm {
namespace {

// DVM_UPDATE_DOCS=1 writes the document instead of comparing it.
TEST(Isa, DocumentIsCurrent) {
  const std::string path = DVM_DOCS "/isa.md";
  if (std::getenv("DVM_UPDATE_DOCS") != nullptr) std::ofstream(path) << isa_markdown();
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  EXPECT_EQ(text.str(), isa_markdown()) << "run the tests with DVM_UPDATE_DOCS=1";
}

TEST(Isa, NamesAreUnique) {
  std::set<std::string_view> names;
  for (int i = 0; i < kInsnCount; ++i) {
    const auto insn = static_cast<Insn>(i);
    EXPECT_TRUE(names.insert(info(insn).name).second) << info(insn).name;
    EXPECT_EQ(insn_from_text(info(insn).name), insn);
  }
  EXPECT_EQ(insn_from_text("no such"), std::nullopt);
}

TEST(Isa, DTypesFollowTheTable) {
  EXPECT_TRUE(contains(info(Insn::add).dtypes, DType::boolean));
  EXPECT_FALSE(contains(info(Insn::sub).dtypes, DType::boolean));
  EXPECT_TRUE(contains(info(Insn::sub).dtypes, DType::i32));
  EXPECT_FALSE(contains(info(Insn::exp).dtypes, DType::i32));
  EXPECT_TRUE(contains(info(Insn::exp).dtypes, DType::f16));
}

TEST(Isa, TargetsAreFoundByNameAndId) {
  for (const TargetTraits& target : all_targets()) {
    EXPECT_EQ(find_target(target.name), &target);
    EXPECT_EQ(find_target(target.id), &target);
    EXPECT_EQ(target.reserve_bytes % target.align, 0);
  }
  EXPECT_EQ(find_target("abacus"), nullptr);
  EXPECT_EQ(find_target(uint8_t{0}), nullptr);
}

TEST(Isa, SharesCoverEveryTileOnce) {
  for (int64_t cores : {1, 2, 7, 40, 48}) {
    for (int64_t tiles = 1; tiles < 300; ++tiles) {
      const TileShares s = share_tiles(tiles, cores);
      EXPECT_LE(s.block_dim, cores);
      EXPECT_EQ(int64_t{s.body_tile} * s.block_dim - s.tail_tile_diff, tiles);
      EXPECT_LT(s.tail_tile_diff, s.body_tile) << "a core without tiles";
    }
  }
}

}  // namespace
}  // namespace dvm::vm
