// Mutation fuzzing of readers of untrusted input, without an engine: valid inputs are generated,
// damaged in bytes and tokens, and given to the reader, which may accept them or throw core::Error.
// Anything else is a finding: another exception, an InternalError, a crash, a sanitizer report, or
// a case that takes longer than ten seconds. Inputs that are accepted are damaged further, and
// those that take new ways through the code (fuzz/coverage.h).
//
//   fuzz_x [--seconds N] [--iterations N] [--seed N] [--input FILE]
//
// A run is determined by its seed. A finding is written to a file that --input runs again.
#pragma once

#include <functional>
#include <random>
#include <span>
#include <string>
#include <string_view>

namespace dvm::fuzz {

using Random = std::mt19937_64;

struct Reader {
  std::string name;
  std::function<std::string(Random&)> generate;  // a valid input
  std::function<void(std::string_view)> read;    // throws core::Error to refuse
};

// Up to 4 random changes, mostly one: bits, bytes, words and runs of bytes, numbers and other
// tokens of texts, pieces of another input.
std::string mutate(std::string input, std::string_view other, Random& random);

// Runs every reader in turn; returns the exit status of the process.
int fuzz_main(int argc, char** argv, std::span<const Reader> readers);

}  // namespace dvm::fuzz
