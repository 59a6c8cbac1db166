#include "vm/encode/encode.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <string>
#include <utility>

#include "core/error.h"
#include "core/verifies.h"
#include "vm/encode/attention_program.h"
#include "vm/encode/chunks_of_rows.h"
#include "vm/encode/cube_program.h"
#include "vm/encode/emit.h"
#include "vm/encode/encode_scratch.h"
#include "vm/encode/factor_copy.h"
#include "vm/encode/followed_product.h"
#include "vm/encode/product_parts.h"
#include "vm/encode/product_program.h"
#include "vm/isa/program_builder.h"
#include "vm/isa/reduce_source.h"
#include "vm/tile/dim_order.h"
#include "vm/tile/partials.h"
#include "vm/tile/recompute.h"
#include "vm/tile/tiler.h"
#include "vm/verify/coverage.h"

namespace dvm::vm {

namespace {

using Reduction = Tiling::Reduction;

// Adds up the time since the last phase ended; without somewhere to put it, no clock is read.
class Stopwatch {
 public:
  explicit Stopwatch(PhaseTimes* times) : times_(times), last_(now()) {}
  void end(int64_t PhaseTimes::*phase) {
    if (times_ == nullptr) return;
    const int64_t time = now();
    times_->*phase += time - std::exchange(last_, time);
  }

 private:
  int64_t now() const {
    if (times_ == nullptr) return 0;
    return std::chrono::duration_cast<std::chrono::nanoseconds>(
               std::chrono::steady_clock::now().time_since_epoch())
        .count();
  }
  PhaseTimes* times_;
  int64_t last_;
};

class Encoder {
 public:
  Encoder(const TargetTraits& target, Arena& arena, Stopwatch& watch, Compiled& compiled,
          const TileRequest* request, std::vector<Tiling>* tilings)
      : target_(target),
        arena_(arena),
        watch_(watch),
        compiled_(compiled),
        request_(request),
        tilings_(tilings) {
    compiled_.stages = scratch_.programs;
  }

  // Appends the Programs of all that the Kernel computes.
  void run(const Kernel& kernel, const Binding& binding) {
    if (kernel.product && follow_product(kernel, binding)) return watch_.end(&PhaseTimes::emit);
    if (kernel.product) encode_product(kernel, binding);
    if (kernel.attention) encode_attention(kernel, binding);
    if (!kernel.parts.empty()) {
      const FusedBinding rows = bind_fused(kernel, binding, scratch_.stage);
      if (target_.streams && rows == FusedBinding::in_tile) {
        spare_casts(scratch_.stage);
        repeat_behind_reductions(scratch_.stage);
      }
      watch_.end(&PhaseTimes::bind);
      if (rows == FusedBinding::in_tile &&
          try_emit(scratch_.stage, Reduction::in_tile) == Reduction::in_tile) {
        return;
      }
      if (rows != FusedBinding::elements) {
        compiled_.workspace_count = kFirstKept + static_cast<int>(kernel.kept.size());
        find_kept_bytes(kernel, binding, compiled_.workspace_bytes + kFirstKept);
        for (const Kernel& part : kernel.parts) run_stages(part, binding);
        return;
      }
    }
    run_stages(kernel, binding);
  }

 private:
  // What is before the product, if the Kernel makes a factor, and the product along with what is
  // behind it; false where that is left to do.
  bool follow_product(const Kernel& kernel, const Binding& binding) {
    const auto follow = [&](MadeFactor factor) {
      return encode_followed_product(kernel, binding, factor, target_, request_, arena_, compiled_);
    };
    if (!kernel.before.empty() && !bind_product(kernel, binding).is_empty()) {
      if (follow(MadeFactor::in_tiles)) return true;
      make_factor(kernel.before.front(), binding);
    }
    return !kernel.steps.empty() && follow(MadeFactor::in_memory);
  }

  void make_factor(const Kernel& before, const Binding& binding) {
    compiled_.workspace_count = std::max(compiled_.workspace_count, kFirstKept);
    compiled_.workspace_bytes[kFirstCopied] = find_made_bytes(before, binding);
    run_stages(before, binding);
  }

