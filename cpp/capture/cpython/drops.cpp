#include "capture/cpython/drops.h"

#include <algorithm>
#include <cstring>

#include "capture/cpython/instructions.h"
#include "capture/library/library.h"
#include "capture/record/old_values.h"
#include "capture/record/turns_left.h"

namespace dvm::capture {

namespace {

// The modules are told by their definitions: importing one here would run the import of the user's
// frame.
bool looks_at_lifetimes(PyObject* callee) {
  if (callee == reinterpret_cast<PyObject*>(&_PyWeakref_RefType)) return true;
  if (Py_IS_TYPE(callee, &PyMethodDescr_Type)) {  // resize counts who refers to the array
    const auto* descriptor = reinterpret_cast<PyMethodDescrObject*>(callee);
    return std::strcmp(descriptor->d_method->ml_name, "resize") == 0 &&
           std::strcmp(descriptor->d_common.d_type->tp_name, "numpy.ndarray") == 0;
  }
  if (!PyCFunction_Check(callee)) return false;
  PyObject* owner = PyCFunction_GET_SELF(callee);
  if (owner == nullptr) return false;
  const char* name = reinterpret_cast<PyCFunctionObject*>(callee)->m_ml->ml_name;
  if (std::strcmp(name, "resize") == 0 && library_of(owner) != nullptr) return true;
  const PyModuleDef* definition = PyModule_CheckExact(owner) ? PyModule_GetDef(owner) : nullptr;
  if (definition == nullptr) return false;
  return std::strcmp(definition->m_name, "gc") == 0 ||
         (std::strcmp(definition->m_name, "sys") == 0 && std::strcmp(name, "getrefcount") == 0);
}

// On the stack, of the call that is about to be made; null: it is none, or not known.
const FrameEntry* called_by(const FrameView& f) {
  int below = 0;  // entries from the first argument on, or from what stands for all of them
  switch (f.op) {
    case Op::call:
      below = f.arg;
      break;
    case Op::call_kw:
      below = f.arg + 1;
      break;
    case Op::call_function_ex:
      below = f.arg == 0 ? 1 : 2;
      break;
    default:
      return nullptr;
  }
  if (f.depth < below + 2) return nullptr;
  const FrameEntry* const pair = f.stack + f.depth - below - 2;
  return kCalleeIsBelow || pair[0] != nullptr ? pair : pair + 1;
}

// What it is given, its object first.
std::vector<PyObject*> arguments_of(const FrameView& f, const FrameEntry* callee) {
  const FrameEntry* first = callee + 1;
  const FrameEntry* const end = f.stack + f.depth;
  if (first < end && *first == nullptr) ++first;
  return {first, end};
}

// Operators of its class may be code of the program. It may be nothing, which is dropped, too.
bool runs_code(PyObject* operand) {
  return operand != nullptr && PyType_HasFeature(Py_TYPE(operand), Py_TPFLAGS_HEAPTYPE);
}

// Of the methods of containers those count that drop all; what others drop was an operand, or they
// result in it. Others may be many, and long ones cannot be looked through each time.
bool is_method_but_clear(PyObject* callee) {
  return Py_IS_TYPE(callee, &PyMethodDescr_Type) &&
         std::strcmp(reinterpret_cast<PyMethodDescrObject*>(callee)->d_method->ml_name, "clear") !=
             0;
}

// How many operands on the stack an instruction may drop.
int on_stack(Drops drops) {
  if (drops == Drops::top) return 1;
  if (drops == Drops::sliced) return 3;
  return drops == Drops::operands || drops == Drops::changed ? 2 : 0;
}

// What it holds it gives one by one, and no code of the program runs.
bool is_plain_sequence(PyObject* object) {
  return PyList_CheckExact(object) || PyTuple_CheckExact(object);
}

constexpr DropTable drop_table() {
  DropTable table{};
  table.of.fill(Drops::anything);
  const auto set = [&](Drops drops, std::initializer_list<Op> ops) {
    for (const Op op : ops) table.of[static_cast<size_t>(op)] = drops;
  };
  set(Drops::nothing, {Op::nothing,
                       Op::resume,
                       Op::load_fast,
                       Op::load_fast_and_clear,
                       Op::load_const,
                       Op::load_small_int,
                       Op::load_common_constant,
                       Op::load_global,
                       Op::load_global_under_null,
                       Op::load_deref,
                       Op::load_closure,
                       Op::push_null,
                       Op::copy,
                       Op::swap,
                       Op::kw_names,
                       Op::jump_forward,
                       Op::jump_backward,
                       Op::build_tuple,
                       Op::build_list,
                       Op::build_slice,
                       Op::list_append});
  set(Drops::local, {Op::store_fast, Op::delete_fast});
  set(Drops::top, {Op::pop_top, Op::pop_jump_if_false, Op::pop_jump_if_true, Op::unary_negative,
                   Op::unary_not, Op::to_bool, Op::load_attr, Op::load_method});
  set(Drops::operands, {Op::subscript, Op::compare, Op::compare_truth, Op::contains, Op::is});
  set(Drops::sliced, {Op::slice});
  set(Drops::changed, {Op::binary});
  set(Drops::called, {Op::call, Op::call_kw});
  set(Drops::iterated, {Op::get_iter});
  set(Drops::iterator, {Op::for_iter});
  set(Drops::unpacked, {Op::unpack_sequence});
  set(Drops::stored, {Op::store_subscript});
  return table;
}

}  // namespace

constinit const DropTable kDrops = drop_table();

Effects effects_on_held(Drops kind, const FrameView& f, const Lifetimes& lifetimes) {
  constexpr Effects kAnything = {true, true};
  const auto drops = [&](PyObject* object, Py_ssize_t references) {
    return object != nullptr && references > 0 && !is_number_or_text(object) &&
           lifetimes.has_others_at_most(object, references);
  };
  const auto drops_entry = [&](const FrameEntry& entry) {
    return drops(entry, entry.is_counted());
  };
  const FrameEntry* const end = f.stack + f.depth;
  switch (kind) {
    case Drops::nothing:
      return {};
    case Drops::local:
      return {drops_entry(f.locals[f.arg])};
    case Drops::top:  // an attribute may be code
      if (f.depth < 1) return kAnything;
      return {drops_entry(end[-1]), runs_code(end[-1])};
    case Drops::changed:  // by `*=` a list may lose its items
      if (f.depth < 2 || (f.arg >= kInplaceBase && !is_mute(end[-2]))) return kAnything;
      [[fallthrough]];
    case Drops::operands: {
      if (f.depth < 2 || runs_code(end[-1]) || runs_code(end[-2])) return kAnything;
      if (end[-1].object() == end[-2].object()) {
        return {drops(end[-1], end[-1].is_counted() + end[-2].is_counted())};
      }
      return {drops_entry(end[-1]) || drops_entry(end[-2])};
    }
    case Drops::sliced:
      if (f.depth < 3 || runs_code(end[-1]) || runs_code(end[-2]) || runs_code(end[-3])) {
        return kAnything;
      }
      return {drops_entry(end[-1]) || drops_entry(end[-2]) || drops_entry(end[-3])};
    case Drops::called: {  // Python's functions take over what they are given
      const FrameEntry* const callee = called_by(f);
      return callee != nullptr && PyFunction_Check(*callee) ? Effects() : kAnything;
    }
    case Drops::iterated:  // the iterator has it
      return f.depth > 0 && is_plain_sequence(end[-1]) ? Effects() : kAnything;
    case Drops::iterator: {  // that comes to its end, or hands out what only it has
      if (f.depth < 1) return kAnything;
      if (Py_IS_TYPE(end[-1], &PyRangeIter_Type)) return {};
      const int64_t left = turns_left(end[-1]);
      const bool is_plain =
          Py_IS_TYPE(end[-1], &PyListIter_Type) || Py_IS_TYPE(end[-1], &PyTupleIter_Type);
      return left < 0 ? kAnything : Effects{left == 0 || !is_plain};
    }
    case Drops::unpacked:
      return f.depth > 0 && is_plain_sequence(end[-1]) ? Effects{drops_entry(end[-1])} : kAnything;
    case Drops::stored: {  // value, list, index
      if (f.depth < 3 || !PyList_CheckExact(end[-2]) || !PyLong_CheckExact(end[-1])) {
        return kAnything;
      }
      const Py_ssize_t size = PyList_GET_SIZE(end[-2]);
      Py_ssize_t place = PyLong_AsSsize_t(end[-1]);
      if (PyErr_Occurred()) PyErr_Clear();
      if (place < 0) place += size;
      if (place < 0 || place >= size) return kAnything;  // it raises
      return {drops(PyList_GET_ITEM(end[-2].object(), place), 1) || drops_entry(end[-2]), true};
    }
    case Drops::anything:
      break;
  }
  return kAnything;
}

bool tell_dropped(const FrameView& f, Record& record) {
  OldValues old;
  const FrameEntry* const end = f.stack + f.depth;
  const auto name = [&] { return f.name(f.arg); };
  int of_stack = 0;
  switch (f.op) {
    case Op::store_attr:
    case Op::delete_attr:
      old.add_attribute(end[-1], name());
      of_stack = 1;
      break;
    case Op::store_subscript:
    case Op::delete_subscript:
      old.add_item(end[-2], end[-1]);
      of_stack = 2;
      break;
    case Op::store_global:
    case Op::delete_global:
      old.add_variable(f.globals, name());
      break;
    case Op::store_deref:
    case Op::delete_deref:
      old.add_contents(f.locals[f.arg]);
      break;
    case Op::store_fast:
    case Op::delete_fast:
      old.add(f.locals[f.arg]);
      break;
    case Op::call:
    case Op::call_kw:
      if (const FrameEntry* const callee = called_by(f); callee && !PyFunction_Check(*callee)) {
        if (!is_method_but_clear(*callee)) old.add_call(*callee, arguments_of(f, callee));
        of_stack = static_cast<int>(end - callee);
      }
      break;
    case Op::unpack_sequence:
      of_stack = 1;
      break;
    default:
      of_stack = on_stack(kDrops.of[static_cast<size_t>(f.op)]);
  }
  for (int i = 1; i <= std::min(of_stack, f.depth); ++i) old.add(end[-i]);
  if (PyErr_Occurred()) PyErr_Clear();
  return record.drop(old.values());
}

void refuse_look(PyObject* callee) {
  if (looks_at_lifetimes(callee)) throw Unkeepable("lifetime-looked-at");
}

void refuse_looking_call(const FrameView& f) {
  if (const FrameEntry* const callee = called_by(f)) refuse_look(*callee);
}

}  // namespace dvm::capture
