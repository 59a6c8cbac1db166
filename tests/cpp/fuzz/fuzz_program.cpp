// Fuzzes verify() with bytes and assemble() with text. What they accept has to read back.
#include <cstring>
#include <stdexcept>

#include "fuzz/fuzz_main.h"
#include "vm/isa/program.h"
#include "vm/program_generator.h"

namespace dvm {
namespace {

std::vector<uint64_t> to_words(std::string_view bytes) {
  std::vector<uint64_t> words(bytes.size() / sizeof(uint64_t));
  if (!words.empty()) std::memcpy(words.data(), bytes.data(), words.size() * sizeof(uint64_t));
  return words;
}

void require_round_trip(const std::vector<uint64_t>& words) {
  const std::string text = vm::disassemble(vm::Program(words));
  if (vm::assemble(text) != words) throw std::logic_error("the listing reads back differently");
}

std::string generate_bytes(fuzz::Random& random) {
  const auto words = vm::ProgramGenerator(random()).generate();
  return std::string(reinterpret_cast<const char*>(words.data()), words.size() * sizeof(uint64_t));
}

std::string generate_listing(fuzz::Random& random) {
  return vm::disassemble(vm::Program(vm::ProgramGenerator(random()).generate()));
}

}  // namespace
}  // namespace dvm

int main(int argc, char** argv) {
  using namespace dvm;
  const fuzz::Reader readers[] = {
      {"program-words", generate_bytes,
       [](std::string_view bytes) {
         const auto words = to_words(bytes);
         vm::verify(words);
         require_round_trip(words);
       }},
      {"program-listing", generate_listing,
       [](std::string_view text) { require_round_trip(vm::assemble(text)); }},
  };
  return fuzz::fuzz_main(argc, argv, readers);
}
