#include "capture/replay/numbers/turn_code.h"

#include <algorithm>
#include <utility>

#include "capture/library/library.h"
#include "capture/replay/loop.h"
#include "capture/replay/numbers/draw_step.h"
#include "capture/replay/numbers/graph_code.h"
#include "capture/replay/numbers/object_steps.h"
#include "capture/replay/numbers/operators.h"
#include "core/ops/fp_flags.h"

namespace dvm::capture::numbers {

namespace {

// A scalar of a library's, or what says what elements are.
bool is_literal(PyObject* object) {
  return std::ranges::any_of(libraries(), [&](const Library* library) {
    return library->is_scalar(object) || library->same_literal(object, object);
  });
}

// Of such there is nothing that a turn could change.
bool is_plain(PyObject* object) {
  if (PyTuple_CheckExact(object)) {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(object); ++i) {
      if (!is_plain(PyTuple_GET_ITEM(object, i))) return false;
    }
    return true;
  }
  return PyFloat_CheckExact(object) || PyLong_CheckExact(object) || PyBool_Check(object) ||
         PyUnicode_CheckExact(object) || PySlice_Check(object) || object == Py_None ||
         object == Py_Ellipsis || PyType_Check(object) || is_literal(object);
}

// Constants are what is called, lists what is handed to that.
bool may_follow_commit(StepOp op) {
  switch (op) {
    case StepOp::copyto_:
    case StepOp::effect_:
    case StepOp::constant_:
    case StepOp::list_:
    case StepOp::tuple_:
    case StepOp::return_:
      return true;
    default:
      return false;
  }
}

// Whether it depends on what a list holds, which is the same object with something appended.
bool looks_into(StepOp op) {
  switch (op) {
    case StepOp::item_:
    case StepOp::iterate_:
      return true;
    default:
      return false;
  }
}

}  // namespace

// One thing behind all else, which has happened or not, need not be taken back.
bool TurnCode::needs_attempt() const {
  int appends = 0;
  for (const auto& [path, step] : steps_) {
    if (step->op == StepOp::loop_ || step->op == StepOp::call_random_) return true;
    if (step->op != StepOp::effect_) continue;
    if (object(path->operands(*step)[1]) != list_method("extend") || ++appends > 1) return true;
  }
  return false;
}

bool TurnCode::append(const Path& path) {
  steps_ = all_steps(path);
  known_.resize(registers_.size());
  bound_.begin_way(root_of(path), -1);
  if (needs_attempt()) turn_->attempt_ = std::make_unique<Attempt>();
  for (const auto& [holder, step] : steps_) {
    if (!append(*holder, *step)) return false;
  }
  // What is done to arrays as a whole cannot be taken back, so that lists must not be changed, too.
  if (turn_->attempt_ && array_copies_ > 0 && changes_.changes_lists) return false;
  if (ended_) place_result();
  return ended_;
}

bool TurnCode::define(int32_t reg, const Number& number) {
  known(reg) = {Known::Is::number, number};
  return true;
}

bool TurnCode::define(int32_t reg, const std::optional<Number>& number) {
  return number.has_value() && define(reg, *number);
}

std::optional<Number> TurnCode::number(int32_t reg) {
  const auto found = value(reg);
  return found && found->type.is_number() ? found : std::nullopt;
}

std::optional<Number> TurnCode::value(int32_t reg) {
  if (known(reg).is == Known::Is::typed) {
    auto type = type_of(reg);
    if (!type) type = known(reg).hints[0];
    if (!type) return {};
    expect_type(reg, *type);
    // What it is otherwise no path has asked here.
    code_.forget_expectations();
  }
  if (known(reg).is == Known::Is::number) return known(reg).number;
  if (!is_same(reg) || object(reg) == nullptr) return {};
  const auto found = value_of(object(reg));
  if (!found) return {};
  const Number same{code_.cell(found->second), found->first};
  bound_.add(home(reg), same);
  return same;
}

