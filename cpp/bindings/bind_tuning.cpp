// What tuning needs: times of products in any tiles, and the pool of tiles that calls choose from.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "bindings/bindings.h"
#include "bindings/simulated.h"
#include "core/error.h"
#include "core/ops/dtype.h"
#include "driver/product_time.h"
#include "vm/encode/tile_pool.h"

namespace py = pybind11;

namespace dvm::bindings {

namespace {

using Sides = std::tuple<int64_t, int64_t, int64_t>;  // m, n, k
using Cycles = std::pair<double, double>;             // fixed, for each element of k
// dtype, whether columns of the right factor are runs of memory, tile, cycles of the first wave and
// of each further one
using PoolRow = std::tuple<std::string, bool, Sides, Cycles, Cycles>;

core::DType dtype_of(const std::string& name) {
  const std::optional<core::DType> found = core::dtype_from_text(name);
  if (!found) core::fail(core::ErrorCode::unsupported, "no dtype is named '" + name + "'");
  return *found;
}
vm::CubeTiling tiling_of(const Sides& tile) {
  const auto& [m, n, k] = tile;
  return {m, n, k, {}};
}
vm::RightLies lies(bool by_columns) {
  return by_columns ? vm::RightLies::by_columns : vm::RightLies::by_rows;
}

py::tuple time_product(const std::string& target, const std::string& dtype, const Sides& sizes,
                       bool by_columns, const std::optional<Sides>& tile) {
  const auto& [m, n, k] = sizes;
  const driver::Product product{dtype_of(dtype), lies(by_columns), m, n, k};
  const vm::TargetTraits& traits = simulated_target(target);
  std::optional<vm::CubeTiling> tiling;
  if (tile) tiling = tiling_of(*tile);
  driver::ProductTime time;
  {
    const py::gil_scoped_release unlocked;
    time = driver::time_product(product, traits, tiling);
  }
  return py::make_tuple(time.cycles, Sides{time.tiling.m, time.tiling.n, time.tiling.k});
}

std::vector<PoolRow> tile_pool(const std::string& target) {
  std::vector<PoolRow> rows;
  for (const vm::MeasuredTile& tile : *vm::tile_pool(simulated_target(target))) {
    rows.emplace_back(std::string(core::to_string(tile.source)),
                      tile.right == vm::RightLies::by_columns, Sides{tile.m, tile.n, tile.k},
                      Cycles{tile.first.fixed, tile.first.each},
                      Cycles{tile.next.fixed, tile.next.each});
  }
  return rows;
}

void set_tile_pool(const std::string& target, const std::vector<PoolRow>& rows) {
  vm::TilePool pool;
  for (const auto& [dtype, by_columns, tile, first, next] : rows) {
    const auto& [m, n, k] = tile;
    pool.push_back({dtype_of(dtype),
                    lies(by_columns),
                    m,
                    n,
                    k,
                    {first.first, first.second},
                    {next.first, next.second}});
  }
  vm::set_tile_pool(simulated_target(target), std::move(pool));
}

std::string why_no_tile(const std::string& target, const std::string& dtype, const Sides& tile) {
  return vm::why_no_tile(dtype_of(dtype), tiling_of(tile), simulated_target(target));
}

int32_t cubes_of(const std::string& target) {
  return simulated_target(target).blocks(vm::KernelType::cube);
}

}  // namespace

void bind_tuning(py::module_& module) {
  module.def("time_product", time_product, py::arg("target"), py::arg("dtype"), py::arg("sizes"),
             py::arg("by_columns"), py::arg("tile") = py::none());
  module.def("tile_pool", tile_pool, py::arg("target"));
  module.def("set_tile_pool", set_tile_pool, py::arg("target"), py::arg("rows"));
  module.def("why_no_tile", why_no_tile, py::arg("target"), py::arg("dtype"), py::arg("tile"));
  module.def("cubes_of", cubes_of, py::arg("target"));
}

}  // namespace dvm::bindings
