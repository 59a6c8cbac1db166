#include "capture/replay/signature.h"

namespace dvm::capture {

namespace {

Signature tagged(Argument argument, uint64_t rest) {
  return static_cast<uint64_t>(argument) | rest << 8;
}

Signature tagged(Argument argument, const void* address) {
  return tagged(argument, static_cast<uint64_t>(reinterpret_cast<uintptr_t>(address)));
}

bool is_identity_object(PyObject* object) {
  return object == Py_None || PyBool_Check(object) || object == Py_Ellipsis ||
         PyUnicode_CheckExact(object) || PyType_Check(object);
}

}  // namespace

Signature signature_of(PyObject* object) {
  if (const Library* library = exact_library_of(object)) return library->signature_of(object);
  if (PyFloat_CheckExact(object)) return tagged(Argument::floating, uint64_t{0});
  if (PyLong_CheckExact(object)) return tagged(Argument::integer, uint64_t{0});
  if (is_identity_object(object)) return tagged(Argument::object, object);
  if (const Library* library = library_of(object)) return library->signature_of(object);
  return tagged(Argument::other, Py_TYPE(object));
}

SignatureGuard SignatureGuard::of(PyObject* example) {
  SignatureGuard guard;
  guard.word = signature_of(example);
  const Argument argument = argument_of(guard.word);
  if (argument == Argument::array && layout_of(guard.word) == Layout::c_contiguous) {
    guard.dense_ = &library_in(guard.word).fields;
  }
  if (argument == Argument::object) guard.type = Ref::borrow(example);
  if (argument == Argument::other || argument == Argument::foreign) {
    guard.type = Ref::borrow(reinterpret_cast<PyObject*>(Py_TYPE(example)));
  }
  if (argument == Argument::foreign) guard.elements = library_in(guard.word).elements_of(example);
  return guard;
}

bool SignatureGuard::same_foreign(PyObject* object) const {
  return reinterpret_cast<PyObject*>(Py_TYPE(object)) == type.get() &&
         library_in(word).has_elements(object, elements.get());
}

bool SignatureGuard::admits(PyObject* object) const {
  const Signature now = signature_of(object);
  if (now == word) return true;
  return argument_of(word) == Argument::array && argument_of(now) == Argument::array &&
         dtype_of(now) == dtype_of(word) && rank_of(now) == rank_of(word) &&
         library_number_of(now) == library_number_of(word) &&
         own_bits_of(now) == own_bits_of(word) && library_in(word).lies_in(object, order_of(word));
}

bool SignatureGuard::operator==(const SignatureGuard& other) const {
  return word == other.word && type.get() == other.type.get() &&
         elements.get() == other.elements.get();
}

std::string describe(PyObject* object) {
  const Library* const library = library_of(object);
  if (library == nullptr) return std::string("object of type ") + Py_TYPE(object)->tp_name;
  const SignatureGuard guard = SignatureGuard::of(object);
  return argument_of(guard.word) == Argument::foreign ? library->describe_foreign(object)
                                                      : describe(guard);
}

std::string describe(const SignatureGuard& guard) {
  const Signature word = guard.word;
  const auto type = [&] { return reinterpret_cast<PyTypeObject*>(guard.type.get())->tp_name; };
  switch (argument_of(word)) {
    case Argument::array:
      return std::string(library_in(word).name_of(dtype_of(word))) + " array of rank " +
             std::to_string(rank_of(word)) + ", " + to_string(layout_of(word));
    case Argument::foreign:
      return std::string(type()) + " of " +
             library_in(word).describe_elements(guard.elements.get());
    case Argument::floating:
      return "float";
    case Argument::integer:
      return "int";
    case Argument::object:
      return std::string("one object of type ") + Py_TYPE(guard.type.get())->tp_name;
    case Argument::other:
      return std::string("object of type ") + type();
  }
  __builtin_unreachable();
}

}  // namespace dvm::capture