void TurnCode::expect_type(int32_t reg, Type type) {
  const Number number{known(reg).number.cell, type};
  code_.expect_value(known(reg).type, word_of(type));
  define(reg, number);
}

std::optional<Type> TurnCode::type_of(int32_t reg) const {
  for (const auto& [path, step] : steps_) {
    if (step->op != StepOp::guard_type_ && step->op != StepOp::guard_is_) continue;
    const int32_t* const p = path->operands(*step);
    PyObject* const expected = path->known(p[1]);
    if (p[0] != reg || expected == nullptr) continue;
    if (step->op == StepOp::guard_type_) return type_of_python(expected);
    const auto found = value_of(expected);
    return found ? std::optional(found->first) : std::nullopt;
  }
  const auto found = object(reg) ? value_of(object(reg)) : std::nullopt;
  return found ? std::optional(found->first) : std::nullopt;
}

std::optional<Elements> TurnCode::array(int32_t reg) {
  if (!is_same(reg) || object(reg) == nullptr) return {};
  const Library* const library = open_library_of(object(reg));
  const auto dtype = library != nullptr ? library->dtype_of(object(reg)) : std::nullopt;
  if (!dtype) return {};
  Elements elements{*dtype, static_cast<uint16_t>(library->number), code_.cell()};
  for (int d = 0; d < library->fields.look(object(reg)).rank; ++d) {
    const int32_t size = code_.cell();
    elements.axes.push_back({size, code_.cell()});
  }
  bound_.add(home(reg), elements);
  return elements;
}

bool TurnCode::is_of_same(const Path& path, const Step& step) {
  bool same = true;
  for_each_register(path, step, [&](const int32_t& reg, bool defines) {
    same = same && (defines || is_same(reg));
  });
  return same;
}

bool TurnCode::append(const Path& path, const Step& step) {
  const int32_t* const p = path.operands(step);
  path_ = &path;
  step_ = &step;
  if (committed_ && !may_follow_commit(step.op)) return false;
  switch (step.op) {
    case StepOp::argument_:
      return argument(p[0], p[1]);
    case StepOp::loop_:
      return inner_loop(p);
    case StepOp::call_:
      if (iterates(p)) return true;
      break;
    case StepOp::call_random_:
      return drawn(p);
    case StepOp::item_:
    case StepOp::operator_:
    case StepOp::guard_length_:
    case StepOp::guard_truth_:
      if (listed(step, p)) return true;
      break;
    case StepOp::require_:
      return required(p[0]);
    case StepOp::lend_:
      return true;
    case StepOp::run_:
      return segment(*path.segments[static_cast<size_t>(p[0])]);
    case StepOp::effect_:
      return changes_list(p);
    case StepOp::list_:
      known(p[0]) = {Known::Is::parts, {}, {p + 2, p + 2 + p[1]}};
      return committed_;
    case StepOp::copyto_:
      return copy(p[0], p[1]);
    case StepOp::put_:
      return put(p[0], p[1]);
    case StepOp::forget_:
      return true;
    case StepOp::commit_:
      committed_ = true;
      if (flags_ != 0) code_.emit(Op::expect_quiet, 0, 0, core::fp::state_of(flags_));
      commit_ = code_.place();
      return true;
    case StepOp::return_:
      return give(known(p[0]).parts);
    case StepOp::tuple_:
      known(p[0]) = {Known::Is::parts, {}, {p + 2, p + 2 + p[1]}};
      if (committed_ || !is_of_same(path, step)) return true;
      known(p[0]).is = Known::Is::object;
      return granted();
    case StepOp::slice_:
      known(p[0]) = {Known::Is::slice, {}, {p + 2, p + 2 + p[1]}};
      if (!is_of_same(path, step)) return true;
      known(p[0]).is = Known::Is::object;
      return granted();
    default:
      break;
  }
  if (is_of_same(path, step)) return same(path, step);
  return changing(path, step, p);
}

