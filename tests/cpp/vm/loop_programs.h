// Programs with loops, carried values, tails along several axes and memories besides UB, which the
// samples of sample_programs.h lack. Each as it is for an AI Core; for_cpu() makes it the cpu's.
#pragma once

#include <regex>
#include <string>
#include <string_view>

namespace dvm::vm {

// C[100,70] = A[100,50] . B[50,70] in tiles of 32 x 32: along k a loop whose steps add to a tile in
// L0C, and tails along all three axes.
inline constexpr std::string_view kMatmulExample =
    R"(dvm.program v1 target=ascend910b3 {
  // target=1, block_dim=12, ffts_addr=0, tile_num=12, grid=[4, 3], loops=[4], local_bytes=0x200, loop_flags=[fix_cube]
  g0: fp32 [0, 20000) read
  g1: fp32 [0, 14000) read
  g2: fp32 [0, 28000) written
  vmain.aic(body_tile=1, tail_tile_diff=0) {
    0: Loop.4 // body(3)
         {scalar, fix_cube_sync(wait, 0), cube_fix_sync(set, 0), cube_load_sync(carry, 7)}
      1: view_load.u8.2048x1 l0a:0x0, g0 // view(32:200, 16:4), tile_stride(6400, 0, 64), pad_size(0), iter_tail(0:4@1; 1:2@loop0)
         {load, cube_load_sync(wait, 7)}
      2: view_load.u8.2048x1 l0b:0x0, g1 // view(16:280, 32:4), tile_stride(0, 128, 4480), pad_size(0), iter_tail(1:6; 0:2@loop0)
         {load, load_cube_sync(set, 0)}
      3: Matmul.fp32.32x16x32 l0c:0x0, l0a:0x0, l0b:0x0 // iter_tail(n:6; m:4@1; size:2@loop0), adds(0)
         {cube, load_cube_sync(wait, 0), cube_load_sync(set, 7)}
    4: drain.u8.4096x1 g2, l0c:0x0 // view(32:280, 32:4), tile_stride(8960, 128, 0), iter_tail(1:6; 0:4@1), pad_size(0), dbg_size(28000)
         {fix, cube_fix_sync(wait, 0), fix_cube_sync(set, 0)}
  }
}
)";

// The same of fp16 by way of L1, where a step of two loads feeds two steps of the cube.
inline constexpr std::string_view kNestedExample =
    R"(dvm.program v1 target=ascend910b3 {
  // target=1, block_dim=1, ffts_addr=0, tile_num=1, grid=[1], loops=[3, 2], local_bytes=0x200, loop_flags=[]
  g0: fp16 [0, 3072) read
  g1: fp16 [0, 3072) read
  g2: fp32 [0, 1024) written
  vmain.aic(body_tile=1, tail_tile_diff=0) {
    0: Loop.3 // body(6)
         {scalar, cube_fix_sync(set, 0), feed_load_sync(carry, 7)}
      1: load.u8.1024x1 l1:0x0, g0 // tile_stride(0, 1024, 0), pad_size(0)
         {load, feed_load_sync(wait, 7)}
      2: load.u8.1024x1 l1:0x400, g1 // tile_stride(0, 1024, 0), pad_size(0)
         {load, load_feed_sync(set, 0)}
      3: Loop.2 // body(3)
         {scalar, load_feed_sync(wait, 0), feed_load_sync(set, 7), cube_feed_sync(carry, 6)}
        4: Feed.fp16.512 l0a:0x0, l1:0x0
         {feed, cube_feed_sync(wait, 6)}
        5: Feed.fp16.512 l0b:0x0, l1:0x400
         {feed, feed_cube_sync(set, 0)}
        6: Matmul.fp32.fp16.16x32x16 l0c:0x0, l0a:0x0, l0b:0x0 // adds(0)
         {cube, feed_cube_sync(wait, 0), cube_feed_sync(set, 6)}
    7: drain.u8.1024x1 g2, l0c:0x0 // view(256:4), tile_stride(0, 0, 0), pad_size(0), dbg_size(1024)
         {fix, cube_fix_sync(wait, 0)}
  }
}
)";

