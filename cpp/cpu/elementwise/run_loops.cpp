#include "cpu/elementwise/run_loops.h"

#include <algorithm>
#include <utility>

namespace dvm::cpu {

namespace {

template <typename Word>
void repeat(const vm::TileArgs& args) {
  auto* dst = reinterpret_cast<Word*>(args.dst);
  std::fill_n(dst + 1, args.size - 1, *dst);
}

vm::TileArgs swapped(vm::TileArgs args) {
  std::swap(args.src[0], args.src[1]);
  args.scalar_mask = static_cast<uint8_t>((args.scalar_mask & 1) << 1 | args.scalar_mask >> 1);
  return args;
}

void make_one(vm::TileArgs args, const ElementSizes& sizes, Loop loop) {
  const int64_t size = std::exchange(args.size, 1);
  loop(args);
  args.size = size;
  repeat_first(args, sizes.result);
}

}  // namespace

void repeat_first(const vm::TileArgs& args, int64_t bytes) {
  switch (bytes) {
    case 1:
      return repeat<uint8_t>(args);
    case 2:
      return repeat<uint16_t>(args);
    case 4:
      return repeat<uint32_t>(args);
    default:
      return repeat<uint64_t>(args);
  }
}

void run_unary(const vm::TileArgs& args, const ElementSizes& sizes, Loop loop) {
  if (args.scalar_mask != 0) return make_one(args, sizes, loop);
  in_cache_lines(args, sizes, loop);
}

void run_binary(const vm::TileArgs& args, const BinaryLoops& loops) {
  switch (args.scalar_mask) {
    case 0:
      return in_cache_lines(args, loops.sizes, loops.arrays);
    case 1:
      if (loops.commutes) return in_cache_lines(swapped(args), loops.sizes, loops.scalar_second);
      return in_cache_lines(args, loops.sizes, loops.scalar_first);
    case 2:
      return in_cache_lines(args, loops.sizes, loops.scalar_second);
    default:
      return make_one(args, loops.sizes, loops.scalar_second);
  }
}

void run_compare(const vm::TileArgs& args, const CompareLoops& loops) {
  switch (static_cast<vm::Compare>(args.aux)) {
    case vm::Compare::eq:
      return run_binary(args, loops.eq);
    case vm::Compare::ne:
      return run_binary(args, loops.ne);
    case vm::Compare::lt:
      return run_binary(args, loops.lt);
    case vm::Compare::le:
      return run_binary(args, loops.le);
    case vm::Compare::gt:
      return run_binary(swapped(args), loops.lt);
    case vm::Compare::ge:
      return run_binary(swapped(args), loops.le);
  }
  __builtin_unreachable();
}

}  // namespace dvm::cpu
