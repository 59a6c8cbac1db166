#include "bindings/torch_library.h"

#include <algorithm>
#include <cstring>

#include "bindings/torch_tensors.h"
#include "capture/library/library.h"
#include "capture/library/overlap.h"
#include "capture/library/strided.h"

namespace py = pybind11;

namespace dvm::bindings {

namespace {

using capture::AxisOrder;
using capture::Ref;
using capture::Signature;
using core::DType;
using runtime::BufferView;

// Python's error is set where pybind11 threw it.
template <typename Function>
PyObject* given_back(Function&& function) {
  try {
    return function().release().ptr();
  } catch (py::error_already_set& error) {
    error.restore();
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
  }
  return nullptr;
}

capture::Strided strided(const BufferView& view) {
  return {view.rank, view.shape, view.strides, core::byte_size(view.dtype), is_dense(view)};
}

// Whether the strides decrease from axis to axis, as TensorIterator of ATen asks: what is made of
// such a tensor lies in C order.
bool decrease(const BufferView& view) {
  for (int inner = 1; inner < view.rank; ++inner) {
    if (view.strides[inner] == 0) continue;
    for (int outer = 0; outer < inner; ++outer) {
      if (view.strides[outer] == 0 || view.strides[outer] > view.strides[inner]) continue;
      if (view.strides[outer] < view.strides[inner] || view.shape[outer] < view.shape[inner])
        return false;
    }
  }
  return true;
}

// An address for each dtype, by which views are told apart.
constexpr char kElements[core::kDTypeCount] = {};

// Tensor and Parameter, on this machine's memory, whose elements are what its memory holds. All
// others are foreign.
class TorchLibrary final : public capture::Library {
 public:
  TorchLibrary(const py::type& tensor, const py::type& parameter, const py::function& elements_of,
               const py::function& is_grad_enabled, const py::tuple& quiet)
      : parameter_(reinterpret_cast<PyTypeObject*>(parameter.ptr())),
        elements_of_(elements_of),
        is_grad_enabled_(is_grad_enabled),
        quiet_(quiet),
        no_states_(PyTuple_New(0)),
        requires_grad_(PyUnicode_InternFromString("requires_grad")),
        version_(PyUnicode_InternFromString("_version")) {
    name = "torch";
    array_type = reinterpret_cast<PyTypeObject*>(tensor.ptr());
    scalar_type = nullptr;
  }

  // A parameter is none of the other tensors to the program, nor is one that asks for a gradient,
  // as long as gradients are kept.
  Signature signature_of(PyObject* tensor) const override {
    BufferView view;
    if (!is_plain(tensor, view)) return capture::foreign_word(number, rank_of(tensor), 0);
    const capture::Strided array = strided(view);
    Signature word = capture::is_in_c_order(array)
                         ? capture::dense_word(number, view.dtype, view.rank)
                         : capture::array_word(number, view.dtype, view.rank, order_of(array));
    if (Py_IS_TYPE(tensor, parameter_)) word |= Signature{1} << capture::kOwnBit;
    if (wants_gradient(tensor)) word |= Signature{2} << capture::kOwnBit;
    return word;
  }
  bool lies_in(PyObject* tensor, const AxisOrder& order) const override {
    BufferView view;
    return is_plain(tensor, view) && capture::lies_in(strided(view), order);
  }
  Ref elements_of(PyObject* tensor) const override {
    return Ref::steal(given_back([&] { return elements_of_(py::handle(tensor)); }));
  }
  bool has_elements(PyObject* tensor, PyObject* elements) const override {
    const Ref own = elements_of(tensor);
    const int same = own ? PyObject_RichCompareBool(own.get(), elements, Py_EQ) : -1;
    if (same < 0) PyErr_Clear();
    return same == 1;
  }

  std::string_view name_of(DType dtype) const override { return core::to_string(dtype); }
  std::string describe_elements(PyObject* elements) const override {
    return py::str(py::handle(elements));
  }
  std::string describe_foreign(PyObject* tensor) const override {
    return std::string("a tensor of class ") + Py_TYPE(tensor)->tp_name;
  }

