// A Kernel: a Region made ready for encoding. Flat arrays, built once per path; sizes stay
// symbolic (they arrive with every call as the values of `dims`). Every value is aligned
// to the Region's rank by leading dims of size 1, and shapes are stored once: a bind looks at the
// few distinct shapes of a Region, not at each value.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/graph/graph.h"
#include "core/graph/region.h"
#include "core/graph/region_budget.h"
#include "vm/isa/program.h"

namespace dvm::vm {

// Of one Region: instructions before loads and stores; tensors that it reads and writes; inputs,
// scalars and computed values; distinct shapes among them; values that its parts leave to each
// other.
inline constexpr int kMaxSteps = core::kRegionBudget.steps;
inline constexpr int kMaxGlobals = core::kRegionBudget.tensors;
inline constexpr int kMaxValues = core::kRegionBudget.values;
inline constexpr int kMaxShapes = core::kRegionBudget.shapes;
inline constexpr int kMaxKept = core::kRegionBudget.kept;
// In the place of an operand: the left factor of a product that the Region makes itself.
inline constexpr int16_t kMadeFactor = -2;

// Per dimension of the Region an index into Kernel::dims; kUnit where the size is 1 for sure.
using KernelShape = std::array<uint8_t, kMaxRank>;
inline constexpr uint8_t kUnit = 0xff;

struct KernelValue {
  enum class Kind : uint8_t { input, scalar, computed };
  Kind kind = Kind::computed;
  DType dtype = DType::f32;
  uint8_t shape = 0;  // index into Kernel::shapes; no meaning for scalars
  // input: global operand; scalar: entry of Kernel::scalars; computed: the step that does
  int16_t index = -1;
};

struct KernelStep {
  Insn insn = Insn::copy;
  DType dtype = DType::f32;  // Instruction::dtype
  uint8_t aux = 0;           // cast: source dtype; cmp: ordering
  uint8_t arity = 0;
  int16_t src[3] = {-1, -1, -1};
  int16_t dst = -1;
  uint16_t axes = 0;  // reduce: bit per dimension of the Region
};

// Where a scalar operand comes from: a literal, a Python number of the call, or a size.
struct KernelScalar {
  enum class Kind : uint8_t { literal, argument, dim };
  Kind kind = Kind::literal;
  DType source = DType::f32;  // of the value as it comes
  DType dtype = DType::f32;   // what it is cast to
  int16_t index = 0;  // argument: position in Binding::scalars; dim: index into Kernel::dims
  Scalar value = {};  // literal
};

// Of a convolution: how its windows lie in its right operand, x, whose last `axes` axes they move
// along. Axes that there are not come first, and have one element.
struct KernelWindows {
  int axes = 0;
  int64_t window[core::kMaxWindowRank] = {1, 1, 1}, steps[core::kMaxWindowRank] = {1, 1, 1},
          dilations[core::kMaxWindowRank] = {1, 1, 1}, before[core::kMaxWindowRank] = {};
  bool operator==(const KernelWindows&) const = default;
};

// A product of matrices (op matmul) or a convolution, which a Region computes out of two of its
// inputs, or of a left factor that it makes (kMadeFactor), and before all else. Shapes are aligned
// to the Region's rank; a factor of which there are fewer matrices than of the result has a size of
// 1 there.
struct KernelProduct {
  int16_t a = -1, b = -1, result = -1;  // operands, the Region's or what is kept
  DType dtype = DType::f32;             // of the result: that in which products are added up
  DType source = DType::f32;
  core::Precision precision = core::Precision::highest;  // of factors of f32
  KernelShape a_shape = {}, b_shape = {}, shape = {};
  std::optional<KernelWindows> windows;

  // The last axes of the result: those of its rows stand before them.
  int column_axes() const { return windows ? windows->axes : 1; }
};

// An attention, in the place of a product. A dim of k, v or the mask that has a size of 1 where the
// result has more is repeated; heads of k and v may each serve several of the result.
struct KernelAttention {
  static constexpr int kQ = 0, kK = 1, kV = 2, kMask = 3, kResult = 4, kOperands = 5;
  int16_t operand[kOperands] = {-1, -1, -1, -1, -1};
  KernelShape shape[kOperands] = {};
  DType dtype = DType::f32, mask = DType::f32;
  double scale = 1, fill = 0;
  bool causal = false;
  uint8_t last = kUnit;  // of causal ones: the last dim, which is no size but added to rows of q

  bool is_masked() const { return operand[kMask] >= 0; }
};

// The instruction that computes an op on a tile, and its Instruction::aux if the op decides that;
// none for views, sources and whole ops.
struct OpInsn {
  Insn insn;
  uint8_t aux = 0;
};
std::optional<OpInsn> insn_of(core::Op op);

// The cast of the Graph, on one element.
Scalar cast_scalar(Scalar value, DType from, DType to);

struct Kernel {
  std::string name;
  uint64_t serial = 0;  // of its making in this process; copies compute the same
  int rank = 0;
  int input_count = 0, output_count = 0, scalar_count = 0;  // of the Region
  std::shared_ptr<core::DimContext> context;                // of dims
  std::vector<core::Dim> dims;  // what a call must evaluate, in this order
  std::vector<KernelShape> shapes;
  std::vector<KernelValue> values;
  std::vector<KernelStep> steps;  // SSA order
  std::vector<KernelScalar> scalars;
  std::vector<int16_t> outputs;          // value ids
  std::vector<int16_t> output_operands;  // of each output: the operand that it is written to
  // Steps read its result, or that of the attention, as they read inputs. `nothing` fills the
  // result where k is 0.
  std::optional<KernelProduct> product;
  std::vector<Kernel> nothing;  // at most one
  // The elementwise steps that make its left factor, the one output (kMadeFactor), out of the same
  // operands, dims and scalars; at most one.
  std::vector<Kernel> before;
  std::optional<KernelAttention> attention;
  // Where reductions feed steps, the same in parts that are run one after the other and in which
  // none does (kernel_parts.h). `kept` are the values that one part leaves to another: operands
  // behind the Region's own, in a workspace.
  std::vector<Kernel> parts;
  std::vector<int16_t> kept;

  int operand_count() const { return input_count + output_count; }
};

// Throws UnsupportedError where the Region breaks a limit above or an op has no instruction. The
// Region holds source, elementwise, broadcast and reduce nodes only (views are the Plan's). What no
// output needs is left out.
Kernel prepare(const core::Region& region);

}  // namespace dvm::vm
