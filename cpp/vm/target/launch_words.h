// A launch as one block of words, for who keeps it (dvm.profile): its Program, and where it has
// followers, behind that what is handed over and made, and each of them. Bases are no part of it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "vm/target/launch.h"

namespace dvm::vm {

// Of a launch without followers, the words of its Program.
std::vector<uint64_t> launch_words(const Launch& launch);

// A launch in words that outlive it.
struct LaunchView {
  Program program;
  std::vector<Follower> followers;
  HandedOver handed, made;

  Launch launch(std::span<std::byte* const> globals) const {
    return {.program = program,
            .globals = globals,
            .followers = followers,
            .handed = handed,
            .made = made};
  }
  // Of the Program and its followers.
  template <typename F>
  void for_each_program(F f) const {
    f(program);
    for (const Follower& follower : followers) f(follower.program);
  }
};
// Throws FormatError where the words are no launch; with `verifies` also where a Program among them
// is not what verify() demands.
LaunchView view_launch(std::span<const uint64_t> words, bool verifies);

}  // namespace dvm::vm
