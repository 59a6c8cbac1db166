// Shape and dtype rules, one function per class of op. What can only be decided with the sizes at
// hand (does s0 equal s1 or 1?) is accepted here and checked when the sizes are known.
#include "core/graph/infer.h"

#include <algorithm>

#include "core/dims/dim_node.h"
#include "core/graph/bodies.h"
#include "core/ops/elementwise.h"
#include "core/ops/matrix.h"
#include "core/ops/reduce.h"

namespace dvm::core {

namespace {

class Inference {
 public:
  Inference(const Graph& graph, const Node& node) : graph_(graph), node_(node) {}

  Type run() const {
    check_arity();
    check_attributes();
    check_dims(node_.type.shape, "size");
    check_dims(node_.attrs.starts, "start");
    check_objects();
    Type type = result();
    check_size(type.shape);
    return type;
  }

 private:
  [[noreturn]] void error(ErrorCode code, std::string message) const {
    fail(code, node_.loc, std::string(info(node_.op).name) + ": " + std::move(message));
  }
  [[noreturn]] void invalid(std::string message) const {
    error(ErrorCode::graph_invalid, std::move(message));
  }
  const Type& operand(int i) const { return graph_.type(node_.inputs[static_cast<size_t>(i)]); }

  void check_arity() const {
    const int arity = info(node_.op).arity, given = static_cast<int>(node_.inputs.size());
    if (arity >= 0 && arity != given)
      invalid("takes " + std::to_string(arity) + " operands, got " + std::to_string(given));
    for (const Value v : node_.inputs) {
      if (v < 0 || v >= graph_.size()) invalid("operand %" + std::to_string(v) + " does not exist");
    }
  }

  // Objects are passed on, made and looked into; only arguments and what calls give may be some.
  void check_objects() const {
    const bool passes = is_call(node_.op) || node_.op == Op::result || node_.op == Op::leave;
    const bool to_host = node_.op == Op::call || node_.op == Op::call_into;
    for (const Value v : node_.inputs) {
      if (graph_.type(v).is_object() && (!passes || to_host))
        error(ErrorCode::dtype_mismatch,
              "operand %" + std::to_string(v) + " is a " + graph_.type(v).data + ", no array");
    }
    const Type& type = node_.type;
    if (!type.is_object()) return;
    if ((!passes && node_.op != Op::input) || to_host)
      error(ErrorCode::dtype_mismatch, "gives an array, no " + type.data);
    if (type != object_type(type.data)) invalid("an object with a dtype or sizes");
  }

  // Attributes the op does not have must be left alone, so that equal nodes compare equal.
  void check_attributes() const {
    const uint32_t wanted = info(node_.op).attrs;
    const Attrs& a = node_.attrs;
    const auto check = [&](attr::Key key, bool present, const char* name) {
      if (present && !(wanted & key)) invalid(std::string("has no attribute '") + name + "'");
    };
    check(attr::value, a.value != Scalar(), "value");
    check(attr::size, static_cast<bool>(a.size), "size");
    check(attr::axes, !a.axes.empty(), "axes");
    check(attr::starts, !a.starts.empty(), "starts");
    check(attr::steps, !a.steps.empty(), "steps");
    check(attr::window, !a.window.empty(), "window");
    check(attr::padding, !a.padding.empty(), "padding");
    check(attr::dilations, !a.dilations.empty(), "dilations");
    check(attr::callee, !a.callee.empty(), "callee");
    check(attr::with, !a.with.empty(), "with");
    check(attr::values, static_cast<bool>(a.values), "values");
    check(attr::name, !a.name.empty(), "name");
    check(attr::results, a.results != 1, "results");
    check(attr::index, a.index != 0, "index");
    check(attr::sizes, !a.sizes.empty(), "sizes");
    check(attr::numbers, a.numbers != 0, "numbers");
    check(attr::scale, a.scale != Attrs().scale, "scale");
    check(attr::fill, a.fill != Attrs().fill, "fill");
    check(attr::causal, static_cast<bool>(a.causal), "causal");
    check(attr::precision, a.precision != Precision::highest, "precision");
    check(attr::count, static_cast<bool>(a.count), "count");
    check(attr::bodies, !a.bodies.empty(), "bodies");
    check(attr::fresh, a.fresh, "fresh");
    check(attr::tag, !a.tag.empty(), "tag");
    check(attr::cases, !a.cases.empty(), "case");
    const uint32_t needed = wanted & ~optional_attrs(node_.op);
    if ((needed & attr::size) && !a.size) invalid("needs the attribute 'size'");
    if ((wanted & attr::callee) && a.callee.empty()) invalid("needs the attribute 'callee'");
    if ((wanted & attr::tag) && a.tag.empty()) invalid("needs the attribute 'tag'");
    if (a.size) check_dim(a.size, "size", true);
    if (a.causal) check_dim(a.causal, "causal", true);
    if (a.count) check_dim(a.count, "count", true);
    for (const Dim dim : a.sizes) check_dim(dim, "size", true);
  }

