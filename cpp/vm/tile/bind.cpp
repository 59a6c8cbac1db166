#include "vm/tile/bind.h"

#include <algorithm>
#include <bit>
#include <bitset>

#include "core/error.h"
#include "core/ops/reduce.h"
#include "vm/tile/partials.h"

namespace dvm::vm {

namespace {

using ValueSet = std::bitset<kMaxValues>;

size_t at(int16_t value) { return static_cast<size_t>(value); }

// The concrete sizes of the Region's dims, and what each shape spans of them.
struct IterationSpace {
  int64_t sizes[kMaxRank];
  DimMask span[kMaxShapes];
  uint32_t empty;  // bits of shapes

  IterationSpace(const Kernel& kernel, const Binding& binding) {
    const int64_t* const dims = binding.dims;
    empty = 0;
    for (int64_t& size : sizes) size = 1;
    for (size_t s = 0; s < kernel.shapes.size(); ++s) {
      span[s] = 0;
      for (int d = 0; d < kernel.rank; ++d) {
        const uint8_t index = kernel.shapes[s][static_cast<size_t>(d)];
        if (index == kUnit || dims[index] == 1) continue;
        const int64_t size = dims[index];
        DVM_CHECK(size >= 0 && (sizes[d] == 1 || sizes[d] == size),
                  "sizes " + std::to_string(sizes[d]) + " and " + std::to_string(size) +
                      " meet in dimension " + std::to_string(d) + " of " + kernel.name);
        sizes[d] = size;
        span[s] |= dim_bit(d);
        if (size == 0) empty |= 1u << s;
      }
    }
    for (int d = 0; d < kernel.rank; ++d) {
      if (sizes[d] > 1 && is_repeated(kernel, binding, d)) drop(d, kernel.shapes.size());
    }
  }
  bool is_empty(const KernelValue& value) const { return (empty >> value.shape & 1) != 0; }
  // Of a dense array of the value.
  int64_t bytes(const KernelValue& value) const {
    int64_t result = is_empty(value) ? 0 : core::byte_size(value.dtype);
    for (int d = 0; d < kMaxRank; ++d) {
      if ((span[value.shape] & dim_bit(d)) != 0) result *= sizes[d];
    }
    return result;
  }

 private:
  // Whether the dim is read by reductions alone to which equal elements are one (any, all,
  // extremes), and every input repeats its elements along it.
  bool is_repeated(const Kernel& kernel, const Binding& binding, int d) const {
    bool reduced = false;
    for (const KernelStep& step : kernel.steps) {
      if ((step.axes & dim_bit(d)) == 0) continue;
      if (!is_extreme(step.insn)) return false;
      reduced = true;
    }
    // Parts of a Kernel would have to agree on it.
    if (!reduced || empty != 0 || !kernel.kept.empty()) return false;
    for (const KernelValue& value : kernel.values) {
      if ((span[value.shape] & dim_bit(d)) == 0) continue;
      if (value.kind == KernelValue::Kind::input && binding.strides[value.index][d] != 0)
        return false;
    }
    return std::none_of(kernel.outputs.begin(), kernel.outputs.end(), [&](int16_t output) {
      return (span[kernel.values[at(output)].shape] & dim_bit(d)) != 0;
    });
  }
  void drop(int d, size_t shapes) {
    sizes[d] = 1;
    for (size_t s = 0; s < shapes; ++s) span[s] &= static_cast<DimMask>(~dim_bit(d));
  }
};

// Outputs with equal keys share a Stage: the dims it moves over, the axes it reduces, and what a
// reduction may leave in a workspace, which has one dtype.
struct Key {
  DimMask span = 0;
  uint16_t axes = 0;
  DType dtype = DType::f32, partial = DType::f32;
  bool operator==(const Key&) const = default;
};

class Binder {
 public:
  Binder(const Kernel& kernel, const Binding& binding, Stage& stage, bool merges = true)
      : kernel_(kernel),
        binding_(binding),
        space_(kernel, binding),
        stage_(stage),
        merges_(merges) {}

