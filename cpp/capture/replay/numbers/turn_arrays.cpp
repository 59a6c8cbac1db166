#include <algorithm>

#include "capture/library/library.h"
#include "capture/replay/numbers/graph_code.h"
#include "capture/replay/numbers/operators.h"
#include "capture/replay/numbers/turn_code.h"
#include "core/passes/passes.h"
#include "driver/compile.h"

namespace dvm::capture::numbers {

Slot* TurnCode::slot(int32_t reg) {
  if (known(reg).is == Known::Is::array) return known(reg).slot;
  if (turn_ == nullptr || !is_same(reg)) return nullptr;
  const auto found = std::ranges::find(turn_->same_slots_, reg, &Turn::SameSlot::reg);
  if (found != turn_->same_slots_.end()) return found->slot;
  const auto like = Likeness::of(object(reg));
  if (!like) return nullptr;
  Slot& made = new_slot(*like);
  made.hold(object(reg));
  turn_->same_slots_.push_back({reg, &made});
  return &made;
}

bool TurnCode::item(int32_t reg, int32_t index) {
  if (turn_ == nullptr) return part_of_item(reg, index);
  Turn::ItemPart part{.index = index, .reg = reg};
  if (const auto like = Likeness::of(object(reg))) {
    Slot& taken = new_slot(*like);
    taken.hold(object(reg));
    known(reg) = {.is = Known::Is::array, .parts = {-1}, .slot = &taken, .is_taken = true};
    part.slot = &taken;
    part.like = *like;
  } else {
    const auto type = type_of(reg);
    if (!type || !type->is_number()) return false;
    part.number = {code_.cell(), *type};
    define(reg, part.number);
  }
  turn_->item_parts_.push_back(part);
  return true;
}

const Slot* TurnCode::copied(const int32_t* p) {
  const int32_t keywords = p[3 + p[2]];
  if (p[2] != 2 || keywords < 0 || !is_same(p[1]) || !is_same(p[4])) return nullptr;
  PyObject* const names = path_->object(keywords);
  PyObject* const named = object(p[4]);
  if (PyTuple_GET_SIZE(names) != 1 || named == nullptr) return nullptr;
  const Slot* const from = slot(p[3]);
  if (from == nullptr) return nullptr;
  const auto gives = from->library.what_gives(object(p[1]), names, &named);
  return gives == Library::Gives::copy ? from : nullptr;
}

bool TurnCode::compared(ComparedStep::How how, const int32_t* p) {
  const Slot *const a = slot(p[0]), *const b = slot(p[1]);
  if (a == nullptr || b == nullptr) return false;
  append_step<ComparedStep>(how, *a, *b, p[2] != 0);
  return true;
}

bool TurnCode::view(int32_t result, int32_t from, int32_t index) {
  Slot* const base = slot(from);
  if (base == nullptr) return false;
  std::vector<ViewStep::Part> parts;
  const auto append = [&](int32_t reg) {
    const auto part = part_of(reg);
    if (part) parts.push_back(*part);
    return part.has_value();
  };
  const Known& by = known(index);
  PyObject* const constant = constant_of(index);
  if (constant != nullptr && PyTuple_CheckExact(constant)) {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(constant); ++i) {
      const auto part = part_of_constant(PyTuple_GET_ITEM(constant, i));
      if (!part) return false;
      parts.push_back(*part);
    }
  } else {
    const bool is_tuple = by.is == Known::Is::parts || (is_same(index) && !by.parts.empty() &&
                                                        PyTuple_CheckExact(object(index)));
    if (!(is_tuple ? std::ranges::all_of(by.parts, append) : append(index))) return false;
  }
  const auto is_index = [](const ViewStep::Part& part) {
    return part.is == ViewStep::Part::Is::index;
  };
  // All indices: no view but a number.
  if (std::ranges::all_of(parts, is_index) && std::ssize(parts) >= base->view.rank) return false;
  Slot& made = new_slot(*base);
  append_step<ViewStep>(*base, made, std::move(parts));
  known(result) = {.is = Known::Is::array, .slot = &made};
  return true;
}