bool TurnCode::same(const Path& path, const Step& step) {
  const Category category = info(step.op).category;
  if (step.op == StepOp::raises_) return false;
  if (looks_into(step.op) && changes_.changes_lists) {
    bool is_of_list = false;
    for_each_register(path, step, [&](const int32_t& reg, bool defines) {
      is_of_list = is_of_list || (!defines && object(reg) && PyList_Check(object(reg)));
    });
    if (is_of_list) return false;
  }
  if (category == Category::fetch) return granted();
  if (category == Category::guard || category == Category::choice) return granted();
  if (step.op != StepOp::operator_ && step.op != StepOp::call_) return false;
  const int32_t* const p = path.operands(step);
  bool plain = true, given = true;
  for_each_register(path, step, [&](const int32_t& reg, bool defines) {
    PyObject* const held = defines ? nullptr : object(reg);
    given = given && (defines || held != nullptr);
    plain = plain && given && (defines || is_plain(held) || PyCFunction_Check(held));
  });
  // What is made of numbers, or a view of an array; elements that are read may change.
  const bool is_call = step.op == StepOp::call_;
  const bool makes_view = !is_call && given && static_cast<Operator>(p[1]) == Operator::getitem &&
                          exact_library_of(object(p[2])) && is_plain(object(p[3]));
  if (is_call ? !plain || p[4 + p[2]] != 0 : !plain && !makes_view) return false;
  return granted() && object(p[0]) != nullptr && (plain || exact_library_of(object(p[0])));
}

bool TurnCode::argument(int32_t reg, int32_t slot) {
  const auto place = static_cast<size_t>(slot);
  const bool is_item = place + 1 == changes_.slots.size();
  if (turn_ == nullptr && changes_.slots[place]) {
    return inner_ != nullptr ? inner_argument(reg, slot) : number_argument(reg, slot);
  }
  if (!granted()) return false;
  if (!changes_.slots[place]) return object(reg) != nullptr;
  if (place + 1 == changes_.slots.size() && object(reg) && PyTuple_CheckExact(object(reg))) {
    known(reg).is = Known::Is::item;
    turn_->item_size_ = PyTuple_GET_SIZE(object(reg));
    return true;
  }
  if (const auto like = Likeness::of(object(reg))) {
    Slot& taken = new_slot(*like);
    taken.hold(object(reg));
    known(reg) = {.is = Known::Is::array, .parts = {slot}, .slot = &taken, .is_taken = true};
    const Turn::TakenArray array{place, reg, &taken, *like};
    if (place + 1 == changes_.slots.size()) {
      turn_->array_item_ = array;
    } else {
      turn_->array_takes_.push_back(array);
    }
    return true;
  }
  const auto read = is_item ? number_of : value_of;
  const auto found = object(reg) ? read(object(reg)) : std::nullopt;
  if (!found) {
    known(reg) = {Known::Is::unknown, {}, {slot}};
    return true;
  }
  const Number number{code_.cell(), found->first};
  turn_->takes_.push_back({place, number});
  if (place + 1 == changes_.slots.size()) {
    turn_->item_ = number.cell;
    turn_->item_type_ = number.type;
  }
  return define(reg, number);
}

bool TurnCode::number_argument(int32_t reg, int32_t slot) {
  const auto place = static_cast<size_t>(slot);
  const bool is_item = place + 1 == changes_.slots.size();
  const auto type = entry_->types[place];
  if (!type) {
    known(reg) = {is_item ? Known::Is::item : Known::Is::unknown, {}, {slot}};
    return true;
  }
  body_->taken_[place] = true;
  return define(reg, body_->home(place, *type));
}