  // The Region's dim behind each dim of a Stage that is not merged.
  const int* dims() const { return order_; }

  OutputMask run(OutputMask todo) {
    stage_.output_count = 0;
    OutputMask chosen = 0;
    for (OutputMask rest = todo; rest != 0; rest &= rest - 1) {
      const int k = std::countr_zero(rest);
      const KernelValue& value = kernel_.values[at(kernel_.outputs[static_cast<size_t>(k)])];
      if (space_.is_empty(value)) {
        todo &= ~(OutputMask{1} << k);
        continue;
      }
      const Key key = key_of(value);
      if (chosen == 0) key_ = key;
      if (key == key_ && std::popcount(chosen) < kMaxStageOutputs) chosen |= OutputMask{1} << k;
    }
    if (chosen == 0) return 0;
    fill_stage(chosen);
    return todo & ~chosen;
  }

  FusedBinding run_fused() {
    bool reduces = false;
    for (const KernelStep& step : kernel_.steps) {
      if (step.axes == 0 || is_fill(step)) continue;
      const DimMask span = space_.span[source(step).shape];
      if ((step.axes & span) == 0) continue;
      if (reduces && (span != key_.span || step.axes != key_.axes)) return FusedBinding::parts;
      key_.span = span;
      key_.axes = step.axes;
      reduces = true;
    }
    if (!reduces) return FusedBinding::elements;
    for (const int16_t output : kernel_.outputs) {
      const KernelValue& value = kernel_.values[at(output)];
      const DimMask span = space_.span[value.shape];
      const bool moves = span == key_.span || span == (key_.span & ~key_.axes);
      if (space_.is_empty(value) || !moves) return FusedBinding::parts;
    }
    fill_stage(all_outputs(kernel_));
    stage_.reduced_in_tile = Stage::InTile::must;
    return FusedBinding::in_tile;
  }

 private:
  void fill_stage(OutputMask chosen) {
    stage_.step_count = stage_.scalar_count = stage_.access_count = stage_.output_count = 0;
    stage_.cut = 0;
    stage_.value_count = static_cast<int>(kernel_.values.size());
    stage_.global_count = kernel_.operand_count();
    stage_.reduced_in_tile = Stage::InTile::may;
    // Parts read what others leave, and what follows a product or an attention reads its result.
    const bool reads_kept = kernel_.parts.empty() || kernel_.product || kernel_.attention;
    if (reads_kept && !kernel_.kept.empty())
      stage_.global_count += kFirstKept + static_cast<int>(kernel_.kept.size());
    if (kernel_.output_operands.front() == kMadeFactor) stage_.global_count += kFirstKept;
    find_needed(chosen);
    order_dims();
    fill_values();
    fill_steps();
    fill_outputs(chosen);
    if (merges_) merge_dims(stage_);
    const auto order =
        stage_.reduce_end == stage_.rank ? ReduceOrder::lanes : ReduceOrder::sequential;
    for (int i = 0; i < stage_.step_count; ++i) {
      if (stage_.steps[i].axes != 0) stage_.steps[i].aux = static_cast<uint8_t>(order);
    }
  }

  const KernelValue& source(const KernelStep& step) const {
    return kernel_.values[at(step.src[0])];
  }
  bool is_fill(const KernelStep& step) const {
    return step.axes != 0 && space_.is_empty(source(step));
  }

  Key key_of(const KernelValue& value) const {
    const Key plain{.span = space_.span[value.shape]};
    if (value.kind != KernelValue::Kind::computed) return plain;
    const KernelStep& step = kernel_.steps[at(value.index)];
    if (step.axes == 0 || is_fill(step)) return plain;
    const DimMask span = space_.span[source(step).shape];
    if ((step.axes & span) == 0) return plain;
    return {span, step.axes, step.dtype, partial_dtype(step.insn, step.dtype)};
  }

  void find_needed(OutputMask chosen) {
    for (; chosen != 0; chosen &= chosen - 1) {
      needed_.set(at(kernel_.outputs[static_cast<size_t>(std::countr_zero(chosen))]));
    }
    for (auto step = kernel_.steps.rbegin(); step != kernel_.steps.rend(); ++step) {
      if (!needed_[at(step->dst)] || is_fill(*step)) continue;
      for (int k = 0; k < step->arity; ++k) needed_.set(at(step->src[k]));
    }
  }

