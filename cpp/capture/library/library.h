// What capture asks a library of arrays. NumPy is the first (numpy/numpy_library.cpp); the
// lowering's half of it is python/dvm/magpy_capture/library.py.
//
// Recording, paths and replay know arrays by this alone. What is asked of each array on each call
// is a field, or one question that answers all of it.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "capture/library/array_fields.h"
#include "capture/library/array_view.h"
#include "capture/library/scalar_fields.h"
#include "capture/library/signature_word.h"
#include "capture/py.h"
#include "runtime/host.h"

namespace dvm::capture {

class Library {
 public:
  Library() = default;
  virtual ~Library() = default;
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;

  // ---- what its objects are; `array` below is one of `array_type` or of a class derived from it

  std::string_view name;  // of its module in Python
  PyTypeObject* array_type = nullptr;
  // Of what an array gives for one element; null: an array.
  PyTypeObject* scalar_type = nullptr;
  ArrayFields fields;    // where they can be read from outside
  ScalarFields scalars;  // likewise
  size_t number = 0;     // among all, in signature words; add_library() sets it

  bool is_array(PyObject* object) const { return PyObject_TypeCheck(object, array_type); }
  bool is_scalar(PyObject* object) const {
    return scalar_type != nullptr && PyObject_TypeCheck(object, scalar_type);
  }

  virtual Signature signature_of(PyObject* array) const = 0;
  // Whether the elements lie densely in this order; of no more than core::kMaxRank axes.
  virtual bool lies_in(PyObject* array, const AxisOrder& order) const = 0;

  // Of an array that the core has no type for: an object that says what its elements are (a new
  // reference), and whether those of another one are the same.
  virtual Ref elements_of(PyObject* array) const = 0;
  virtual bool has_elements(PyObject* array, PyObject* elements) const = 0;

  // ---- in words

  virtual std::string_view name_of(core::DType dtype) const = 0;
  virtual std::string describe_elements(PyObject* elements) const = 0;
  // An array that the core has no type for.
  virtual std::string describe_foreign(PyObject* array) const = 0;

  // ---- memory

  virtual ArrayView view(PyObject* array) const = 0;
  // None: Plans cannot read such elements.
  virtual std::optional<core::DType> dtype_of(PyObject* array) const = 0;
  // What a Plan reads, if it is of that dtype, or has its bits where the library has no name for
  // it, and of that rank. Borrows the array; `owner` is set to it without a new reference.
  virtual bool read(PyObject* array, core::DType dtype, int rank,
                    runtime::BufferView& view) const = 0;
  // Whether some element of one is one of the other's, of two whose extents meet.
  virtual bool share_elements(PyObject* one, PyObject* other) const = 0;
  // The object whose memory it is; borrowed, null: it is its own.
  virtual PyObject* base_of(PyObject* array) const = 0;
  // Whether its own memory is the library's usual one, of which pages may go back to the system.
  virtual bool is_in_usual_memory(PyObject* array) const = 0;

  // ---- making; null or false: a Python error is set

  // A new array in C order, of undefined content, in `out` with one reference.
  virtual bool allocate(core::DType dtype, std::span<const int64_t> shape,
                        runtime::BufferView& out) const = 0;
  // What a Plan made, as an array that owns its memory and shares it with no other result; the
  // buffer's owner is an array of allocate().
  virtual PyObject* result_of(const runtime::BufferView& buffer) const = 0;
  // What a Plan hands back of an argument: the argument itself, or a view of it.
  virtual PyObject* argument_of(const runtime::BufferView& buffer) const = 0;
  // The array with its axes in that order, for the reference given. One that nobody else has is
  // changed in place.
  virtual PyObject* permuted(Ref array, std::span<const int8_t> order, bool fresh) const = 0;
  virtual PyObject* scalar_of(core::DType dtype, const std::byte* element) const = 0;
  // Another array of the same memory that stays as it is now, whatever shape or dtype the program
  // gives the first.
  virtual PyObject* alias(PyObject* array) const = 0;
  // A copy in C order that shares nothing, of an array or of what makes one.
  virtual PyObject* copy(PyObject* array) const = 0;

  // ---- scalars and other objects that stay as they are

  // Whether operators on its scalars of i64, with each other or with Python's ints, are those of
  // Python's ints and make such scalars, and comparisons its bools: wherever the result fits and no
  // divisor is 0.
  bool integers_as_python = false;