bool TurnCode::changing(const Path& path, const Step& step, const int32_t* p) {
  switch (step.op) {
    case StepOp::shape_:
    case StepOp::guard_layout_:
    case StepOp::guard_writeable_:
      // The same of all arrays that are like this one.
      return known(p[0 + (step.op == StepOp::shape_)]).is_taken && granted();
    case StepOp::guard_length_:
      if (known(p[0]).is != Known::Is::item) return false;
      if (turn_ != nullptr) return granted();
      goes_otherwise_ = static_cast<int64_t>(parts_of_item()) != p[1];
      return !goes_otherwise_;
    case StepOp::item_:
      if (known(p[1]).is == Known::Is::loop) return part(p[0], known(p[1]), p[2]);
      if (known(p[1]).is != Known::Is::item || !item(p[0], p[2])) return false;
      return turn_ == nullptr || granted();
    case StepOp::guard_is_:
      return guard_is(p);
    case StepOp::guard_same_:
      return compared(ComparedStep::How::same, p);
    case StepOp::guard_overlap_:
      return compared(ComparedStep::How::overlap, p);
    case StepOp::guard_shared_:
      return compared(ComparedStep::How::shared, p);
    case StepOp::guard_type_:
      return guard_type(p);
    case StepOp::guard_signature_: {
      if (known(p[0]).is_taken) return granted();
      const auto given = number(p[0]);
      if (!given || given->type.kind == Kind::boolean) return false;
      const Ref example = Ref::steal(object_of(given->type, {.i = 1}));
      if (!example) return false;
      goes_otherwise_ = !path.signatures[static_cast<size_t>(p[1])].holds(example.get());
      return !goes_otherwise_;
    }
    case StepOp::guard_truth_: {
      const auto given = value(p[0]);
      const auto truth = given ? append_truth(code_, *given) : std::nullopt;
      if (truth) code_.expect(*truth, p[1] != 0);
      return truth.has_value();
    }
    case StepOp::guard_value_: {
      const auto given = value(p[0]);
      const auto wanted = value_of(path.object(p[1]));
      if (!given || !wanted || given->type.kind == Kind::element) return false;
      if (given->type != wanted->first) {
        goes_otherwise_ = true;
        return false;
      }
      code_.expect_value(given->cell, wanted->second.i);
      return true;
    }
    case StepOp::operator_:
      if (static_cast<Operator>(p[1]) == Operator::getitem) {
        return element(p[0], p[2], p[3]) || view(p[0], p[2], p[3]);
      }
      return computed(p[0], static_cast<Operator>(p[1]), p[2], p[3]);
    case StepOp::getattr_:
      return method_of_text(p);
    case StepOp::call_:
      return called_with_text(p) || called(p);
    default:
      return false;
  }
}

// Where it does not hold the replay says what follows.
bool TurnCode::required(int32_t reg) {
  const auto given = value(reg);
  const auto truth = given ? append_truth(code_, *given) : std::nullopt;
  if (truth) code_.expect(*truth, true);
  return truth.has_value();
}

bool TurnCode::guard_is(const int32_t* p) {
  const auto wanted = path_->known(p[1]) ? value_of(path_->known(p[1])) : std::nullopt;
  if (!wanted) return false;
  if (known(p[0]).is == Known::Is::typed) expect_type(p[0], wanted->first);
  const auto given = value(p[0]);
  if (!given) return false;
  if (given->type != wanted->first) {
    goes_otherwise_ = true;
    return false;
  }
  // One that is equal need not be the same number.
  if (given->type.is_number() && given->type.kind != Kind::boolean) return false;
  code_.expect_value(given->cell, wanted->second.i);
  return true;
}

bool TurnCode::guard_type(const int32_t* p) {
  Known& given = known(p[0]);
  if (given.is == Known::Is::item && turn_ == nullptr) {
    const bool is_tuple = path_->known(p[1]) == reinterpret_cast<PyObject*>(&PyTuple_Type);
    return is_tuple && parts_of_item() > 0;
  }
  if (given.is_taken || given.is == Known::Is::item) return granted();
  PyObject* const wanted = path_->known(p[1]);
  if (given.is == Known::Is::typed) {
    const auto type = wanted ? type_of_python(wanted) : std::nullopt;
    if (type) expect_type(p[0], *type);
    return type.has_value();
  }
  const auto found = value(p[0]);
  if (!found) return false;
  goes_otherwise_ = wanted != reinterpret_cast<PyObject*>(python_type_of(found->type));
  return !goes_otherwise_;
}

