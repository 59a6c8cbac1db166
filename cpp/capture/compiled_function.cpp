#include "capture/compiled_function.h"

#include "capture/call_bound.h"

namespace dvm::capture {

namespace {

PyCodeObject* code_of(const Ref& function) {
  return reinterpret_cast<PyCodeObject*>(PyFunction_GET_CODE(function.get()));
}

// Why a function of this shape is never captured, or empty.
std::string refusal_of(const PyCodeObject* code) {
#if !DVM_CAPTURE
  return "capture needs CPython 3.11; this is another version";
#endif
  if (code->co_flags & (CO_VARARGS | CO_VARKEYWORDS)) return "*args or **kwargs in its signature";
  if (code->co_flags & (CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR)) {
    return "it is a generator or a coroutine";
  }
  if (code->co_argcount + code->co_kwonlyargcount > kMaxParameters) {
    return "more than " + std::to_string(kMaxParameters) + " parameters";
  }
  return {};
}

}  // namespace

CompiledFunction::CompiledFunction(PyFunctionObject* function, Lower lower)
    : function_(Ref::borrow(reinterpret_cast<PyObject*>(function))), lower_(lower) {
  adopt_code();
}

void CompiledFunction::adopt_code() {
  if (PyFunction_GET_CODE(function_.get()) == code_.get()) return;
  code_ = Ref::borrow(PyFunction_GET_CODE(function_.get()));
  refusal_ = refusal_of(code_of(function_));
  parameters_ = parameter_count(reinterpret_cast<PyFunctionObject*>(function_.get()));
  positional_ = code_of(function_)->co_argcount;
  retired_.push_back(std::exchange(tree_, {}));
  path_count_ = 0;
}

bool CompiledFunction::bind(PyObject* const* args, Py_ssize_t count, PyObject* keywords,
                            PyObject** bound) const {
  const PyCodeObject* code = code_of(function_);
  if (count > code->co_argcount) return false;
  std::fill(std::copy(args, args + count, bound), bound + parameters_, nullptr);
  const Py_ssize_t keyword_count = keywords ? PyTuple_GET_SIZE(keywords) : 0;
  for (Py_ssize_t k = 0; k < keyword_count; ++k) {
    PyObject* name = PyTuple_GET_ITEM(keywords, k);
    int slot = code->co_posonlyargcount;
    while (slot < parameters_ &&
           PyUnicode_Compare(PyTuple_GET_ITEM(code->co_localsplusnames, slot), name) != 0) {
      ++slot;
    }
    if (slot == parameters_ || bound[slot] != nullptr) return false;
    bound[slot] = args[count + k];
  }
  PyObject* defaults = PyFunction_GET_DEFAULTS(function_.get());
  PyObject* keyword_defaults = PyFunction_GET_KW_DEFAULTS(function_.get());
  const Py_ssize_t first_default = code->co_argcount - (defaults ? PyTuple_GET_SIZE(defaults) : 0);
  for (int slot = 0; slot < parameters_; ++slot) {
    if (bound[slot] != nullptr) continue;
    if (slot >= code->co_argcount) {
      PyObject* name = PyTuple_GET_ITEM(code->co_localsplusnames, slot);
      bound[slot] = keyword_defaults ? PyDict_GetItemWithError(keyword_defaults, name) : nullptr;
    } else if (slot >= first_default) {
      bound[slot] = PyTuple_GET_ITEM(defaults, slot - first_default);
    }
    if (bound[slot] == nullptr) return false;
  }
  return true;
}

CompiledFunction::Leaf* CompiledFunction::find(PyObject* const* bound, std::string* failed) {
  Signature signatures[kMaxParameters];
  for (int i = 0; i < parameters_; ++i) signatures[i] = signature_of(bound[i]);
  for (const auto& leaf : tree_.find({signatures, static_cast<size_t>(parameters_)})) {
    if (leaf->guards.check(*leaf->path, bound, failed)) return leaf.get();
  }
  return nullptr;
}

PyObject* CompiledFunction::call(PyObject* self, PyObject* const* args, size_t nargsf,
                                 PyObject* keywords) {
  ++stats_.calls;
  adopt_code();
  PyObject* storage[kMaxParameters];
  PyObject* const* bound = args;
  const Py_ssize_t count = PyVectorcall_NARGS(nargsf);
  const auto original = [&] {
    return PyObject_Vectorcall(function_.get(), args, nargsf, keywords);
  };
  if (!refusal_.empty()) {
    ++stats_.fallbacks;
    return original();
  }
  if (count != parameters_ || count > positional_ || keywords != nullptr) {
    if (!bind(args, count, keywords, storage)) return original();
    bound = storage;
  }
  Leaf* leaf = find(bound);
  if (leaf == nullptr) {
    ++stats_.misses;
    return capture(self, bound);
  }
  ++leaf->hits;
  if (!leaf->path->reason.empty()) {
    ++stats_.fallbacks;
    return original();
  }
  PyObject* value = nullptr;
  switch (replay(*leaf->path, bound, &value)) {
    case Replay::done:
      ++stats_.hits;
      return value;
    case Replay::raised:
      return nullptr;
    case Replay::dropped:
      break;
  }
  ++stats_.drops;
  return original();
}

PyObject* CompiledFunction::timed_call(PyObject* const* args, Py_ssize_t count,
                                       runtime::CallTimes& times) {
  adopt_code();
  PyObject* storage[kMaxParameters];
  if (!refusal_.empty() || !bind(args, count, nullptr, storage)) return nullptr;
  Leaf* leaf = find(storage);
  if (leaf == nullptr || !leaf->path->reason.empty()) return nullptr;
  PyObject* value = nullptr;
  replay(*leaf->path, storage, &value, &times);
  return value;
}

PyObject* CompiledFunction::capture(PyObject* self, PyObject* const* bound) {
  auto* function = reinterpret_cast<PyFunctionObject*>(function_.get());
  if (path_count_ == kMaxPaths) {
    ++path_count_;  // warn once
    if (PyErr_WarnFormat(PyExc_RuntimeWarning, 1,
                         "dvm: %S reached the limit of %d paths; calls that match none run "
                         "uncompiled (see its stats)",
                         function->func_qualname, kMaxPaths) < 0) {
      return nullptr;
    }
  }
  if (path_count_ >= kMaxPaths) {
    ++stats_.fallbacks;
    return call_bound(function, bound);
  }
  Signature signatures[kMaxParameters];
  std::unique_ptr<Path> path;
  for (int i = 0; i < parameters_; ++i) {
    signatures[i] = signature_of(bound[i]);
    if (argument_of(signatures[i]) != Argument::unsupported || path) continue;
    path = std::make_unique<Path>();
    path->reason = "an argument dvm does not take (" + describe(bound[i]) + ")";
    const PyCodeObject* code = code_of(function_);
    path->reason_at = core::make_loc(printable(code->co_filename), code->co_firstlineno);
  }
  Trace trace;
  if (path) {
    trace.result = Ref::steal(call_bound(function, bound));
  } else {
    trace = trace_call(function, bound);
  }
  if (!trace.result) return nullptr;  // the user's own exception: no path to keep
  if (!path) path = lower_(self, trace, bound, parameters_);
  if (path == nullptr) return nullptr;
  if (path->reason.empty()) {
    if (stats_.captures++ > 0) ++stats_.recaptures;
  } else {
    ++stats_.fallbacks;
  }
  for (int i = 0; i < parameters_; ++i) {
    if (argument_of(signatures[i]) == Argument::object) path->kept.push_back(Ref::borrow(bound[i]));
  }
  tree_.insert({signatures, static_cast<size_t>(parameters_)},
               std::make_unique<Leaf>(std::move(path)));
  ++path_count_;
  return trace.result.release();
}

std::vector<std::string> CompiledFunction::explain_miss(PyObject* const* args, Py_ssize_t count) {
  adopt_code();
  std::vector<std::string> reasons;
  PyObject* bound[kMaxParameters];
  if (!refusal_.empty()) return {refusal_};
  if (!bind(args, count, nullptr, bound)) return {"the arguments do not fit the signature"};
  std::string failed;
  if (find(bound, &failed) != nullptr) return {};
  if (!failed.empty()) return {failed};
  for (int i = 0; i < parameters_; ++i) {
    reasons.push_back("argument " + std::to_string(i) +
                      " is a new combination: " + describe(bound[i]));
  }
  return reasons;
}

int CompiledFunction::traverse(visitproc visit, void* arg) const {
  Py_VISIT(function_.get());
  Py_VISIT(code_.get());
  int status = 0;
  const auto visit_leaf = [&](const Leaf& leaf) {
    if (status == 0) status = leaf.path->traverse(visit, arg);
  };
  tree_.visit(visit_leaf);
  for (const GuardTree<Leaf>& tree : retired_) tree.visit(visit_leaf);
  return status;
}

}  // namespace dvm::capture
