// Calls of Regions with a product, on small whole numbers, and their launches with what goes along
// with the product tile by tile.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <vector>

#include "vm/plain_core.h"
#include "vm/region_util.h"
#include "vm/target/cost.h"
#include "vm/verify/coverage.h"

namespace dvm::vm {

// Little memory for what is handed over, so that small products have several tiles.
class LittleMemory {
 public:
  LittleMemory() {
    CostTable table;
    table.far_bytes = 16384;
    set_cost_table(table);
  }
  ~LittleMemory() { set_cost_table(before_); }
  LittleMemory(const LittleMemory&) = delete;
  LittleMemory& operator=(const LittleMemory&) = delete;

 private:
  const CostTable before_ = cost_table();
};

// Fills the first `count` operands with numbers whose sums are exact in whatever order.
inline std::vector<core::Array> fill_inputs(Call& call, size_t count, std::mt19937_64& random) {
  std::vector<core::Array> inputs;
  for (size_t k = 0; k < count; ++k) {
    Tensor& tensor = call.operands[k];
    core::Array array = core::make_array(tensor.dtype, tensor.shape);
    for (float& x : core::elements<float>(array)) x = static_cast<float>(random() % 19) - 9;
    tensor.for_each([&](int64_t e, std::byte* p) { std::memcpy(p, array.data.data() + e * 4, 4); });
    inputs.push_back(std::move(array));
  }
  return inputs;
}

// Runs all that was encoded for the call, verified; `each` gets every launch.
template <typename F>
void run_launches(const Compiled& compiled, Call& call, F each) {
  std::vector<std::byte*> globals;
  for (Tensor& tensor : call.operands) globals.push_back(tensor.buffer.data() + tensor.base);
  std::vector<std::vector<std::byte>> workspaces;
  for (int w = 0; w < compiled.workspace_count; ++w) {
    auto& memory = workspaces.emplace_back(static_cast<size_t>(compiled.workspace_bytes[w]));
    globals.push_back(memory.empty() ? nullptr : memory.data());
  }
  compiled.all_launches(globals, [&](const Launch& launch) {
    verify_launched(launch.program.words(), launch.handed.global);
    PlainCore core(launch.program);
    const int64_t tiles = launch.program.header().tile_count;
    if (launch.followers.empty()) {
      run_tiles(launch.program, launch.globals, 0, tiles, core);
    } else {
      for (const Follower& follower : launch.followers) {
        verify_launched(follower.program.words(), follower.makes ? launch.made.global : -1);
      }
      verify_followers(launch);
      std::vector<std::byte> places(static_cast<size_t>(launch.place_bytes()));
      run_followed_tiles(launch, places.data(), 0, tiles, core);
    }
    each(launch);
    return true;
  });
}

// The results, which are the operands from `first` on, have the bits of the reference.
inline void expect_reference(const core::Region& region, Call& call, size_t first,
                             const std::vector<core::Array>& inputs) {
  const std::vector<core::Array> expected = core::evaluate(region.body, inputs, {}, call.symbols);
  for (size_t r = 0; r < expected.size(); ++r) {
    call.operands[first + r].for_each([&](int64_t e, const std::byte* p) {
      ASSERT_EQ(std::memcmp(p, expected[r].data.data() + e * 4, 4), 0) << r << ", " << e;
    });
  }
}

}  // namespace dvm::vm
