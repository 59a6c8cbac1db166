// What bind, tile and encode make of generated Regions: Programs that the verifier takes, the same
// ones whatever the memory of the calls before holds, and, where a change is to leave them as they
// are, the same ones as before it:
//
//   DVM_ENCODINGS=FILE     each case is compared with its line of the file; where there is no such
//                          file, it is written
//   DVM_ENCODING_CASES=N   how many; DVM_ENCODING_CASE=K shows all of one
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iostream>

#include "vm/distinct_targets.h"
#include "vm/region_generator.h"

namespace dvm::vm {
namespace {

uint64_t number_from_environment(const char* name, uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

// A call of a generated Region on one target.
class Encoding {
 public:
  explicit Encoding(uint64_t seed) : generator_(seed), made_(generator_.run()) {
    const std::vector<TargetTraits> targets = distinct_targets();
    target_ = seed % 2 == 0 ? find_target("cpu") : find_target(targets[seed % targets.size()].id);
    kernel_ = prepare(made_.region);
    const core::Graph& graph = made_.region.body;
    for (const core::Dim dim : kernel_.dims) dims_.push_back(size(dim));
    for (const core::Value v : graph.inputs()) add_operand(graph.type(v), false);
    for (const core::Value v : graph.outputs) add_operand(graph.type(v), true);
  }

  // Tilings and Programs in one line; with `listing` the Programs themselves behind it.
  std::string encode_in(Arena& arena, bool listing = false) const {
    arena.reset();
    const Binding binding{dims_.data(), nullptr,
                          reinterpret_cast<const int64_t(*)[kMaxRank]>(strides_.data())};
    std::vector<Tiling> tilings;
    std::string line = std::string(target_->name);
    try {
      const Compiled compiled = encode(kernel_, binding, *target_, arena, nullptr,
                                       made_.request ? &*made_.request : nullptr, &tilings);
      for (int k = 0; k < compiled.stage_count; ++k) {
        line += text_of(tilings[static_cast<size_t>(k)]) + " " + hash_of(compiled.stages[k]);
      }
      for (int k = 0; listing && k < compiled.stage_count; ++k) {
        line += "\n" + disassemble(compiled.stages[k]);
      }
    } catch (const core::Error& error) {
      if (error.code() == core::ErrorCode::internal) throw;
      line += " refused";
    }
    return line;
  }

  std::string text() const {
    std::string result = core::print(made_.region.body);
    for (const int64_t symbol : made_.symbols) result += std::to_string(symbol) + " ";
    result += "\n";
    for (const auto& strides : strides_) {
      for (int d = 0; d < kernel_.rank; ++d) {
        result += std::to_string(strides[static_cast<size_t>(d)]) + " ";
      }
      result += "\n";
    }
    return result;
  }

 private:
  int64_t size(core::Dim dim) const { return core::evaluate(dim, made_.symbols).value(); }

  void add_operand(const core::Type& type, bool written) {
    std::vector<int64_t> sizes;
    for (const core::Dim dim : type.shape) sizes.push_back(size(dim));
    const auto strides = generator_.random_strides(sizes, core::byte_size(type.dtype), written);
    std::array<int64_t, kMaxRank> aligned{};
    std::copy_n(strides.begin(), sizes.size(), aligned.begin() + kernel_.rank - type.rank());
    strides_.push_back(aligned);
  }

  static std::string text_of(const Tiling& tiling) {
    std::string text = " | " + std::to_string(static_cast<int>(tiling.reduction)) + " " +
                       std::to_string(tiling.split);
    for (int d = 0; d < tiling.rank; ++d) {
      text += (d == 0 ? " " : ",") + std::to_string(tiling.tile[d]) + "/" +
              std::to_string(tiling.sizes[d]);
    }
    return text;
  }
  static std::string hash_of(const Program& program) {
    uint64_t hash = 0xcbf29ce484222325;
    for (const uint64_t word : program.words()) hash = (hash ^ word) * 0x100000001b3;
    return std::to_string(hash);
  }

  RegionGenerator generator_;
  RegionCase made_;
  const TargetTraits* target_;
  Kernel kernel_;
  std::vector<int64_t> dims_;
  std::vector<std::array<int64_t, kMaxRank>> strides_;
};

TEST(Encodings, DependOnTheCallAlone) {
  const char* const path = std::getenv("DVM_ENCODINGS");
  const uint64_t cases = number_from_environment("DVM_ENCODING_CASES", 1500);
  std::ifstream known;
  if (path != nullptr) known.open(path);
  std::ofstream made;
  if (path != nullptr && !known.is_open()) made.open(path);
  Arena used;
  int differences = 0;
  for (uint64_t seed = 0; seed < cases; ++seed) {
    const Encoding encoding(seed);
    const std::string line = encoding.encode_in(used);
    if (seed % 16 == 0) {
      Arena fresh;
      ASSERT_EQ(encoding.encode_in(fresh), line) << "case " << seed << "\n" << encoding.text();
    }
    if (made.is_open()) made << line << "\n";
    std::string before;
    if (!known.is_open() || !std::getline(known, before) || before == line) continue;
    ADD_FAILURE() << "case " << seed << " was\n" << before << "\nand is\n" << line;
    if (++differences > 20) return;
  }
}

TEST(Encodings, OneCaseIsShown) {
  if (std::getenv("DVM_ENCODING_CASE") == nullptr) GTEST_SKIP() << "no case is asked for";
  const Encoding encoding(number_from_environment("DVM_ENCODING_CASE", 0));
  Arena arena;
  std::cout << encoding.text() << encoding.encode_in(arena, true) << "\n";
}

}  // namespace
}  // namespace dvm::vm