  // The steps of the Kernel read what it leaves.
  void encode_product(const Kernel& kernel, const Binding& binding) {
    Contraction product = bind_product(kernel, binding);
    keep(kernel, binding);
    watch_.end(&PhaseTimes::bind);
    if (product.is_empty()) return;
    if (product.k.size == 0) return run_stages(kernel.nothing.front(), binding);
    if (needs_window_copies(product, target_)) copy_windows(product, kernel.operand_count());
    if (has_cube(target_)) {
      const bool asked = request_ != nullptr && request_->m != 0;
      const CubeTiling tiling = asked ? tile_cube(product, target_, request_->m, request_->n)
                                      : tile_cube(product, target_);
      compiled_.cube = tiling;
      watch_.end(&PhaseTimes::tile);
      append(encode_cube(product, tiling, target_, arena_.rest()), nullptr);
      return watch_.end(&PhaseTimes::emit);
    }
    const int operands = kernel.operand_count();
    if (needs_factor_copies(product, target_)) copy_factors(product, operands);
    const ProductTiling tiling = tile_product(product, target_);
    if (product.packed_column != 0) {
      if (reads_packed(product, tiling, target_)) {
        compiled_.packed = product.b;
      } else {
        product.packed_column = 0;
      }
    }
    watch_.end(&PhaseTimes::tile);
    if (!adds_up_parts(product, tiling, target_)) {
      append(vm::encode_product(product, tiling, target_, arena_.rest()), nullptr);
      return watch_.end(&PhaseTimes::emit);
    }
    const int64_t parts = parts_along_k(product, tiling);
    int64_t bytes = 0;
    const Contraction part = product_of_part(product, static_cast<int16_t>(operands), bytes);
    append(vm::encode_product(part, tiling, target_, arena_.rest()), nullptr);
    compiled_.workspace_count = std::max(compiled_.workspace_count, kFirstKept);
    compiled_.workspace_bytes[0] = parts * bytes;
    add_up_parts(product, part, bytes, parts, scratch_.stage);
    watch_.end(&PhaseTimes::emit);
    encode_stages(operands);
  }

  void copy_windows(Contraction& product, int operands) {
    constexpr int kWorkspace = kFirstCopied + 1;
    product.global_count = std::max(product.global_count, operands + kFirstKept);
    compiled_.workspace_count = std::max(compiled_.workspace_count, kFirstKept);
    compiled_.workspace_bytes[kWorkspace] =
        vm::copy_windows(static_cast<int16_t>(operands + kWorkspace), product, scratch_.stage);
    watch_.end(&PhaseTimes::bind);
    encode_stages(operands);
  }

  // Those that cannot be read where they lie.
  void copy_factors(Contraction& product, int operands) {
    const bool one_for_both = is_square(product);
    product.global_count = std::max(product.global_count, operands + kFirstKept);
    compiled_.workspace_count = std::max(compiled_.workspace_count, kFirstKept);
    const auto copy = [&](Factor factor, int workspace) {
      if (is_in_place(product, factor)) return;
      compiled_.workspace_bytes[workspace] =
          copy_factor(factor, static_cast<int16_t>(operands + workspace), product, scratch_.stage);
      watch_.end(&PhaseTimes::bind);
      encode_stages(operands);
    };
    copy(Factor::a, kFirstCopied);
    if (one_for_both) return read_as_a(product);
    copy(Factor::b, kFirstCopied + 1);
  }

  void encode_attention(const Kernel& kernel, const Binding& binding) {
    const Attention attention = bind_attention(kernel, binding);
    keep(kernel, binding);
    watch_.end(&PhaseTimes::bind);
    if (attention.is_empty()) return;
    append(vm::encode_attention(attention, target_, arena_.rest()), nullptr);
    watch_.end(&PhaseTimes::emit);
  }

  // Room for what one Program leaves to others.
  void keep(const Kernel& kernel, const Binding& binding) {
    if (kernel.kept.empty()) return;
    compiled_.workspace_count = kFirstKept + static_cast<int>(kernel.kept.size());
    find_kept_bytes(kernel, binding, compiled_.workspace_bytes + kFirstKept);
  }

