#include "capture/replay/targets.h"

#include <algorithm>
#include <vector>

#include "capture/library/extent.h"
#include "capture/replay/raising_warnings.h"

namespace dvm::capture {

namespace {

using runtime::BufferView;
using runtime::PlanOp;

// Whether an instruction of the Plan may come behind a write into a target: it fails for want of
// memory at most.
bool cannot_fail(PlanOp op) {
  return op == PlanOp::run || op == PlanOp::undefined || op == PlanOp::free || op == PlanOp::ret;
}

// Whether the instruction names one of the buffers.
bool names(const runtime::Plan& plan, const runtime::Instruction& instruction,
           const std::vector<int32_t>& buffers) {
  for (const runtime::Operand& operand : runtime::operands_of(plan, instruction)) {
    if (operand.kind != 'b' && operand.kind != 'B') continue;
    for (const int32_t reg : operand.words) {
      if (std::find(buffers.begin(), buffers.end(), reg) != buffers.end()) return true;
    }
  }
  return false;
}

// Which host array of the Plan the register is; -1: none, or one with instructions behind its first
// use that may give the replay up.
int32_t allocation_of(const runtime::Plan& plan, int32_t reg) {
  int32_t allocation = -1, count = 0;
  bool used = false;
  std::vector<int32_t> views = {reg};
  for (const runtime::Instruction& instruction : plan.code) {
    if (used && !cannot_fail(instruction.op)) return -1;
    const bool is_view = runtime::info(instruction.op).result == runtime::File::b;
    if (instruction.op == PlanOp::host_alloc) {
      if (instruction.result == reg) allocation = count;
      ++count;
    } else if (names(plan, instruction, views)) {
      if (is_view) views.push_back(instruction.result);
      used |= !is_view;
    }
  }
  return allocation;
}

// Whether NumPy raises, whatever its error state, where a Region only has a flag to raise behind
// what it wrote: integers to negative powers.
bool may_refuse_elements(const core::Graph& graph) {
  return std::ranges::any_of(graph.nodes(), [](const core::Node& node) {
    const bool power = node.op == core::Op::power || node.attrs.with == "power";
    return power && !core::is_floating(node.type.dtype);
  });
}

bool can_be_target(PyObject* object, core::DType dtype) {
  const Library* const library = library_of(object);
  if (library == nullptr) return false;
  const ArrayView array = library->view(object);
  return array.has(kCContiguous | kAligned | kWriteable) && !array.has(kWarnsWhenWritten) &&
         array.bytes() >= kLeastPlacedBytes && library->dtype_of(object) == dtype;
}

Extent extent_of(const PlacedResult& result) {
  return capture::extent_of(library_of(result.array)->view(result.array));
}

}  // namespace

int32_t placeable(const runtime::Plan& plan, int32_t result) {
  const int32_t* const returned = plan.pool.data() + plan.code.back().operands + 1;
  return allocation_of(plan, returned[result]);
}

void find_targets(Segment& segment) {
  const runtime::Plan& plan = segment.compilation->graph.plan();
  const core::Graph& graph = segment.graph;
  const bool refuses = may_refuse_elements(graph);
  for (Segment::Output& output : segment.outputs) {
    const bool allowed = output.target >= 0 && !refuses;
    output.allocation = allowed ? placeable(plan, output.result) : -1;
  }
  std::vector<bool> read(static_cast<size_t>(graph.size()));
  for (const core::Node& node : graph.nodes()) {
    for (const core::Value v : node.inputs) read[static_cast<size_t>(v)] = true;
  }
  for (const core::Value v : graph.outputs) read[static_cast<size_t>(v)] = true;
  segment.reads.clear();
  for (const core::Value v : graph.inputs()) {
    if (graph.node(v).op == core::Op::input) segment.reads.push_back(read[static_cast<size_t>(v)]);
  }
}

size_t place_results(const Frame& frame, const Segment& segment, std::span<const BufferView> inputs,
                     PlacedResult* placed) {
  size_t count = 0;
  if (frame.call.rehearsal) return 0;
  for (const Segment::Output& output : segment.outputs) {
    if (output.target < 0) continue;
    PyObject* const object = frame[output.target];
    if (output.allocation < 0 || !can_be_target(object, segment.graph.type(output.value).dtype)) {
      return 0;
    }
    placed[count++] = {output.allocation, object};
  }
  if (count == 0) return 0;
  for (size_t i = 0; i < count; ++i) {
    const Extent target = extent_of(placed[i]);
    for (size_t k = 0; k < i; ++k) {
      if (target.meets(extent_of(placed[k]))) return 0;
    }
    for (size_t k = 0; k < inputs.size(); ++k) {
      if (segment.reads[k] && target.meets(extent_of(inputs[k]))) return 0;
    }
  }
  return segment.flags != 0 && warnings_may_raise() ? 0 : count;
}

}  // namespace dvm::capture