  // In this order, for printing a Dim that is missing or of another context is not safe.
  void check_dim(Dim dim, const char* what, bool any_sign = false) const {
    if (!dim) invalid(std::string(what) + " is missing");
    if (&dim.context() != &graph_.dims())
      invalid(std::string(what) + " " + to_string(dim) + " belongs to another context");
    if (dim.is_overflow()) error(ErrorCode::shape_overflow, std::string(what) + " is out of range");
    if (!any_sign && dim.as_constant().value_or(0) < 0)
      error(ErrorCode::shape_mismatch, std::string(what) + " " + to_string(dim) + " is negative");
  }
  void check_dims(const std::vector<Dim>& dims, const char* what) const {
    if (dims.size() > static_cast<size_t>(kMaxRank))
      invalid("rank " + std::to_string(dims.size()) + " exceeds " + std::to_string(kMaxRank));
    for (const Dim dim : dims) check_dim(dim, what);
  }

  // Only constants can be checked here; the sizes of a call are checked when they are known. An
  // empty tensor may have any other extents.
  void check_size(const Shape& shape) const {
    Wide elements = 1;
    for (const Dim dim : shape) {
      const int64_t size = dim.as_constant().value_or(1);
      if (size == 0) return;
      if (elements <= kDimMax) elements *= size;
    }
    if (elements > kDimMax)
      error(ErrorCode::shape_overflow, "shape " + to_string(shape) + " has too many elements");
  }

  Type result() const {
    switch (op_class(node_.op)) {
      case OpClass::source:
        return source();
      case OpClass::elementwise:
        return elementwise();
      case OpClass::broadcast:
        return broadcast();
      case OpClass::reduce:
        return reduce();
      case OpClass::matrix:
        return matrix();
      case OpClass::view:
        return view();
      case OpClass::whole:
        return whole();
      case OpClass::opaque:
        return opaque();
    }
    __builtin_unreachable();
  }

  Type source() const {
    const Type& type = node_.type;
    if (node_.op == Op::input) return type;
    if (node_.op == Op::tensor) return tensor();
    if (type.rank() != 0) invalid("has rank 0, not shape " + to_string(type.shape));
    if (node_.op == Op::dim && type.dtype == DType::boolean)
      error(ErrorCode::dtype_mismatch, "a size is no bool");
    if (node_.op == Op::scalar && node_.attrs.size) {
      if (type.dtype != DType::i64)
        error(ErrorCode::dtype_mismatch, "only an i64 defines a symbol");
      if (!node_.attrs.size.is_symbol())
        invalid("defines a symbol, not " + to_string(node_.attrs.size));
    }
    if (node_.op == Op::constant && node_.attrs.value != round_to(type.dtype, node_.attrs.value))
      error(ErrorCode::dtype_mismatch,
            "the value is not one of " + std::string(to_string(type.dtype)));
    return type;
  }

