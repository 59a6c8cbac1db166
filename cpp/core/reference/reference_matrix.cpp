#include "core/reference/reference_matrix.h"

#include <cstring>
#include <functional>
#include <numeric>
#include <span>
#include <vector>

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

namespace {

int64_t product(std::span<const int64_t> sizes) {
  return std::accumulate(sizes.begin(), sizes.end(), int64_t{1}, std::multiplies<>());
}

// Counts from 0 on through all positions of a box, the last axis fastest.
template <typename F>
void for_each_position(std::span<const int64_t> box, F f) {
  std::vector<int64_t> at(box.size());
  for (int64_t i = 0, count = product(box); i < count; ++i) {
    int64_t left = i;
    for (size_t d = box.size(); d-- > 0; left /= box[d]) at[d] = left % box[d];
    f(at, i);
  }
}

}  // namespace

Array convolve(const Array& weights, const Array& x, DType dtype, const WindowForm& form) {
  const size_t axes = form.window.size(), batches = x.shape.size() - axes - 1;
  const std::span<const int64_t> sizes = std::span(x.shape).last(axes);
  std::vector<int64_t> positions;
  for (size_t d = 0; d < axes; ++d) {
    const int64_t room = sizes[d] + form.padding[d] + form.padding[axes + d] -
                         (form.window[d] - 1) * form.dilations[d] - 1;
    DVM_CHECK(room >= -form.steps[d], "a window that is larger than what it moves in");
    positions.push_back(room < 0 ? 0 : room / form.steps[d] + 1);
  }
  const int64_t images = product(std::span(x.shape).first(batches + 1));
  const int64_t size = product(sizes), elements = product(form.window), count = product(positions);
  std::vector<int64_t> shape(weights.shape.begin(), weights.shape.end() - 1);
  shape.back() = weights.shape.back();
  shape.push_back(count);
  Array windows = make_array(x.dtype, shape);
  const auto bytes = static_cast<size_t>(byte_size(x.dtype));
  for (int64_t image = 0; image < images; ++image) {
    for_each_position(form.window, [&](const std::vector<int64_t>& k, int64_t element) {
      for_each_position(positions, [&](const std::vector<int64_t>& i, int64_t position) {
        int64_t from = 0;
        for (size_t d = 0; d < axes; ++d) {
          const int64_t at = i[d] * form.steps[d] + k[d] * form.dilations[d] - form.padding[d];
          if (at < 0 || at >= sizes[d]) return;  // what is made is zeros
          from = from * sizes[d] + at;
        }
        const int64_t to = (image * elements + element) * count + position;
        std::memcpy(windows.data.data() + static_cast<size_t>(to) * bytes,
                    x.data.data() + static_cast<size_t>(image * size + from) * bytes, bytes);
      });
    });
  }
  Array result = multiply(weights, windows, dtype);
  result.shape.pop_back();
  result.shape.insert(result.shape.end(), positions.begin(), positions.end());
  return result;
}

}  // namespace dvm::core