// Whether it is told of texts, and None, whatever they are.
bool TurnCode::compares_texts(Operator op, int32_t a, int32_t b) {
  if ((op != Operator::equal && op != Operator::not_equal) || b < 0) return false;
  const auto first = value(a), second = value(b);
  return first && second && !first->type.is_number() && !second->type.is_number();
}

bool TurnCode::method_of_text(const int32_t* p) {
  const auto text = value(p[1]);
  if (!text || text->type.kind != Kind::text) return false;
  known(p[0]) = {.is = Known::Is::method, .number = *text, .parts = {p[2]}};
  return true;
}

bool TurnCode::called_with_text(const int32_t* p) {
  const Known& callee = known(p[1]);
  if (p[3 + p[2]] >= 0) return false;
  if (callee.is == Known::Is::method) {
    return p[2] == 0 &&
           define(p[0], append_method(code_, path_->object(callee.parts[0]), callee.number));
  }
  if (p[2] != 1 || !is_same(p[1]) || object(p[1]) == nullptr) return false;
  const auto given = value(p[3]);
  return given && define(p[0], append_characters(code_, object(p[1]), *given));
}

bool TurnCode::computed(int32_t result, Operator op, int32_t a, int32_t b) {
  const auto part = op == Operator::contained ? value(a) : std::nullopt;
  if (part && part->type.kind == Kind::text) {
    const auto text = value(b);
    if (!text || text->type.kind != Kind::text) return false;
    return define(result, append_contained(code_, *part, *text));
  }
  if (compares_texts(op, a, b)) {
    const Op compare = op == Operator::equal ? Op::eq_texts : Op::ne_texts;
    return define(result,
                  Number{code_.emit(compare, value(a)->cell, value(b)->cell), {Kind::boolean}});
  }
  const auto first = number(a);
  if (!first) return false;
  if (b < 0) {
    const auto made = append_unary(code_, op, *first);
    return made ? define(result, *made) : boxed(result, op, -1, {*first});
  }
  const auto second = number(b);
  if (!second) return false;
  const auto made = append_binary(code_, op, *first, *second);
  return made ? define(result, *made) : boxed(result, op, -1, {*first, *second});
}

bool TurnCode::called(const int32_t* p) {
  const int32_t count = p[2];
  const int32_t* const arguments = p + 3;
  const bool has_keywords = arguments[count] >= 0, is_opaque = arguments[count + 1] != 0;
  if (const Slot* const from = copied(p)) {
    Slot& made = new_slot(*from);
    append_step<CloneStep>(*from, made);
    known(p[0]) = {.is = Known::Is::array, .slot = &made};
    whole_.push_back(&made);
    return true;
  }
  if (has_keywords || is_opaque || !is_same(p[1]) || object(p[1]) == nullptr) return false;
  std::vector<Number> numbers;
  for (int32_t i = 0; i < count; ++i) {
    const auto each = number(arguments[i]);
    if (!each) return false;
    numbers.push_back(*each);
  }
  const auto made = append_call(code_, object(p[1]), numbers);
  return made ? define(p[0], *made) : boxed(p[0], {}, p[1], numbers);
}

bool TurnCode::boxed(int32_t result, std::optional<Operator> op, int32_t callee,
                     const std::vector<Number>& arguments) {
  // What a library does with its elements may warn of it; functions of Python's take them for
  // floats.
  const auto may_take = [&](const Number& each) {
    return each.type.kind != Kind::element || (!op && each.type.dtype == core::DType::f64);
  };
  if (!std::ranges::all_of(arguments, may_take)) return false;
  if (!op && !may_box(object(callee))) return false;
  const Typed made = new_typed();
  append_object_step<BoxedStep>(callee, op, arguments, made);
  return define(result, made);
}

