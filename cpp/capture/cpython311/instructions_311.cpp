#include "capture/cpython311/instructions_311.h"

#include <array>

#include "capture/record/record.h"
#include "opcode.h"

namespace dvm::capture {

namespace {

using Kind = core::SeenEvent::Kind;
using Table = std::array<Instruction, 256>;

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

void add_plain(Table& table) {
  for (const int opcode :
       {RESUME, NOP, PRECALL, JUMP_FORWARD, JUMP_BACKWARD, JUMP_BACKWARD_NO_INTERRUPT}) {
    table[static_cast<size_t>(opcode)] = {.action = Action::nothing};
  }
  table[UNARY_NEGATIVE] = produce(Kind::unary, 1, "-");
  table[UNARY_POSITIVE] = produce(Kind::unary, 1, "+");
  table[UNARY_INVERT] = produce(Kind::unary, 1, "~");
  table[UNARY_NOT] = produce(Kind::unary, 1, "not");
  table[COMPARE_OP] = produce(Kind::compare, 2, Naming::compare);
  table[IS_OP] = produce(Kind::identity, 2, Naming::identity);
  table[CONTAINS_OP] = produce(Kind::contains, 2, Naming::contains);
  table[BINARY_SUBSCR] = produce(Kind::subscript, 2);
  table[LOAD_ATTR] = produce(Kind::attribute, 1, Naming::variable);
  table[GET_ITER] = table[GET_YIELD_FROM_ITER] = produce(Kind::iter, 1);
  table[LIST_TO_TUPLE] = produce(Kind::list_to_tuple, 1);
  table[BUILD_TUPLE] = build(Kind::tuple);
  table[BUILD_LIST] = build(Kind::list);
  table[BUILD_SET] = build(Kind::set);
  table[BUILD_STRING] = build(Kind::string);
  table[BUILD_SLICE] = build(Kind::slice);
  table[BUILD_MAP] = build(Kind::dict, Count::twice_oparg);
  table[IMPORT_NAME] = produce(Kind::import_module, 2, Naming::variable);
  table[IMPORT_NAME].rotated = true;

  table[STORE_SUBSCR] = effect(Kind::store_subscript, 3, Naming::text, true);
  table[DELETE_SUBSCR] = effect(Kind::delete_subscript, 2, Naming::text, false);
  table[STORE_ATTR] = effect(Kind::store_attribute, 2, Naming::variable, true);
  table[DELETE_ATTR] = effect(Kind::delete_attribute, 1, Naming::variable, false);

  table[LIST_APPEND] = update(Kind::list_append, 2);
  table[LIST_EXTEND] = update(Kind::list_extend, 2);
  table[SET_ADD] = update(Kind::set_add, 2);
  table[SET_UPDATE] = update(Kind::set_update, 2);
  table[MAP_ADD] = update(Kind::map_add, 3);
  table[DICT_UPDATE] = update(Kind::dict_update, 2);
  table[DICT_MERGE] = update(Kind::dict_merge, 2);
}

void add_special(Table& table) {
  for (const int opcode : {POP_TOP,
                           PUSH_NULL,
                           COPY,
                           SWAP,
                           LOAD_CONST,
                           LOAD_FAST,
                           STORE_FAST,
                           DELETE_FAST,
                           LOAD_GLOBAL,
                           LOAD_BUILD_CLASS,
                           STORE_GLOBAL,
                           LOAD_DEREF,
                           STORE_DEREF,
                           DELETE_DEREF,
                           LOAD_CLOSURE,
                           LOAD_METHOD,
                           KW_NAMES,
                           CALL,
                           CALL_FUNCTION_EX,
                           BINARY_OP,
                           BUILD_CONST_KEY_MAP,
                           FORMAT_VALUE,
                           MAKE_FUNCTION,
                           FOR_ITER,
                           SEND,
                           UNPACK_SEQUENCE,
                           UNPACK_EX,
                           BEFORE_WITH,
                           IMPORT_FROM,
                           LOAD_ASSERTION_ERROR,
                           RETURN_VALUE,
                           YIELD_VALUE,
                           MATCH_MAPPING,
                           MATCH_SEQUENCE,
                           MATCH_KEYS,
                           MATCH_CLASS,
                           GET_LEN,
                           RAISE_VARARGS,
                           RERAISE,
                           PUSH_EXC_INFO,
                           POP_EXCEPT,
                           CHECK_EXC_MATCH,
                           WITH_EXCEPT_START,
                           JUMP_IF_FALSE_OR_POP,
                           JUMP_IF_TRUE_OR_POP,
                           POP_JUMP_FORWARD_IF_FALSE,
                           POP_JUMP_FORWARD_IF_TRUE,
                           POP_JUMP_BACKWARD_IF_FALSE,
                           POP_JUMP_BACKWARD_IF_TRUE,
                           POP_JUMP_FORWARD_IF_NONE,
                           POP_JUMP_FORWARD_IF_NOT_NONE,
                           POP_JUMP_BACKWARD_IF_NONE,
                           POP_JUMP_BACKWARD_IF_NOT_NONE}) {
    table[static_cast<size_t>(opcode)] = {.action = Action::special};
  }
}

void add_refused(Table& table) {
  for (const int opcode : {RETURN_GENERATOR, GET_AWAITABLE, GET_AITER, GET_ANEXT, BEFORE_ASYNC_WITH,
                           END_ASYNC_FOR, ASYNC_GEN_WRAP}) {
    table[static_cast<size_t>(opcode)] = refused("asynchronous");
  }
  for (const int opcode : {CHECK_EG_MATCH, PREP_RERAISE_STAR}) {
    table[static_cast<size_t>(opcode)] = refused("exception-group");
  }
  for (const int opcode : {LOAD_NAME, STORE_NAME, DELETE_NAME, LOAD_CLASSDEREF, SETUP_ANNOTATIONS,
                           IMPORT_STAR, PRINT_EXPR}) {
    table[static_cast<size_t>(opcode)] = refused("outside-a-function");
  }
  table[DELETE_GLOBAL] = refused("deleted-global");
}

Table make_table() {
  Table table;
  add_plain(table);
  add_special(table);
  add_refused(table);
  for (Instruction& row : table) row.name = interned(row.text);
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

const Instruction& instruction(int opcode) {
  static const Table table = make_table();
  return table[static_cast<size_t>(opcode)];
}

PyObject* binary_operator(int oparg) { return name_of<kBinaryOperators>(oparg % kInplaceBase); }
PyObject* compare_operator(int oparg) { return name_of<kCompareOperators>(oparg); }
PyObject* identity_operator(int oparg) { return name_of<kIdentityOperators>(oparg); }
PyObject* contains_operator(int oparg) { return name_of<kContainsOperators>(oparg); }

}  // namespace dvm::capture
