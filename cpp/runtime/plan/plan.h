// The Plan: the host program of one path, for a register machine with three register files:
// i (int64 sizes), s (scalar arguments) and b (buffers). A list of POD instructions over one pool
// of operands; every register is defined once. Printed, parsed and verified as a whole:
//
//   plan v1 {
//     input b0: f32 rank 1
//     constant b1: f32 [2] = [0x1p+0, 0x1p-1]
//     scalar s0: f32
//     callee 0: "numpy.sort"
//     region r0 = graph v1 { ... }
//     i0 = size b0, 0  # s0
//     b2 = host_alloc f32, [i0]
//     run r0, [b0, b1], [b2], [i0], [s0]
//     ret [b2]
//   }
//
// What a loop or branch runs is a Plan of its own, `body p0 = plan v1 { .. }`. Its arguments are
// what the instruction says, its results are carried on or are those of the instruction. Functions
// are Plans, too, `function g0 "total" -> [f64[?]] = plan v1 { .. }`, which any Plan within may
// invoke. Objects of data types (`data Tree = Leaf(value: f64[?]) | ..`, by number t0) are values
// of the host, in registers of b.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/dims/facts.h"
#include "core/graph/module.h"
#include "core/graph/region.h"
#include "runtime/host.h"
#include "runtime/plan/left_out_kernels.h"
#include "vm/tile/kernel.h"

namespace dvm::runtime {

enum class PlanOp : uint8_t {
#define DVM_PLAN(name, result, operands, recall, synopsis) name,
#include "runtime/plan/plan.def"
#undef DVM_PLAN
};

enum class File : uint8_t { none, i, s, b, bs };  // register files; bs: several of b
enum class Recall : uint8_t { nothing, makes, takes, views, runs, computes, frees, gives, never };

struct PlanOpInfo {
  std::string_view name;
  File result;
  std::string_view operands;
  Recall recall;
  std::string_view synopsis;
};
const PlanOpInfo& info(PlanOp op);
std::span<const PlanOpInfo> all_plan_ops();

// In the pool a register, number or index is one word, a list its length and then its items, a
// 64-bit literal its low and then its high half.
struct Instruction {
  PlanOp op = PlanOp::ret;
  int32_t result = -1;    // register in the file the row names, of several the first
  uint32_t operands = 0;  // index of the first word in Plan::pool
  bool operator==(const Instruction&) const = default;
};

struct Argument {
  core::DType dtype = core::DType::f32;
  int rank = 0;
  bool ours = false;  // of a body: may be written to, for nobody else has it
  int32_t data = -1;  // of an object, whose rank is kObjectRank: the data type, by index
  bool operator==(const Argument&) const = default;
};

// An array that is there before the first call. What has a name is the host's, as an argument is:
// it may be given to calls and returned. Others stay within the Plan.
struct PlanConstant {
  std::string name;
  core::Tensor values;  // none: not supplied, so that the Plan cannot run
  BufferView view;      // of them; its dtype and shape are known without
  bool is_host() const { return !name.empty(); }
};
PlanConstant make_constant(const core::Type& type, std::string name, core::Tensor values);

// A kind of value as one word of the pool, and back.
int32_t word_of(const Argument& kind);
Argument kind_in(int32_t word);
Argument argument_of(const core::ValueKind& kind, std::span<const core::DataType> types);

struct PlanSignature {
  std::string name;
  std::vector<Argument> gives;
  bool operator==(const PlanSignature&) const = default;
};

struct PlanRegion {
  PlanRegion(core::Region region, vm::Kernel kernel);  // the kernel: prepare(region)

  core::Region region;
  vm::Kernel kernel;
  // The sizes that each operand must have where the Kernel reads or writes it, aligned to its rank;
  // none of an input that it has no use for.
  std::vector<std::optional<vm::KernelShape>> operands;
  std::shared_ptr<LeftOutKernels> left_out = std::make_shared<LeftOutKernels>();
};

struct Plan {
  std::vector<Argument> inputs;         // registers b0, b1, ...
  std::vector<PlanConstant> constants;  // the registers of b behind these
  std::vector<core::DType> scalars;     // registers s0, s1, ...
  std::vector<std::string> callees;
  std::vector<PlanRegion> regions;
  std::vector<Plan> bodies;
  // Of the Plan that is no other's body or function.
  std::vector<core::DataType> types;
  std::vector<PlanSignature> signatures;  // of the functions
  std::vector<Plan> functions;
  std::vector<Instruction> code;
  std::vector<int32_t> pool;
  std::vector<std::string> notes;  // per instruction: the Dim it computes, printed as a comment
  int sizes = 0, buffers = 0;      // registers in the files i and b; scalars.size() in s

  int result_count() const { return code.empty() ? 0 : pool[code.back().operands]; }  // of ret
};

bool equal(const Plan& a, const Plan& b);  // but for the notes, which are comments
std::string print(const Plan& plan);
Plan parse_plan(std::string_view text);  // throws FormatError; checks grammar, then verify()

// Throws GraphError (plan_invalid) naming the first broken rule. A verified Plan can be executed
// on any arguments of the declared types; the rules are listed in plan_verify.cpp.
void verify(const Plan& plan);

// One operand of an instruction: the row's letter and its words (a list's without the length).
struct Operand {
  char kind;
  std::span<const int32_t> words;
};
// Whether a host function makes the results of the instruction.
inline bool is_call(PlanOp op) { return op == PlanOp::call || op == PlanOp::call_fresh; }
// How many registers the instruction defines.
int result_count(const Plan& plan, const Instruction& instruction);
int64_t literal_of(std::span<const int32_t> words);

// Walks the operands of one instruction; throws GraphError where the pool is too short.
std::vector<Operand> operands_of(const Plan& plan, const Instruction& instruction);

// Appends instructions. Operands are given in the order of the row.
class PlanBuilder {
 public:
  explicit PlanBuilder(Plan& plan) : plan_(plan) {}

  using Registers = std::span<const int32_t>;
  struct Word {  // a register, number, index or list
    Word(int32_t single) : word(single) {}
    Word(core::DType dtype) : word(static_cast<int32_t>(dtype)) {}
    Word(core::DimCmp cmp) : word(static_cast<int32_t>(cmp)) {}
    Word(Registers items) : list(items), is_list(true) {}
    Word(const std::vector<int32_t>& items) : list(items), is_list(true) {}
    int32_t word = 0;
    Registers list;
    bool is_list = false;
  };

  // The register the instruction defines, -1 if none.
  int32_t emit(PlanOp op, std::initializer_list<Word> operands, std::string note = {});
  int32_t literal(int64_t value, std::string note = {});
  int32_t callee(const std::string& name);  // its index, added when new

 private:
  int32_t append(PlanOp op, uint32_t operands, std::string note);
  Plan& plan_;
};

}  // namespace dvm::runtime
