// Runs damaged Programs that verify() accepts, each global in a buffer of exactly the bytes it
// declares (fuzz/exact_buffer.h). Under the fuzz preset this is the proof of what verify()
// promises: no access outside of the globals and of local memory, whatever the words were.
#include <cstring>
#include <memory>

#include "core/error.h"
#include "cpu/cpu_target.h"
#include "fuzz/exact_buffer.h"
#include "fuzz/fuzz_main.h"
#include "sim/sim_target.h"
#include "vm/isa/program.h"
#include "vm/program_generator.h"

namespace dvm {
namespace {

// Larger ones are legal, but tell nothing more.
constexpr int64_t kMaxBytes = int64_t{1} << 20, kMaxWork = int64_t{1} << 18;

bool is_small(const vm::Program& program) {
  int64_t bytes = 0, elements = 0;
  for (const vm::Global& global : program.globals()) {
    int64_t size = 0;
    if (__builtin_sub_overflow(global.high, global.low, &size) || size > kMaxBytes) return false;
    bytes += size;
  }
  for (auto rest = program.code(); !rest.empty();) {
    const auto& insn = *reinterpret_cast<const vm::Instruction*>(rest.data());
    elements += int64_t{insn.m} * insn.size * insn.n;
    rest = rest.subspan(insn.words);
  }
  int64_t times = program.header().tile_count;
  for (const int64_t steps : program.loops()) {
    if (__builtin_mul_overflow(times, steps, &times)) return false;
  }
  return bytes <= kMaxBytes && elements <= kMaxWork && times <= kMaxWork &&
         elements * times <= kMaxWork;
}

void run(const vm::Program& program, fuzz::Random& random) {
  const auto fence = static_cast<fuzz::Fence>(random() % fuzz::kFences);
  std::vector<std::unique_ptr<fuzz::ExactBuffer>> buffers;
  std::vector<std::byte*> bases;
  for (const vm::Global& global : program.globals()) {
    buffers.push_back(std::make_unique<fuzz::ExactBuffer>(global.low, global.high, fence));
    fuzz::ExactBuffer& buffer = *buffers.back();
    for (size_t i = 0; i < buffer.size(); ++i) buffer[i] = static_cast<std::byte>(random());
    bases.push_back(buffer.base());
  }
  const vm::TargetTraits& traits = *vm::find_target(program.header().target);
  const auto target = traits.flags ? sim::make_sim_target(traits) : cpu::make_cpu_target();
  try {
    target->run(program, bases);
  } catch (const core::Error& error) {
    // Hazards between pipes are the simulator's to find, and no danger to the process.
    if (error.code() != core::ErrorCode::sim_fault) throw;
  }
}

std::string generate(fuzz::Random& random) {
  const auto words = vm::ProgramGenerator(random()).generate();
  return std::string(reinterpret_cast<const char*>(words.data()), words.size() * sizeof(uint64_t));
}

void read(std::string_view bytes) {
  std::vector<uint64_t> words(bytes.size() / sizeof(uint64_t));
  if (!words.empty()) std::memcpy(words.data(), bytes.data(), words.size() * sizeof(uint64_t));
  vm::verify(words);
  const vm::Program program(words);
  fuzz::Random random(words.size());
  if (is_small(program)) run(program, random);
}

}  // namespace
}  // namespace dvm

int main(int argc, char** argv) {
  const dvm::fuzz::Reader reader = {"program-run", dvm::generate, dvm::read};
  return dvm::fuzz::fuzz_main(argc, argv, {&reader, 1});
}