bool TurnCode::drawn(const int32_t* p) {
  const int32_t count = p[2], names = p[3 + count];
  if (attempt() == nullptr || !is_same(p[1]) || object(p[1]) == nullptr) return false;
  std::vector<Number> arguments;
  for (int32_t i = 0; i < count; ++i) {
    const auto each = number(p[3 + i]);
    if (!each) return false;
    arguments.push_back(*each);
  }
  const Typed made = new_typed();
  append_object_step<DrawStep>(p[1], std::move(arguments),
                               names < 0 ? nullptr : path_->object(names), made, *attempt());
  has_written_ = true;
  return define(p[0], made);
}

std::optional<Number> TurnCode::index(int32_t reg) {
  auto at = number(reg);
  if (at && at->type.kind == Kind::element) at = append_python(code_, *at);
  return at && at->type.kind == Kind::integer ? at : std::nullopt;
}

bool TurnCode::element(int32_t result, int32_t from, int32_t by) {
  if (known(by).is != Known::Is::parts) return false;
  const auto elements = array(from);
  std::vector<int32_t> axes = known(by).parts;
  if (axes.empty() || !is_same(axes.back()) || object(axes.back()) != Py_Ellipsis) return false;
  axes.pop_back();
  if (!elements || axes.size() != elements->axes.size()) return false;
  int32_t place = elements->place;
  for (size_t d = 0; d < axes.size(); ++d) {
    const auto at = index(axes[d]);
    if (!at) return false;
    place = code_.emit_place(Op::place_wrapped, at->cell, place, elements->axes[d]);
  }
  const Type type{Kind::element, elements->dtype, elements->library};
  known(result) = {Known::Is::place, {place, type}};
  return true;
}

bool TurnCode::segment(const Segment& segment) {
  const size_t place = code_.place();
  if (segment_of_numbers(segment)) return true;
  code_.take_back(place);
  return turn_ != nullptr && segment_of_arrays(segment);
}

bool TurnCode::define_element(const Segment::Output& output, int32_t cell, const Segment& segment) {
  const Number element{cell,
                       {.kind = Kind::element,
                        .dtype = segment.graph.type(output.value).dtype,
                        .library = static_cast<uint16_t>(segment.library->number)}};
  const bool is_python = output.kind != ResultKind::array && output.kind != ResultKind::numpy;
  if (!define(output.reg, is_python ? append_python(code_, element) : element)) return false;
  known(output.reg).is_of_array = output.kind == ResultKind::array;
  return true;
}

bool TurnCode::segment_of_numbers(const Segment& segment) {
  std::vector<Operand> tensors;
  for (const int32_t reg : segment.tensors) {
    Operand operand;
    if (is_same(reg)) operand.array = array(reg);
    if (!operand.array) {
      const auto found = number(reg);
      if (!found) return false;
      operand.number = *found;
    }
    tensors.push_back(operand);
  }
  std::vector<Number> scalars;
  for (const int32_t reg : segment.scalars) {
    const auto found = number(reg);
    if (!found) return false;
    scalars.push_back(*found);
  }
  const auto outputs = append_graph(code_, segment, tensors, scalars);
  if (!outputs) return false;
  flags_ |= static_cast<core::FpFlags>(segment.flags);
  for (size_t k = 0; k < outputs->size(); ++k) {
    if (!define_element(segment.outputs[k], (*outputs)[k], segment)) return false;
  }
  return true;
}

// What is written into an element: a number, or an array of one that is the same in all turns.
std::optional<Number> TurnCode::written(int32_t from) {
  if (const auto found = number(from)) return found;
  const auto elements = array(from);
  const auto moves = elements && elements->axes.empty() ? moves_of(elements->dtype) : std::nullopt;
  if (!moves) return {};
  return Number{code_.emit(moves->load, elements->place),
                {Kind::element, elements->dtype, elements->library}};
}

