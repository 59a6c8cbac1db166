// The plain kernel of attentions, row by row: what the simulated targets run.
#pragma once

#include <algorithm>

#include "core/ops/attention.h"
#include "vm/run/plain_kernel.h"

namespace dvm::vm {

enum class AttentionMask : uint8_t { none, masked, biased };

// One row of q: the greatest score so far, the sum of weights, and the sums that they weigh. Where
// a score is greater than all before it, these are made as much smaller.
template <typename T>
struct AttentionRow {
  T greatest = core::unseen<T>(), total{};

  // Returns what sums from before are multiplied with, and makes weights of scores.
  T add(T* scores, int64_t count) {
    namespace scalar = core::scalar;
    T next = greatest;
    for (int64_t j = 0; j < count; ++j) next = scalar::maximum{}(next, scores[j]);
    // Nothing that is seen so far: weights of 0 rather than the difference of infinities.
    const T pivot = next == core::unseen<T>() ? T{} : next;
    const T factor = scalar::exp{}(greatest - pivot);
    total = total * factor;
    for (int64_t j = 0; j < count; ++j) {
      scores[j] = scalar::exp{}(scores[j] - pivot);
      total = total + scores[j];
    }
    greatest = next;
    return factor;
  }
};

template <DType D, AttentionMask kMask>
class PlainAttention {
 public:
  static void run(const TileArgs& args) noexcept {
    core::dispatch(MatrixAux::of(D, args.aux).source, [&]<DType From>() {
      if constexpr (core::is_floating(From) && core::computes_in(From) == D) {
        PlainAttention(args).template run_as<core::Storage<From>>();
      }
    });
  }

 private:
  using T = core::Storage<D>;
  static constexpr int64_t kBlock = 64;  // scores at a time

  explicit PlainAttention(const TileArgs& args)
      : args_(args), n_(args.n), words_(*args.attention), d_(matrix<T>(0, args.dst)) {}

  template <typename S>
  PlainMatrix<S> matrix(int operand, const std::byte* data) const {
    const int64_t columns =
        attention_size(operand, {args_.m, args_.size, args_.n}, args_.attention->depth).columns;
    return {args_.insn->operands()[operand], columns, const_cast<std::byte*>(data)};
  }

  template <typename S>
  void run_as() const {
    const auto q = matrix<S>(1, args_.src[0]), k = matrix<S>(2, args_.src[1]),
               v = matrix<S>(3, args_.src[2]);
    // What steps leave for each other, behind the sums.
    T* const rows = reinterpret_cast<T*>(args_.dst) + args_.m * n_;
    for (int64_t i = 0; i < args_.m; ++i) {
      AttentionRow<T> row;
      if (args_.adds) row = {rows[i], rows[args_.m + i]};
      if (!args_.adds) {
        for (int64_t c = 0; c < n_; ++c) d_(i, c) = T{};
      }
      for (int64_t j = 0; j < args_.size; j += kBlock) {
        const int64_t count = std::min(kBlock, args_.size - j);
        T scores[kBlock];
        for (int64_t b = 0; b < count; ++b) scores[b] = score<S>(q, k, i, j + b);
        const T factor = row.add(scores, count);
        for (int64_t c = 0; c < n_; ++c) {
          T sum = d_(i, c) * factor;
          for (int64_t b = 0; b < count; ++b) {
            sum = sum + scores[b] * core::scalar::cast<T>(v(j + b, c));
          }
          d_(i, c) = sum;
        }
      }
      if (args_.ends) {
        for (int64_t c = 0; c < n_; ++c) d_(i, c) = d_(i, c) / row.total;
      }
      if (args_.carries) {
        rows[i] = row.greatest;
        rows[args_.m + i] = row.total;
      }
    }
  }

  template <typename S>
  T score(const PlainMatrix<S>& q, const PlainMatrix<S>& k, int64_t i, int64_t j) const {
    if (j > i + args_.last) return core::unseen<T>();
    const T plain = core::attention_score(
        words_.depth, static_cast<T>(words_.scale),
        [&](int64_t c) { return core::scalar::cast<T>(q(i, c)); },
        [&](int64_t c) { return core::scalar::cast<T>(k(j, c)); });
    if constexpr (kMask == AttentionMask::none) {
      return plain;
    } else {
      const int64_t row = args_.insn->operands()[kAttentionMask].mode == Mode::stream ? 0 : i;
      if constexpr (kMask == AttentionMask::masked) {
        const auto mask = matrix<uint8_t>(kAttentionMask, args_.src[3]);
        return mask(row, j) != 0 ? plain : static_cast<T>(words_.fill);
      } else {
        return plain + core::scalar::cast<T>(matrix<S>(kAttentionMask, args_.src[3])(row, j));
      }
    }
  }

  const TileArgs& args_;
  const int64_t n_;
  const AttentionWords& words_;
  const PlainMatrix<T> d_;
};

// Of all three instructions.
template <DType D>
void fill_plain_attention(KernelTable& table) {
  if constexpr (core::is_floating(D) && core::computes_in(D) == D) {
    table.entry(Insn::attend, D) = PlainAttention<D, AttentionMask::none>::run;
    table.entry(Insn::attend_masked, D) = PlainAttention<D, AttentionMask::masked>::run;
    table.entry(Insn::attend_biased, D) = PlainAttention<D, AttentionMask::biased>::run;
  }
}

}  // namespace dvm::vm
