#include "core/reference/reference_matrix.h"

#include "core/error.h"
#include "core/ops/matrix.h"
#include "core/ops/scalar_ops.h"

namespace dvm::core {

namespace {

template <DType D, DType From>
void multiply_as(const Array& a, const Array& b, Array& out) {
  using Sum = Storage<computes_in(D)>;
  const size_t rank = a.shape.size();
  const int64_t m = a.shape[rank - 2], k = a.shape[rank - 1], n = b.shape[rank - 1];
  const auto* const left = elements<Storage<From>>(a).data();
  const auto* const right = elements<Storage<From>>(b).data();
  int64_t at = 0;
  for (Storage<D>& element : elements<Storage<D>>(out)) {
    const int64_t batch = at / (m * n), row = at / n % m, column = at % n;
    Sum sum{};
    for (int64_t i = 0; i < k; ++i) {
      const Sum product = scalar::mul{}(scalar::cast<Sum>(left[(batch * m + row) * k + i]),
                                        scalar::cast<Sum>(right[(batch * k + i) * n + column]));
      sum = i == 0 ? product : scalar::add{}(sum, product);
    }
    element = scalar::cast<Storage<D>>(sum);
    ++at;
  }
}

}  // namespace

Array multiply(const Array& a, const Array& b, DType dtype) {
  std::vector<int64_t> shape = a.shape;
  const size_t rank = shape.size();
  bool fits = b.shape.size() == rank && b.shape[rank - 2] == shape[rank - 1];
  for (size_t d = 0; fits && d + 2 < rank; ++d) fits = shape[d] == b.shape[d];
  DVM_CHECK(fits, "equal Dims had unequal sizes");
  shape.back() = b.shape.back();
  Array out = make_array(dtype, std::move(shape));
  dispatch(dtype, [&]<DType D>() {
    dispatch(a.dtype, [&]<DType From>() {
      if constexpr (gives_product(D, From)) multiply_as<D, From>(a, b, out);
    });
  });
  return out;
}

}  // namespace dvm::core
