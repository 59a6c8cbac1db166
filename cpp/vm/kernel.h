// A Kernel: a Region made ready for encoding. Flat arrays without pointers, built once per path;
// sizes stay symbolic (they arrive with every call as the values of `dims`).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/region.h"
#include "vm/program.h"

namespace dvm::vm {

inline constexpr int kMaxSteps = 64;    // instructions of one Region before loads and stores
inline constexpr int kMaxGlobals = 32;  // tensors a Region may read and write

// A value of the Region, aligned to the Region's rank with leading size-1 dims.
struct KernelValue {
  enum class Kind : uint8_t { input, scalar, computed };
  Kind kind = Kind::computed;
  DType dtype = DType::f32;
  int16_t index = -1;  // input: global operand; scalar: entry of Kernel::scalars
  // Index into Kernel::dims per dimension of the Region; kUnit where the value has size 1 for sure.
  uint8_t dims[kMaxRank] = {};
};
inline constexpr uint8_t kUnit = 0xff;

struct KernelStep {
  Insn insn = Insn::copy;
  DType dtype = DType::f32;  // Instruction::dtype
  uint8_t aux = 0;
  uint8_t arity = 0;
  int16_t src[3] = {-1, -1, -1};
  int16_t dst = -1;
  uint16_t axes = 0;  // reduce: bit per dimension of the Region
};

// Where a scalar operand comes from: a literal, a Python number of the call, or a size.
struct KernelScalar {
  enum class Kind : uint8_t { literal, argument, dim };
  Kind kind = Kind::literal;
  DType dtype = DType::f32;
  int16_t index = 0;  // argument: position in Binding::scalars; dim: index into Kernel::dims
  Scalar value;       // literal
};

struct Kernel {
  std::string name;
  int rank = 0;
  int input_count = 0, output_count = 0, scalar_count = 0;  // of the Region
  std::vector<core::Dim> dims;  // what a call must evaluate, in this order
  std::vector<KernelValue> values;
  std::vector<KernelStep> steps;  // SSA order
  std::vector<KernelScalar> scalars;
  std::vector<int16_t> outputs;  // value ids
  uint16_t reduced = 0;          // axes reduced by the trailing reductions
};

// Throws UnsupportedError where the Region breaks a limit above. The Region holds source,
// elementwise, broadcast and reduce nodes only (views are the Plan's); a reduction's result is an
// output and feeds nothing.
Kernel prepare(const core::Region& region);

}  // namespace dvm::vm