  // The element's bits, at most 16 bytes; false: it is no scalar of that dtype.
  virtual bool read_scalar(PyObject* scalar, core::DType dtype, std::byte* bytes) const = 0;
  // Whether two objects of one class are scalars or dtypes that say the same, to the bit.
  virtual bool same_literal(PyObject* one, PyObject* other) const = 0;

  // ---- calls and writes

  // What a call with one array or scalar of its own, and these named arguments (names: a tuple, or
  // null), gives: an array of that element, or a copy of the array in C order that shares nothing.
  enum class Gives : uint8_t { other, array, copy };
  virtual Gives what_gives(PyObject* callee, PyObject* names, PyObject* const* named) const = 0;
  // Whether a call of it has nothing to warn of, whatever the elements are.
  virtual bool is_quiet(PyObject* callee, PyObject* const* arguments, size_t count) const = 0;
  // How a method of one of its generators of random numbers draws a number with as many parameters,
  // without an object: `function` says false where the method itself has something to say, and has
  // drawn nothing then. What it draws from is alive as long as the method. None: it is another one.
  struct Drawing {
    bool (*function)(void* state, const double* parameters, double& drawn);
    void* state;
    std::vector<double> defaults;  // of the parameters that are left out
    // Instead of that, where it draws scalars of the library's, of i64.
    bool (*integer)(void* state, const double* parameters, int64_t& drawn) = nullptr;
  };
  virtual std::optional<Drawing> drawing_of(PyObject* method, size_t parameters) const = 0;
  // Where one of its generators keeps its state, if that is bytes alone: where they are put back it
  // draws the same again. They are there as long as `holder` is. Null: it is another object, or
  // nobody knows where.
  struct RandomState {
    Ref holder;
    std::array<std::span<std::byte>, 2> bytes;
  };
  virtual RandomState random_state_of(PyObject*) const { return {}; }
  // array[...] = value, as the library converts and broadcasts. False: a Python error is set.
  virtual bool write(PyObject* array, PyObject* value) const = 0;
  // How many writes into an array it has counted; nothing where it counts none. And has it go on
  // from that number. False: a Python error is set.
  virtual std::optional<uint32_t> counted_writes(PyObject*) const { return {}; }
  virtual bool set_counted_writes(PyObject*, uint32_t) const { return true; }
  // Whether it lets other threads run while it writes all of the array.
  virtual bool writes_unlocked(PyObject* array) const = 0;

  // ---- what it does about errors of floating-point arithmetic

  // What the program has told it, as a tuple of strings; borrowed, null: a Python error is set. An
  // unchanged state costs one look.
  virtual PyObject* state() const = 0;
  // Has it raise where it would have warned, as of the state() asked for last: until the present
  // context is left (PyContext_Exit). False: a Python error is set.
  virtual bool raise_instead() const = 0;
};

inline constexpr size_t kMostLibraries = 4;

struct LibraryTable {
  const Library* all[kMostLibraries];
  size_t count;
};
extern LibraryTable library_table;

// In the order in which they were added; never none.
inline std::span<const Library* const> libraries() {
  return {library_table.all, library_table.count};
}
// Once for each library, when dvm is imported. It is never let go.
void add_library(Library& library);

// Whose array it is, and of exactly which library's own class; null: it is none.
inline const Library* library_of(PyObject* object) {
  for (const Library* library : libraries()) {
    if (library->is_array(object)) return library;
  }
  return nullptr;
}
inline const Library* exact_library_of(PyObject* object) {
  for (const Library* library : libraries()) {
    if (Py_IS_TYPE(object, library->array_type)) return library;
  }
  return nullptr;
}
// Likewise, of one whose arrays can be read from outside.
inline const Library* open_library_of(PyObject* object) {
  for (const Library* library : libraries()) {
    if (Py_IS_TYPE(object, library->fields.type)) return library;
  }
  return nullptr;
}
// By the name of its module; null: there is none.
inline const Library* library_named(std::string_view name) {
  for (const Library* library : libraries()) {
    if (library->name == name) return library;
  }
  return nullptr;
}
// Of a word that is an array's, foreign or not.
inline const Library& library_in(Signature word) {
  return *library_table.all[library_number_of(word)];
}

}  // namespace dvm::capture
