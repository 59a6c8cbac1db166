#include "sim/core.h"

#include "core/error.h"
#include "core/ops/reduce.h"
#include "sim/kernels.h"
#include "sim/view_runs.h"
#include "vm/encode/tied_zeros.h"
#include "vm/tile/kernel.h"

namespace dvm::sim {

namespace {

using vm::Insn;
using vm::Instruction;
using vm::Sync;
using vm::Tile;
using vm::TileArgs;

std::string number(int64_t value) { return std::to_string(value); }

std::string range(int64_t begin, int64_t end) {
  return "[" + number(begin) + ", " + number(end) + ")";
}

std::string pipe_name(Pipe pipe) { return std::string(to_string(pipe)); }

std::string flag_name(const Sync& flag) {
  return pipe_name(flag.src) + "_" + pipe_name(flag.dst) + " flag " + number(flag.event);
}

// By instruction, and by whether it computes with floats.
using Quiet = std::array<std::array<bool, 2>, vm::kInsnCount>;
Quiet quiet_instructions() {
  Quiet quiet;
  quiet.fill({true, true});  // what is no op moves elements
  for (size_t i = 0; i < core::all_ops().size(); ++i) {
    const auto op = static_cast<core::Op>(i);
    const auto found = vm::insn_of(op);
    if (!found) continue;
    if (core::reduce_info(op).dtypes == core::ReduceDtypes::boolean) continue;  // extremes of bools
    auto& [of_integers, of_floats] = quiet[static_cast<size_t>(found->insn)];
    of_integers = of_integers && !core::may_raise(op, core::DType::i64);
    const bool boolean = vm::info(found->insn).boolean_result;
    of_floats =
        of_floats && !core::may_raise(op, boolean ? core::DType::boolean : core::DType::f64);
  }
  for (const Insn insn : {Insn::attend, Insn::attend_masked, Insn::attend_biased}) {
    quiet[static_cast<size_t>(insn)][1] = false;
  }
  return quiet;
}
bool is_quiet(const Instruction& insn) {
  static const Quiet quiet = quiet_instructions();
  return quiet[static_cast<size_t>(insn.insn)][core::is_floating(insn.dtype)];
}

Sync loop_flag(const vm::LoopFlagInfo& row) { return {0, row.src, row.dst, 0, 0}; }

}  // namespace

// A flag that tiles hand on to the next tile is set once before the first.
void AiCore::begin(const vm::Header& header) {
  if (tracer_ != nullptr) tracer_->begin(header);
  for (const vm::LoopFlagInfo& row : vm::kLoopFlags) {
    if (header.loop_flags & row.flag) clocks_.set(loop_flag(row));
  }
}

void AiCore::end(const vm::Header& header) {
  if (tracer_ != nullptr) tracer_->end(header);
  for (const vm::LoopFlagInfo& row : vm::kLoopFlags) {
    if ((header.loop_flags & row.flag) && !clocks_.wait(loop_flag(row))) {
      stop("wait without set: " + flag_name(loop_flag(row)) + " after the last tile");
    }
  }
  if (const auto flag = clocks_.unpaired()) {
    stop("unpaired set: nothing waits for " + flag_name(*flag));
  }
}

void AiCore::wait(const Instruction& insn, const Sync& flag, const Tile& tile) {
  if (tracer_ != nullptr) tracer_->wait(insn, flag, tile);
  if (!clocks_.wait(flag)) stop(insn, tile, "wait without set: " + flag_name(flag));
}

void AiCore::set(const Instruction& insn, const Sync& flag, const Tile& tile) {
  if (tracer_ != nullptr) tracer_->set(insn, flag, tile);
  if (!clocks_.set(flag)) {
    stop(insn, tile,
         "sets " + flag_name(flag) + " more than " + number(kMaxPendingSets) +
             " times without a wait");
  }
}

// Sources first: an instruction that works in place reads before it writes.
template <typename Address>
void AiCore::check_operands(const Instruction& insn, const vm::ViewDim* dims, Address address,
                            const Tile& tile) {
  const Pipe pipe = info(insn.insn).pipe;
  const Access now{clocks_.tick(pipe), pipe, &insn, tile.index};
  for (const bool written : {false, true}) {
    for (int k = 0; k < insn.operand_count(); ++k) {
      if (vm::writes(insn, k) != written) continue;
      const vm::Operand& operand = insn.operands()[k];
      if (operand.mode == vm::Mode::slot) check_slot(insn, k, tile, now);
      if (is_stream(operand)) check_stream(insn, k, address(k), dims, tile);
    }
  }
}

void AiCore::count(const Instruction& insn, const Tile& tile) {
  const bool begins = tile.index != last_tile_;
  report_.tiles += begins;
  last_tile_ = tile.index;
  common_.done.count(begins);
  ++report_.instructions[static_cast<size_t>(insn.insn)];
}

// Comparisons within a scalar meaning raise flags that the operation, as NumPy has it, does not.
void AiCore::run_kernel(const Instruction& insn, const TileArgs& args) {
  const vm::TileKernel kernel = kernel_table()(insn);
  if (is_quiet(insn)) {
    const core::KeepFpFlags keep;
    kernel(args);
  } else {
    kernel(args);
  }
  if (vm::may_tie_zeros(insn) && vm::has_tied_zeros(insn, args)) more_flags_ |= core::kTiedZeros;
}

void AiCore::execute(const Instruction& insn, const TileArgs& args, const Tile& tile) {
  check_operands(
      insn, args.dims, [&](int k) { return k == 0 ? args.dst : args.src[k - 1]; }, tile);
  if (kernel_table()(insn) == nullptr) {
    stop(insn, tile, "has no kernel for dtype " + std::string(core::to_string(insn.dtype)));
  }
  if (tracer_ != nullptr) tracer_->execute(insn, args, tile);
  run_kernel(insn, args);
  count(insn, tile);
}

void AiCore::execute_chain(const vm::ChainArgs& args, const Tile& tile) {
  const Instruction& insn = *args.insn;
  check_operands(
      insn, nullptr, [&](int k) { return args.operands[k]; }, tile);
  if (tracer_ != nullptr) tracer_->execute_chain(args, tile);
  vm::run_chain(args, [&](const Instruction& step, const TileArgs& step_args) {
    run_kernel(step, step_args);
  });
  count(insn, tile);
}

void AiCore::check_slot(const Instruction& insn, int operand, const Tile& tile, const Access& now) {
  const vm::Space space = vm::space_of(insn.operands()[operand]);
  const vm::Memory memory = traits_.memory(space);
  const int64_t begin = insn.operands()[operand].offset;
  const int64_t bytes =
      operand_elements(insn, operand, tile.ends) * core::byte_size(operand_dtype(insn, operand));
  const std::string name = "operand " + number(operand);
  const std::string local = space == vm::Space::ub ? "local" : std::string(to_string(space));
  const bool writes = vm::writes(insn, operand);
  if (!vm::reaches(now.pipe, space, writes)) {
    stop(insn, tile,
         name + " lies in " + local + ", which the " + pipe_name(now.pipe) + " pipe does not " +
             (writes ? "write" : "read"));
  }
  if (begin % memory.align != 0) {
    stop(insn, tile,
         name + " at " + local + " byte " + number(begin) + " is not aligned to " +
             number(memory.align));
  }
  if (begin < memory.reserve) {
    stop(insn, tile,
         name + " at " + local + " byte " + number(begin) + " is in the reserve " +
             range(0, memory.reserve));
  }
  if (bytes > memory.bytes - begin) {
    stop(insn, tile,
         name + " takes " + local + " bytes " + range(begin, begin + bytes) + ", memory ends at " +
             number(memory.bytes));
  }
  AccessHistory& history = history_[static_cast<size_t>(space)];
  const auto hazard = writes ? history.write(begin, begin + bytes, now, clocks_)
                             : history.read(begin, begin + bytes, now, clocks_);
  if (!hazard) return;
  const std::string what = pipe_name(now.pipe) + " pipe " + (writes ? "writes " : "reads ") +
                           local + " bytes " + range(hazard->begin, hazard->end);
  const Access& earlier = hazard->earlier;
  if (earlier.time == 0) stop(insn, tile, what + ", which nothing has written");
  stop(insn, tile,
       what + " (" + name + "), which the " + pipe_name(earlier.pipe) + " pipe " +
           (hazard->earlier_writes ? "writes" : "reads") + " in " + describe(*earlier.insn) +
           " of tile " + number(earlier.tile) + ", and no flag orders them");
}

void AiCore::check_stream(const Instruction& insn, int operand, const std::byte* address,
                          const vm::ViewDim* dims, const Tile& tile) {
  const std::string name = "operand " + number(operand);
  if (info(insn.insn).pipe == Pipe::simd && !traits_.streams) {
    stop(insn, tile,
         name + " is a stream, which the simd pipe of " + std::string(traits_.name) +
             " cannot access");
  }
  const int64_t g = program_.stream(insn.operands()[operand].index).global;
  const vm::Global& global = program_.globals()[static_cast<size_t>(g)];
  const auto offset =
      static_cast<int64_t>(reinterpret_cast<uint64_t>(address) -
                           reinterpret_cast<uint64_t>(globals_[static_cast<size_t>(g)]));
  const int64_t element = core::byte_size(operand_dtype(insn, operand));
  // Wide enough for any strides, so that no overflow can hide a stray access.
  __extension__ using Wide = __int128;
  Wide low = offset, high = Wide{offset} + element;
  bool aligned = offset % element == 0;
  if (dims == nullptr) {
    high = offset + Wide{operand_elements(insn, operand, tile.ends)} * element;
  } else {
    for (int d = 0; d < insn.aux; ++d) {
      const int64_t stride = dims[d].stride;
      const int64_t extent = vm::positions_along(insn, d, dims[d].extent);
      (stride < 0 ? low : high) += Wide{extent - 1} * stride;
      aligned = aligned && stride % element == 0;
    }
  }
  if (!aligned) {
    stop(insn, tile,
         name + " at byte " + number(offset) + " of global g" + number(g) +
             " is not aligned to its elements of " + number(element) + " bytes");
  }
  if (low < global.low || high > global.high) {
    stop(insn, tile,
         name + " touches bytes " + range(static_cast<int64_t>(low), static_cast<int64_t>(high)) +
             " of global g" + number(g) + ", which has " + range(global.low, global.high));
  }
  if (vm::writes(insn, operand) && global.written == 0) {
    stop(insn, tile, "writes global g" + number(g) + ", which is read-only");
  }
  if (global.written != 0) check_alone(insn, operand, offset, dims, tile);
}

void AiCore::check_alone(const Instruction& insn, int operand, int64_t begin,
                         const vm::ViewDim* dims, const Tile& tile) {
  const auto g = static_cast<size_t>(program_.stream(insn.operands()[operand].index).global);
  const bool writes = vm::writes(insn, operand);
  const auto check = [&](int64_t at, int64_t count) {
    WrittenElements& written = common_.written;
    const int64_t other = writes ? written.write(common_.program, tile.index, g, at, count)
                                 : written.read(common_.program, tile.index, g, at, count);
    if (other < 0) return;
    stop(insn, tile,
         (writes ? "writes byte " : "reads byte ") + number(other) + " of global g" +
             number(static_cast<int64_t>(g)) +
             (writes ? ", as another tile does" : ", which this tile has not written"));
  };
  if (dims == nullptr) return check(begin, operand_elements(insn, operand, tile.ends));
  vm::ViewDim reached[core::kMaxRank];
  for (int d = 0; d < insn.aux; ++d) {
    reached[d] = {vm::positions_along(insn, d, dims[d].extent), dims[d].stride};
  }
  for_each_view_run(
      {reached, insn.aux}, core::byte_size(operand_dtype(insn, operand)),
      [&](int64_t, int64_t strided, int64_t count) { check(begin + strided, count); });
}

std::string AiCore::describe(const Instruction& insn) const {
  int64_t index = 0;
  const auto* target = reinterpret_cast<const uint64_t*>(&insn);
  for (const uint64_t* p = program_.code().data(); p != target; ++index) {
    p += reinterpret_cast<const Instruction*>(p)->words;
  }
  return "instruction " + number(index) + " (" + std::string(info(insn.insn).name) + ")";
}

void AiCore::stop(const Instruction& insn, const Tile& tile, const std::string& message) const {
  stop("tile " + number(tile.index) + ", " + describe(insn) + ": " + message);
}

void AiCore::stop(const std::string& message) const {
  core::fail(core::ErrorCode::sim_fault, "core " + number(id_) + ", " + message);
}

}  // namespace dvm::sim
