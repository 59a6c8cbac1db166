// What a replay writes into arrays of the caller before its commit, so that it can be taken back.
//
// A loop writes into the arrays that it is given at once, the caller's own, too (the step `lend`).
// Until the path has come to its commit the call may be given up, whatever for; the original then
// has to find these arrays as they were. So what is there is kept before it is written over for the
// first time, byte by byte: the cost follows what is written, and no byte that the replay has not
// written is ever put back, for another thread may have written it meanwhile, as those do that
// share an array row by row. What is kept is never more than the arrays.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>

#include "capture/library/extent.h"
#include "capture/py.h"
#include "runtime/host.h"

namespace dvm::capture {

class Undo {
 public:
  Undo();
  ~Undo();
  Undo(const Undo&) = delete;
  Undo& operator=(const Undo&) = delete;

  // From here on what is written into the array's memory is kept; of other objects nothing is.
  void open(PyObject* object);
  bool is_open() const { return kept_ != nullptr; }

  // Before these bytes, the elements of this array, or some that an index of it names, are written.
  // Memory that is not open is the replay's own: nothing happens.
  void keep(std::byte* at, int64_t bytes) {  // 8 at most
    const auto place = static_cast<uint64_t>(at - last_.begin);
    const uint64_t in_word = place % kWordBytes;
    if (at < last_.open.begin || at + bytes > last_.open.end || place >= kBlockBytes ||
        in_word + static_cast<uint64_t>(bytes) > kWordBytes) {
      return keep_elsewhere(at, bytes);
    }
    const uint64_t wanted = ((uint64_t{1} << bytes) - 1) << in_word;
    uint64_t& kept = last_.block->kept[place / kWordBytes];
    if ((kept & wanted) == wanted) return;
    if ((kept & wanted) != 0) return keep_elsewhere(at, bytes);
    std::memcpy(last_.block->was + place, at, static_cast<size_t>(bytes));
    kept |= wanted;
  }
  void keep(const runtime::BufferView& elements);
  void keep(PyObject* array);

  // All is as it was; or it stays as it is.
  void take_back();
  void forget();

 private:
  class Kept;
  static constexpr uint64_t kBlockBytes = 512, kWordBytes = 64, kWords = kBlockBytes / kWordBytes;

  // Memory that begins at a multiple of its size: what its bytes were, as far as they are kept.
  struct Block {
    std::byte* begin;
    uint64_t kept[kWords];  // a bit for each byte
    std::byte was[kBlockBytes];
  };
  void keep_elsewhere(std::byte* at, int64_t bytes);

  std::unique_ptr<Kept> kept_;
  // Where bytes were kept last, and the open memory that they are part of: the next ones are often
  // beside them.
  struct {
    Block* block = nullptr;
    const std::byte* begin = nullptr;
    Extent open{nullptr, nullptr};
  } last_;
};

}  // namespace dvm::capture
