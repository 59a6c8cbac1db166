// Where the parts of a Program lie in its words, and how its tiles are shared out.
#include "vm/isa/program.h"

#include "core/math/integers.h"

namespace dvm::vm {

namespace {

constexpr size_t kHeaderWords = sizeof(Header) / sizeof(uint64_t);
constexpr size_t kGlobalWords = sizeof(Global) / sizeof(uint64_t);
constexpr size_t kStreamWords = sizeof(Stream) / sizeof(uint64_t);

size_t axes(const Header& h) { return size_t{h.grid_rank} + h.loops; }
size_t globals_at(const Header& h) { return kHeaderWords + axes(h); }
size_t scalars_at(const Header& h) { return globals_at(h) + kGlobalWords * h.globals; }
size_t streams_at(const Header& h) { return scalars_at(h) + h.scalars; }
size_t stream_words(const Header& h) { return kStreamWords + axes(h); }

}  // namespace

std::span<const int64_t> Program::grid() const {
  return {at<int64_t>(kHeaderWords), header().grid_rank};
}

std::span<const int64_t> Program::loops() const {
  return {at<int64_t>(kHeaderWords + header().grid_rank), header().loops};
}

std::span<const Global> Program::globals() const {
  return {at<Global>(globals_at(header())), header().globals};
}

std::span<const Scalar> Program::scalars() const {
  return {at<Scalar>(scalars_at(header())), header().scalars};
}

const Stream& Program::stream(int index) const {
  return *at<Stream>(streams_at(header()) + static_cast<size_t>(index) * stream_words(header()));
}

std::span<const uint64_t> Program::code() const { return words_.last(header().code_words); }

TileShares share_tiles(int64_t tile_count, int64_t cores) {
  const int64_t body = core::ceil_div(tile_count, cores);
  const int64_t blocks = core::ceil_div(tile_count, body);
  return {static_cast<uint32_t>(body), static_cast<uint32_t>(blocks),
          static_cast<uint32_t>(body * blocks - tile_count)};
}

}  // namespace dvm::vm
