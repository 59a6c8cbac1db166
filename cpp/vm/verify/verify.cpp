// verify(): the header and the tables. They are checked strictly in the order in which later checks
// rely on them, so that no word is interpreted before it is known to exist and to be sane.
#include <algorithm>
#include <cstring>
#include <string>

#include "core/error.h"
#include "vm/target/target.h"
#include "vm/verify/coverage.h"
#include "vm/verify/tile.h"

namespace dvm::vm {

namespace {

using core::ErrorCode;

void require(bool holds, ErrorCode code, const std::string& message) {
  if (!holds) core::fail(code, message);
}

// Returns the target once everything that locates the tables can be trusted.
const TargetTraits& check_header(std::span<const uint64_t> words, const Header& h) {
  constexpr ErrorCode kHeader = ErrorCode::bytecode_header;
  require(h.magic == kMagic, kHeader, "magic number " + number(h.magic) + " is not a Program's");
  require(h.version == kVersion, kHeader,
          "Program version " + number(h.version) + ", expected " + number(kVersion));
  const TargetTraits* target = find_target(h.target);
  require(target != nullptr, kHeader, "unknown target id " + number(h.target));
  require(static_cast<int>(h.kernel_type) < kKernelTypes, kHeader,
          "unknown kernel type " + number(static_cast<int>(h.kernel_type)));
  require(std::ranges::count(h.zero, 0) == sizeof(h.zero), kHeader,
          "a reserved header field is not 0");
  require(h.words <= words.size(), ErrorCode::bytecode_truncated,
          "Program has " + number(h.words) + " words but " + number(words.size()) + " are here");
  require(h.words == words.size(), kHeader,
          number(words.size() - h.words) + " words follow the end of the Program");
  require(h.grid_rank <= kMaxRank, kHeader,
          "grid rank " + number(h.grid_rank) + " exceeds " + number(kMaxRank));
  require(h.loops <= kMaxLoops, kHeader,
          number(h.loops) + " loops exceed the limit of " + number(kMaxLoops));
  require(h.globals <= kMaxProgramGlobals, kHeader,
          number(h.globals) + " globals exceed the limit of " + number(kMaxProgramGlobals));
  require(h.scalars <= kMaxScalars, kHeader,
          number(h.scalars) + " scalars exceed the limit of " + number(kMaxScalars));
  require(h.streams <= kMaxStreams, kHeader,
          number(h.streams) + " streams exceed the limit of " + number(kMaxStreams));
  const uint64_t axes = uint64_t{h.grid_rank} + h.loops;
  const uint64_t parts = sizeof(Header) / 8 + axes + sizeof(Global) / 8 * h.globals + h.scalars +
                         h.streams * (2 + axes) + h.code_words;
  require(parts == h.words, kHeader,
          "tables and code take " + number(parts) + " words, the header says " + number(h.words));
  return *target;
}

void check_tiles(const Program& program, const TargetTraits& target) {
  const Header& h = program.header();
  constexpr ErrorCode kHeader = ErrorCode::bytecode_header;
  int64_t tiles = 1;
  for (int64_t extent : program.grid()) {
    require(extent >= 1 && extent <= kMaxTiles, kHeader,
            "grid extent " + number(extent) + " is outside [1, " + number(kMaxTiles) + "]");
    tiles *= extent;
    require(tiles <= kMaxTiles, kHeader, "grid has more than " + number(kMaxTiles) + " tiles");
  }
  for (int64_t steps : program.loops()) {
    require(steps >= 1 && steps <= kMaxTiles, kHeader,
            "a loop of " + number(steps) + " steps is outside [1, " + number(kMaxTiles) + "]");
  }
  require(tiles == h.tile_count, kHeader,
          "grid has " + number(tiles) + " tiles, the header says " + number(h.tile_count));
  const TileShares s = share_tiles(tiles, target.blocks(h.kernel_type));
  require(h.body_tile == s.body_tile && h.block_dim == s.block_dim &&
              h.tail_tile_diff == s.tail_tile_diff,
          kHeader,
          "block_dim, body_tile, tail_tile_diff are " + number(h.block_dim) + ", " +
              number(h.body_tile) + ", " + number(h.tail_tile_diff) + ", but " + number(tiles) +
              " tiles on this target need " + number(s.block_dim) + ", " + number(s.body_tile) +
              ", " + number(s.tail_tile_diff));
  require(h.local_bytes >= target.reserve_bytes && h.local_bytes <= target.local_bytes, kHeader,
          "local memory of " + number(h.local_bytes) + " bytes is outside [" +
              number(target.reserve_bytes) + ", " + number(target.local_bytes) + "]");
  uint8_t known = 0;
  if (target.flags) {
    for (const LoopFlagInfo& row : kLoopFlags) known |= row.flag;
  }
  require((h.loop_flags & ~known) == 0, kHeader,
          "loop flags " + number(h.loop_flags) + " include some that target " +
              std::string(target.name) + " does not have");
}

void check_tables(const Program& program) {
  constexpr ErrorCode kInvalid = ErrorCode::bytecode_invalid;
  int index = 0;
  for (const Global& global : program.globals()) {
    const std::string name = "global g" + number(index++);
    require(static_cast<int>(global.dtype) < core::kDTypeCount, kInvalid,
            name + " has unknown dtype " + number(static_cast<int>(global.dtype)));
    require(
        global.low <= global.high, kInvalid,
        name + " ends at byte " + number(global.high) + " before its start " + number(global.low));
    require(global.written <= 1 && std::ranges::count(global.zero, 0) == sizeof(global.zero),
            kInvalid, name + " has bits set that mean nothing");
  }
  const auto scalars = program.scalars();
  for (size_t i = 0; i < scalars.size(); ++i) {
    const auto before = scalars.first(i);
    require(std::ranges::find(before, scalars[i]) == before.end(), kInvalid,
            "scalar " + number(i) + " repeats an earlier one");
  }
  for (int i = 0; i < program.header().streams; ++i) {
    const Stream& stream = program.stream(i);
    const std::string name = "stream " + number(i);
    require(stream.global >= 0 && stream.global < program.header().globals, kInvalid,
            name + " goes through global " + number(stream.global) + " of " +
                number(program.header().globals));
    for (int j = 0; j < i; ++j) {
      const Stream& other = program.stream(j);
      require(stream.global != other.global || stream.offset != other.offset ||
                  !std::ranges::equal(program.strides(stream), program.strides(other)),
              kInvalid, name + " repeats stream " + number(j));
    }
  }
}

void verify_words(std::span<const uint64_t> words, int own, int& at) {
  at = -1;
  require(words.size() >= sizeof(Header) / 8, ErrorCode::bytecode_truncated,
          number(words.size()) + " words cannot hold a Program's header");
  Header header;
  std::memcpy(&header, words.data(), sizeof(header));
  const TargetTraits& target = check_header(words, header);
  const Program program(words);
  check_tiles(program, target);
  check_tables(program);
  TileVerifier tile(program, target);
  for (auto rest = program.code(); !rest.empty();) {
    ++at;
    rest = rest.subspan(tile.step(rest));
  }
  tile.finish();
  at = -1;
  check_coverage(program, own);
}

}  // namespace

void verify(std::span<const uint64_t> words) { verify_launched(words, -1); }

void verify_launched(std::span<const uint64_t> words, int own) {
  int at = -1;
  verify_words(words, own, at);
}

void verify(std::span<const uint64_t> words, int& at) { verify_words(words, -1, at); }

}  // namespace dvm::vm