  // No reduction of the Kernel feeds a step.
  void run_stages(const Kernel& kernel, const Binding& binding) {
    if (kernel.steps.empty() && (kernel.product || kernel.attention)) return;
    for (OutputMask todo = all_outputs(kernel); todo != 0;) {
      todo = bind(kernel, binding, todo, scratch_.stage);
      if (target_.streams) {
        spare_casts(scratch_.stage);
        order_by_strides(scratch_.stage);
      }
      watch_.end(&PhaseTimes::bind);
      if (scratch_.stage.output_count != 0) encode_stages(kernel.operand_count());
    }
  }

  // Appends the Programs of scratch.stage; the workspaces follow `operands` of the Region.
  void encode_stages(int operands) {
    for (int which = 0;; which ^= 1) {
      Workspace workspace{.global = static_cast<int16_t>(operands + which)};
      if (!encode_stage(workspace, operands + 2)) return;
      int64_t& bytes = compiled_.workspace_bytes[which];
      bytes = std::max(bytes, workspace.bytes);
      compiled_.workspace_count = std::max(compiled_.workspace_count, kFirstKept);
      scratch_.stage = scratch_.next;
    }
  }

  // Appends a Program or two; true where they leave a workspace for scratch.next to reduce.
  bool encode_stage(Workspace& workspace, int globals) {
    Stage& stage = scratch_.stage;
    const Reduction reduction = try_emit(stage, Reduction::in_tile);
    if (reduction == Reduction::in_tile) return false;
    stage.global_count = std::max(stage.global_count, globals);
    if (reduction == Reduction::chunks) {
      scratch_.uncut = stage;
      store_partials(stage, scratch_.next, workspace);
      watch_.end(&PhaseTimes::bind);
      const bool rows = request_ == nullptr && target_.policy == TilePolicy::caches &&
                        make_rows_of_chunks(stage, scratch_.rows) &&
                        try_emit(scratch_.rows, Reduction::in_tile) == Reduction::in_tile;
      if (rows) leave_last_chunks(stage);
      // Partial results can be wider than the results, so that a chunk no longer fits.
      if (try_emit(stage, Reduction::chunks) == Reduction::chunks) return true;
      if (rows) take_back();
      stage = scratch_.uncut;
    }
    if (const auto rows = chunks_of_rows(stage, target_); rows && request_ == nullptr) {
      store_partials(stage, scratch_.next, workspace, rows->chunks);
      watch_.end(&PhaseTimes::bind);
      append(encode_chunks_of_rows(stage, *rows, target_, arena_.rest(), scratch_.drafts),
             &rows->tiling);
      watch_.end(&PhaseTimes::emit);
      return true;
    }
    store_sources(stage, scratch_.next, workspace);
    watch_.end(&PhaseTimes::bind);
    DVM_CHECK(try_emit(stage, Reduction::in_tile) == Reduction::in_tile,
              "there is no reduction left");
    return true;
  }

  // Appends a Program if the tiler treats the reductions as `wanted`; returns how it treats them.
  Reduction try_emit(const Stage& stage, Reduction wanted) {
    const TileRequest* request = compiled_.stage_count == 0 ? request_ : nullptr;
    Schedules& schedules = scratch_.schedules;
    schedules.begin(stage, target_);
    for (int64_t limit = tile_limit(schedules); limit > 0;) {
      std::optional<Tiling> requested;
      if (request) requested = tile(stage, *std::exchange(request, nullptr));
      const Tiling tiling = requested ? *requested : tile(schedules, limit);
      watch_.end(&PhaseTimes::tile);
      if (tiling.reduction != wanted) return tiling.reduction;
      const auto program = emit(schedules, tiling, arena_.rest(), scratch_.drafts);
      watch_.end(&PhaseTimes::emit);
      if (program) {
        append(*program, &tiling);
        return wanted;
      }
      if (!requested) limit = tiling.tile_elements * 7 / 8;
    }
    core::fail(
        core::ErrorCode::unsupported,
        "not even one element per tile fits the local memory of " + std::string(target_.name));
  }

  void append(const Program& program, const Tiling* tiling) {
    DVM_CHECK(compiled_.stage_count < kMaxPrograms, "too many Programs of a Region");
    verify_if_asked(program, target_);
    arena_.take(program.words().size());
    scratch_.programs[compiled_.stage_count++] = program;
    if (tilings_ != nullptr && tiling != nullptr) tilings_->push_back(*tiling);
  }
  void take_back() {
    --compiled_.stage_count;
    if (tilings_ != nullptr) tilings_->pop_back();
  }

