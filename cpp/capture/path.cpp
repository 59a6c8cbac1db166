#include "capture/path.h"

#include "capture/numpy_host.h"
#include "capture/scratch.h"

namespace dvm::capture {

namespace {

uint64_t version_of(PyObject* dict) {
  return reinterpret_cast<PyDictObject*>(dict)->ma_version_tag;
}

const char* name_of(const Source& source) {
  if (source.kind == Source::Kind::argument) return "an argument";
  if (source.kind == Source::Kind::cell) return "a closure variable";
  if (source.kind == Source::Kind::code) return "the code of a called function";
  return printable(source.name.get());
}

bool differs(std::string* failed, const Source& source, const char* how) {
  if (failed) *failed = std::string(name_of(source)) + " " + how;
  return false;
}

// Reads a Python number as the Plan wants it; false when an int does not fit 64 bits.
bool read_scalar(PyObject* object, core::Scalar& scalar) {
  if (PyFloat_CheckExact(object)) {
    scalar = core::Scalar::of_float(PyFloat_AS_DOUBLE(object));
    return true;
  }
  int overflow = 0;
  const long long value = PyLong_AsLongLongAndOverflow(object, &overflow);
  scalar = core::Scalar::of_int(value);
  return overflow == 0;
}

// Arrays reached by name: a host call may let another thread run, which may rebind the name. The
// caller holds the arguments itself.
class HeldObjects {
 public:
  HeldObjects() = default;
  HeldObjects(const HeldObjects&) = delete;
  HeldObjects& operator=(const HeldObjects&) = delete;
  ~HeldObjects() {
    while (count_ > 0) Py_DECREF(objects_[--count_]);
  }
  void hold(PyObject* object) { objects_[count_++] = Py_NewRef(object); }