  Type tensor() const {
    const Shape& shape = node_.type.shape;
    const DType dtype = node_.type.dtype;
    std::vector<int64_t> sizes;
    for (const Dim dim : shape) {
      if (!dim.as_constant()) invalid("has a static shape, not " + to_string(shape));
      sizes.push_back(*dim.as_constant());
    }
    const Tensor& values = node_.attrs.values;
    if (node_.attrs.name.empty()) {
      if (!values) invalid("needs the attribute 'values' or 'name'");
      if (!values.is_own()) invalid("needs a name, for its memory is the host's");
      check_size(shape);
      int64_t elements = 1;
      for (const int64_t extent : sizes) elements *= extent;
      if (elements > kMaxWritten)
        invalid("needs a name, for it has " + std::to_string(elements) + " elements");
    }
    if (values && values->dtype != dtype)
      error(ErrorCode::dtype_mismatch, "the values are " + std::string(to_string(values->dtype)) +
                                           ", not " + std::string(to_string(dtype)));
    if (values && values->shape != sizes)
      error(ErrorCode::shape_mismatch, "the values have another shape than " + to_string(shape));
    return node_.type;
  }

  // The same Dim, not merely an equal size: what is equal only by facts was normalised by the
  // capture, and what may be 1 went through a broadcast.
  Type elementwise() const {
    for (int i = 1; i < static_cast<int>(node_.inputs.size()); ++i) {
      if (operand(i).shape != operand(0).shape)
        error(ErrorCode::shape_mismatch, "operands have shapes " + to_string(operand(0).shape) +
                                             " and " + to_string(operand(i).shape));
    }
    const Shape& shape = operand(0).shape;
    if (node_.op == Op::cast) return {node_.type.dtype, shape};
    if (node_.op == Op::select && operand(0).dtype != DType::boolean)
      error(ErrorCode::dtype_mismatch,
            "the condition is " + std::string(to_string(operand(0).dtype)) + ", not bool");
    const int first = node_.op == Op::select ? 1 : 0;
    const DType dtype = operand(first).dtype;
    for (int i = first + 1; i < static_cast<int>(node_.inputs.size()); ++i) {
      if (operand(i).dtype != dtype)
        error(ErrorCode::dtype_mismatch, "operands are " + std::string(to_string(dtype)) + " and " +
                                             std::string(to_string(operand(i).dtype)));
    }
    if (is_comparison(node_.op)) return {DType::boolean, shape};
    if (node_.op == Op::select) return {dtype, shape};
    const ElementwiseInfo* row = elementwise_info(node_.op);
    DVM_CHECK(row, "an elementwise op without rules: " + std::string(info(node_.op).name));
    if (!allows(row->operands, dtype))
      error(ErrorCode::dtype_mismatch,
            "does not take " + std::string(to_string(dtype)) + " operands");
    return {row->result == ResultRule::boolean ? DType::boolean : dtype, shape};
  }

  // A size that is not 1 for sure may still turn out to be 1 at run time.
  static bool may_be_one(Dim dim) {
    if (const auto constant = dim.as_constant()) return *constant == 1;
    if (!dim.is_symbol()) return true;
    const Symbol& symbol = dim.context().symbol_info(dim.symbol_index());
    return symbol.lo <= 1 && 1 <= symbol.hi;
  }
  // bcast(a, b, ...) is a whenever it is defined and a is not 1.
  static bool is_bcast_of(Dim whole, Dim part) {
    const DimAtom* atom = whole.as_atom();
    for (; atom && atom->kind == DimKind::bcast; atom = atom->rhs.as_atom()) {
      if (atom->lhs == part || atom->rhs == part) return true;
    }
    return false;
  }

  Type broadcast() const {
    const Shape &from = operand(0).shape, &to = node_.type.shape;
    bool fits = from.size() <= to.size();
    for (size_t i = 0; fits && i < from.size(); ++i) {
      const Dim source = from[i], target = to[to.size() - from.size() + i];
      fits = source == target || may_be_one(source) || is_bcast_of(target, source);
    }
    if (!fits)
      error(ErrorCode::shape_mismatch,
            "shape " + to_string(from) + " does not broadcast to " + to_string(to));
    return {operand(0).dtype, to};
  }