  // Dims of the Stage: those that are spanned, in order. The axes of a reduction are neighbours, so
  // in local memory it always is [M, size, N].
  void order_dims() {
    const int first = std::countr_zero(key_.axes), last = std::bit_width(key_.axes) - 1;
    stage_.rank = stage_.reduce_begin = stage_.reduce_end = 0;
    for (int d = 0; d < kernel_.rank; ++d) {
      if ((key_.span & dim_bit(d)) == 0) continue;
      stage_.sizes[stage_.rank] = space_.sizes[d];
      order_[stage_.rank++] = d;
      if (d < first) stage_.reduce_begin = stage_.rank;
      if (d <= last) stage_.reduce_end = stage_.rank;
    }
    if (key_.axes == 0) stage_.reduce_begin = stage_.reduce_end = 0;
    for (size_t s = 0; s < kernel_.shapes.size(); ++s) {
      span_[s] = 0;
      for (int d = 0; d < stage_.rank; ++d) {
        if ((space_.span[s] & dim_bit(order_[d])) != 0) span_[s] |= dim_bit(d);
      }
    }
  }

  int16_t add_access(int operand, const KernelValue& value) {
    StageAccess access{.global = static_cast<int16_t>(operand), .dtype = value.dtype};
    access.span = span_[value.shape];
    const int64_t* strides = nullptr;
    int64_t dense[kMaxRank];
    const bool makes = operand == kMadeFactor;
    if (!makes && operand < kernel_.operand_count()) {
      strides = binding_.strides[operand];
    } else {
      access.global = static_cast<int16_t>(makes ? kernel_.operand_count() + kFirstCopied
                                                 : operand + kFirstKept);
      int64_t stride = core::byte_size(value.dtype);
      for (int d = kMaxRank - 1; d >= 0; --d) {
        dense[d] = stride;
        if ((space_.span[value.shape] & dim_bit(d)) != 0) stride *= space_.sizes[d];
      }
      strides = dense;
    }
    for (int d = 0; d < stage_.rank; ++d) {
      access.strides[d] = (access.span & dim_bit(d)) != 0 ? strides[order_[d]] : 0;
    }
    return stage_.add_access(access);
  }

  Scalar scalar_value(const KernelScalar& scalar) const {
    Scalar value = scalar.value;
    if (scalar.kind == KernelScalar::Kind::argument) {
      value = binding_.scalars[scalar.index];
    } else if (scalar.kind == KernelScalar::Kind::dim) {
      value = cast_scalar(Scalar::of_int(binding_.dims[scalar.index]), DType::i64, scalar.source);
    }
    return scalar.dtype == scalar.source ? value : cast_scalar(value, scalar.source, scalar.dtype);
  }

  void fill_values() {
    for (int v = 0; v < stage_.value_count; ++v) {
      alias_[v] = static_cast<int16_t>(v);
      StageValue& bound = stage_.values[v];
      bound = {};
      if (!needed_[static_cast<size_t>(v)]) continue;
      const KernelValue& value = kernel_.values[static_cast<size_t>(v)];
      bound.dtype = value.dtype;
      switch (value.kind) {
        case KernelValue::Kind::input:
          bound.kind = StageValue::Kind::global;
          bound.span = span_[value.shape];
          bound.index = add_access(value.index, value);
          break;
        case KernelValue::Kind::scalar:
          bound.kind = StageValue::Kind::scalar;
          bound.index = static_cast<int16_t>(stage_.scalar_count);
          stage_.scalars[stage_.scalar_count++] = scalar_value(kernel_.scalars[at(value.index)]);
          break;
        case KernelValue::Kind::computed:
          bound.span = span_[value.shape];
          break;
      }
    }
  }

