// Random Regions and calls of them, for what bind, tile and encode make: sizes up to millions and
// operands in any layout, since nothing is run. Steps that chains are made of, others, broadcasts
// along any dims, reductions that feed steps, several outputs.
#pragma once

#include <algorithm>
#include <array>
#include <vector>

#include "core/graph_generator.h"
#include "vm/encode/encode.h"
#include "vm/tile/tiler.h"

namespace dvm::vm {

struct RegionCase {
  core::Region region;
  std::vector<int64_t> symbols;
  std::optional<TileRequest> request;
};

class RegionGenerator {
 public:
  explicit RegionGenerator(uint64_t seed) : random_(seed) {}

  RegionCase run() {
    make_shapes();
    const DType main = random_.pick(kMain);
    others_ = {main, main, main, random_.chance(50) ? main : random_.pick(kAll)};
    add_input(main, full_);
    const int64_t most = random_.chance(25) ? 40 : 10;
    for (int64_t steps = 1 + random_.below(most); steps > 0; --steps) grow();
    for (int64_t n = random_.chance(70) ? 1 : 1 + random_.below(3); n > 0; --n) add_output();
    RegionCase made{std::move(region_), std::move(symbols_), {}};
    if (random_.chance(20)) {
      made.request = TileRequest{
          .reduction = random_.chance(30) ? Tiling::Reduction::chunks : Tiling::Reduction::in_tile,
          .split = static_cast<int>(random_.below(rank_)),
          .tile = 1 + random_.below(random_.chance(50) ? 40 : 2000)};
    }
    return made;
  }

  // Strides of a dense operand, of one whose dims are in another order or run backwards, with gaps
  // between its rows, or the same elements again and again.
  std::array<int64_t, kMaxRank> random_strides(const std::vector<int64_t>& sizes, int64_t bytes,
                                               bool written) {
    std::vector<size_t> order(sizes.size());
    for (size_t d = 0; d < order.size(); ++d) order[d] = order.size() - 1 - d;
    const bool plain = random_.chance(55);
    if (!plain && random_.chance(40)) {
      for (size_t d = order.size(); d > 1; --d) {
        std::swap(order[d - 1], order[static_cast<size_t>(random_.below(std::ssize(order)))]);
      }
    }
    std::array<int64_t, kMaxRank> strides{};
    int64_t stride = bytes;
    for (const size_t d : order) {
      const bool repeats = !plain && !written && random_.chance(8);
      const bool backwards = !plain && random_.chance(8);
      strides[d] = repeats ? 0 : backwards ? -stride : stride;
      stride *= sizes[d] + (!plain && random_.chance(30) ? 1 + random_.below(24) : 0);
    }
    return strides;
  }

 private:
  using Op = core::Op;
  static constexpr DType kMain[] = {DType::f32, DType::f32, DType::f32, DType::f64,
                                    DType::f16, DType::i32, DType::i64};
  static constexpr DType kAll[] = {DType::f32, DType::f64, DType::f16,    DType::i32,
                                   DType::i64, DType::u8,  DType::boolean};

  void make_shapes() {
    constexpr int64_t kSizes[] = {1,    2,    3,     5,      8,   16,     17,   31,   64,
                                  65,   100,  127,   128,    512, 1000,   1023, 1024, 1025,
                                  4096, 5000, 65536, 100003, 2,   4,      7,    10,   32,
                                  48,   96,   768,   1536,   12,  1000000};
    rank_ = static_cast<int>(1 + random_.below(4));
    int64_t room = random_.chance(80) ? int64_t{1} << 23 : int64_t{1} << 27;
    for (int d = 0; d < rank_; ++d) {
      int64_t size = kSizes[random_.below(std::ssize(kSizes))];
      if (random_.chance(1)) size = 0;
      size = std::min(size, room);
      room /= std::max<int64_t>(size, 1);
      full_.push_back(graph().dims().symbol("s" + std::to_string(d)));
      symbols_.push_back(size);
    }
    const auto first = static_cast<int>(random_.below(rank_));
    const int count = random_.chance(60) ? rank_ - first : 1 + static_cast<int>(random_.below(2));
    for (int d = first; d < std::min(rank_, first + count); ++d) axes_.push_back(d);
    reduces_ = random_.chance(50);
  }

  core::Graph& graph() { return region_.body; }

  core::Value add_input(DType dtype, core::Shape shape) {
    inputs_.push_back(graph().input({dtype, std::move(shape)}));
    return inputs_.back();
  }

  core::Shape reduced() const {
    core::Shape shape = full_;
    for (const int axis : axes_) shape[static_cast<size_t>(axis)] = graph_dims().constant(1);
    return shape;
  }
  core::DimContext& graph_dims() const { return region_.body.dims(); }

  // Full, a row, a column, one element, or any dims of it.
  core::Shape small_shape() {
    core::Shape shape = full_;
    const int64_t kind = random_.below(5), cut = random_.below(rank_ + 1);
    for (int d = 0; d < rank_; ++d) {
      const bool one = kind == 0   ? d < cut
                       : kind == 1 ? d >= cut
                       : kind == 2 ? true
                       : kind == 3 ? random_.chance(50)
                                   : std::find(axes_.begin(), axes_.end(), d) != axes_.end();
      if (one) shape[static_cast<size_t>(d)] = graph_dims().constant(1);
    }
    return shape;
  }

  DType some_dtype() { return others_[static_cast<size_t>(random_.below(4))]; }

