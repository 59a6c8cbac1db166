#include "vm/target/launch_words.h"

#include <algorithm>
#include <cstring>

#include "core/error.h"
#include "vm/verify/coverage.h"

namespace dvm::vm {

namespace {

// What stands before the words of a follower.
struct Place {
  int32_t first_row, rows, first_column, columns, tiles, makes;
};
struct Handed {
  int32_t global, turns;
  int64_t bytes;
};
static_assert(sizeof(Place) % sizeof(uint64_t) == 0 && sizeof(Handed) % sizeof(uint64_t) == 0);

template <typename T>
void append(std::vector<uint64_t>& words, const T& value) {
  const size_t begin = words.size();
  words.resize(begin + sizeof(T) / sizeof(uint64_t));
  std::memcpy(words.data() + begin, &value, sizeof(T));
}

template <typename T>
T take(std::span<const uint64_t>& words) {
  constexpr size_t kWords = sizeof(T) / sizeof(uint64_t);
  if (words.size() < kWords) {
    core::fail(core::ErrorCode::bytecode_truncated, "a launch ends within what tells of followers");
  }
  T value;
  std::memcpy(&value, words.data(), sizeof(T));
  words = words.subspan(kWords);
  return value;
}

// The Program at the start of the words.
Program take_program(std::span<const uint64_t>& words) {
  size_t count = words.size();
  if (words.size() * sizeof(uint64_t) >= sizeof(Header)) {
    Header header;
    std::memcpy(&header, words.data(), sizeof(Header));
    count = std::min<size_t>(count, header.words);
  }
  const Program program(words.first(count));
  words = words.subspan(count);
  return program;
}

}  // namespace

std::vector<uint64_t> launch_words(const Launch& launch) {
  const auto add = [](std::vector<uint64_t>& words, const Program& program) {
    words.insert(words.end(), program.words().begin(), program.words().end());
  };
  std::vector<uint64_t> words;
  add(words, launch.program);
  if (launch.followers.empty()) return words;
  for (const HandedOver& place : {launch.handed, launch.made})
    append(words, Handed{place.global, place.turns, place.bytes});
  for (const Follower& follower : launch.followers) {
    append(words, Place{follower.first_row, follower.rows, follower.first_column, follower.columns,
                        follower.tiles, follower.makes ? 1 : 0});
    add(words, follower.program);
  }
  return words;
}

LaunchView view_launch(std::span<const uint64_t> words, bool verifies) {
  LaunchView view;
  view.program = take_program(words);
  for (HandedOver* const place : {&view.handed, &view.made}) {
    if (words.empty()) break;
    const auto handed = take<Handed>(words);
    *place = {static_cast<int16_t>(handed.global), handed.turns, handed.bytes};
  }
  while (!words.empty()) {
    const auto place = take<Place>(words);
    view.followers.push_back({.program = take_program(words),
                              .first_row = place.first_row,
                              .rows = place.rows,
                              .first_column = place.first_column,
                              .columns = place.columns,
                              .tiles = place.tiles,
                              .makes = place.makes != 0});
  }
  if (verifies) {
    verify_launched(view.program.words(), view.handed.global);
    for (const Follower& follower : view.followers) {
      verify_launched(follower.program.words(), follower.makes ? view.made.global : -1);
    }
  }
  if (!view.followers.empty()) verify_followers(view.launch({}));
  return view;
}

}  // namespace dvm::vm