  std::string axes_text() const {
    std::string text;
    for (const int axis : node_.attrs.axes) {
      text += (text.empty() ? "" : ", ") + std::to_string(axis);
    }
    return "axes [" + text + "]";
  }

  // Neighbouring axes reduce as one axis of the merged extent, which gives the order of
  // sum_order.h a single index; any other set takes several nodes.
  Type reduce() const {
    const std::vector<int>& axes = node_.attrs.axes;
    if (axes.empty()) invalid("needs at least one axis");
    Type type = operand(0);
    for (size_t i = 0; i < axes.size(); ++i) {
      if (axes[i] < 0 || axes[i] >= type.rank())
        invalid(axes_text() + " of a tensor of rank " + std::to_string(type.rank()));
      if (axes[i] != axes[0] + static_cast<int>(i)) invalid(axes_text() + " are not neighbours");
    }
    if (!allows(reduce_info(node_.op).dtypes, type.dtype))
      error(ErrorCode::dtype_mismatch,
            "does not take " + std::string(to_string(type.dtype)) + " operands");
    for (const int axis : axes) type.shape[static_cast<size_t>(axis)] = graph_.dims().constant(1);
    return type;
  }

  Type matrix() const {
    if (node_.op == Op::matmul) return matmul();
    return node_.op == Op::convolve ? convolve() : attention();
  }

  Type convolve() const {
    constexpr int64_t kMost = int64_t{1} << 20;  // of a window, a step ...
    const Type &weights = operand(0), &x = operand(1);
    const Attrs& attrs = node_.attrs;
    const size_t axes = attrs.window.size();
    if (axes < 1 || axes > static_cast<size_t>(kMaxWindowRank) || attrs.steps.size() != axes ||
        attrs.dilations.size() != axes || attrs.padding.size() != 2 * axes)
      invalid("needs a window, steps and dilations along 1 to " + std::to_string(kMaxWindowRank) +
              " axes, and padding before and behind each");
    const auto check_numbers = [&](const std::vector<int64_t>& numbers, int64_t least) {
      if (std::ranges::any_of(numbers, [&](int64_t n) { return n < least || n > kMost; }))
        invalid("needs windows, steps and dilations of at least 1, and no negative padding");
    };
    for (const auto* numbers : {&attrs.window, &attrs.steps, &attrs.dilations})
      check_numbers(*numbers, 1);
    check_numbers(attrs.padding, 0);
    Dim elements = graph_.dims().constant(1);
    for (const int64_t size : attrs.window) elements = elements * graph_.dims().constant(size);
    const auto rank = static_cast<size_t>(x.rank()), batches = rank - axes - 1;
    bool fits = rank > axes && weights.shape.size() == batches + 2;
    for (size_t d = 0; fits && d < batches; ++d) fits = weights.shape[d] == x.shape[d];
    if (!fits || weights.shape[batches + 1] != x.shape[batches] * elements) {
      error(ErrorCode::shape_mismatch, "no convolution of weights " + to_string(weights.shape) +
                                           " and " + to_string(x.shape) + " with windows of " +
                                           to_string(elements) + " elements");
    }
    if (weights.dtype != x.dtype || !gives_product(node_.type.dtype, x.dtype)) {
      error(ErrorCode::dtype_mismatch,
            "no " + std::string(to_string(node_.type.dtype)) + " of a convolution of " +
                std::string(to_string(weights.dtype)) + " and " + std::string(to_string(x.dtype)));
    }
    // Positions and elements of windows are axes when these are copied.
    if (batches + 1 + 2 * axes > static_cast<size_t>(kMaxRank))
      invalid("has " + std::to_string(batches) + " leading axes, more than " +
              std::to_string(static_cast<size_t>(kMaxRank) - 1 - 2 * axes));
    Type type{node_.type.dtype, x.shape};
    type.shape[batches] = weights.shape[batches];
    for (size_t d = 0; d < axes; ++d) {
      const auto number = [&](int64_t n) { return graph_.dims().constant(n); };
      Dim& size = type.shape[batches + 1 + d];
      const int64_t reach = (attrs.window[d] - 1) * attrs.dilations[d] + 1;
      const int64_t zeros = attrs.padding[d] + attrs.padding[axes + d];
      size = floor_div(size + number(zeros - reach), number(attrs.steps[d])) + number(1);
    }
    return type;
  }

