// The instruction table, the encoding of operands, and the builder.
#include "runtime/plan/plan.h"

#include <algorithm>

#include "core/error.h"

namespace dvm::runtime {

namespace {

constexpr PlanOpInfo kPlanOps[] = {
#define DVM_PLAN(name, result, operands, recall, synopsis) \
  {#name, File::result, operands, Recall::recall, synopsis},
#include "runtime/plan/plan.def"
#undef DVM_PLAN
};

// Where the Kernel counts by the type's sizes.
std::optional<vm::KernelShape> shape_in(const vm::Kernel& kernel, const core::Type& type) {
  vm::KernelShape shape;
  shape.fill(vm::kUnit);
  const size_t lead = static_cast<size_t>(kernel.rank - type.rank());
  for (size_t d = 0; d < type.shape.size(); ++d) {
    if (type.shape[d].as_constant() == 1) continue;
    const auto found = std::ranges::find(kernel.dims, type.shape[d]);
    if (found == kernel.dims.end()) return std::nullopt;
    shape[lead + d] = static_cast<uint8_t>(found - kernel.dims.begin());
  }
  return shape;
}

bool is_list(char kind) {
  return std::string_view("IBSKNDPT").find(kind) != std::string_view::npos;
}

}  // namespace

PlanRegion::PlanRegion(core::Region of, vm::Kernel prepared)
    : region(std::move(of)), kernel(std::move(prepared)) {
  const core::Graph& body = region.body;
  for (const core::Node& node : body.nodes()) {
    if (node.op == core::Op::input) operands.push_back(shape_in(kernel, node.type));
  }
  for (const core::Value v : body.outputs) operands.push_back(shape_in(kernel, body.type(v)));
}

const PlanOpInfo& info(PlanOp op) { return kPlanOps[static_cast<size_t>(op)]; }
std::span<const PlanOpInfo> all_plan_ops() { return kPlanOps; }

int64_t literal_of(std::span<const int32_t> words) {
  const uint64_t low = static_cast<uint32_t>(words[0]), high = static_cast<uint32_t>(words[1]);
  return static_cast<int64_t>(high << 32 | low);
}

std::vector<Operand> operands_of(const Plan& plan, const Instruction& instruction) {
  std::span<const int32_t> rest(plan.pool);
  // Plans reach the verifier through this walk, so even the shape of the pool is not trusted.
  auto take = [&rest](size_t words) {
    if (words > rest.size()) {
      core::fail(core::ErrorCode::plan_invalid, "an instruction reaches past the operand pool");
    }
    const auto taken = rest.first(words);
    rest = rest.subspan(words);
    return taken;
  };
  take(instruction.operands);
  std::vector<Operand> operands;
  for (char kind : info(instruction.op).operands) {
    size_t words = kind == 'w' ? 2 : 1;
    if (is_list(kind)) words = static_cast<uint32_t>(take(1)[0]);
    operands.push_back({kind, take(words)});
  }
  return operands;
}

int result_count(const Plan& plan, const Instruction& instruction) {
  switch (info(instruction.op).result) {
    case File::none:
      return 0;
    case File::bs:
      return static_cast<int>(operands_of(plan, instruction).back().words.size());
    default:
      return 1;
  }
}

// An element type below, a rank or data type above.
constexpr int kTypeBits = 8;
constexpr int32_t kObjectBit = 1 << 30;

int32_t word_of(const Argument& kind) {
  if (kind.data >= 0) return kObjectBit | kind.data;
  return kind.rank << kTypeBits | static_cast<int32_t>(kind.dtype);
}

Argument kind_in(int32_t word) {
  if (word & kObjectBit) {
    return {.dtype = core::DType::boolean, .rank = kObjectRank, .data = word & ~kObjectBit};
  }
  return {.dtype = static_cast<core::DType>(word & ((1 << kTypeBits) - 1)),
          .rank = word >> kTypeBits};
}

Argument argument_of(const core::ValueKind& kind, std::span<const core::DataType> types) {
  if (!kind.is_object()) return {.dtype = kind.dtype, .rank = kind.rank};
  const auto found = std::ranges::find(types, kind.data, &core::DataType::name);
  if (found == types.end()) {
    core::fail(core::ErrorCode::plan_invalid, "there is no data type " + kind.data);
  }
  return {.dtype = core::DType::boolean,
          .rank = kObjectRank,
          .data = static_cast<int32_t>(found - types.begin())};
}

PlanConstant make_constant(const core::Type& type, std::string name, core::Tensor values) {
  PlanConstant constant{std::move(name), std::move(values), {}};
  BufferView& view = constant.view;
  view.dtype = type.dtype;
  view.rank = type.rank();
  std::vector<int64_t> shape;
  for (const core::Dim dim : type.shape) shape.push_back(dim.as_constant().value());
  std::vector<int64_t> strides = core::dense_strides(type.dtype, shape);
  if (constant.values) {
    view.data = const_cast<std::byte*>(constant.values->data);  // no Region writes it
    view.owner = constant.values->owner;
    strides = constant.values->strides;
  }
  std::copy(shape.begin(), shape.end(), view.shape);
  std::copy(strides.begin(), strides.end(), view.strides);
  return constant;
}

namespace {

// As for Graphs: those of the host are their names.
bool equal(const PlanConstant& a, const PlanConstant& b) {
  return a.name == b.name && a.view.dtype == b.view.dtype && a.view.rank == b.view.rank &&
         std::equal(a.view.shape, a.view.shape + a.view.rank, b.view.shape) &&
         (a.is_host() || a.values == b.values);
}

}  // namespace

bool equal(const Plan& a, const Plan& b) {
  const auto same = [](const Plan& x, const Plan& y) { return equal(x, y); };
  return a.inputs == b.inputs && a.types == b.types && a.signatures == b.signatures &&
         std::ranges::equal(a.functions, b.functions, same) &&
         std::ranges::equal(a.bodies, b.bodies, same) && a.scalars == b.scalars &&
         a.callees == b.callees && a.code == b.code && a.pool == b.pool && a.sizes == b.sizes &&
         a.buffers == b.buffers &&
         std::equal(a.constants.begin(), a.constants.end(), b.constants.begin(), b.constants.end(),
                    [](const PlanConstant& x, const PlanConstant& y) { return equal(x, y); }) &&
         std::equal(a.regions.begin(), a.regions.end(), b.regions.begin(), b.regions.end(),
                    [](const PlanRegion& x, const PlanRegion& y) {
                      return x.region.name == y.region.name &&
                             core::equal(x.region.body, y.region.body);
                    });
}

int32_t PlanBuilder::append(PlanOp op, uint32_t operands, std::string note) {
  plan_.code.push_back({op, -1, operands});
  int32_t& result = plan_.code.back().result;
  const int count = result_count(plan_, plan_.code.back());
  if (count > 0) {
    int& file = info(op).result == File::i ? plan_.sizes : plan_.buffers;
    result = file;
    file += count;
  }
  plan_.notes.push_back(std::move(note));
  return plan_.code.back().result;
}

int32_t PlanBuilder::emit(PlanOp op, std::initializer_list<Word> operands, std::string note) {
  const std::string_view row = info(op).operands;
  DVM_CHECK(row.size() == operands.size(), std::string(info(op).name) + ": wrong operand count");
  const auto first = static_cast<uint32_t>(plan_.pool.size());
  size_t position = 0;
  for (const Word& operand : operands) {
    DVM_CHECK(operand.is_list == is_list(row[position]), "a list where none belongs, or none");
    ++position;
    if (operand.is_list) {
      plan_.pool.push_back(static_cast<int32_t>(operand.list.size()));
      plan_.pool.insert(plan_.pool.end(), operand.list.begin(), operand.list.end());
    } else {
      plan_.pool.push_back(operand.word);
    }
  }
  return append(op, first, std::move(note));
}

int32_t PlanBuilder::literal(int64_t value, std::string note) {
  const auto first = static_cast<uint32_t>(plan_.pool.size());
  plan_.pool.push_back(static_cast<int32_t>(value));
  plan_.pool.push_back(static_cast<int32_t>(value >> 32));
  return append(PlanOp::literal, first, std::move(note));
}

int32_t PlanBuilder::callee(const std::string& name) {
  auto found = std::find(plan_.callees.begin(), plan_.callees.end(), name);
  if (found == plan_.callees.end()) found = plan_.callees.insert(found, name);
  return static_cast<int32_t>(found - plan_.callees.begin());
}

}  // namespace dvm::runtime
