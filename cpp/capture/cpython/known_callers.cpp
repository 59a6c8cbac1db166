#include "capture/record/known_callers.h"

#include <cstring>

#include "capture/record/callees.h"
#include "capture/record/leaves.h"
#include "capture/record/special_methods.h"
#include "capture/record/trampolines.h"

namespace dvm::capture {

namespace {

using core::SeenEvent;
using Kind = core::SeenEvent::Kind;

class Body {
 public:
  Body(Record& record, const FrameRecorder& caller, PyFrameObject* frame)
      : record_(record),
        caller_(caller),
        event_(record.event(caller.event())),
        operands_(record.data().operands_of(event_).begin(),
                  record.data().operands_of(event_).end()),
        f_(frame_view(frame)),
        function_(reinterpret_cast<PyFunctionObject*>(dvm_frame_function(frame))) {}

  std::optional<Entry> enter() {
    if (is_leaf(object_of_function()) || !find_arguments()) return std::nullopt;
    return bind(arguments_);
  }

  // With these arguments.
  std::optional<Entry> bind(const Arguments& arguments) {
    auto parameters = bind_arguments(record_, function_, f_, arguments, caller_.place());
    if (!parameters) return std::nullopt;
    return Entry{std::move(*parameters), instance_};
  }

  std::optional<Bounce> bounce() {
    const bool is_call = event_.kind == Kind::call || event_.kind == Kind::call_ex;
    if (!is_call || parameter_slots(f_.code) == 0) return std::nullopt;
    Ref target = leads_to(object_of_function(), parameter(f_, 0));
    if (!target || !find_callee()) return std::nullopt;
    return Bounce{caller_.event(), std::move(arguments_), std::move(target)};
  }

 private:
  PyObject* object_of_function() const { return reinterpret_cast<PyObject*>(function_); }
  PyObject* object(size_t operand) const { return record_.object(operands_[operand]); }
  // Whether the body is what the operand's type defines under this name.
  bool is_method(size_t operand, const char* name) const {
    return special_method(Py_TYPE(object(operand)), name) == object_of_function();
  }
  bool with(std::initializer_list<NodeId> nodes) {
    arguments_.positional = nodes;
    return true;
  }

  bool find_arguments() {
    switch (event_.kind) {
      case Kind::call:
      case Kind::call_ex:
        return find_callee();
      case Kind::binary:
      case Kind::inplace:
      case Kind::compare:
        return find_operator();
      case Kind::unary:
      case Kind::branch:
        return find_truth_or_unary();
      case Kind::attribute:
      case Kind::store_attribute:
      case Kind::delete_attribute:
        return find_descriptor();
      case Kind::contains:
        return is_method(1, "__contains__") && with({operands_[1], operands_[0]});
      default:
        break;
    }
    // The operands of the others are the method's arguments as they are.
    const char* name = method_of(event_.kind);
    const bool missing =
        event_.kind == Kind::subscript && PyDict_Check(object(0)) && is_method(0, "__missing__");
    if (!missing && (name == nullptr || !is_method(0, name))) return false;
    arguments_.positional = operands_;
    return true;
  }

  bool find_callee() {
    Callee callee(record_, caller_, function_, f_);
    if (!callee.find(operands_[0])) return false;
    arguments_ = callee.arguments();
    instance_ = callee.instance();
    return true;
  }

  bool find_operator() {
    const OperatorMethods methods = methods_of(PyUnicode_AsUTF8(as_object(event_.name)));
    if (event_.kind == Kind::inplace && is_method(0, methods.inplace)) {
      return with({operands_[0], operands_[1]});
    }
    // `!=` asks __eq__ where the type defines no __ne__, and turns the answer round.
    const bool left = is_method(0, methods.left) ||
                      (std::strcmp(methods.left, "__ne__") == 0 && is_method(0, "__eq__"));
    if (left && parameter(f_, 0) == object(0)) return with({operands_[0], operands_[1]});
    return is_method(1, methods.right) && with({operands_[1], operands_[0]});
  }

  bool find_truth_or_unary() {
    const std::string_view name = PyUnicode_AsUTF8(as_object(event_.name));
    const bool truth = event_.kind == Kind::branch || name == "not";
    const bool found = truth ? is_method(0, "__bool__") || is_method(0, "__len__")
                             : is_method(0, unary_method(name));
    return found && with({operands_[0]});
  }

  // A property, a descriptor written in Python, or the type's own hook for all attributes.
  bool find_descriptor() {
    PyObject* name = as_object(event_.name);
    const AttributeMethods methods = methods_of_access(event_.kind);
    PyObject* descriptor = _PyType_Lookup(Py_TYPE(object(0)), name);
    if (descriptor != nullptr && PyObject_TypeCheck(descriptor, &PyProperty_Type)) {
      Ref accessor = Ref::steal(PyObject_GetAttrString(descriptor, methods.property));
      if (!accessor) PyErr_Clear();
      if (accessor.get() == object_of_function()) {
        arguments_.positional = operands_;
        return true;
      }
    }
    if (descriptor != nullptr &&
        special_method(Py_TYPE(descriptor), methods.descriptor) == object_of_function()) {
      arguments_.positional = operands_;
      arguments_.positional.insert(arguments_.positional.begin(), record_.constant(descriptor));
      if (event_.kind == Kind::attribute) {
        arguments_.positional.push_back(
            record_.constant(reinterpret_cast<PyObject*>(Py_TYPE(object(0)))));
      }
      return true;
    }
    if (!is_method(0, methods.hook) &&
        (event_.kind != Kind::attribute || !is_method(0, "__getattribute__"))) {
      return false;
    }
    arguments_.positional = operands_;
    arguments_.positional.insert(arguments_.positional.begin() + 1, record_.constant(name));
    return true;
  }

  Record& record_;
  const FrameRecorder& caller_;
  const SeenEvent event_;  // a copy, for events are added meanwhile
  const std::vector<NodeId> operands_;
  const FrameView f_;
  PyFunctionObject* function_;
  Arguments arguments_;
  NodeId instance_ = kNoNode;
};

}  // namespace

bool Bounce::passes(PyFrameObject* frame) const {
  return dvm_frame_function(frame) != target.get();
}

std::optional<Bounce> begin_bounce(Record& record, const FrameRecorder& caller,
                                   PyFrameObject* frame) {
  const bool is_run = caller.event() >= 0 && dvm_frame_caller(frame) == caller.identity();
  if (!is_run || !is_trampoline(dvm_frame_function(frame))) return std::nullopt;
  return Body(record, caller, frame).bounce();
}

std::optional<Entry> enter_body(Record& record, const FrameRecorder& caller, PyFrameObject* frame,
                                const std::optional<Bounce>& bounce) {
  constexpr int kSuspends = CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR;
  const bool bounces = bounce && bounce->event == caller.event();
  const bool is_run = bounces || dvm_frame_caller(frame) == caller.identity();
  if (caller.event() < 0 || !is_run || (frame_view(frame).code->co_flags & kSuspends)) {
    return std::nullopt;
  }
  Body body(record, caller, frame);
  return bounces ? body.bind(bounce->arguments) : body.enter();
}

}  // namespace dvm::capture
