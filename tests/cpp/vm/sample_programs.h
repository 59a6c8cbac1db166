// Programs to look at and to break: the worked example of the paper, with flags, and one for a
// target that streams operands, with every format the first lacks.
#pragma once

#include <string_view>

namespace dvm::vm {

// Paper Fig. 6: fp16 [32,1024] + [32,1024] on 40 cores.
inline constexpr std::string_view kWorkedExample =
    R"(dvm.program v1 target=ascend910b3 {
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
)";

// Six tiles of 4 x 8 elements, the last of every row of tiles with 3 x 8.
inline constexpr std::string_view kStreamedExample =
    R"(dvm.program v1 target=cpu {
  // target=0, block_dim=1, ffts_addr=0, tile_num=6, grid=[2, 3], local_bytes=0x400, loop_flags=[]
  g0: fp32 [0, 704) read
  g1: fp32 [0, 704) written
  g2: bool [-16, 180) written
  vmain.aiv(body_tile=6, tail_tile_diff=0) {
    0: Mul.fp32.32 0x0, g0, 0.5 // tile_stride(352, 128), iter_tail(24)
         {simd}
    1: Add.fp32.32 0x0, 0x0, -1e-05
         {simd}
    2: Sum.fp32.4x8x1 0x80, 0x0 // iter_tail(m:3), order(sequential)
         {simd}
    3: Broadcast.fp32.4x8x1 0x100, 0x80 // iter_tail(m:3)
         {simd}
    4: Sub.fp32.32 g1, 0x0, 0x100 // tile_stride(352, 128)
         {simd}
    5: Cmp.fp32.32 0x180, g1, nan(0x7fc00000) // tile_stride(352, 128), cmp_type(ge)
         {simd}
    6: Select.fp32.32 0x200, 0x180, 0x0, 0.5
         {simd}
    7: Cast.i32.fp32.32 0x280, 0x200
         {simd}
    8: view_load.u8.128x1 0x300, g0 // view(4:32, 8:4), tile_stride(352, 128), pad_size(0), iter_tail(0:3)
         {load}
    9: view_store.u8.32x1 g2+68, 0x180 // view(8:-12, 4:1), tile_stride(100, 4), iter_tail(0:5), pad_size(0), dbg_size(168)
         {store}
  }
}
)";

// x + y, its half and the larger of that and x, with two results.
inline constexpr std::string_view kChainExample =
    R"(dvm.program v1 target=cpu {
  // target=0, block_dim=1, ffts_addr=0, tile_num=2, grid=[2], local_bytes=0x200, loop_flags=[]
  g0: fp32 [0, 496) read
  g1: fp32 [0, 496) read
  g2: fp32 [0, 496) written
  vmain.aiv(body_tile=2, tail_tile_diff=0) {
    0: Chain.64 in.fp32 g0, in.fp32 g1, in.fp32 0.5, out.fp32 g2, out.fp32 0x0 // tile_stride(256; 256; 256), iter_tail(60), steps(x = Copy.fp32 o0; y = Copy.fp32 o1; a = Add.fp32 x, y; a = Mul.fp32 a, o2; o3 = Copy.fp32 a; y = Cmp.fp32.lt x, a; a = Select.fp32 y, a, x; o4 = Copy.fp32 a)
         {simd}
    1: Neg.fp32.64 0x100, 0x0
         {simd}
  }
}
)";

// One whose pipes are ordered by flags, and one of the cpu.
inline constexpr std::string_view kFlags = kWorkedExample, kCpu = kStreamedExample;

}  // namespace dvm::vm