bool TurnCode::copy(int32_t to, int32_t from) {
  Attempt* const attempt = this->attempt();
  if (attempt == nullptr && has_appends_) return false;
  has_copies_ = true;
  const auto value = known(to).is == Known::Is::place ? written(from) : std::nullopt;
  if (!value) return copy_array(to, from);
  // A number of Python's becomes an element where that is the same number.
  const core::DType dtype = known(to).number.type.dtype;
  const auto element = append_element(code_, *value, dtype);
  const auto moves = moves_of(dtype);
  if (!element || !moves) return false;
  const int64_t bytes = core::byte_size(dtype);
  if (attempt != nullptr) {
    code_.emit(Op::keep, known(to).number.cell, 0, literal_of(*attempt), bytes);
  }
  code_.emit(Op::keep_for_call, known(to).number.cell, 0, literal_of(bound_), bytes);
  code_.emit(moves->store, known(to).number.cell, *element);
  return true;
}

bool TurnCode::put(int32_t to, int32_t from) {
  if (attempt() == nullptr || known(to).is != Known::Is::place) return false;
  has_written_ = true;
  return copy(to, from);
}

bool TurnCode::give(const std::vector<int32_t>& parts) {
  ended_ = true;
  if (turn_ != nullptr) return give_arrays(parts);
  if (PyLong_AsLong(object(parts[0])) == Loop::kNext) return give_numbers(parts);
  // From a loop that is within nothing it is for the replay to go on.
  return inner_ != nullptr && leave_inner(parts);
}

bool TurnCode::give_numbers(const std::vector<int32_t>& parts) {
  std::vector<Body::Place> gives;
  bool is_again = true;
  for (size_t k = 0; k < changes_.carried.size(); ++k) {
    const auto slot = static_cast<size_t>(changes_.carried[k]);
    if (!changes_.slots[slot]) continue;
    const int32_t part = parts[k + 1];
    if (known(part).is_of_array) return false;
    const auto value = this->value(part);
    if (!value) {
      // An object that it was given, and leaves where it is.
      const Known& last = known(part);
      if (last.is == Known::Is::unknown && last.parts[0] == changes_.carried[k]) continue;
      return false;
    }
    gives.push_back({slot, *value});
    is_again = is_again && types()[slot] == value->type;
  }
  if (inner_ != nullptr) return give_to_inner(gives);
  if (is_again) {
    give_to_next(gives);
  } else {
    code_.append({.op = Op::stop, .p = std::ssize(body_->exits_)});
    body_->exits_.push_back(std::move(gives));
  }
  return true;
}

bool TurnCode::give_arrays(const std::vector<int32_t>& parts) {
  for (size_t k = 0; k < changes_.carried.size(); ++k) {
    const auto slot = static_cast<size_t>(changes_.carried[k]);
    if (!changes_.slots[slot]) continue;
    const int32_t part = parts[k + 1];
    const Known& last = known(part);
    if (last.is == Known::Is::array) {
      if (last.is_taken && last.parts[0] == changes_.carried[k]) continue;
      if (!is_whole(last.slot)) return false;
      turn_->array_gives_.push_back({slot, last.slot});
      continue;
    }
    if (last.is_of_array) return false;
    const auto value = this->value(part);
    if (!value) {
      // An object that it was given, and leaves where it is.
      if (known(part).is == Known::Is::unknown && known(part).parts[0] == changes_.carried[k])
        continue;
      return false;
    }
    turn_->gives_.push_back({slot, *value});
  }
  return true;
}

std::unique_ptr<Turn> Turn::of(const Path& path, std::vector<Ref> registers, const Changes& changes,
                               core::Loc& stopped) {
  std::unique_ptr<Turn> turn(new Turn);
  TurnCode code(*turn, changes, registers);
  const bool appended = code.append(path);
  PyErr_Clear();
  if (!appended) return stopped = code.location(), nullptr;
  turn->join();
  if (!turn->fill(std::move(registers))) return nullptr;
  return turn;
}

}  // namespace dvm::capture::numbers
