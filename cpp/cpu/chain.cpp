// Translates a chain into a program for the bodies of chain_text.inc: about a nanosecond per
// micro-op, so that it is done for each tile, with the tile's addresses.
#include "cpu/chain.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "core/fp_flags.h"
#include "cpu/chain_bodies.h"
#include "cpu/simd_level.h"

#if defined(__x86_64__) && defined(__ELF__)

namespace dvm::cpu {

namespace {

using core::DType;
using vm::ChainArgs;
using vm::Insn;
using vm::MicroOp;

enum class Binary : int {
#define DVM_CHAIN_ARITHMETIC(name) name,
#define DVM_CHAIN_BINARY(name) name,
#define DVM_CHAIN_UNARY(name)
#define DVM_CHAIN_FUNCTION(name)
#include "cpu/chain_bodies.def"
#undef DVM_CHAIN_ARITHMETIC
#undef DVM_CHAIN_BINARY
#undef DVM_CHAIN_UNARY
#undef DVM_CHAIN_FUNCTION
  count
};
enum class Unary : int {
#define DVM_CHAIN_ARITHMETIC(name)
#define DVM_CHAIN_BINARY(name)
#define DVM_CHAIN_UNARY(name) name,
#define DVM_CHAIN_FUNCTION(name) name,
#include "cpu/chain_bodies.def"
#undef DVM_CHAIN_ARITHMETIC
#undef DVM_CHAIN_BINARY
#undef DVM_CHAIN_UNARY
#undef DVM_CHAIN_FUNCTION
  count
};

// The table of the assembly text: rows in the order of chain_bodies.def, then the others.
constexpr int kBanks = vm::kBanks, kSources = kBanks + 2;
constexpr int kMemory = kBanks, kScalar = kBanks + 1;  // sources that are no bank
constexpr int kUnaryRows = static_cast<int>(Binary::count) * kBanks * kSources * kSources;
constexpr int kEnd = kUnaryRows + static_cast<int>(Unary::count) * kBanks * kSources;
constexpr int kStore = kEnd + 1;
constexpr int kLoadBools = kStore + kBanks;
constexpr int kStoreBools = kLoadBools + kBanks;
constexpr int kLoadTwo = kStoreBools + kBanks;
constexpr int kLoadThree = kLoadTwo + kBanks * kBanks;

// An instruction has at most 252 words, and a micro-op becomes at most two steps.
constexpr int kMaxSteps = 2 * 256;

// Of a chain whose elements have the width of T, a floating dtype.
template <typename T>
class Translator {
 public:
  Translator(const ChainArgs& args, const ChainBodies& bodies)
      : args_(args), operands_(args.insn->operands()), bodies_(bodies) {}

  // False where there is no body for a micro-op.
  bool run() {
    const std::span<const MicroOp> ops = args_.insn->micro_ops();
    for (size_t i = 0; i < ops.size();) {
      const size_t loads = count_loads(ops.subspan(i));
      if (loads > 1) {
        load_together(ops.subspan(i, loads));
        i += loads;
      } else if (!translate(ops[i++])) {
        return false;
      }
    }
    return put(kEnd, 0);
  }
  const ChainStep* program() const { return steps_; }
  // Whether an operation that raises nothing may do so with the bodies of this level.
  bool may_raise_too_much() const { return quiet_ && bodies_.raise_too_much; }

 private:
  struct Source {
    int kind;
    uint64_t operand;
  };

  static constexpr DType kFloat = std::is_same_v<T, float> ? DType::f32 : DType::f64;
  using Bits = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;

  bool put(int entry, uint64_t operand) {
    const auto* base = reinterpret_cast<const std::byte*>(bodies_.table);
    const int32_t* offsets = bodies_.table + ptrdiff_t{2} * entry;
    steps_[count_++] = {base + offsets[0], base + offsets[1], operand};
    return offsets[0] != 0;
  }
  // A second operand of the step before.
  void put_operand(uint64_t operand) { steps_[count_++].operand = operand; }

  static int bank(uint8_t place) { return place - vm::kFirstBank; }
  static bool is_bank(uint8_t place) { return place < vm::kFirstOperand; }
  uint64_t address(uint8_t place) const {
    return reinterpret_cast<uint64_t>(args_.operands[place - vm::kFirstOperand]);
  }
  bool is_memory(uint8_t place) const {
    return !is_bank(place) && operands_[place - vm::kFirstOperand].mode != vm::Mode::scalar;
  }
  Source source(uint8_t place) const {
    if (is_bank(place)) return {bank(place), 0};
    if (is_memory(place)) return {kMemory, address(place)};
    Bits bits = 0;
    std::memcpy(&bits, args_.operands[place - vm::kFirstOperand], sizeof(bits));
    return {kScalar, bits};
  }
  static T value(const Source& scalar) {
    return std::bit_cast<T>(static_cast<Bits>(scalar.operand));
  }
  // A number other than 0, of which equals have the same bits.
  static bool is_plain(const Source& s) {
    return s.kind == kScalar && !std::isnan(value(s)) && value(s) != 0;
  }

