// prepare + encode: the worked example of DESIGN section 3 (paper Fig. 6).
#include "vm/encode.h"

#include <gtest/gtest.h>

#include "region_util.h"

namespace dvm::vm {
namespace {

TEST(Encode, WorkedExampleOfThePaper) {
  const core::Region region = region_of(R"(
    %0 = input f16[32, 1024]
    %1 = input f16[32, 1024]
    %2 = add(%0, %1) f16[32, 1024]
    return %2)");
  const Kernel kernel = prepare(region);
  Call call(region, kernel, {});
  Arena arena;
  const Compiled compiled = encode(kernel, call.binding(), target_named("ascend910b3"), arena);
  ASSERT_EQ(compiled.stage_count, 1);
  verify(compiled.stages[0].words());
  EXPECT_EQ(disassemble(compiled.stages[0]), R"(dvm.program v1 target=ascend910b3 {
  // target=0, block_dim=40, ffts_addr=0, tile_num=40, grid=[40], local_bytes=0x1580, loop_flags=[simd_load, store_simd]
  g0: fp16 [0, 65536) read
  g1: fp16 [0, 65536) read
  g2: fp16 [0, 65536) written
  vmain.aiv(body_tile=1, tail_tile_diff=0) {
    0: load.u8.1664x1 0x200, g0 // tile_stride(1664), pad_size(0), iter_tail(640)
         {load, simd_load_sync(wait, 0)}
    1: load.u8.1664x1 0x880, g1 // tile_stride(1664), pad_size(0), iter_tail(640)
         {load, load_simd_sync(set, 0)}
    2: Add.fp16.832 0xf00, 0x200, 0x880
         {simd, load_simd_sync(wait, 0), store_simd_sync(wait, 0), simd_store_sync(set, 0), simd_load_sync(set, 0)}
    3: store.u8.1664x1 g2, 0xf00 // tile_stride(1664), iter_tail(640), pad_size(0), dbg_size(65536)
         {store, simd_store_sync(wait, 0), store_simd_sync(set, 0)}
  }
}
)");
}

}  // namespace
}  // namespace dvm::vm