// The running maximum of rows of 20 elements, five at a time: a slot that each step reads and
// writes, and that the steps before left.
inline constexpr std::string_view kCarriedExample =
    R"(dvm.program v1 target=ascend910b3 {
  // target=0, block_dim=7, ffts_addr=0, tile_num=7, grid=[7], loops=[4], local_bytes=0x304, loop_flags=[store_simd]
  g0: fp32 [0, 560) read
  g1: fp32 [0, 28) written
  vmain.aiv(body_tile=1, tail_tile_diff=0) {
    0: Copy.fp32.1 0x200, -inf
         {simd, store_simd_sync(wait, 0)}
    1: Loop.4 // body(3)
         {scalar, simd_load_sync(carry, 7)}
      2: load.u8.20x1 0x280, g0 // tile_stride(80, 20), pad_size(0)
         {load, simd_load_sync(wait, 7), load_simd_sync(set, 0)}
      3: Max.fp32.1x5x1 0x240, 0x280 // order(lanes)
         {simd, load_simd_sync(wait, 0), simd_load_sync(set, 7)}
      4: Maximum.fp32.1 0x200, 0x200, 0x240
         {simd}
    5: Copy.fp32.1 0x300, 0x200
         {simd, simd_store_sync(set, 0)}
    6: store.u8.4x1 g1, 0x300 // tile_stride(4, 0), pad_size(0), dbg_size(28)
         {store, simd_store_sync(wait, 0), store_simd_sync(set, 0)}
  }
}
)";

// Sums over both axes of a matrix of 6 x 8 in one tile.
inline constexpr std::string_view kTwoAxesExample =
    R"(dvm.program v1 target=ascend910b3 {
  // target=0, block_dim=1, ffts_addr=0, tile_num=1, grid=[1], local_bytes=0x360, loop_flags=[]
  g0: fp32 [0, 192) read
  g1: fp32 [0, 24) written
  g2: fp32 [0, 32) written
  vmain.aiv(body_tile=1, tail_tile_diff=0) {
    0: load.u8.192x1 0x200, g0 // tile_stride(0), pad_size(0)
         {load, load_simd_sync(set, 0)}
    1: Sum.fp32.6x8x1 0x300, 0x200 // order(lanes)
         {simd, load_simd_sync(wait, 0)}
    2: Sum.fp32.1x6x8 0x340, 0x200 // order(sequential)
         {simd, simd_store_sync(set, 0)}
    3: store.u8.24x1 g1, 0x300 // tile_stride(0), pad_size(0), dbg_size(24)
         {store, simd_store_sync(wait, 0)}
    4: store.u8.32x1 g2, 0x340 // tile_stride(0), pad_size(0), dbg_size(32)
         {store}
  }
}
)";

// Rows of a table of 9 x 7, chosen by five indices; then of each column of the table one element.
inline constexpr std::string_view kGatherExample =
    R"(dvm.program v1 target=ascend910b3 {
  // target=0, block_dim=1, ffts_addr=0, tile_num=1, grid=[1], local_bytes=0x3a0, loop_flags=[]
  g0: i64 [0, 40) read
  g1: fp32 [0, 252) read
  g2: i64 [0, 56) read
  g3: fp32 [0, 140) written
  g4: fp32 [0, 28) written
  vmain.aiv(body_tile=1, tail_tile_diff=0) {
    0: load.u8.40x1 0x200, g0 // tile_stride(0), pad_size(0)
         {load}
    1: Gather.fp32.35 0x240, g1, 0x200 // view(5:28, 7:4), tile_stride(0), index(0:9)
         {load}
    2: load.u8.56x1 0x300, g2 // tile_stride(0), pad_size(0)
         {load}
    3: Take_along.fp32.7 0x380, g1, 0x300 // view(1:28, 7:4), tile_stride(0), index(0:9)
         {load, load_store_sync(set, 0)}
    4: store.u8.140x1 g3, 0x240 // tile_stride(0), pad_size(0), dbg_size(140)
         {store, load_store_sync(wait, 0)}
    5: store.u8.28x1 g4, 0x380 // tile_stride(0), pad_size(0), dbg_size(28)
         {store}
  }
}
)";

inline constexpr std::string_view kLoopExamples[] = {
    kMatmulExample, kNestedExample, kCarriedExample, kTwoAxesExample, kGatherExample};

// The same for the cpu, which has one core, no pipes and no reserve. (Not of what goes by L1.)
inline std::string for_cpu(std::string_view listing) {
  std::string text(listing);
  const auto edit = [&](const char* pattern, const char* by) {
    text = std::regex_replace(text, std::regex(pattern), by);
  };
  edit("target=ascend910b3", "target=cpu");
  edit("loop_flags=\\[[^\\]]*\\]", "loop_flags=[]");
  edit("block_dim=[0-9]*", "block_dim=1");
  edit(", [a-z]*_[a-z]*_sync\\([a-z]*, [0-9]\\)", "");
  std::smatch tiles;
  std::regex_search(text, tiles, std::regex("tile_num=([0-9]*)"));
  const std::string body = "body_tile=" + tiles[1].str();
  edit("body_tile=[0-9]*", body.c_str());
  return text;
}

}  // namespace dvm::vm