  // The caller sees to it that batches are broadcast and that sizes which have to agree are one
  // Dim.
  Type matmul() const {
    const Shape &a = operand(0).shape, &b = operand(1).shape;
    const size_t rank = a.size();
    bool fits = rank >= 2 && b.size() == rank && a[rank - 1] == b[rank - 2];
    for (size_t d = 0; fits && d + 2 < rank; ++d) fits = a[d] == b[d];
    if (!fits) {
      error(ErrorCode::shape_mismatch,
            "no product of shapes " + to_string(a) + " and " + to_string(b));
    }
    const DType elements = operand(0).dtype, dtype = node_.type.dtype;
    if (operand(1).dtype != elements || !gives_product(dtype, elements)) {
      error(ErrorCode::dtype_mismatch, "no " + std::string(to_string(dtype)) + " of products of " +
                                           std::string(to_string(elements)) + " and " +
                                           std::string(to_string(operand(1).dtype)));
    }
    Shape shape = a;
    shape.back() = b.back();
    return {dtype, shape};
  }

  // Heads, on the axis before the last two, may be more in q than in k and v: as many of q's for
  // each of theirs. Whether they are a multiple is decided with the sizes.
  Type attention() const {
    if (node_.inputs.size() != 3 && node_.inputs.size() != 4)
      invalid("takes 3 or 4 operands, got " + std::to_string(node_.inputs.size()));
    const Shape &q = operand(0).shape, &k = operand(1).shape, &v = operand(2).shape;
    const size_t rank = q.size();
    bool fits = rank >= 2 && k.size() == rank && v.size() == rank;
    fits = fits && q[rank - 1] == k[rank - 1] && k[rank - 2] == v[rank - 2];
    for (size_t d = 0; fits && d + 2 < rank; ++d) {
      fits = k[d] == v[d] && (q[d] == k[d] || (d + 3 == rank && may_share_heads(q[d], k[d])));
    }
    if (!fits)
      error(ErrorCode::shape_mismatch, "shapes " + to_string(q) + ", " + to_string(k) + " and " +
                                           to_string(v) + " do not fit");
    const DType dtype = operand(0).dtype;
    for (int i = 0; i < 3; ++i) {
      if (!is_floating(dtype) || operand(i).dtype != dtype)
        error(ErrorCode::dtype_mismatch, "q, k and v are floats of one dtype, not " +
                                             std::string(to_string(operand(i).dtype)) + " beside " +
                                             std::string(to_string(dtype)));
    }
    Shape shape = q;
    if (node_.inputs.size() == 4) {
      const Type& mask = operand(3);
      shape.back() = k[rank - 2];
      if (mask.dtype != DType::boolean && mask.dtype != dtype)
        error(ErrorCode::dtype_mismatch, "a mask is bool or " + std::string(to_string(dtype)) +
                                             ", not " + std::string(to_string(mask.dtype)));
      if (mask.shape != shape)
        error(ErrorCode::shape_mismatch,
              "a mask of shape " + to_string(mask.shape) + ", not " + to_string(shape));
    }
    const bool fills = node_.inputs.size() == 4 && operand(3).dtype == DType::boolean;
    if (!fills && node_.attrs.fill != Attrs().fill)
      invalid("fills nothing without a mask of bools");
    shape.back() = v.back();
    return {dtype, shape};
  }
  static bool may_share_heads(Dim of_q, Dim of_k) {
    const auto q = of_q.as_constant(), k = of_k.as_constant();
    return !q || !k || (*k != 0 && *q % *k == 0);
  }