PyObject* TurnCode::constant_of(int32_t reg) const {
  for (const auto& [path, step] : steps_) {
    const int32_t* const p = path->operands(*step);
    if (step->op == StepOp::constant_ && p[0] == reg) return path->object(p[1]);
  }
  return nullptr;
}

std::optional<ViewStep::Part> TurnCode::part_of_constant(PyObject* object) {
  using Part = ViewStep::Part;
  if (object == Py_Ellipsis) return Part{};
  const auto cell_of = [&](PyObject* end) -> std::optional<int32_t> {
    const auto found = value_of(end);
    if (!found || found->first.kind != Kind::integer) return {};
    return code_.cell(found->second);
  };
  if (!PySlice_Check(object)) {
    const auto cell = cell_of(object);
    return cell ? std::optional(Part{.is = Part::Is::index, .first = *cell}) : std::nullopt;
  }
  const auto* const slice = reinterpret_cast<PySliceObject*>(object);
  Part part{.is = Part::Is::slice};
  for (const auto& [end, to] : {std::pair{slice->start, &part.first},
                                {slice->stop, &part.stop},
                                {slice->step, &part.step}}) {
    if (end == Py_None) continue;
    const auto cell = cell_of(end);
    if (!cell) return {};
    *to = *cell;
  }
  return part;
}

std::optional<ViewStep::Part> TurnCode::part_of(int32_t reg) {
  using Part = ViewStep::Part;
  if (is_same(reg) && object(reg) == Py_Ellipsis) return Part{};
  PyObject* const constant = constant_of(reg);
  if (constant != nullptr && PySlice_Check(constant)) return part_of_constant(constant);
  const Known& by = known(reg);
  const bool is_slice = by.is == Known::Is::slice ||
                        (is_same(reg) && !by.parts.empty() && PySlice_Check(object(reg)));
  if (!is_slice) {
    const auto found = number(reg);
    if (!found || found->type.kind != Kind::integer) return {};
    return Part{.is = Part::Is::index, .first = found->cell};
  }
  Part part{.is = Part::Is::slice};
  int32_t* const ends[] = {&part.first, &part.stop, &part.step};
  for (size_t k = 0; k < by.parts.size(); ++k) {
    const int32_t end = by.parts[k];
    if (is_same(end) && object(end) == Py_None) continue;
    const auto found = number(end);
    if (!found || found->type.kind != Kind::integer) return {};
    *ends[k] = found->cell;
  }
  return part;
}

namespace {

// Whether it computes with a size that is no array's, but a number of its own.
bool computes_with_sizes(const core::Graph& graph) {
  return std::ranges::any_of(graph.nodes(), [&](const core::Node& node) {
    const auto tells_size = [&](core::Value v) {
      return graph.node(v).op == core::Op::scalar && graph.node(v).attrs.size;
    };
    return node.op == core::Op::dim || std::ranges::any_of(node.inputs, tells_size);
  });
}

// The segment with these scalars in memory, compiled when that is asked for first.
std::shared_ptr<const Segment::Stored> with_stored(const Segment& segment,
                                                   std::vector<core::Value> scalars,
                                                   const driver::Options& options) {
  if (!segment.stored || segment.stored->scalars != scalars) {
    const core::Graph graph = core::pass_stored_dims(core::stored_scalars(segment.graph, scalars));
    segment.stored = std::make_shared<Segment::Stored>(
        Segment::Stored{std::move(scalars), driver::compile(graph, options)});
  }
  return segment.stored;
}

}  // namespace

