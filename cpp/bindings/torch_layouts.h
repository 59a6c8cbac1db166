// Where torch has the elements of a tensor: strides of its axes, and an offset in its storage, both
// counted in elements. What is handed to torch's ops and to the program lies as torch's own graph
// says, whatever a Plan chose; this is the one place that sees to it.
#pragma once

#include <pybind11/pybind11.h>

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "core/graph/graph.h"
#include "runtime/host.h"

namespace dvm::bindings {

// Of one call: what a Layout comes to.
struct Place {
  int64_t strides[core::kMaxRank] = {};
  int64_t offset = 0;
};

class Layout {
 public:
  // order: all axes, the outermost first, where elements lie without gaps from the storage's first
  //     on.
  // numbers: else strides and behind them the offset; those that are missing are told by the call.
  using Text = std::pair<std::vector<int>, std::vector<std::optional<int64_t>>>;
  explicit Layout(Text text) : order_(std::move(text.first)), numbers_(std::move(text.second)) {}

  // How many numbers a call tells.
  size_t told() const;
  // Of a tensor of that shape; `given`: the numbers, told() of them.
  Place place(const runtime::BufferView& shaped, std::span<const int64_t> given) const;

 private:
  std::vector<int> order_;
  std::vector<std::optional<int64_t>> numbers_;
};

// The tensor if it lies so, a view of it where only axes without a second element have other
// strides, else a copy that does, which `copies` counts. Throws Python's error.
pybind11::object placed(const pybind11::object& tensor, const Place& place, int64_t& copies);

// What makes such a copy, `f(tensor, strides, offset)`; set once, by the first import of dvm.torch.
void use_placement(const pybind11::object& place_copy);

}  // namespace dvm::bindings