  void fill_steps() {
    for (const KernelStep& step : kernel_.steps) {
      if (!needed_[at(step.dst)]) continue;
      KernelStep& bound = stage_.steps[stage_.step_count];
      if (is_fill(step)) {
        bound = {.insn = Insn::copy, .dtype = step.dtype, .arity = 1, .dst = step.dst};
        bound.src[0] = stage_.add_scalar(step.dtype, identity_of(step));
        ++stage_.step_count;
        continue;
      }
      bound = step;
      for (int k = 0; k < step.arity; ++k) bound.src[k] = alias_[step.src[k]];
      const StageValue& first = stage_.values[bound.src[0]];
      const DimMask span = stage_.values[step.dst].span;
      if (step.insn == Insn::broadcast || step.axes != 0) {
        if (first.span == span && step.insn == Insn::sum && core::is_floating(step.dtype)) {
          // The sum of one number adds it to 0, as every sum: -0 does not stay.
          const int16_t only = bound.src[0];
          bound = {.insn = Insn::add, .dtype = step.dtype, .arity = 2, .dst = step.dst};
          bound.src[0] = only;
          bound.src[1] = stage_.add_scalar(step.dtype, Scalar());
        } else if (first.span == span) {
          alias_[step.dst] = bound.src[0];
          continue;
        }
      } else {
        check_spans(bound, span);
      }
      ++stage_.step_count;
    }
  }

  // What a reduction of nothing gives; that an op has no such value is for the Plan to check.
  static Scalar identity_of(const KernelStep& step) {
    struct Row {
      Insn insn;
      core::Identity identity;
    };
    static constexpr Row kRows[] = {
#define DVM_REDUCE(name, insn, dtypes, identity, ...) {Insn::insn, core::Identity::identity},
#include "core/ops/reduce.def"
#undef DVM_REDUCE
    };
    const auto* row = std::ranges::find_if(kRows, [&](const Row& r) {
      return r.insn == step.insn && r.identity != core::Identity::none;
    });
    DVM_CHECK(row != std::end(kRows), "a reduction of nothing that has no identity");
    return core::identity_value(row->identity, step.dtype);
  }

  void check_spans(const KernelStep& step, DimMask span) const {
    for (int k = 0; k < step.arity; ++k) {
      const StageValue& value = stage_.values[step.src[k]];
      DVM_CHECK(value.kind == StageValue::Kind::scalar || value.span == span,
                "operands of one instruction differ in shape in " + kernel_.name);
    }
  }

  void fill_outputs(OutputMask chosen) {
    for (; chosen != 0; chosen &= chosen - 1) {
      const int k = std::countr_zero(chosen);
      const int16_t value = kernel_.outputs[static_cast<size_t>(k)];
      const int operand = kernel_.output_operands[static_cast<size_t>(k)];
      const int16_t access = add_access(operand, kernel_.values[at(value)]);
      stage_.outputs[stage_.output_count++] = {alias_[value], access};
    }
  }

