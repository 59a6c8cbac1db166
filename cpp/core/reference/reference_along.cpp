// One element of the result after the other, from the indices that define it.
#include "core/reference/reference_along.h"

#include <algorithm>

#include "core/ops/binary_rows.h"
#include "core/ops/reductions.h"

namespace dvm::core {

namespace {

using Index = std::vector<int64_t>;

int64_t flat(const Array& array, const Index& at) {
  int64_t position = 0;
  for (size_t d = 0; d < at.size(); ++d) position = position * array.shape[d] + at[d];
  return position;
}

template <typename T>
T read(const Array& array, const Index& at) {
  return elements<T>(array)[static_cast<size_t>(flat(array, at))];
}

// Calls f(index, position) for every element of the array, in order.
template <typename F>
void for_each(const Array& array, F f) {
  Index at(array.shape.size());
  for (int64_t i = 0; i < array.size(); ++i) {
    f(at, static_cast<size_t>(i));
    for (size_t d = at.size(); d-- > 0;) {
      if (++at[d] < array.shape[d]) break;
      at[d] = 0;
    }
  }
}

class AlongEvaluator {
 public:
  AlongEvaluator(const Node& node, std::span<const Array* const> operands)
      : node_(node), operands_(operands), axis_(static_cast<size_t>(node.attrs.axes[0])) {}

  Array run() const {
    if (replaces_elements(node_.op)) return scattered();
    Index shape = operands_[0]->shape;
    switch (node_.op) {
      case Op::argmax:
      case Op::argmin:
        if (shape[axis_] == 0)
          fail(ErrorCode::shape_mismatch, node_.loc, "attempt to get argmax of an empty sequence");
        shape[axis_] = 1;
        break;
      case Op::gather:
        shape.erase(shape.begin() + static_cast<ptrdiff_t>(axis_));
        shape.insert(shape.begin() + static_cast<ptrdiff_t>(axis_), operands_[1]->shape.begin(),
                     operands_[1]->shape.end());
        break;
      case Op::take_along:
        shape = operands_[1]->shape;
        break;
      case Op::fold_at:
        shape[axis_] = operands_[1]->shape[0];
        break;
      default:
        break;
    }
    Array out = make_array(node_.type.dtype, std::move(shape));
    dispatch(operands_[0]->dtype, [&]<DType D>() {
      if (node_.attrs.with.empty()) return fill<Storage<D>>(out);
      const Combine<Storage<D>> combine = combine_of<D>();
      node_.op == Op::fold_at ? fold_at(out, combine) : fold(out, combine);
    });
    return out;
  }

 private:
  // Called, not inlined, so that everything around it is compiled once for all ops.
  template <typename T>
  using Combine = T (*)(T, T);
  template <DType D>
  Combine<Storage<D>> combine_of() const {
    using T = Storage<D>;
    Combine<T> combine = nullptr;
    with_binary<D>(*op_from_text(node_.attrs.with),
                   [&]<typename F>(F) { combine = [](T a, T b) { return F{}(a, b); }; });
    return combine;
  }

  template <typename T>
  void fill(Array& out) const {
    switch (node_.op) {
      case Op::argmax:
        return arg<T>(out, scalar::gt{});
      case Op::argmin:
        return arg<T>(out, scalar::lt{});
      case Op::gather:
      case Op::take_along:
        return take<T>(out);
      default:
        DVM_CHECK(false, "not along an axis: " + std::string(info(node_.op).name));
    }
  }

  // The first element that no other beats; the first NaN beats all.
  template <typename T, typename Beats>
  void arg(Array& out, Beats beats) const {
    for_each(out, [&](Index at, size_t i) {
      int64_t best = 0;
      T value = read<T>(*operands_[0], at);
      for (at[axis_] = 1; at[axis_] < operands_[0]->shape[axis_]; ++at[axis_]) {
        const T other = read<T>(*operands_[0], at);
        if (scalar::ne{}(value, value)) break;
        if (!beats(other, value) && scalar::eq{}(other, other)) continue;
        best = at[axis_];
        value = other;
      }
      elements<int64_t>(out)[i] = best;
    });
  }