 private:
  Scratch<PyObject*, kMaxArguments> objects_;
  size_t count_ = 0;
};

// Host calls of a Plan are pure, so running the original repeats nothing that can be seen.
Replay drop_exception() {
  if (!PyErr_ExceptionMatches(PyExc_Exception)) return Replay::raised;
  PyErr_Clear();
  return Replay::dropped;
}

// Runs the mock program; results are consumed. Null: a Python error is set.
PyObject* build_value(const Path& path, PyObject* const* arguments,
                      std::span<runtime::BufferView> results) {
  Scratch<PyObject*, kMaxMocks> stack;
  size_t depth = 0;
  PyObject* made = nullptr;  // by the last step in the end, which is the value
  // A NumPy scalar returned twice is one object; borrowed, since the stack holds it.
  Scratch<PyObject*, kMaxArguments> scalars;
  std::fill_n(scalars.first(results.size()).begin(), results.size(), nullptr);
  for (const Mock& mock : path.mocks) {
    const auto index = static_cast<size_t>(mock.index);
    made = nullptr;
    switch (mock.kind) {
      case Mock::Kind::result:
        made = array_of(results[index]);
        break;
      case Mock::Kind::scalar:
        // PyArray_Return steals its argument.
        made = scalars[index]
                   ? Py_NewRef(scalars[index])
                   : PyArray_Return(reinterpret_cast<PyArrayObject*>(array_of(results[index])));
        scalars[index] = made;
        break;
      case Mock::Kind::fetch:
        made = Py_XNewRef(path.returned[index].fetch(arguments));
        break;
      case Mock::Kind::constant:
        made = Py_NewRef(path.constants[index].get());
        break;
      case Mock::Kind::tuple:
        made = PyTuple_New(mock.index);
        if (made == nullptr) break;
        depth -= index;
        for (size_t i = 0; i < index; ++i) {
          PyTuple_SET_ITEM(made, static_cast<Py_ssize_t>(i), stack[depth + i]);
        }
        break;
    }
    if (made == nullptr) {
      while (depth > 0) Py_DECREF(stack[--depth]);
      return nullptr;
    }
    stack[depth++] = made;
  }
  return made;
}

}  // namespace

PyObject* Source::fetch(PyObject* const* arguments) const {
  switch (kind) {
    case Kind::argument:
      return arguments[index];
    case Kind::variable:
      return PyDict_GetItemWithError(scope.get(), name.get());
    case Kind::cell:
      return PyCell_GET(scope.get());
    case Kind::code:
      return PyFunction_GET_CODE(scope.get());
  }
  return nullptr;
}

int Path::traverse(visitproc visit, void* arg) const {
  const auto visit_source = [&](const Source& source) -> int {
    Py_VISIT(source.scope.get());
    return 0;
  };
  for (const auto* sources : {&tensors, &scalars, &returned}) {
    for (const Source& source : *sources) {
      if (const int status = visit_source(source)) return status;
    }
  }
  for (const IdentityGuard& guard : identity_guards) {
    if (const int status = visit_source(guard.source)) return status;
    Py_VISIT(guard.object.get());
  }
  for (const SignatureGuard& guard : signature_guards) {
    if (const int status = visit_source(guard.source)) return status;
  }
  for (const auto* refs : {&callees, &constants, &kept}) {
    for (const Ref& ref : *refs) Py_VISIT(ref.get());
  }
  return 0;
}

GuardSet::GuardSet(const Path& path) {
  for (const IdentityGuard& guard : path.identity_guards) {
    if (guard.source.kind != Source::Kind::variable) {
      unversioned_ = true;
      continue;
    }
    bool known = false;
    for (const Version& version : versions_) known |= version.dict == guard.source.scope.get();
    if (!known) versions_.push_back({guard.source.scope.get(), 0});
  }
}

bool GuardSet::check_names(const Path& path, std::string* failed) const {
  for (const IdentityGuard& guard : path.identity_guards) {
    PyObject* now = guard.source.fetch(nullptr);
    if (now != guard.object.get()) return differs(failed, guard.source, "is another object now");
  }
  return true;
}

bool GuardSet::check(const Path& path, PyObject* const* arguments, std::string* failed) {
  bool unchanged = !unversioned_;
  for (const Version& version : versions_) unchanged &= version.tag == version_of(version.dict);
  if (!unchanged) {
    if (!check_names(path, failed)) return false;
    for (Version& version : versions_) version.tag = version_of(version.dict);
  }
  for (const SignatureGuard& guard : path.signature_guards) {
    PyObject* now = guard.source.fetch(arguments);
    if (now == nullptr || signature_of(now) != guard.signature) {
      return differs(failed, guard.source, "has another type, dtype, rank or layout");
    }
  }
  for (const ValueGuard& guard : path.value_guards) {
    PyObject* now = guard.source.fetch(arguments);
    const int equal = now ? PyObject_RichCompareBool(now, guard.value.get(), Py_EQ) : 0;
    if (equal <= 0) return differs(failed, guard.source, "has another value, used as a literal");
  }
  return true;
}

Replay replay(const Path& path, PyObject* const* arguments, PyObject** value,
              runtime::CallTimes* times) {
  Scratch<runtime::BufferView, kMaxArguments> inputs, results;
  Scratch<core::Scalar, kMaxArguments> scalars;
  const runtime::Plan& plan = path.compilation.plan;
  HeldObjects held;
  for (size_t i = 0; i < path.tensors.size(); ++i) {
    PyObject* array = path.tensors[i].fetch(arguments);
    if (path.tensors[i].kind != Source::Kind::argument) held.hold(array);
    inputs[i] = view_of(reinterpret_cast<PyArrayObject*>(array), plan.inputs[i].dtype);
  }
  for (size_t i = 0; i < path.scalars.size(); ++i) {
    if (!read_scalar(path.scalars[i].fetch(arguments), scalars[i])) return Replay::dropped;
  }

  NumpyHost host(path.callees);
  runtime::ExecutionContext& context = runtime::ExecutionContext::acquire();
  context.times = times;
  const size_t result_count = path.result_count;
  const runtime::Outcome outcome =
      runtime::execute(plan, *path.target, host, inputs.first(path.tensors.size()),
                       scalars.first(path.scalars.size()), results.first(result_count), context);
  context.times = nullptr;
  runtime::ExecutionContext::release(context);
  if (outcome == runtime::Outcome::check_failed) return Replay::dropped;
  if (outcome == runtime::Outcome::host_error) return drop_exception();

  *value = build_value(path, arguments, results.first(result_count));
  for (size_t i = 0; i < result_count; ++i) host.release(results[i].owner);
  return *value ? Replay::done : drop_exception();
}

}  // namespace dvm::capture