  // A value with this type: one that is there, its broadcast or cast, or an input or number.
  core::Value of_type(DType dtype, const core::Shape& shape) {
    for (int attempt = 0; attempt < 8; ++attempt) {
      // Mostly late values, so that steps hang together.
      const int64_t near = attempt < 4 ? std::min(6, graph().size()) : graph().size();
      const auto v = static_cast<core::Value>(graph().size() - 1 - random_.below(near));
      const core::Type type = graph().type(v);
      if (type.shape == shape && type.dtype == dtype) return v;
      if (type.rank() == 0 || random_.chance(40)) continue;
      if (type.shape == shape && random_.chance(60)) return graph().cast(v, dtype);
      if (type.dtype == dtype && fits(type.shape, shape)) return graph().broadcast(v, shape);
    }
    if (random_.chance(30)) {
      const auto x = static_cast<double>(random_.below(9) - 4);
      const bool real = core::is_floating(dtype);
      const core::Value v = graph().constant(
          dtype, core::round_to(dtype, real ? Scalar::of_float(x / 2)
                                            : Scalar::of_int(static_cast<int64_t>(x) & 1)));
      return graph().broadcast(v, shape);
    }
    if (inputs_.size() > 9 && shape == full_) return graph().cast(inputs_[0], dtype);
    if (random_.chance(60)) return add_input(dtype, shape);
    const core::Shape small = small_shape();
    if (!fits(small, shape)) return add_input(dtype, shape);
    const core::Value v = add_input(dtype, small);
    return small == shape ? v : graph().broadcast(v, shape);
  }
  // Whether a broadcast makes the one of the other.
  static bool fits(const core::Shape& small, const core::Shape& large) {
    if (small.size() != large.size() || small == large) return false;
    for (size_t d = 0; d < small.size(); ++d) {
      if (small[d] != large[d] && small[d].as_constant() != 1) return false;
    }
    return true;
  }

  void grow() {
    const core::Shape& shape = full_;
    const core::Shape chosen = random_.chance(reduces_ ? 80 : 92) ? shape : reduced();
    switch (random_.below(14)) {
      case 0:
        graph().cast(of_type(some_dtype(), chosen), some_dtype());
        return;
      case 1:
        compare(chosen);
        return;
      case 2:
        select(chosen);
        return;
      case 3:
      case 4:
        if (reduces_) return reduce();
        break;
      default:
        break;
    }
    elementwise(chosen);
  }

  void compare(const core::Shape& shape) {
    constexpr Op kOps[] = {Op::lt, Op::eq, Op::ge};
    const DType dtype = some_dtype();
    const core::Value a = of_type(dtype, shape), b = of_type(dtype, shape);
    last_ = graph().elementwise(kOps[random_.below(std::ssize(kOps))], std::array{a, b});
  }
  void select(const core::Shape& shape) {
    const DType dtype = some_dtype();
    const core::Value c = of_type(DType::boolean, shape), a = of_type(dtype, shape),
                      b = of_type(dtype, shape);
    last_ = graph().elementwise(Op::select, std::array{c, a, b});
  }

  // Mostly what chains are made of.
  void elementwise(const core::Shape& shape) {
    constexpr Op kCommon[] = {Op::add,  Op::sub, Op::mul,     Op::maximum, Op::neg,
                              Op::sqrt, Op::exp, Op::tanh,    Op::square,  Op::div,
                              Op::add,  Op::mul, Op::minimum, Op::abs,     Op::logical_and};
    static const std::vector<Op> all = test::ops_of_class(core::OpClass::elementwise);
    const DType dtype = some_dtype();
    for (int attempt = 0; attempt < 20; ++attempt) {
      const Op op = random_.chance(85) ? kCommon[random_.below(std::ssize(kCommon))]
                                       : all[static_cast<size_t>(random_.below(std::ssize(all)))];
      const std::optional<OpInsn> found = insn_of(op);
      if (!found || found->insn == Insn::cmp || op == Op::select || op == Op::cast) continue;
      if (!contains(info(found->insn).dtypes, dtype)) continue;
      std::vector<core::Value> operands;
      for (int k = 1; k < info(found->insn).operands; ++k)
        operands.push_back(of_type(dtype, shape));
      last_ = graph().elementwise(op, operands);
      return;
    }
  }

  void reduce() {
    constexpr Op kOps[] = {Op::sum, Op::sum, Op::sum, Op::max, Op::min, Op::prod, Op::nanmax};
    const DType dtype = some_dtype();
    const Op op = kOps[random_.below(std::ssize(kOps))];
    if (!core::allows(core::reduce_info(op).dtypes, dtype)) return;
    const core::Value source = of_type(dtype, full_);
    last_ = graph().reduce(op, source, axes_);
    if (random_.chance(70)) last_ = graph().broadcast(*last_, full_);
  }

  void add_output() {
    for (int attempt = 0; attempt < 8; ++attempt) {
      const int64_t back = random_.below(std::min(4, graph().size()));
      core::Value v = graph().size() - 1 - static_cast<core::Value>(back);
      if (attempt < 2 && last_ && random_.chance(80)) v = *last_;
      if (graph().type(v).rank() == 0 || graph().node(v).op == Op::constant) continue;
      graph().outputs.push_back(v);
      return;
    }
    graph().outputs.push_back(inputs_[0]);
  }

  test::Random random_;
  mutable core::Region region_{"r0", core::Graph()};
  int rank_ = 0;
  core::Shape full_;
  std::vector<int64_t> symbols_;
  std::vector<int> axes_;
  bool reduces_ = false;
  std::vector<DType> others_;
  std::vector<core::Value> inputs_;
  std::optional<core::Value> last_;
};

}  // namespace dvm::vm