  // Each from the one before, rounded every time, as NumPy's accumulate does. A fold starts with an
  // element from elsewhere, and keeps the last.
  template <typename T>
  void fold(Array& out, Combine<T> combine) const {
    const bool keeps = node_.op == Op::scan;
    const Array& rest = *operands_[keeps ? 0 : 1];
    for_each(out, [&](Index at, size_t i) {
      const int64_t end = keeps ? at[axis_] + 1 : rest.shape[axis_];
      at[axis_] = 0;
      T result = read<T>(*operands_[0], at);
      for (at[axis_] = keeps ? 1 : 0; at[axis_] < end; ++at[axis_]) {
        if (operands_.size() == 3 && !read<uint8_t>(*operands_[2], at)) continue;
        result = combine(result, read<T>(rest, at));
      }
      elements<T>(out)[i] = result;
    });
  }

  // Pieces, each by itself. Floats are added in the order of a sum.
  template <typename T>
  void fold_at(Array& out, Combine<T> combine) const {
    const Array &from = *operands_[0], &places = *operands_[1];
    const int64_t extent = from.shape[axis_], pieces = places.shape[0];
    const bool sums = is_floating(out.dtype) && node_.attrs.with == info(Op::add).name;
    for (int64_t k = 0; k < pieces; ++k) {
      const int64_t index = read<int64_t>(places, {k});
      if (index < 0 || index >= extent)
        fail(ErrorCode::shape_mismatch, node_.loc,
             "index " + std::to_string(index) + " is out of bounds for size " +
                 std::to_string(extent));
    }
    for_each(out, [&](Index at, size_t i) {
      const int64_t k = at[axis_], begin = read<int64_t>(places, {k});
      const int64_t end = k + 1 < pieces ? read<int64_t>(places, {k + 1}) : extent;
      const int64_t count = std::max<int64_t>(end - begin, 1);
      const auto load = [&](int64_t j) {
        at[axis_] = begin + j;
        return read<T>(from, at);
      };
      T result = sums ? scalar::piece_sum<T>(count, true, load) : load(0);
      for (int64_t j = 1; j < count && !sums; ++j) result = combine(result, load(j));
      elements<T>(out)[i] = result;
    });
  }

  // The place along the axis that the indices say.
  int64_t place_of(const Index& at) const {
    const int64_t extent = operands_[0]->shape[axis_];
    const int64_t index = read<int64_t>(*operands_[1], at);
    if (index < -extent || index >= extent)
      fail(ErrorCode::shape_mismatch, node_.loc,
           "index " + std::to_string(index) + " is out of bounds for axis " +
               std::to_string(axis_) + " with size " + std::to_string(extent));
    return index < 0 ? index + extent : index;
  }

  // Where in the table an element is that a gather takes, or a scatter has.
  Index in_table(Index at) const {
    if (node_.op == Op::take_along || node_.op == Op::put_along) {
      at[axis_] = place_of(at);
      return at;
    }
    const auto begin = at.begin() + static_cast<ptrdiff_t>(axis_);
    const auto end = begin + static_cast<ptrdiff_t>(operands_[1]->shape.size());
    const int64_t place = place_of(Index(begin, end));
    at.insert(at.erase(begin, end), place);
    return at;
  }

  // All indices are looked at, whether or not there is anything to move.
  void check_places() const {
    for_each(*operands_[1], [&](const Index& at, size_t) { place_of(at); });
  }

  template <typename T>
  void take(Array& out) const {
    check_places();
    for_each(out, [&](const Index& at, size_t i) {
      elements<T>(out)[i] = read<T>(*operands_[0], in_table(at));
    });
  }

  Array scattered() const {
    check_places();
    const Array &table = *operands_[0], &given = *operands_[2];
    Array out = table, places = *operands_[1];  // of the latter only the shape counts
    if (node_.op == Op::scatter) {
      Index shape = table.shape;
      const auto axis = shape.begin() + static_cast<ptrdiff_t>(axis_);
      shape.insert(shape.erase(axis), places.shape.begin(), places.shape.end());
      places = make_array(DType::boolean, std::move(shape));
    }
    dispatch(out.dtype, [&]<DType D>() {
      using T = Storage<D>;
      const Combine<T> combine = node_.attrs.with.empty() ? nullptr : combine_of<D>();
      for_each(places, [&](const Index& at, size_t) {
        Index from = at;
        for (size_t d = 0; d < from.size(); ++d) from[d] = std::min(from[d], given.shape[d] - 1);
        const T next = read<T>(given, from);
        T& place = elements<T>(out)[static_cast<size_t>(flat(out, in_table(at)))];
        place = combine ? combine(place, next) : next;
      });
    });
    return out;
  }

  const Node& node_;
  std::span<const Array* const> operands_;
  size_t axis_;
};

}  // namespace

Array evaluate_along(const Node& node, std::span<const Array* const> operands) {
  return AlongEvaluator(node, operands).run();
}

}  // namespace dvm::core