  Dim elements(const Shape& shape) const {
    Dim product = graph_.dims().constant(1);
    for (const Dim dim : shape) product = product * dim;
    return product;
  }

  // A difference that is a constant other than 0 is wrong for all sizes; anything else is decided
  // at run time.
  Type reshape() const {
    const Shape &from = operand(0).shape, &to = node_.type.shape;
    const Dim difference = elements(from) - elements(to);
    if (!difference.is_overflow() && difference.as_constant().value_or(0) != 0)
      error(ErrorCode::shape_mismatch,
            "cannot reshape " + to_string(from) + " into " + to_string(to));
    return {operand(0).dtype, to};
  }

  Type view() const {
    switch (node_.op) {
      case Op::reshape:
        return reshape();
      case Op::transpose:
        return transpose();
      default:
        return slice();
    }
  }

  Type transpose() const {
    const std::vector<int>& axes = node_.attrs.axes;
    const Type& from = operand(0);
    std::vector<int> sorted = axes;
    std::sort(sorted.begin(), sorted.end());
    bool permutation = static_cast<int>(axes.size()) == from.rank();
    for (size_t i = 0; i < sorted.size(); ++i) permutation &= sorted[i] == static_cast<int>(i);
    if (!permutation)
      invalid(axes_text() + " do not permute those of a tensor of rank " +
              std::to_string(from.rank()));
    Type type{from.dtype, {}};
    for (const int axis : axes) type.shape.push_back(from.shape[static_cast<size_t>(axis)]);
    return type;
  }

  Type opaque() const {
    if (node_.op == Op::result) {
      check_result();
    } else if (node_.op == Op::leave) {
      check_leave(graph_, node_);
    } else {
      check_call();
      if (has_bodies(node_.op)) check_bodies(graph_, node_);
      if (makes_object(node_.op) && !node_.type.is_object()) invalid("makes an object, no array");
      if (node_.op == Op::apply && (node_.inputs.empty() || !operand(0).is_object()))
        invalid("needs a function");
    }
    return node_.type;
  }

  void check_call() const {
    const Attrs& a = node_.attrs;
    if (a.results < 1 || a.results > kMaxResults)
      invalid("has " + std::to_string(a.results) + " results, not 1 to " +
              std::to_string(kMaxResults));
    if (a.numbers < 0 || a.numbers > static_cast<int>(node_.inputs.size()))
      invalid("has no " + std::to_string(a.numbers) + " operands to give as numbers");
    for (const Value v : numbers_of(node_)) {
      if (graph_.node(v).op != Op::scalar)
        invalid("operand %" + std::to_string(v) + " is no scalar, so it is not given as a number");
    }
  }
  void check_result() const {
    const Node& call = graph_.node(node_.inputs[0]);
    if (!is_call(call.op)) invalid("of " + std::string(info(call.op).name) + ", which is no call");
    if (node_.attrs.index < 1 || node_.attrs.index >= call.attrs.results)
      invalid("index " + std::to_string(node_.attrs.index) + " of a call with " +
              std::to_string(call.attrs.results) + " results");
    if (has_bodies(call.op)) check_body_result(graph_, call, node_.attrs.index, node_);
  }

  Type slice() const {
    check_box(operand(0), node_.type.shape);
    return {operand(0).dtype, node_.type.shape};
  }

  Type whole() const {
    switch (node_.op) {
      case Op::empty:
        return node_.type;
      case Op::iota:
        if (node_.type.rank() != 1) invalid("has rank 1, not shape " + to_string(node_.type.shape));
        if (node_.type.dtype == DType::boolean)
          error(ErrorCode::dtype_mismatch, "an index is no bool");
        return node_.type;
      case Op::stored_dim:
        if (node_.type.rank() != 0 || node_.type.dtype == DType::boolean)
          invalid("is a number of rank 0, no " + std::string(to_string(node_.type.dtype)) +
                  to_string(node_.type.shape));
        return node_.type;
      case Op::update:
        return update();
      case Op::nonzero:
        check_mask(operand(0));
        return {DType::i64, {node_.attrs.size}};
      default:
        return along();
    }
  }