  bool is_load(const MicroOp& op) const {
    return op.insn == Insn::copy && op.dtype == kFloat && is_bank(op.dst) && is_memory(op.src[0]);
  }
  // How many loads into different banks stand at the start of `ops`.
  size_t count_loads(std::span<const MicroOp> ops) const {
    size_t count = 0;
    int banks = 0;
    for (; count < ops.size() && is_load(ops[count]); ++count) {
      const int bit = 1 << bank(ops[count].dst);
      if (banks & bit) break;
      banks |= bit;
    }
    return count;
  }

  void load_together(std::span<const MicroOp> loads) {
    if (loads.size() == 2) {
      put(kLoadTwo + bank(loads[0].dst) * kBanks + bank(loads[1].dst), address(loads[0].src[0]));
      put_operand(address(loads[1].src[0]));
      return;
    }
    uint64_t addresses[kBanks];
    for (const MicroOp& load : loads) addresses[bank(load.dst)] = address(load.src[0]);
    put(kLoadThree, addresses[0]);
    put_operand(addresses[1]);
    put_operand(addresses[2]);
  }

  bool binary(Binary row, const MicroOp& op, Source a, Source b) {
    const int entry =
        ((static_cast<int>(row) * kBanks + bank(op.dst)) * kSources + a.kind) * kSources + b.kind;
    const bool exists = put(entry, a.kind >= kBanks ? a.operand : b.operand);
    if (a.kind >= kBanks && b.kind >= kBanks) put_operand(b.operand);
    return exists;
  }
  bool unary(Unary row, const MicroOp& op, Source a) {
    return put(kUnaryRows + (static_cast<int>(row) * kBanks + bank(op.dst)) * kSources + a.kind,
               a.operand);
  }
  bool quiet_binary(Binary row, const MicroOp& op, Source a, Source b) {
    quiet_ = true;
    return binary(row, op, a, b);
  }
  bool quiet_unary(Unary row, const MicroOp& op, Source a) {
    quiet_ = true;
    return unary(row, op, a);
  }

  // Cheaper with a source that is no NaN.
  bool extreme(Binary row, Binary number, const MicroOp& op, Source a, Source b) {
    if (is_plain(b)) return quiet_binary(number, op, a, b);
    if (is_plain(a)) return quiet_binary(number, op, b, a);
    return quiet_binary(row, op, a, b);
  }

  bool copy(const MicroOp& op) {
    if (is_bank(op.dst) && (op.dtype == kFloat || is_bank(op.src[0]))) {
      return unary(Unary::copy, op, source(op.src[0]));
    }
    if (is_bank(op.dst)) {
      if (!is_memory(op.src[0])) return false;
      return put(kLoadBools + bank(op.dst), address(op.src[0]));
    }
    if (!is_bank(op.src[0])) return false;
    const int stores = op.dtype == kFloat ? kStore : kStoreBools;
    return put(stores + bank(op.src[0]), address(op.dst));
  }

  bool compare(const MicroOp& op, Source a, Source b) {
    switch (static_cast<vm::Compare>(op.aux)) {
      case vm::Compare::eq:
        return quiet_binary(Binary::eq, op, a, b);
      case vm::Compare::ne:
        return quiet_binary(Binary::ne, op, a, b);
      case vm::Compare::lt:
        return quiet_binary(Binary::lt, op, a, b);
      case vm::Compare::le:
        return quiet_binary(Binary::le, op, a, b);
      case vm::Compare::gt:
        return quiet_binary(Binary::lt, op, b, a);
      case vm::Compare::ge:
        return quiet_binary(Binary::le, op, b, a);
    }
    __builtin_unreachable();
  }

