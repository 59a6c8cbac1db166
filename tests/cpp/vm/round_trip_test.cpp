// Properties of random Programs: they verify, print and read back; damaged ones are refused.
#include <gtest/gtest.h>

#include <map>

#include "core/error.h"
#include "vm/isa/program.h"
#include "vm/program_generator.h"

namespace dvm::vm {
namespace {

TEST(RoundTrip, GeneratedProgramsVerifyAndReadBack) {
  ProgramGenerator generator(1);
  std::map<Insn, int> seen;
  constexpr int kPrograms = 12000;
  for (int i = 0; i < kPrograms; ++i) {
    const auto words = generator.generate();
    const Program program(words);
    std::string text;
    try {
      verify(words);
      text = disassemble(program);
      ASSERT_EQ(assemble(text), words) << "program " << i << "\n" << text;
    } catch (const core::Error& error) {
      FAIL() << "program " << i << ": " << error.what() << "\n" << disassemble(program);
    }
    for (auto rest = program.code(); !rest.empty();) {
      const auto& insn = *reinterpret_cast<const Instruction*>(rest.data());
      ++seen[insn.insn];
      rest = rest.subspan(insn.words);
    }
  }
  for (int i = 0; i < kInsnCount; ++i) {
    EXPECT_GT(seen[static_cast<Insn>(i)], 100) << info(static_cast<Insn>(i)).name;
  }
}

// The generator's globals span exactly what tiles touch: one byte less has to be noticed.
TEST(RoundTrip, EveryByteOfAGlobalCounts) {
  ProgramGenerator generator(2);
  for (int i = 0; i < 2000; ++i) {
    auto words = generator.generate();
    const Program program(words);
    const auto globals = program.globals();
    auto& global = const_cast<Global&>(globals[generator.below(globals.size())]);
    if (global.high == global.low) continue;
    (generator.chance(50) ? global.low += 1 : global.high -= 1);
    EXPECT_THROW(verify(words), core::Error) << "program " << i << "\n" << disassemble(program);
  }
}

// Runs what is untrusted about `words`; counts what still verifies. Anything but core::Error (and
// any code but the format's) escapes and fails the test.
bool survives(const std::vector<uint64_t>& words) {
  try {
    verify(words);
  } catch (const core::Error& error) {
    EXPECT_NE(error.code(), core::ErrorCode::internal) << error.what();
    return false;
  }
  EXPECT_EQ(assemble(disassemble(Program(words))), words);
  return true;
}

TEST(RoundTrip, DamagedWordsAreRefusedOrStillAProgram) {
  ProgramGenerator generator(3);
  int cases = 0, valid = 0;
  while (cases < 60000) {
    const auto original = generator.generate();
    for (int k = 0; k < 20; ++k, ++cases) {
      auto words = original;
      const size_t at = generator.below(words.size());
      switch (generator.below(5)) {
        case 0:
          words[at] ^= uint64_t{1} << generator.below(64);
          break;
        case 1:
          words[at] ^= uint64_t{0xff} << 8 * generator.below(8);
          break;
        case 2:
          words[at] = generator.bits();
          break;
        case 3:
          words[at] = words[generator.below(words.size())];
          break;
        default:
          words.resize(at);
      }
      valid += survives(words);
    }
  }
  RecordProperty("cases", cases);
  RecordProperty("still_valid", valid);
  EXPECT_LT(valid, cases / 5) << "damage is noticed too rarely to mean anything";
}

TEST(RoundTrip, DamagedTextsAreRefusedOrStillAProgram) {
  ProgramGenerator generator(4);
  constexpr std::string_view kCharacters = "0123456789xabcdefg-+.,:;(){}[]/# \n_=";
  int valid = 0;
  for (int cases = 0; cases < 60000;) {
    const auto original = generator.generate();
    const std::string listing = disassemble(Program(original));
    for (int k = 0; k < 20; ++k, ++cases) {
      std::string text = listing;
      const size_t at = generator.below(text.size());
      switch (generator.below(4)) {
        case 0:
          text[at] = kCharacters[generator.below(kCharacters.size())];
          break;
        case 1:
          text.erase(at, 1 + generator.below(12));
          break;
        case 2:
          text.insert(at, text.substr(generator.below(text.size()), generator.below(30)));
          break;
        default:
          text.resize(at);
      }
      std::vector<uint64_t> words;
      try {
        words = assemble(text);
      } catch (const core::Error& error) {
        ASSERT_EQ(core::error_info(error.code()).python_class, "FormatError") << error.what();
        continue;
      }
      ++valid;
      ASSERT_TRUE(survives(words)) << text;
    }
  }
  RecordProperty("still_valid", valid);
}

}  // namespace
}  // namespace dvm::vm
