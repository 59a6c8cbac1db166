#include "core/reference/reference_attention.h"

#include <vector>

#include "core/error.h"
#include "core/ops/attention.h"

namespace dvm::core {

namespace {

// A matrix among those of an operand, or a few of its heads for as many more of another's.
struct Matrices {
  const Array& array;
  int64_t rows() const { return array.shape[array.shape.size() - 2]; }
  int64_t columns() const { return array.shape.back(); }
  int64_t heads() const { return array.shape.size() < 3 ? 1 : array.shape[array.shape.size() - 3]; }
};

template <typename S>
class Attention {
 public:
  using T = decltype(scalar::lift(S{}));

  Attention(const Node& node, std::span<const Array* const> operands, int64_t last)
      : q_{*operands[0]},
        k_{*operands[1]},
        v_{*operands[2]},
        mask_(operands.size() > 3 ? operands[3] : nullptr),
        scale_(static_cast<T>(node.attrs.scale.as_float())),
        fill_(static_cast<T>(node.attrs.fill.as_float())),
        last_(last) {}

  void run(Array& out) const {
    const int64_t rows = q_.rows(), columns = v_.columns(), group = q_.heads() / k_.heads();
    std::span<S> result = elements<S>(out);
    std::vector<T> weights(static_cast<size_t>(k_.rows()));
    for (int64_t row = 0; row < static_cast<int64_t>(result.size()) / columns; ++row) {
      const int64_t kv = row / rows / group;
      const T total = weigh(row, row % rows, kv, weights);
      for (int64_t c = 0; c < columns; ++c) {
        T sum{};
        for (int64_t j = 0; j < k_.rows(); ++j) {
          const T part = scalar::mul{}(weights[static_cast<size_t>(j)],
                                       at(v_, (kv * k_.rows() + j) * columns + c));
          sum = j == 0 ? part : scalar::add{}(sum, part);
        }
        result[static_cast<size_t>(row * columns + c)] = scalar::cast<S>(scalar::div{}(sum, total));
      }
    }
  }

 private:
  static T at(const Matrices& from, int64_t i) {
    return scalar::cast<T>(elements<S>(from.array)[static_cast<size_t>(i)]);
  }

  T score(int64_t row, int64_t i, int64_t kv, int64_t j) const {
    if (j > i + last_) return unseen<T>();
    const int64_t depth = q_.columns();
    const T plain = attention_score(
        depth, scale_, [&](int64_t c) { return at(q_, row * depth + c); },
        [&](int64_t c) { return at(k_, (kv * k_.rows() + j) * depth + c); });
    if (mask_ == nullptr) return plain;
    const auto place = static_cast<size_t>(row * k_.rows() + j);
    if (mask_->dtype == DType::boolean) return elements<uint8_t>(*mask_)[place] ? plain : fill_;
    return scalar::add{}(plain, scalar::cast<T>(elements<S>(*mask_)[place]));
  }

  // Of one row; returns their sum.
  T weigh(int64_t row, int64_t i, int64_t kv, std::vector<T>& weights) const {
    T greatest = unseen<T>();
    for (size_t j = 0; j < weights.size(); ++j) {
      weights[j] = score(row, i, kv, static_cast<int64_t>(j));
      greatest = scalar::maximum{}(greatest, weights[j]);
    }
    T total{};
    for (T& weight : weights) {
      weight = scalar::exp{}(scalar::sub{}(weight, greatest));
      total = scalar::add{}(total, weight);
    }
    return total;
  }

  const Matrices q_, k_, v_;
  const Array* const mask_;
  const T scale_, fill_;
  const int64_t last_;
};

}  // namespace

Array attend(const Node& node, std::span<const Array* const> operands, int64_t last) {
  const Matrices q{*operands[0]}, k{*operands[1]}, v{*operands[2]};
  if (k.rows() == 0 || k.columns() == 0)
    fail(ErrorCode::shape_mismatch, node.loc, "attention to nothing");
  if (k.heads() == 0 ? q.heads() != 0 : q.heads() % k.heads() != 0)
    fail(ErrorCode::shape_mismatch, node.loc,
         std::to_string(q.heads()) + " heads of q are no multiple of the " +
             std::to_string(k.heads()) + " of k");
  std::vector<int64_t> shape = q.array.shape;
  shape.back() = v.columns();
  Array out = make_array(node.type.dtype, std::move(shape));
  if (out.size() == 0) return out;
  dispatch(out.dtype, [&]<DType D>() {
    if constexpr (is_floating(D)) Attention<Storage<D>>(node, operands, last).run(out);
  });
  return out;
}

}  // namespace dvm::core
