#include "vm/encode/tile_pool.h"

#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "core/error.h"
#include "vm/encode/cube_program.h"

namespace dvm::vm {

namespace {

using core::DType;

// In few bytes.
struct Row {
  uint8_t target;
  DType source;
  RightLies right;
  int16_t m, n, k;
  float first, first_each, next, next_each;
};
enum TargetId : uint8_t {
#define DVM_TARGET(name, id, ...) name = id,
#include "vm/target/targets.def"
#undef DVM_TARGET
};
constexpr Row kRows[] = {
#define DVM_MEASURED_TILE(target, source, right, m, n, k, first, first_each, next, next_each) \
  {target, DType::source, RightLies::right, m, n, k, first, first_each, next, next_each},
#include "vm/encode/tile_pool.def"
#undef DVM_MEASURED_TILE
};

using Shared = std::shared_ptr<const TilePool>;
struct Pools {
  std::mutex mutex;
  std::map<uint8_t, Shared> of_target;
};
Pools& pools() {
  static auto* all = new Pools;  // never destroyed: threads may encode until the process ends
  return *all;
}

Shared shipped(const TargetTraits& target) {
  TilePool pool;
  for (const Row& row : kRows) {
    if (row.target != target.id) continue;
    pool.push_back({row.source,
                    row.right,
                    row.m,
                    row.n,
                    row.k,
                    {row.first, row.first_each},
                    {row.next, row.next_each}});
  }
  return std::make_shared<const TilePool>(std::move(pool));
}

}  // namespace

Shared tile_pool(const TargetTraits& target) {
  Pools& all = pools();
  const std::lock_guard lock(all.mutex);
  Shared& known = all.of_target[target.id];
  if (known == nullptr) known = shipped(target);
  return known;
}

void set_tile_pool(const TargetTraits& target, TilePool pool) {
  for (const MeasuredTile& tile : pool) {
    std::string why = why_no_tile(tile.source, {tile.m, tile.n, tile.k, {}}, target);
    const auto grows = [](const CyclesByDepth& cycles) {
      return cycles.at(1) > 0 && cycles.each >= 0;
    };
    if (why.empty() && !(grows(tile.first) && grows(tile.next))) {
      why = "its waves take no time that grows with k";
    }
    if (!why.empty()) core::fail(core::ErrorCode::unsupported, "a tile of the pool: " + why);
  }
  auto shared = std::make_shared<const TilePool>(std::move(pool));
  Pools& all = pools();
  const std::lock_guard lock(all.mutex);
  all.of_target[target.id] = std::move(shared);
}

}  // namespace dvm::vm
