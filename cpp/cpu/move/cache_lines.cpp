#include "cpu/move/cache_lines.h"

#include <cstddef>

namespace dvm::cpu {

namespace {

constexpr int64_t kCacheLine = 64;

class Lines {
 public:
  Lines(const vm::TileArgs& args, const ElementSizes& sizes) : args_(args), sizes_(sizes) {}

  // The elements [begin, begin + size).
  vm::TileArgs part(int64_t begin, int64_t size) const {
    vm::TileArgs part = args_;
    part.dst += begin * sizes_.result;
    for (int k = 0; k < sizes_.arity; ++k) {
      if (is_array(k)) part.src[k] += begin * sizes_.source;
    }
    part.size = size;
    return part;
  }

  // How many elements to do first so that most of what follows lies in whole lines.
  int64_t before() const {
    int64_t best = 0, most = in_lines(0);
    const auto consider = [&](const std::byte* p) {
      const int64_t begin = static_cast<int64_t>(-address(p) % kCacheLine) / sizes_.wider();
      const int64_t bytes = begin == 0 ? 0 : in_lines(begin);
      if (bytes > most) best = begin, most = bytes;
    };
    if (sizes_.result == sizes_.wider()) consider(args_.dst);
    for (int k = 0; k < sizes_.arity && sizes_.source == sizes_.wider(); ++k) {
      if (is_array(k)) consider(args_.src[k]);
    }
    return best;
  }

 private:
  static uintptr_t address(const std::byte* p) { return reinterpret_cast<uintptr_t>(p); }
  static bool begins_line(const std::byte* p) { return address(p) % kCacheLine == 0; }
  bool is_array(int k) const { return (args_.scalar_mask >> k & 1) == 0; }

  // The bytes, per element, of the operands that begin a line from the element `begin` on. A store
  // across two lines costs more than two such loads.
  int64_t in_lines(int64_t begin) const {
    int64_t bytes = begins_line(args_.dst + begin * sizes_.result) ? 2 * sizes_.result : 0;
    for (int k = 0; k < sizes_.arity; ++k) {
      if (is_array(k) && begins_line(args_.src[k] + begin * sizes_.source)) bytes += sizes_.source;
    }
    return bytes;
  }

  const vm::TileArgs& args_;
  const ElementSizes& sizes_;
};

}  // namespace

void run_in_whole_lines(const vm::TileArgs& args, const ElementSizes& sizes, Loop loop) {
  const Lines lines(args, sizes);
  const int64_t before = lines.before();
  if (before == 0) return loop(args);
  loop(lines.part(0, before));
  loop(lines.part(before, args.size - before));
}

}  // namespace dvm::cpu
