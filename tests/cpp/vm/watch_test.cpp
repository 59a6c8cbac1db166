// Which memory a Watch takes for the same: a simulated cache counts what is read twice.
#include "vm/target/watch.h"

#include <gtest/gtest.h>

#include "vm/isa/program.h"
#include "vm/sample_programs.h"

namespace dvm::vm {
namespace {

class WatchTest : public ::testing::Test {
 protected:
  // The numbers of the operands at these places.
  std::vector<int64_t> run(std::initializer_list<size_t> places) {
    std::vector<std::byte*> globals;
    for (const size_t place : places) globals.push_back(memory + place);
    const Launch launch{Program(words), globals};
    watch.ran({&launch, 1});
    return watch.programs().back().buffers;
  }

  std::vector<uint64_t> words = assemble(kWorkedExample);
  std::byte memory[256];
  Watch watch{true, 16};
};

using Numbers = std::vector<int64_t>;

TEST_F(WatchTest, EqualAddressesAreTheSameMemory) {
  EXPECT_EQ(run({0, 64, 0}), (Numbers{0, 1, 0}));
  EXPECT_EQ(run({64, 128, 0}), (Numbers{1, 2, 0}));
}

TEST_F(WatchTest, MemoryThatIsAllocatedAnewIsNotWhatLayThere) {
  EXPECT_EQ(run({0, 64, 128}), (Numbers{0, 1, 2}));
  watch.allocated(memory + 32, 40);  // whatever begins in [32, 72)
  EXPECT_EQ(run({0, 64, 128}), (Numbers{0, 3, 2}));
  watch.allocated(memory, 64);
  EXPECT_EQ(run({0, 64, 128}), (Numbers{4, 3, 2}));
}

}  // namespace
}  // namespace dvm::vm
