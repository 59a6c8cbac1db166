// Operations that are told axes: reductions, products and views.
#include <bit>
#include <vector>

#include "bindings/lazy/record.h"
#include "bindings/lazy/recording.h"

namespace dvm::bindings::lazy {

namespace {

using core::DType;
using core::Op;

// The axes as bits: an int, a tuple of ints, or all for None. None where that is not so.
std::optional<uint32_t> bits_of(PyObject* axes, int rank) {
  if (axes == Py_None) return (uint32_t{1} << rank) - 1;
  uint32_t bits = 0;
  const bool is_tuple = PyTuple_CheckExact(axes);
  const Py_ssize_t count = is_tuple ? PyTuple_GET_SIZE(axes) : 1;
  for (Py_ssize_t k = 0; k < count; ++k) {
    PyObject* axis = is_tuple ? PyTuple_GET_ITEM(axes, k) : axes;
    if (!PyLong_CheckExact(axis)) return {};
    int overflow = 0;
    long place = PyLong_AsLongAndOverflow(axis, &overflow);
    if (place < 0) place += rank;
    if (overflow != 0 || place < 0 || place >= rank || (bits >> place & 1U) != 0) return {};
    bits |= uint32_t{1} << place;
  }
  return bits;
}

// Small integers are summed up in large ones, as NumPy does.
DType accumulates_in(Op op, DType dtype) {
  if (op == Op::any || op == Op::all) return DType::boolean;
  if ((op != Op::sum && op != Op::prod) || core::is_floating(dtype)) return dtype;
  const bool is_unsigned =
      dtype == DType::u8 || dtype == DType::u16 || dtype == DType::u32 || dtype == DType::u64;
  return is_unsigned ? DType::u64 : DType::i64;
}

PyObject* reduce_through_numpy(Op op, bool mean, PyObject* a, PyObject* axes, bool keeps) {
  const auto keywords = capture::Ref::steal(
      Py_BuildValue("{s:O,s:O}", "axis", axes, "keepdims", keeps ? Py_True : Py_False));
  if (!keywords) return nullptr;
  return through_numpy(mean ? "mean" : core::info(op).name, {&a, 1}, keywords.get());
}

// A node that reads one array; what it is is filled in by `fill`, which may refuse.
template <typename Fill>
PyObject* of_one(PyObject* a, bool pending_alone, Fill fill) {
  Recording recording;
  if (!recording.begin({&a, 1})) return nullptr;
  Operand operand;
  if (!is_array(a) || (pending_alone && !as_array(a)->is_pending())) Py_RETURN_NONE;
  if (!recording.read(a, operand)) Py_RETURN_NONE;
  Node node{.form = {.computes = operand.dtype, .dtype = operand.dtype}};
  if (!fill(operand, node)) Py_RETURN_NONE;
  PyObject* made = Recording::new_array();
  if (made == nullptr) return nullptr;
  node.form.operands[0] = recording.node_of(operand, operand.dtype);
  return recording.add(node, made);
}

}  // namespace

PyObject* reduce(Op op, PyObject* a, PyObject* axes, bool keeps, bool mean) {
  Recording recording;
  if (!recording.begin({&a, 1})) return nullptr;
  Operand operand;
  const auto numpy = [&] { return reduce_through_numpy(op, mean, a, axes, keeps); };
  if (!is_array(a) || !recording.read(a, operand)) return numpy();
  const std::optional<uint32_t> bits = bits_of(axes, operand.rank);
  if (!bits || *bits == 0) return numpy();
  const bool finds = op == Op::argmax || op == Op::argmin;
  if (finds && (std::popcount(*bits) != 1 || !as_array(a)->is_pending())) return numpy();
  DType dtype = accumulates_in(op, operand.dtype);
  if (mean && !core::is_floating(operand.dtype)) dtype = DType::f64;
  Node node{.form = {.kind = Kind::reduce,
                     .op = op,
                     .computes = dtype,
                     .dtype = finds ? DType::i64 : dtype,
                     .axes = *bits | (keeps ? kKeepsAxes : 0)}};
  int64_t count = 1;
  for (int d = 0; d < operand.rank; ++d) {
    const bool goes = (*bits >> d & 1U) != 0;
    if (goes) count *= operand.shape[d];
    if (!goes || keeps) node.shape[node.rank++] = goes ? 1 : operand.shape[d];
  }
  if (count == 0 && (mean || finds || op == Op::max || op == Op::min)) return numpy();
  PyObject* made = Recording::new_array();
  if (made == nullptr) return nullptr;
  node.form.operands[0] = recording.node_of(operand, operand.dtype);
  if (!mean) return recording.add(node, made);
  const Operand elements{.weak = Weak::integer, .number = core::Scalar::of_int(count)};
  Node quotient = node;
  quotient.form = {.kind = Kind::elementwise, .op = Op::div, .computes = dtype, .dtype = dtype};
  quotient.form.operands[0] = recording.add_within(node);
  quotient.form.operands[1] = recording.node_of(elements, dtype);
  return recording.add(quotient, made);
}

PyObject* product(PyObject* a, PyObject* b) {
  Recording recording;
  PyObject* const given[] = {a, b};
  if (!recording.begin(given)) return nullptr;
  Operand left, right;
  const bool reads = recording.read(a, left) && recording.read(b, right);
  const bool is_plain = reads && left.rank == 2 && right.rank == 2 && left.dtype == right.dtype &&
                        core::is_floating(left.dtype) && left.shape[1] == right.shape[0] &&
                        left.shape[1] > 0;
  if (!is_plain) return through_numpy("matmul", given);
  Node node{.form = {.kind = Kind::product,
                     .op = Op::matmul,
                     .computes = left.dtype,
                     .dtype = left.dtype},
            .rank = 2,
            .shape = {left.shape[0], right.shape[1]}};
  PyObject* made = Recording::new_array();
  if (made == nullptr) return nullptr;
  node.form.operands[0] = recording.node_of(left, left.dtype);
  node.form.operands[1] = recording.node_of(right, right.dtype);
  return recording.add(node, made);
}

PyObject* cast(PyObject* a, DType dtype) {
  return of_one(a, false, [&](const Operand& operand, Node& node) {
    node.form.kind = Kind::cast;
    node.form.dtype = dtype;
    node.rank = operand.rank;
    std::copy_n(operand.shape, operand.rank, node.shape);
    return is_for_graphs(dtype);
  });
}

PyObject* scan(Op op, PyObject* a, int axis) {
  return of_one(a, true, [&](const Operand& operand, Node& node) {
    if (axis < 0) axis += operand.rank;
    if (axis < 0 || axis >= operand.rank) return false;
    const DType dtype = accumulates_in(Op::sum, operand.dtype);
    node.form.kind = Kind::scan;
    node.form.op = op;
    node.form.computes = node.form.dtype = dtype;
    node.form.axes = static_cast<uint32_t>(axis);
    node.rank = operand.rank;
    std::copy_n(operand.shape, operand.rank, node.shape);
    return true;
  });
}

// An array of their size, each part of which is replaced.
PyObject* concat(std::span<PyObject* const> given, int axis) {
  Recording recording;
  if (!recording.begin(given)) return nullptr;
  std::vector<Operand> operands(given.size());
  std::vector<int64_t> starts;
  Node whole{.form = {.kind = Kind::empty}};
  int64_t size = 0;
  bool is_pending = false;
  for (size_t k = 0; k < given.size(); ++k) {
    Operand& operand = operands[k];
    if (!is_array(given[k]) || !recording.read(given[k], operand)) Py_RETURN_NONE;
    is_pending |= as_array(given[k])->is_pending();
    if (k == 0) {
      if (axis < 0) axis += operand.rank;
      if (axis < 0 || axis >= operand.rank) Py_RETURN_NONE;
      whole.form.computes = whole.form.dtype = operand.dtype;
      whole.rank = operand.rank;
      std::copy_n(operand.shape, operand.rank, whole.shape);
    }
    if (operand.dtype != whole.form.dtype || operand.rank != whole.rank) Py_RETURN_NONE;
    for (int d = 0; d < whole.rank; ++d) {
      if (d != axis && operand.shape[d] != whole.shape[d]) Py_RETURN_NONE;
    }
    starts.push_back(size);
    size += operand.shape[axis];
  }
  if (!is_pending) Py_RETURN_NONE;
  PyObject* made = Recording::new_array();
  if (made == nullptr) return nullptr;
  whole.shape[axis] = size;
  for (size_t k = 0; k < given.size(); ++k) {
    const int32_t part = recording.node_of(operands[k], operands[k].dtype);
    whole.form.operands[0] = recording.add_within(whole);
    whole.form.operands[1] = part;
    whole.form.kind = Kind::update;
    whole.form.axes = static_cast<uint32_t>(axis);
    whole.number = core::Scalar::of_int(starts[k]);
  }
  return recording.add(whole, made);
}

PyObject* reshape(PyObject* a, std::span<const int64_t> shape) {
  return of_one(a, true, [&](const Operand& operand, Node& node) {
    node.form.kind = Kind::reshape;
    if (shape.size() > core::kMaxRank) return false;
    node.rank = static_cast<int>(shape.size());
    std::copy(shape.begin(), shape.end(), node.shape);
    // One size may be left open.
    int64_t elements = 1, known = 1;
    for (int d = 0; d < operand.rank; ++d) elements *= operand.shape[d];
    int64_t* open = nullptr;
    for (int64_t& size : std::span(node.shape, shape.size())) {
      if (size == -1 && open == nullptr) {
        open = &size;
      } else if (size < 0 || __builtin_mul_overflow(known, size, &known)) {
        return false;
      }
    }
    if (open == nullptr) return known == elements;
    if (known == 0 || elements % known != 0) return false;
    *open = elements / known;
    return true;
  });
}

PyObject* permute(PyObject* a, uint32_t axes) {
  return of_one(a, true, [&](const Operand& operand, Node& node) {
    node.form.kind = Kind::permute;
    node.form.axes = axes;
    node.rank = operand.rank;
    uint32_t seen = 0;
    for (int d = 0; d < operand.rank; ++d) {
      const uint32_t axis = axes >> (4 * d) & 15U;
      if (axis >= static_cast<uint32_t>(operand.rank) || (seen >> axis & 1U) != 0) return false;
      seen |= uint32_t{1} << axis;
      node.shape[d] = operand.shape[axis];
    }
    return true;
  });
}

}  // namespace dvm::bindings::lazy