  bool translate(const MicroOp& op) {
    const bool moves_bools = op.insn == Insn::copy && op.dtype == DType::boolean;
    if (op.dtype != kFloat && !moves_bools) return false;
    if (op.insn == Insn::copy) return copy(op);
    const Source a = source(op.src[0]);
    const Source b = op.src[1] == 0 ? a : source(op.src[1]);
    constexpr Source kOne = {kScalar, std::bit_cast<Bits>(T{1})};
    switch (op.insn) {
      case Insn::add:
        return binary(Binary::add, op, a, b);
      case Insn::sub:
        return binary(Binary::sub, op, a, b);
      case Insn::mul:
        return binary(Binary::mul, op, a, b);
      case Insn::div:
        return binary(Binary::div, op, a, b);
      case Insn::square:
        return binary(Binary::mul, op, a, a);
      case Insn::reciprocal:
        return binary(Binary::div, op, kOne, a);
      case Insn::maximum:
        return extreme(Binary::maximum, Binary::maximum_number, op, a, b);
      case Insn::minimum:
        return extreme(Binary::minimum, Binary::minimum_number, op, a, b);
      case Insn::cmp:
        return compare(op, a, b);
      case Insn::isnan:
        return quiet_binary(Binary::unordered, op, a, a);
      case Insn::select: {
        if (!is_bank(op.src[0])) return false;
        const auto row = static_cast<Binary>(static_cast<int>(Binary::select_a) + a.kind);
        return binary(row, op, b, source(op.src[2]));
      }
      case Insn::exp:
        return quiet_unary(Unary::exp, op, a);
      case Insn::tanh:
        return quiet_unary(Unary::tanh, op, a);
      case Insn::neg:
        return unary(Unary::neg, op, a);
      case Insn::abs:
      case Insn::fabs:
        return unary(Unary::abs, op, a);
      case Insn::positive:
        return unary(Unary::copy, op, a);
      case Insn::sqrt:
        return unary(Unary::sqrt, op, a);
      case Insn::floor:
        return quiet_unary(Unary::floor, op, a);
      case Insn::ceil:
        return quiet_unary(Unary::ceil, op, a);
      case Insn::trunc:
        return quiet_unary(Unary::trunc, op, a);
      case Insn::rint:
        return quiet_unary(Unary::rint, op, a);
      default:
        return false;
    }
  }

  const ChainArgs& args_;
  const vm::Operand* operands_;
  const ChainBodies& bodies_;
  bool quiet_ = false;
  int count_ = 0;
  ChainStep steps_[kMaxSteps];
};

// Whether computing an element twice gives the same: nothing that is read is written over.
bool may_repeat(const ChainArgs& args) {
  const vm::Instruction& insn = *args.insn;
  const auto range = [&](int k) {
    const auto begin = reinterpret_cast<uint64_t>(args.operands[k]);
    const auto bytes = args.size * core::byte_size(vm::operand_dtype(insn, k));
    return std::pair(begin, begin + static_cast<uint64_t>(bytes));
  };
  for (int w = 0; w < insn.aux; ++w) {
    if (!vm::writes(insn, w)) continue;
    const auto [low, high] = range(w);
    for (int k = 0; k < insn.aux; ++k) {
      if (k == w || insn.operands()[k].mode == vm::Mode::scalar) continue;
      const auto [begin, end] = range(k);
      if (begin < high && low < end) return false;
    }
  }
  return true;
}

template <typename T>
bool run_chain_of(const ChainArgs& args, const ChainBodies& bodies) {
  Translator<T> translator(args, bodies);
  if (!translator.run()) return false;
  const bool repeat = may_repeat(args);
  const int64_t bytes = args.size * static_cast<int64_t>(sizeof(T));
  if (!translator.may_raise_too_much()) {
    bodies.run(translator.program(), bytes, repeat);
    return true;
  }
  // New flags are rare, and make the plain kernels find out which of them are right.
  if (!repeat) return false;
  constexpr core::fp::State kFlags = core::fp::kInvalidBit | core::fp::kDivideBit |
                                     core::fp::kOverflowBit | core::fp::kUnderflowBit;
  const core::fp::State before = core::fp::get();
  bodies.run(translator.program(), bytes, repeat);
  if ((core::fp::get() & ~before & kFlags) == 0) return true;
  core::fp::set(before);
  return false;
}

// The width of the elements, in bytes; 0 where not all have one.
int width_of(const ChainArgs& args) {
  int width = 0;
  for (const MicroOp& op : args.insn->micro_ops()) {
    if (op.dtype == DType::boolean) continue;
    const int bytes = core::byte_size(op.dtype);
    if (width != 0 && bytes != width) return 0;
    width = bytes;
  }
  return width;
}

}  // namespace

bool has_chain_registers() { return chain_bodies(simd_level(), sizeof(float)) != nullptr; }

bool run_chain_in_registers(const ChainArgs& args) noexcept {
  const int width = width_of(args);
  const ChainBodies* bodies = chain_bodies(simd_level(), width);
  if (bodies == nullptr) return false;
  return width == sizeof(float) ? run_chain_of<float>(args, *bodies)
                                : run_chain_of<double>(args, *bodies);
}

}  // namespace dvm::cpu

#else

namespace dvm::cpu {

bool has_chain_registers() { return false; }
bool run_chain_in_registers(const vm::ChainArgs&) noexcept { return false; }

}  // namespace dvm::cpu

#endif