  const Kernel& kernel_;
  const Binding& binding_;
  const IterationSpace space_;
  Stage& stage_;
  const bool merges_;
  Key key_;
  ValueSet needed_;
  int order_[kMaxRank];        // the Region's dim behind each dim of the Stage
  DimMask span_[kMaxShapes];   // in dims of the Stage
  int16_t alias_[kMaxValues];  // the value that stands for each
};

}  // namespace

void Stage::clear() {
  rank = reduce_begin = reduce_end = cut = global_count = 0;
  value_count = step_count = scalar_count = access_count = output_count = 0;
  reduced_in_tile = InTile::may;
}

int16_t Stage::add_value(const StageValue& value) {
  DVM_CHECK(value_count < kMaxStageValues, "too many values in a Stage");
  values[value_count] = value;
  return static_cast<int16_t>(value_count++);
}

int16_t Stage::add_scalar(DType dtype, Scalar value) {
  scalars[scalar_count] = value;
  return add_value({StageValue::Kind::scalar, dtype, 0, static_cast<int16_t>(scalar_count++)});
}

int16_t Stage::add_access(const StageAccess& access) {
  DVM_CHECK(access_count < kMaxStageAccesses, "too many tensors in a Stage");
  accesses[access_count] = access;
  return static_cast<int16_t>(access_count++);
}

OutputMask bind(const Kernel& kernel, const Binding& binding, OutputMask todo, Stage& stage) {
  return Binder(kernel, binding, stage).run(todo);
}

FusedBinding bind_fused(const Kernel& kernel, const Binding& binding, Stage& stage) {
  return Binder(kernel, binding, stage).run_fused();
}

bool bind_unmerged(const Kernel& kernel, const Binding& binding, Stage& stage, int* dims) {
  Binder binder(kernel, binding, stage, false);
  const FusedBinding fused = kernel.parts.empty() ? FusedBinding::elements : binder.run_fused();
  if (fused == FusedBinding::parts) return false;
  if (fused == FusedBinding::elements &&
      (binder.run(all_outputs(kernel)) != 0 || stage.output_count == 0)) {
    return false;
  }
  std::copy_n(binder.dims(), stage.rank, dims);
  return true;
}

int64_t find_made_bytes(const Kernel& before, const Binding& binding) {
  return IterationSpace(before, binding).bytes(before.values[at(before.outputs.front())]);
}

void find_kept_bytes(const Kernel& kernel, const Binding& binding, int64_t* bytes) {
  const IterationSpace space(kernel, binding);
  for (const int16_t v : kernel.kept) *bytes++ = space.bytes(kernel.values[at(v)]);
}

void merge_dims(Stage& stage) {
  // Bit d: some value or access keeps dims d and d + 1 from merging.
  DimMask boundaries = stage.cut > 0 ? dim_bit(stage.cut - 1) : DimMask{0};
  if (stage.reduces()) {
    if (stage.reduce_begin > 0) boundaries |= dim_bit(stage.reduce_begin - 1);
    boundaries |= dim_bit(stage.reduce_end - 1);
  }
  for (int v = 0; v < stage.value_count; ++v) {
    const DimMask span = stage.values[v].span;
    boundaries |= span ^ (span >> 1);
  }
  for (int a = 0; a < stage.access_count; ++a) {
    const StageAccess& access = stage.accesses[a];
    boundaries |= access.per_tile | (access.per_tile >> 1);
    for (int d = 0; d + 1 < stage.rank; ++d) {
      if (access.strides[d] != access.strides[d + 1] * stage.sizes[d + 1]) boundaries |= dim_bit(d);
    }
  }
  // Dim d of the result is made of the old dims up to last[d].
  int last[kMaxRank], rank = 0;
  for (int d = 0; d < stage.rank; ++d) {
    if (d + 1 == stage.rank || (boundaries & dim_bit(d)) != 0) last[rank++] = d;
  }
  if (rank == stage.rank && rank != 0) return;
  auto gather = [&](DimMask span) {
    DimMask result = 0;
    for (int d = 0; d < rank; ++d) {
      if ((span & dim_bit(last[d])) != 0) result |= dim_bit(d);
    }
    return result;
  };
  for (int v = 0; v < stage.value_count; ++v) stage.values[v].span = gather(stage.values[v].span);
  for (int a = 0; a < stage.access_count; ++a) {
    StageAccess& access = stage.accesses[a];
    access.span = gather(access.span);
    access.per_tile = gather(access.per_tile);
    for (int d = 0; d < rank; ++d) access.strides[d] = access.strides[last[d]];
  }
  int reduce_begin = 0, reduce_end = 0, cut = 0;
  for (int d = 0, begin = 0; d < rank; begin = last[d++] + 1) {
    if (last[d] < stage.cut) cut = d + 1;
    if (last[d] < stage.reduce_begin) reduce_begin = d + 1;
    if (last[d] < stage.reduce_end) reduce_end = d + 1;
    int64_t size = 1;
    for (int old = begin; old <= last[d]; ++old) size *= stage.sizes[old];
    stage.sizes[d] = size;
  }
  stage.rank = rank;
  stage.reduce_begin = reduce_begin;
  stage.reduce_end = reduce_end;
  stage.cut = cut;
  if (rank == 0) stage.sizes[stage.rank++] = 1;
}

}  // namespace dvm::vm
