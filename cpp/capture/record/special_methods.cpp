#include "capture/record/special_methods.h"

#include <algorithm>
#include <iterator>

#include "capture/record/record.h"

namespace dvm::capture {

namespace {

using Kind = core::SeenEvent::Kind;

struct OperatorRow {
  std::string_view name;
  OperatorMethods methods;
};
constexpr OperatorRow kOperatorMethods[] = {
    {"+", {"__add__", "__radd__", "__iadd__"}},
    {"-", {"__sub__", "__rsub__", "__isub__"}},
    {"*", {"__mul__", "__rmul__", "__imul__"}},
    {"/", {"__truediv__", "__rtruediv__", "__itruediv__"}},
    {"//", {"__floordiv__", "__rfloordiv__", "__ifloordiv__"}},
    {"%", {"__mod__", "__rmod__", "__imod__"}},
    {"**", {"__pow__", "__rpow__", "__ipow__"}},
    {"@", {"__matmul__", "__rmatmul__", "__imatmul__"}},
    {"&", {"__and__", "__rand__", "__iand__"}},
    {"|", {"__or__", "__ror__", "__ior__"}},
    {"^", {"__xor__", "__rxor__", "__ixor__"}},
    {"<<", {"__lshift__", "__rlshift__", "__ilshift__"}},
    {">>", {"__rshift__", "__rrshift__", "__irshift__"}},
    {"<", {"__lt__", "__gt__", ""}},
    {"<=", {"__le__", "__ge__", ""}},
    {"==", {"__eq__", "__eq__", ""}},
    {"!=", {"__ne__", "__ne__", ""}},
    {">", {"__gt__", "__lt__", ""}},
    {">=", {"__ge__", "__le__", ""}},
};

struct NamedMethod {
  std::string_view name;
  const char* method;
};
constexpr NamedMethod kUnary[] = {{"-", "__neg__"}, {"+", "__pos__"}, {"~", "__invert__"}};
constexpr NamedMethod kBuiltins[] = {
    {"len", "__len__"},          {"iter", "__iter__"},   {"next", "__next__"},
    {"abs", "__abs__"},          {"repr", "__repr__"},   {"bool", "__bool__"},
    {"int", "__int__"},          {"float", "__float__"}, {"str", "__str__"},
    {"round", "__round__"},      {"hash", "__hash__"},   {"divmod", "__divmod__"},
    {"reversed", "__reversed__"}};

template <size_t kSize>
const char* find(const NamedMethod (&rows)[kSize], std::string_view name) {
  const auto* row = std::ranges::find(rows, name, &NamedMethod::name);
  return row == std::end(rows) ? nullptr : row->method;
}

}  // namespace

OperatorMethods methods_of(std::string_view binary_or_compare) {
  return std::ranges::find(kOperatorMethods, binary_or_compare, &OperatorRow::name)->methods;
}

const char* unary_method(std::string_view name) { return find(kUnary, name); }

const char* method_behind(std::string_view builtin) { return find(kBuiltins, builtin); }

AttributeMethods methods_of_access(Kind kind) {
  if (kind == Kind::attribute) return {"fget", "__get__", "__getattr__"};
  if (kind == Kind::store_attribute) return {"fset", "__set__", "__setattr__"};
  return {"fdel", "__delete__", "__delattr__"};
}

const char* method_of(Kind kind) {
  switch (kind) {
    case Kind::subscript:
      return "__getitem__";
    case Kind::store_subscript:
      return "__setitem__";
    case Kind::delete_subscript:
      return "__delitem__";
    case Kind::iter:
      return "__iter__";
    case Kind::next:
      return "__next__";
    case Kind::with_enter:
      return "__enter__";
    default:
      return nullptr;
  }
}

PyObject* special_method(PyTypeObject* type, const char* name) {
  return _PyType_Lookup(type, interned(name));
}

}  // namespace dvm::capture