  Type update() const {
    check_box(operand(0), operand(1).shape);
    if (operand(1).dtype != operand(0).dtype)
      error(ErrorCode::dtype_mismatch, "operands are " + std::string(to_string(operand(0).dtype)) +
                                           " and " + std::string(to_string(operand(1).dtype)));
    return operand(0);
  }

  Type along() const {
    Type type = operand(0);
    const auto axis = static_cast<size_t>(node_.attrs.axes.empty() ? -1 : node_.attrs.axes[0]);
    if (node_.attrs.axes.size() != 1 || axis >= type.shape.size())
      invalid(axes_text() + " of a tensor of rank " + std::to_string(type.rank()));
    const auto at = type.shape.begin() + static_cast<ptrdiff_t>(axis);
    if (node_.op == Op::argmax || node_.op == Op::argmin) {
      *at = graph_.dims().constant(1);
      return {DType::i64, type.shape};
    }
    if (node_.op == Op::compress) {
      const Type& mask = operand(1);
      check_mask(mask);
      if (mask.shape[0] != *at)
        error(ErrorCode::shape_mismatch, "a mask of shape " + to_string(mask.shape) + " for axis " +
                                             std::to_string(axis) + " of " + to_string(type.shape));
      *at = node_.attrs.size;
      return type;
    }
    if (node_.op == Op::scatter || node_.op == Op::put_along) return scattered(type, axis);
    if (info(node_.op).attrs & attr::with) return folded(type, static_cast<int>(axis));
    return {type.dtype, chosen(type, axis)};
  }

  void check_mask(const Type& mask) const {
    if (mask.dtype != DType::boolean || mask.rank() != 1)
      error(ErrorCode::dtype_mismatch, "a mask is bool of rank 1, not " +
                                           std::string(to_string(mask.dtype)) +
                                           to_string(mask.shape));
  }

  // The shape of the elements whose places operand 1 says.
  Shape chosen(const Type& type, size_t axis) const {
    const Type& indices = operand(1);
    if (indices.dtype != DType::i64)
      error(ErrorCode::dtype_mismatch,
            "indices are i64, not " + std::string(to_string(indices.dtype)));
    if (node_.op == Op::gather || node_.op == Op::scatter) {
      Shape shape = type.shape;
      shape.insert(shape.erase(shape.begin() + static_cast<ptrdiff_t>(axis)), indices.shape.begin(),
                   indices.shape.end());
      if (shape.size() > static_cast<size_t>(kMaxRank))
        invalid("rank " + std::to_string(shape.size()) + " exceeds " + std::to_string(kMaxRank));
      return shape;
    }
    for (size_t d = 0; d < type.shape.size() || d < indices.shape.size(); ++d) {
      const bool both = d < type.shape.size() && d < indices.shape.size();
      if (!both || (d != axis && type.shape[d] != indices.shape[d]))
        error(ErrorCode::shape_mismatch, "indices of shape " + to_string(indices.shape) +
                                             " do not fit " + to_string(type.shape));
    }
    return indices.shape;
  }

  // Elements that are the same along an axis may have size 1 there.
  Type scattered(const Type& type, size_t axis) const {
    const Shape places = chosen(type, axis);
    const Type& given = operand(2);
    bool fits = given.shape.size() == places.size();
    for (size_t d = 0; fits && d < places.size(); ++d) {
      fits = given.shape[d] == places[d] || given.shape[d].as_constant().value_or(0) == 1;
    }
    if (!fits)
      error(ErrorCode::shape_mismatch, "elements of shape " + to_string(given.shape) +
                                           " for places of shape " + to_string(places));
    if (given.dtype != type.dtype)
      error(ErrorCode::dtype_mismatch, "operands are " + std::string(to_string(type.dtype)) +
                                           " and " + std::string(to_string(given.dtype)));
    if (!node_.attrs.with.empty()) check_combines(type.dtype);
    return type;
  }

