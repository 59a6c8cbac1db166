#include "vm/tile/attention.h"

#include <algorithm>
#include <string>

#include "core/error.h"

namespace dvm::vm {

namespace {

class AttentionBinder {
 public:
  AttentionBinder(const Kernel& kernel, const Binding& binding)
      : kernel_(kernel), from_(*kernel.attention), binding_(binding) {}

  Attention run() {
    const int rows = kernel_.rank - 2, columns = kernel_.rank - 1;
    std::copy_n(from_.operand, KernelAttention::kOperands, made_.operand);
    made_.global_count = kernel_.operand_count();
    if (!kernel_.kept.empty())
      made_.global_count += kFirstKept + static_cast<int>(kernel_.kept.size());
    made_.dtype = from_.dtype;
    made_.mask = from_.mask;
    made_.scale = from_.scale;
    made_.fill = from_.fill;
    made_.causal = from_.causal;
    if (from_.causal) made_.last = binding_.dims[from_.last];
    made_.rows.size = size(kResult, rows);
    made_.columns.size = size(kResult, columns);
    made_.keys.size = std::max(size(kK, rows), size(kV, rows));
    made_.depth.size = std::max(size(kQ, columns), size(kK, columns));
    place_results(rows);
    for (const int operand : {kQ, kMask}) add(made_.rows, operand, rows);
    for (const int operand : {kK, kV}) add(made_.keys, operand, rows);
    add(made_.keys, kMask, columns);
    for (const int operand : {kQ, kK}) add(made_.depth, operand, columns);
    add(made_.columns, kV, columns);
    for (int d = 0; d < rows; ++d) add_batch(d, d + 1 == rows);
    return made_;
  }

 private:
  static constexpr int kQ = KernelAttention::kQ, kK = KernelAttention::kK, kV = KernelAttention::kV,
                       kMask = KernelAttention::kMask, kResult = KernelAttention::kResult;

  int64_t size(int operand, int d) const {
    const uint8_t dim = from_.shape[operand][static_cast<size_t>(d)];
    return dim == kUnit ? 1 : binding_.dims[dim];
  }

  // Where an operand moves along a dim; what has one element there is repeated.
  void add(AttentionDim& dim, int operand, int d) const {
    if (from_.operand[operand] < 0) return;
    const int64_t own = size(operand, d);
    if (own == 1 || dim.size == 1) return;
    check(own == dim.size);
    dim.strides[operand] = binding_.strides[from_.operand[operand]][d];
  }

  // Strides of an output, or the dense ones of what is kept.
  void place_results(int rows) {
    const bool kept = from_.operand[kResult] >= kernel_.operand_count();
    if (kept) made_.operand[kResult] = static_cast<int16_t>(from_.operand[kResult] + kFirstKept);
    int64_t dense = core::byte_size(from_.dtype);
    for (int d = rows + 1; d >= 0; --d) {
      result_[d] = kept ? dense : binding_.strides[from_.operand[kResult]][d];
      dense *= size(kResult, d);
    }
    if (made_.columns.size > 1) made_.columns.strides[kResult] = result_[rows + 1];
    if (made_.rows.size > 1) made_.rows.strides[kResult] = result_[rows];
  }

  void add_batch(int d, bool heads) {
    AttentionDim dim{.size = size(kResult, d)};
    if (dim.size == 0) made_.rows.size = 0;
    if (dim.size <= 1) return;
    for (const int operand : {kQ, kMask}) add(dim, operand, d);
    dim.strides[kResult] = result_[d];
    const int64_t shared = std::max(size(kK, d), size(kV, d));
    if (!heads || shared == 1 || shared == dim.size) {
      for (const int operand : {kK, kV}) add(dim, operand, d);
      return append(dim);
    }
    check(shared != 0 && dim.size % shared == 0);
    AttentionDim group = dim;
    group.size = dim.size / shared;
    dim.size = shared;
    for (int64_t& stride : dim.strides) stride *= group.size;
    for (const int operand : {kK, kV}) add(dim, operand, d);
    append(dim);
    append(group);
  }
  void append(const AttentionDim& dim) {
    if (made_.batch_rank == kMaxRank - 1)
      core::fail(core::ErrorCode::unsupported, "an attention with too many batch dimensions");
    made_.batch[made_.batch_rank++] = dim;
  }

  void check(bool holds) const {
    DVM_CHECK(holds, "sizes that do not fit meet in the attention of " + kernel_.name);
  }

  const Kernel& kernel_;
  const KernelAttention& from_;
  const Binding& binding_;
  Attention made_;
  int64_t result_[kMaxRank] = {};
};

}  // namespace

Attention bind_attention(const Kernel& kernel, const Binding& binding) {
  return AttentionBinder(kernel, binding).run();
}

}  // namespace dvm::vm
