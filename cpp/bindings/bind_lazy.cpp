// Lazy arrays: what the package's dvm.lazy is made of.
#include <pybind11/stl.h>

#include "bindings/bindings.h"
#include "bindings/lazy/array_type.h"
#include "bindings/lazy/flush.h"
#include "bindings/lazy/record.h"
#include "bindings/lazy/values.h"
#include "bindings/reports.h"
#include "core/ops/elementwise.h"

namespace py = pybind11;

namespace dvm::bindings {

namespace {

using core::Op;
using lazy::as_array;
using lazy::Buffer;

py::object stolen(PyObject* object) {
  if (object == nullptr) throw py::error_already_set();
  return py::reinterpret_steal<py::object>(object);
}

Op op_of(PyObject* self) { return static_cast<Op>(PyLong_AsLong(self)); }

// Functions of the namespace that are one op: what they are called on is not looked at here.
PyObject* call_elementwise(PyObject* self, PyObject* const* given, Py_ssize_t count) {
  const Op op = op_of(self);
  if (count != core::info(op).arity) {
    PyErr_Format(PyExc_TypeError, "%s takes %d arrays, it was given %zd",
                 lazy::numpy_name_of(op).data(), core::info(op).arity, count);
    return nullptr;
  }
  return lazy::elementwise(op, {given, static_cast<size_t>(count)});
}

// (array, axes, whether they are kept)
PyObject* call_reduce(PyObject* self, PyObject* const* given, Py_ssize_t count) {
  if (count != 3) {
    PyErr_SetString(PyExc_TypeError, "a reduction takes an array, axes, and whether they are kept");
    return nullptr;
  }
  const bool mean = self == Py_None;
  return lazy::reduce(mean ? Op::sum : op_of(self), given[0], given[1], given[2] == Py_True, mean);
}

PyObject* call_product(PyObject*, PyObject* const* given, Py_ssize_t count) {
  if (count == 2) return lazy::product(given[0], given[1]);
  PyErr_SetString(PyExc_TypeError, "a product takes two arrays");
  return nullptr;
}

// (object, what needs values)
PyObject* call_unwrapped(PyObject*, PyObject* const* given, Py_ssize_t count) {
  const char* reason = count == 2 ? PyUnicode_AsUTF8(given[1]) : "";
  return reason == nullptr ? nullptr : lazy::unwrapped(given[0], reason).release();
}

PyObject* call_wrapped(PyObject*, PyObject* const* given, Py_ssize_t) {
  return lazy::wrapped(given[0]).release();
}

using Function = PyObject* (*)(PyObject*, PyObject* const*, Py_ssize_t);

py::object builtin(std::string_view name, Function function, py::object self) {
  // CPython keeps a pointer to it.
  auto* definition =
      new PyMethodDef{name.data(), reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(function)),
                      METH_FASTCALL, nullptr};
  return stolen(PyCFunction_NewEx(definition, self.ptr(), nullptr));
}

// By the op's name.
py::dict functions() {
  py::dict all;
  for (size_t k = 0; k < core::all_ops().size(); ++k) {
    const core::OpInfo& info = core::all_ops()[k];
    const auto number = py::int_(k);
    const py::str name(info.name.data(), info.name.size());
    if (info.op_class == core::OpClass::elementwise && static_cast<Op>(k) != Op::cast) {
      all[name] = builtin(lazy::numpy_name_of(static_cast<Op>(k)), call_elementwise, number);
    } else if (info.op_class == core::OpClass::reduce) {
      all[name] = builtin(info.name, call_reduce, number);
    }
  }
  for (const Op op : {Op::argmax, Op::argmin}) {
    const std::string_view name = core::info(op).name;
    all[py::str(name.data(), name.size())] =
        builtin(name, call_reduce, py::int_(static_cast<int>(op)));
  }
  all["mean"] = builtin("mean", call_reduce, py::none());
  all["matmul"] = builtin("matmul", call_product, py::none());
  return all;
}

py::object told_of_last_flush() {
  const lazy::LastFlush last = lazy::last_flush();
  const std::shared_ptr<const lazy::Kernel>& kernel = last.kernel;
  if (kernel == nullptr) return py::none();
  const core::Module module{kernel->graph};
  py::dict record = describe_graph(module, {}, kernel->compilation);
  record["reason"] = last.reason;
  record["sizes"] = last.sizes;
  record["kernels"] = kernel->compilation.graph.plan().regions.size();
  return record;
}

}  // namespace

void bind_lazy(py::module_& module) {
  module.attr("LazyArray") = stolen(lazy::make_array_type());
  if (!lazy::import_promotions()) throw py::error_already_set();
  module.attr("lazy_functions") = functions();
  module.def("lazy_through_numpy",
             [](py::object function) { lazy::g_through_numpy = function.release().ptr(); });
  module.attr("lazy_wrapped") = builtin("lazy_wrapped", call_wrapped, py::none());
  module.attr("lazy_unwrapped") = builtin("lazy_unwrapped", call_unwrapped, py::none());
  module.def("lazy_become", [](py::handle array, py::object value) {
    auto* to = as_array(array.ptr());
    if (lazy::value_of(to, "an assignment") == nullptr) throw py::error_already_set();
    Py_SETREF(to->value, value.release().ptr());
  });
  module.def("lazy_is_sole_owner", [](py::handle array) {
    const auto* value = reinterpret_cast<PyArrayObject*>(as_array(array.ptr())->value);
    return value != nullptr && Py_REFCNT(value) == 1 &&
           PyArray_CHKFLAGS(value, NPY_ARRAY_OWNDATA) && PyArray_ISWRITEABLE(value);
  });
  module.def("lazy_cast", [](py::handle array, py::handle dtype) {
    const auto* descr = reinterpret_cast<PyArray_Descr*>(dtype.ptr());
    for (int d = 0; d < core::kDTypeCount; ++d) {
      const auto known = static_cast<core::DType>(d);
      if (!capture::numpy_name(known).empty() && capture::type_number(known) == descr->type_num) {
        return stolen(lazy::cast(array.ptr(), known));
      }
    }
    return py::object(py::none());
  });
  module.def("lazy_reshape", [](py::handle a, const std::vector<int64_t>& shape) {
    return stolen(lazy::reshape(a.ptr(), shape));
  });
  module.def("lazy_concat", [](const py::tuple& arrays, int axis) {
    const auto count = static_cast<size_t>(PyTuple_GET_SIZE(arrays.ptr()));
    return stolen(lazy::concat({PySequence_Fast_ITEMS(arrays.ptr()), count}, axis));
  });
  module.def("lazy_running_sum",
             [](py::handle a, int axis) { return stolen(lazy::scan(Op::add, a.ptr(), axis)); });
  module.def("lazy_running_product",
             [](py::handle a, int axis) { return stolen(lazy::scan(Op::mul, a.ptr(), axis)); });
  module.def("lazy_permute",
             [](py::handle a, uint32_t axes) { return stolen(lazy::permute(a.ptr(), axes)); });
  module.def("lazy_flush", [](const char* reason) {
    if (!lazy::flush(Buffer::of_this_thread(), reason)) throw py::error_already_set();
  });
  module.def("lazy_last_flush", told_of_last_flush);
  module.def("lazy_compiled", [] { return lazy::compiled_count(); });
  module.def("lazy_forget", [] { lazy::forget_compiled(); });
}

}  // namespace dvm::bindings
