// Dim in Python: arithmetic, equality within one graph, its value for given symbols, its structure.
#include "bindings/bind_dim.h"

#include <pybind11/stl.h>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "core/dims/facts.h"
#include "core/error.h"

namespace py = pybind11;

namespace dvm::bindings {

namespace {

using core::Dim;
using core::DimAtom;
using core::DimFactor;
using core::DimKind;
using core::DimTerm;

const char* function_name(DimKind kind) {
  switch (kind) {
    case DimKind::floordiv:
      return "floordiv";
    case DimKind::mod:
      return "mod";
    case DimKind::max:
      return "max";
    case DimKind::min:
      return "min";
    case DimKind::bcast:
      return "bcast";
    default:
      return nullptr;
  }
}

py::tuple terms_of(const PyDim& a) {
  py::list terms;
  for (const DimTerm& term : a.dim.terms()) {
    py::list factors;
    for (const DimFactor& factor : term.factors)
      for (int i = 0; i < factor.exponent; ++i) factors.append(PyDim{a.context, factor.atom->self});
    terms.append(py::make_tuple(term.coefficient, py::tuple(factors)));
  }
  return terms;
}

py::object symbol_of(const PyDim& a) {
  const DimAtom* atom = a.dim.as_atom();
  if (atom == nullptr || atom->kind != DimKind::symbol) return py::none();
  return py::str(a.context->symbol_info(atom->symbol).name);
}

py::object function_of(const PyDim& a) {
  const DimAtom* atom = a.dim.as_atom();
  const char* name = atom == nullptr ? nullptr : function_name(atom->kind);
  if (name == nullptr) return py::none();
  return py::make_tuple(name, PyDim{a.context, atom->lhs}, PyDim{a.context, atom->rhs});
}

bool is_polynomial(const PyDim& a) {
  return !a.dim.is_overflow() && std::ranges::all_of(a.dim.terms(), [](const DimTerm& term) {
    return std::ranges::all_of(
        term.factors, [](const DimFactor& factor) { return factor.atom->kind == DimKind::symbol; });
  });
}

bool is_natural(const PyDim& a) {
  if (const auto constant = a.dim.as_constant()) return *constant >= 0;
  return !a.dim.is_overflow() && core::Facts(a.context).interval(a.dim).lo >= 0;
}

int64_t evaluate(const PyDim& a, const py::dict& values) {
  std::vector<int64_t> symbols(static_cast<size_t>(a.context->symbol_count()), 0);
  for (const int symbol : core::symbols_of(a.dim)) {
    const std::string& name = a.context->symbol_info(symbol).name;
    symbols[static_cast<size_t>(symbol)] = values[py::str(name)].cast<int64_t>();
  }
  const auto value = core::evaluate(a.dim, symbols);
  if (!value)
    core::fail(core::ErrorCode::shape_overflow, core::to_string(a.dim) + " has no value here");
  return *value;
}

}  // namespace

void bind_dim(py::module_& module) {
  const auto binary = [](Dim (*op)(Dim, Dim)) {
    return [op](const PyDim& a, py::handle b) {
      const Dim other = py::isinstance<PyDim>(b) ? b.cast<const PyDim&>().dim
                                                 : a.context->constant(b.cast<int64_t>());
      return PyDim{a.context, op(a.dim, other)};
    };
  };
  py::class_<PyDim>(module, "Dim",
                    "A symbolic size. Those of one graph are equal if they are the "
                    "same expression in canonical form.")
      .def("__add__", binary([](Dim a, Dim b) { return a + b; }))
      .def("__radd__", binary([](Dim a, Dim b) { return b + a; }))
      .def("__sub__", binary([](Dim a, Dim b) { return a - b; }))
      .def("__rsub__", binary([](Dim a, Dim b) { return b - a; }))
      .def("__mul__", binary([](Dim a, Dim b) { return a * b; }))
      .def("__rmul__", binary([](Dim a, Dim b) { return b * a; }))
      .def("__floordiv__", binary(core::floor_div))
      .def("__mod__", binary(core::mod))
      .def("bcast", binary(core::bcast))
      .def("max", binary([](Dim a, Dim b) { return core::max(a, b); }))
      .def("min", binary([](Dim a, Dim b) { return core::min(a, b); }))
      .def(
          "__eq__", [](const PyDim& a, const PyDim& b) { return a.dim == b.dim; },
          py::is_operator())
      .def("__hash__", [](const PyDim& a) { return std::hash<const void*>{}(a.dim.node()); })
      .def("evaluate", &evaluate, py::arg("values"),
           "Its value for these values of symbols; raises ShapeError where it has none.")
      .def_property_readonly("constant", [](const PyDim& a) { return a.dim.as_constant(); })
      .def_property_readonly("terms", &terms_of,
                             "The sum of products: (coefficient, factors), the constant last.")
      .def_property_readonly("symbol", &symbol_of, "The name, if it is a symbol.")
      .def_property_readonly("function", &function_of,
                             "(name, a, b) of a quotient, rest, maximum, minimum or bcast.")
      .def_property_readonly("is_polynomial", &is_polynomial, "Whether no function occurs in it.")
      .def_property_readonly("is_natural", &is_natural,
                             "Whether it is plain from its form that it is not negative.")
      .def("__str__", [](const PyDim& a) { return core::to_string(a.dim); })
      .def("__repr__", [](const PyDim& a) { return "Dim(" + core::to_string(a.dim) + ")"; });
}

}  // namespace dvm::bindings
