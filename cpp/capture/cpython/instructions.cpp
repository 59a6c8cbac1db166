#include "capture/cpython/instructions.h"

#include <array>

#include "capture/record/record.h"

namespace dvm::capture {

namespace {

using Kind = core::SeenEvent::Kind;

// By operation.
struct Rows {
  std::array<Instruction, static_cast<size_t>(Op::count)> rows;
  Instruction& operator[](Op op) { return rows[static_cast<size_t>(op)]; }
};

constexpr const char* kBinaryOperators[] = {"+", "&",  "//", "<<", "@", "*", "%",
                                            "|", "**", ">>", "-",  "/", "^"};
constexpr const char* kCompareOperators[] = {"<", "<=", "==", "!=", ">", ">="};
constexpr const char* kIdentityOperators[] = {"is", "is not"};
constexpr const char* kContainsOperators[] = {"in", "not in"};

constexpr Instruction produce(Kind kind, uint8_t operands, const char* text = "") {
  return {.action = Action::produce, .kind = kind, .operands = operands, .text = text};
}
constexpr Instruction produce(Kind kind, uint8_t operands, Naming naming) {
  return {.action = Action::produce, .kind = kind, .operands = operands, .naming = naming};
}
constexpr Instruction build(Kind kind, Count count = Count::oparg) {
  return {.action = Action::produce, .kind = kind, .count = count, .text = ""};
}
constexpr Instruction effect(Kind kind, uint8_t operands, Naming naming, bool rotated) {
  return {.action = Action::effect,
          .kind = kind,
          .operands = operands,
          .naming = naming,
          .rotated = rotated,
          .text = ""};
}
constexpr Instruction update(Kind kind, uint8_t operands) {
  return {.action = Action::update, .kind = kind, .operands = operands, .text = ""};
}
constexpr Instruction refused(const char* text) { return {.text = text}; }

void add_plain(Rows& table) {
  for (const Op op : {Op::nothing, Op::resume, Op::jump_forward, Op::jump_backward}) {
    table[op] = {.action = Action::nothing};
  }
  table[Op::unary_negative] = produce(Kind::unary, 1, "-");
  table[Op::unary_positive] = produce(Kind::unary, 1, "+");
  table[Op::unary_invert] = produce(Kind::unary, 1, "~");
  table[Op::compare] = produce(Kind::compare, 2, Naming::compare);
  table[Op::is] = produce(Kind::identity, 2, Naming::identity);
  table[Op::contains] = produce(Kind::contains, 2, Naming::contains);
  table[Op::subscript] = produce(Kind::subscript, 2);
  table[Op::load_attr] = produce(Kind::attribute, 1, Naming::variable);
  table[Op::list_to_tuple] = produce(Kind::list_to_tuple, 1);
  table[Op::build_tuple] = build(Kind::tuple);
  table[Op::build_list] = build(Kind::list);
  table[Op::build_set] = build(Kind::set);
  table[Op::build_string] = build(Kind::string);
  table[Op::build_slice] = build(Kind::slice);
  table[Op::build_map] = build(Kind::dict, Count::twice_oparg);
  table[Op::import_name] = produce(Kind::import_module, 2, Naming::variable);
  table[Op::import_name].rotated = true;

  table[Op::store_subscript] = effect(Kind::store_subscript, 3, Naming::text, true);
  table[Op::delete_subscript] = effect(Kind::delete_subscript, 2, Naming::text, false);
  table[Op::store_attr] = effect(Kind::store_attribute, 2, Naming::variable, true);
  table[Op::delete_attr] = effect(Kind::delete_attribute, 1, Naming::variable, false);

  table[Op::list_append] = update(Kind::list_append, 2);
  table[Op::list_extend] = update(Kind::list_extend, 2);
  table[Op::set_add] = update(Kind::set_add, 2);
  table[Op::set_update] = update(Kind::set_update, 2);
  table[Op::map_add] = update(Kind::map_add, 3);
  table[Op::dict_update] = update(Kind::dict_update, 2);
  table[Op::dict_merge] = update(Kind::dict_merge, 2);
}

void add_special(Rows& table) {
  for (const Op op : {Op::pop_top,
                      Op::get_iter,
                      Op::push_null,
                      Op::copy,
                      Op::swap,
                      Op::load_const,
                      Op::load_fast,
                      Op::store_fast,
                      Op::delete_fast,
                      Op::load_global,
                      Op::load_build_class,
                      Op::store_global,
                      Op::load_deref,
                      Op::store_deref,
                      Op::delete_deref,
                      Op::load_closure,
                      Op::load_method,
                      Op::kw_names,
                      Op::call,
                      Op::call_function_ex,
                      Op::binary,
                      Op::build_const_key_map,
                      Op::format,
                      Op::make_function,
                      Op::for_iter,
                      Op::send,
                      Op::unpack_sequence,
                      Op::unpack_ex,
                      Op::before_with,
                      Op::import_from,
                      Op::load_small_int,
                      Op::load_common_constant,
                      Op::load_special,
                      Op::return_value,
                      Op::yield_value,
                      Op::match_mapping,
                      Op::match_sequence,
                      Op::match_keys,
                      Op::match_class,
                      Op::get_len,
                      Op::raise_varargs,
                      Op::reraise,
                      Op::push_exc_info,
                      Op::pop_except,
                      Op::check_exc_match,
                      Op::with_except_start,
                      Op::jump_if_false_or_pop,
                      Op::jump_if_true_or_pop,
                      Op::load_global_under_null,
                      Op::load_fast_and_clear,
                      Op::load_super_attr,
                      Op::slice,
                      Op::store_slice,
                      Op::compare_truth,
                      Op::to_bool,
                      Op::convert,
                      Op::call_kw,
                      Op::set_function_attribute,
                      Op::end_send,
                      Op::make_cell,
                      Op::pop_jump_if_false,
                      Op::pop_jump_if_true,
                      Op::pop_jump_if_none,
                      Op::pop_jump_if_not_none,
                      Op::check_no_stop_iteration,
                      Op::cleanup_throw,
                      Op::unary_not}) {
    table[op] = {.action = Action::special};
  }
}

void add_refused(Rows& table) {
  table[Op::asynchronous] = refused("asynchronous");
  table[Op::type_parameters] = refused("type-parameters");
  table[Op::exception_group] = refused("exception-group");
  table[Op::template_string] = refused("template-string");
  for (const Op op : {Op::load_name, Op::store_name, Op::setup_annotations, Op::load_locals,
                      Op::outside_a_function}) {
    table[op] = refused("outside-a-function");
  }
  table[Op::delete_global] = refused("deleted-global");
}

Rows make_table() {
  Rows table;
  add_plain(table);
  add_special(table);
  add_refused(table);
  for (Instruction& row : table.rows) row.name = interned(row.text);
  return table;
}

template <const auto& kTexts>
PyObject* name_of(int i) {
  static const auto names = [] {
    std::array<PyObject*, std::size(kTexts)> made;
    for (size_t k = 0; k < made.size(); ++k) made[k] = interned(kTexts[k]);
    return made;
  }();
  return names[static_cast<size_t>(i)];
}

}  // namespace

const Instruction& instruction(Op op) {
  static const Rows table = make_table();
  return table.rows[static_cast<size_t>(op)];
}

PyObject* binary_operator(int oparg) { return name_of<kBinaryOperators>(oparg % kInplaceBase); }
PyObject* compare_operator(int oparg) { return name_of<kCompareOperators>(oparg); }
PyObject* identity_operator(int oparg) { return name_of<kIdentityOperators>(oparg); }
PyObject* contains_operator(int oparg) { return name_of<kContainsOperators>(oparg); }

}  // namespace dvm::capture