// A number that changes is an element where it can be one: as a literal of a Program each would be
// a Program of its own.
std::optional<SegmentStep::Arguments> TurnCode::arguments_of(const Segment& segment) {
  SegmentStep::Arguments made;
  std::vector<core::Value> stored;
  size_t tensor = 0, scalar = 0;
  bool sizes_change = false;
  for (const core::Value v : segment.graph.inputs()) {
    const core::Node& node = segment.graph.node(v);
    const bool is_scalar = node.op == core::Op::scalar;
    const bool is_read = is_scalar || segment.reads[tensor];
    const int32_t reg = is_scalar ? segment.scalars[scalar++] : segment.tensors[tensor++];
    if (const Slot* const array = is_scalar ? nullptr : slot(reg)) {
      if (array->view.dtype != node.type.dtype) return {};
      made.tensors.push_back({.slot = array, .is_read = is_read});
      continue;
    }
    auto given = number(reg);
    if (!given) return {};
    const bool may_store = !is_scalar || (!is_same(reg) && !node.attrs.size);
    if (may_store && node.type.rank() == 0) {
      if (const auto element = append_element(code_, *given, node.type.dtype)) {
        if (is_scalar) stored.push_back(v);
        made.tensors.push_back({.cell = *element});
        continue;
      }
    }
    if (!is_scalar) return {};
    if (given->type.kind == Kind::element) given = append_python(code_, *given);
    if (!given) return {};
    made.repeats = made.repeats && is_same(reg);
    sizes_change = sizes_change || !is_same(reg);
    made.scalars.push_back({given->cell, given->type.kind});
  }
  if (!stored.empty() || (sizes_change && computes_with_sizes(segment.graph))) {
    made.stored = with_stored(segment, std::move(stored), path_->options);
  }
  return made;
}

bool TurnCode::segment_of_arrays(const Segment& segment) {
  auto arguments = arguments_of(segment);
  if (!arguments) return false;
  std::vector<SegmentStep::Output> outputs;
  for (const Segment::Output& output : segment.outputs) {
    const core::Type& type = segment.graph.type(output.value);
    const bool is_array = output.kind == ResultKind::array && type.rank() > 0;
    if (output.permuted) return false;
    if (is_array) {
      // A Plan's arrays are written from outside.
      if (segment.library->fields.type == nullptr) return false;
      Slot& made = new_slot(*segment.library, type.dtype);
      outputs.push_back({.slot = &made});
    } else {
      outputs.push_back({.cell = code_.cell()});
    }
  }
  segment_step_ = &append_step<SegmentStep>(segment, *std::move(arguments), outputs);
  segment_outputs_ = outputs;
  ++segments_;
  for (size_t k = 0; k < outputs.size(); ++k) {
    const Segment::Output& output = segment.outputs[k];
    if (outputs[k].slot != nullptr) {
      known(output.reg) = {.is = Known::Is::array, .slot = outputs[k].slot};
      whole_.push_back(outputs[k].slot);
    } else if (!define_element(output, outputs[k].cell, segment)) {
      return false;
    }
  }
  segment_end_ = code_.place();
  return true;
}

bool TurnCode::copy_array(int32_t to, int32_t from) {
  const Slot* const target = slot(to);
  if (target == nullptr) return false;
  CopyStep* made = nullptr;
  if (const Slot* const source = slot(from)) {
    made = &append_step<CopyStep>(bound_, *target, *source);
  } else {
    const auto value = number(from);
    if (!value || !value->type.is_element(target->view.dtype)) return false;
    made = &append_step<CopyStep>(bound_, *target, value->cell);
  }
  if (commit_step_ == nullptr) {
    auto step = std::make_unique<CommitStep>();
    commit_step_ = step.get();
    code_.insert(commit_, {.op = Op::step, .p = literal_of(*step)});
    turn_->steps_.push_back(std::move(step));
  }
  commit_step_->add(*made);
  copy_step_ = made;
  ++array_copies_;
  return true;
}

void TurnCode::place_result() {
  // What else reads memory might read the target, which a turn that is replayed finds written.
  const bool is_alone = !bound_.has_loops() && segments_ == 1 && array_copies_ == 1 &&
                        segment_end_ == commit_ && !bound_.has_arrays() &&
                        std::ranges::none_of(turn_->steps_, [](const auto& step) {
                          return dynamic_cast<const CloneStep*>(step.get()) != nullptr;
                        });
  if (!is_alone) return;
  const Slot* const made = copy_step_->source();
  const auto gives = [&](const Turn::GivenArray& given) { return given.slot == made; };
  const auto place = std::ranges::find(segment_outputs_, made, &SegmentStep::Output::slot);
  if (made == nullptr || place == segment_outputs_.end() ||
      std::ranges::any_of(turn_->array_gives_, gives)) {
    return;
  }
  segment_step_->place(static_cast<size_t>(place - segment_outputs_.begin()), copy_step_->target(),
                       bound_);
  copy_step_->follow(*segment_step_);
}

}  // namespace dvm::capture::numbers