  // Only of plain ones; others have no elements here. torch has no strides in bytes to lend: the
  // four views asked for last stay as they are, and nobody compares more arrays at a time.
  capture::ArrayView view(PyObject* tensor) const override {
    static thread_local BufferView views[4];
    static thread_local unsigned next = 0;
    BufferView& own = views[next++ % 4];
    capture::ArrayView seen{};
    if (!view_tensor(tensor, own)) return seen;
    seen.data = own.data;
    seen.shape = own.shape;
    seen.strides = own.strides;
    seen.rank = own.rank;
    // torch counts the writes into a tensor, so that all go by write().
    seen.flags = capture::kAligned | capture::kWriteable | capture::kWarnsWhenWritten |
                 (is_dense(own) ? uint32_t{capture::kCContiguous} : 0U);
    seen.elements = kElements + static_cast<size_t>(own.dtype);
    seen.item_bytes = core::byte_size(own.dtype);
    seen.kind = static_cast<int32_t>(own.dtype);
    return seen;
  }
  std::optional<DType> dtype_of(PyObject* tensor) const override {
    BufferView view;
    if (!view_tensor(tensor, view)) return {};
    return view.dtype;
  }
  bool read(PyObject* tensor, DType dtype, int rank, BufferView& view) const override {
    if (!view_tensor(tensor, view) || view.dtype != dtype || view.rank != rank) return false;
    view.owner = tensor;
    return true;
  }
  bool share_elements(PyObject* one, PyObject* other) const override {
    BufferView a, b;
    if (!view_tensor(one, a) || !view_tensor(other, b)) return true;
    const auto [first, first_end] = range_of(a);
    const auto [second, second_end] = range_of(b);
    return first < second_end && second < first_end;
  }
  PyObject* base_of(PyObject*) const override { return nullptr; }
  bool is_in_usual_memory(PyObject*) const override { return false; }

  bool allocate(DType dtype, std::span<const int64_t> shape, BufferView& out) const override {
    py::object made = new_tensor(dtype, shape);
    if (!made || !view_tensor(made.ptr(), out)) return false;
    out.owner = made.release().ptr();
    return true;
  }
  PyObject* result_of(const BufferView& buffer) const override {
    auto* const owner = static_cast<PyObject*>(buffer.owner);
    const bool is_taken = Py_REFCNT(owner) > 1;  // by an earlier result; the one is the Plan's
    return given_back([&] {
      if (is_taken) return copy_of(buffer);
      const py::object made = view_of(owner, buffer);
      return made.ptr() == owner ? made : its_own(made);
    });
  }
  PyObject* argument_of(const BufferView& buffer) const override {
    return given_back([&] { return view_of(static_cast<PyObject*>(buffer.owner), buffer); });
  }
  PyObject* permuted(Ref tensor, std::span<const int8_t> order, bool fresh) const override {
    return given_back([&] {
      BufferView view;
      if (!view_tensor(tensor.get(), view)) throw py::type_error("a result that is no tensor");
      py::tuple axes(view.rank);
      for (size_t i = 0; i < axes.size(); ++i) axes[i] = static_cast<int>(order[i]);
      if (fresh && strided(view).is_empty()) return empty_in_order(tensor.get(), view, order);
      const py::object made = py::handle(tensor.get()).attr("permute")(axes);
      return fresh ? its_own(made) : made;
    });
  }
  PyObject* scalar_of(DType dtype, const std::byte* element) const override {
    const Ref tensor = Ref::steal(given_back([&] { return new_tensor(dtype, {}); }));
    BufferView view;
    if (!tensor || !view_tensor(tensor.get(), view)) return nullptr;
    std::memcpy(view.data, element, static_cast<size_t>(core::byte_size(dtype)));
    return Py_NewRef(tensor.get());
  }
  PyObject* alias(PyObject* tensor) const override {
    return given_back([&] { return py::object(py::handle(tensor).attr("detach")()); });
  }
  PyObject* copy(PyObject* tensor) const override {
    return given_back([&] { return py::object(py::handle(tensor).attr("clone")()); });
  }

  bool read_scalar(PyObject*, DType, std::byte*) const override { return false; }
  bool same_literal(PyObject*, PyObject*) const override { return false; }