  void check_combines(DType dtype) const {
    const auto with = op_from_text(node_.attrs.with);
    if (!with || !combines(*with, dtype))
      error(ErrorCode::dtype_mismatch,
            "'" + node_.attrs.with + "' makes no " + std::string(to_string(dtype)) + " of two");
  }

  // What a scan or fold gives: but for a fold of pieces, what its first operand is.
  Type folded(const Type& type, int axis) const {
    check_combines(type.dtype);
    if (node_.op == Op::scan) return type;
    if (node_.op == Op::fold_at) {
      const Type& places = operand(1);
      if (places.dtype != DType::i64 || places.rank() != 1)
        error(ErrorCode::dtype_mismatch, "indices are i64 of rank 1, not " +
                                             std::string(to_string(places.dtype)) +
                                             to_string(places.shape));
      Type pieces = type;
      pieces.shape[static_cast<size_t>(axis)] = places.shape[0];
      return pieces;
    }
    const Type& rest = operand(1);
    Shape start = rest.shape;
    if (axis < rest.rank()) start[static_cast<size_t>(axis)] = graph_.dims().constant(1);
    if (type.shape != start)
      error(ErrorCode::shape_mismatch, "elements of shape " + to_string(rest.shape) +
                                           " do not go on from " + to_string(type.shape));
    if (rest.dtype != type.dtype)
      error(ErrorCode::dtype_mismatch, "operands are " + std::string(to_string(type.dtype)) +
                                           " and " + std::string(to_string(rest.dtype)));
    if (node_.op == Op::fold) return type;
    const Type& test = operand(2);
    if (test.dtype != DType::boolean || test.shape != rest.shape)
      error(ErrorCode::shape_mismatch, "the condition is " + std::string(to_string(test.dtype)) +
                                           to_string(test.shape) + ", not bool" +
                                           to_string(rest.shape));
    return type;
  }

  // The elements start + i * step of `from` for i below `to` per axis.
  void check_box(const Type& from, const Shape& to) const {
    const std::vector<Dim>& starts = node_.attrs.starts;
    const std::vector<int64_t>& steps = node_.attrs.steps;
    const size_t rank = from.shape.size();
    if (starts.size() != rank || steps.size() != rank || to.size() != rank)
      invalid("starts, steps and shape need one entry per axis of " + to_string(from.shape));
    for (size_t i = 0; i < rank; ++i) {
      if (steps[i] == 0) invalid("step 0 of axis " + std::to_string(i));
      const auto extent = from.shape[i].as_constant(), start = starts[i].as_constant();
      const auto count = to[i].as_constant();
      // An empty result reads nothing, so its start may lie anywhere, as in NumPy.
      if (!extent || !start || !count || *count == 0) continue;
      const Wide last = *start + Wide{*count - 1} * steps[i];
      if (*start >= *extent || last < 0 || last >= *extent)
        error(ErrorCode::shape_mismatch,
              "axis " + std::to_string(i) + " of " + to_string(from.shape) + " ends before " +
                  std::to_string(*count) + " elements from " + std::to_string(*start) +
                  " with step " + std::to_string(steps[i]));
    }
  }

  const Graph& graph_;
  const Node& node_;
};

}  // namespace

Type infer(const Graph& graph, const Node& node) { return Inference(graph, node).run(); }

std::string to_string(const Shape& shape) {
  std::string text = "[";
  for (const Dim dim : shape) {
    if (text.size() > 1) text += ", ";
    text += to_string(dim);
  }
  return text + "]";
}

std::string to_string(const Type& type) {
  return type.is_object() ? type.data : std::string(to_string(type.dtype)) + to_string(type.shape);
}

}  // namespace dvm::core