  const TargetTraits& target_;
  Arena& arena_;
  EncodeScratch& scratch_ = arena_.scratch();
  Stopwatch& watch_;
  Compiled& compiled_;
  const TileRequest* request_;
  std::vector<Tiling>* tilings_;
};

// What a Program names is the row of the target's table: tests may bring another.
bool is_to_verify(const TargetTraits& target) {
  return core::verifies().load(std::memory_order_relaxed) &&
         find_target(target.id)->cores == target.cores;
}

// That all Programs together write as many elements of each output as it has. No two tiles of one
// Program write the same.
void check_outputs_written(const Kernel& kernel, const Binding& binding, const Compiled& compiled) {
  for (size_t k = 0; k < kernel.outputs.size(); ++k) {
    const KernelValue& value = kernel.values[static_cast<size_t>(kernel.outputs[k])];
    int64_t elements = 1, written = 0;
    for (const uint8_t dim : kernel.shapes[value.shape]) {
      if (dim != kUnit) elements *= binding.dims[dim];
    }
    for (int stage = 0; stage < compiled.stage_count; ++stage) {
      written += written_elements(compiled.stages[stage], kernel.output_operands[k]);
    }
    DVM_CHECK(written == elements,
              "the Programs of " + kernel.name + " write " + std::to_string(written) + " of the " +
                  std::to_string(elements) + " elements of output " + std::to_string(k));
  }
}

}  // namespace

void verify_if_asked(const Program& program, const TargetTraits& target, int own) {
  if (!is_to_verify(target)) return;
  try {
    verify_launched(program.words(), own);
  } catch (const core::Error& error) {
    core::fail(core::ErrorCode::internal,
               std::string("the encoder made what the verifier refuses: ") + error.what());
  }
}

Arena::Arena(size_t words)
    : words_(std::make_unique_for_overwrite<uint64_t[]>(words)),
      scratch_(std::make_unique_for_overwrite<EncodeScratch>()),
      capacity_(words) {}
Arena::~Arena() = default;
Arena::Arena(Arena&&) noexcept = default;
Arena& Arena::operator=(Arena&&) noexcept = default;

std::span<uint64_t> Arena::take(size_t words) {
  if (words > capacity_ - used_) throw OutOfWords(capacity_);
  used_ += words;
  return {words_.get() + used_ - words, words};
}

void Arena::reset() {
  used_ = 0;
  earlier_.clear();
}

void Arena::grow() {
  auto block = std::make_unique_for_overwrite<uint64_t[]>(2 * capacity_);
  earlier_.push_back(std::exchange(words_, std::move(block)));
  capacity_ *= 2;
  used_ = 0;
}

namespace {

// The list of them, in the Arena that they are in.
const Program* keep_programs(const Compiled& compiled, Arena& arena) {
  static_assert(sizeof(Program) % sizeof(uint64_t) == 0 && alignof(Program) <= alignof(uint64_t));
  const auto count = static_cast<size_t>(compiled.stage_count);
  const auto words = arena.take(count * sizeof(Program) / sizeof(uint64_t));
  auto* const kept = reinterpret_cast<Program*>(words.data());
  std::uninitialized_copy_n(compiled.stages, count, kept);
  return kept;
}

}  // namespace

Compiled encode(const Kernel& kernel, const Binding& binding, const TargetTraits& target,
                Arena& arena, PhaseTimes* times, const TileRequest* request,
                std::vector<Tiling>* tilings) {
  const size_t known_tilings = tilings != nullptr ? tilings->size() : 0;
  while (true) {
    const size_t used = arena.used();
    try {
      Compiled compiled;
      Stopwatch watch(times);
      Encoder(target, arena, watch, compiled, request, tilings).run(kernel, binding);
      compiled.stages = keep_programs(compiled, arena);
      if (is_to_verify(target)) check_outputs_written(kernel, binding, compiled);
      return compiled;
    } catch (const OutOfWords&) {
      arena.rewind(used);
      arena.grow();
      if (tilings != nullptr) tilings->resize(known_tilings);
    }
  }
}

}  // namespace dvm::vm