  Gives what_gives(PyObject*, PyObject*, PyObject* const*) const override { return Gives::other; }
  // Functions and methods in C that have nothing to warn of, those by which a path makes views
  // again among them.
  bool is_quiet(PyObject* callee, PyObject* const* arguments, size_t count) const override {
    const bool is_method =
        count > 0 && Py_IS_TYPE(callee, &PyMethodDescr_Type) && is_array(arguments[0]);
    return (is_method || PyCFunction_Check(callee)) &&
           std::ranges::any_of(quiet_, [&](py::handle each) { return each.ptr() == callee; });
  }
  std::optional<Drawing> drawing_of(PyObject*, size_t) const override { return {}; }
  bool write(PyObject* tensor, PyObject* value) const override {
    const Ref done = Ref::steal(given_back(
        [&] { return py::object(py::handle(tensor).attr("copy_")(py::handle(value))); }));
    return static_cast<bool>(done);
  }
  // None of a tensor that was made in inference mode.
  std::optional<uint32_t> counted_writes(PyObject* tensor) const override {
    const Ref version = Ref::steal(PyObject_GetAttr(tensor, version_));
    const auto count = version ? PyLong_AsUnsignedLong(version.get()) : 0;
    if (PyErr_Occurred() == nullptr) return static_cast<uint32_t>(count);
    PyErr_Clear();
    return {};
  }
  bool set_counted_writes(PyObject* tensor, uint32_t count) const override {
    const Ref done = Ref::steal(given_back([&] {
      const auto autograd = py::module_::import("torch").attr("_C").attr("_autograd");
      return py::object(autograd.attr("_unsafe_set_version_counter")(
          py::make_tuple(py::handle(tensor)), py::make_tuple(count)));
    }));
    return static_cast<bool>(done);
  }
  bool writes_unlocked(PyObject*) const override { return true; }

  // Floating-point errors are nothing that torch tells of.
  PyObject* state() const override { return no_states_; }
  bool raise_instead() const override { return true; }

 private:
  bool is_plain(PyObject* tensor, BufferView& view) const {
    return view_tensor(tensor, view) && !is_negated(tensor);
  }
  // Without elements strides are products of sizes, 0 among them.
  static py::object empty_in_order(PyObject* tensor, const BufferView& view,
                                   std::span<const int8_t> order) {
    int64_t products[core::kMaxRank], product = 1;
    for (int i = view.rank - 1; i >= 0; --i) {
      products[i] = product;
      product *= view.shape[i];
    }
    py::tuple shape(view.rank), strides(view.rank);
    for (size_t i = 0; i < shape.size(); ++i) {
      shape[i] = view.shape[order[i]];
      strides[i] = products[order[i]];
    }
    return its_own(py::handle(tensor).attr("as_strided")(shape, strides));
  }
  // A view of new memory as a tensor that is no view, which the program's own is none of.
  static py::object its_own(const py::object& view) { return view.attr("data"); }
  static int rank_of(PyObject* tensor) {
    const Ref rank = Ref::steal(PyObject_CallMethod(tensor, "dim", nullptr));
    const long value = rank ? PyLong_AsLong(rank.get()) : 0;
    if (PyErr_Occurred() != nullptr) PyErr_Clear();
    return static_cast<int>(std::clamp(value, 0L, 255L));
  }
  bool wants_gradient(PyObject* tensor) const {
    const Ref enabled = Ref::steal(PyObject_CallNoArgs(is_grad_enabled_.ptr()));
    if (enabled.get() != Py_True) return false;
    const Ref asks = Ref::steal(PyObject_GetAttr(tensor, requires_grad_));
    return asks.get() == Py_True;
  }

  PyTypeObject* parameter_;
  py::function elements_of_, is_grad_enabled_;
  py::tuple quiet_;
  PyObject *no_states_, *requires_grad_, *version_;
};

// (callables): what each of them returns, as a tuple.
PyObject* call_each(PyObject*, PyObject* callables) {
  if (!PyTuple_CheckExact(callables)) {
    PyErr_SetString(PyExc_TypeError, "expected a tuple");
    return nullptr;
  }
  Ref answers = Ref::steal(PyTuple_New(PyTuple_GET_SIZE(callables)));
  for (Py_ssize_t i = 0; answers && i < PyTuple_GET_SIZE(callables); ++i) {
    PyObject* const answer = PyObject_CallNoArgs(PyTuple_GET_ITEM(callables, i));
    if (answer == nullptr) return nullptr;
    PyTuple_SET_ITEM(answers.get(), i, answer);
  }
  return answers.release();
}

}  // namespace

// (tensor): whether its strides decrease.
PyObject* strides_decrease(PyObject*, PyObject* tensor) {
  BufferView view;
  return PyBool_FromLong(view_tensor(tensor, view) && decrease(view));
}

PyMethodDef torch_functions[] = {{"call_each", call_each, METH_O, nullptr},
                                 {"strides_decrease", strides_decrease, METH_O, nullptr},
                                 {}};

void capture_torch(const py::type& tensor, const py::type& parameter,
                   const py::function& elements_of, const py::function& is_grad_enabled,
                   const py::tuple& quiet) {
  // Never let go: paths name it, and the interpreter is gone before static objects are.
  static auto* const library =
      new TorchLibrary(tensor, parameter, elements_of, is_grad_enabled, quiet);
  capture::add_library(*library);
}

}  // namespace dvm::bindings
