#include "capture/cpython/code_table.h"
#include "opcode.h"

namespace dvm::capture {

extern const bool kCalleeIsBelow = false;
extern const bool kIteratorStays = false;

namespace {

Op op_of(int opcode) {
  switch (opcode) {
    case PRECALL:
    case MAKE_CELL:
      return Op::nothing;
    case LOAD_CLOSURE:
      return Op::load_closure;
    case LOAD_ATTR:
      return Op::load_attr;
    case LOAD_METHOD:
      return Op::load_method;
    case UNARY_POSITIVE:
      return Op::unary_positive;
    case COMPARE_OP:
      return Op::compare;
    case LIST_TO_TUPLE:
      return Op::list_to_tuple;
    case FORMAT_VALUE:
      return Op::format;
    case KW_NAMES:
      return Op::kw_names;
    case ASYNC_GEN_WRAP:
      return Op::asynchronous;
    case PREP_RERAISE_STAR:
      return Op::exception_group;
    case LOAD_CLASSDEREF:
    case IMPORT_STAR:
    case PRINT_EXPR:
      return Op::outside_a_function;
    default:
      return Op::unknown;
  }
}

}  // namespace

Meaning meaning_of(int opcode, int oparg) {
  switch (opcode) {
    case LOAD_GLOBAL: {
      const Operation load = {Op::load_global, oparg >> 1};
      if (oparg & 1) return {.first = {Op::push_null}, .then = load};
      return {.first = load};
    }
    case FOR_ITER:
      return jump(Op::for_iter, oparg);
    case CALL_FUNCTION_EX:
      return {.first = {Op::call_function_ex, oparg & 1}};
    case JUMP_IF_FALSE_OR_POP:
      return jump(Op::jump_if_false_or_pop, oparg);
    case JUMP_IF_TRUE_OR_POP:
      return jump(Op::jump_if_true_or_pop, oparg);
    case POP_JUMP_FORWARD_IF_FALSE:
      return jump(Op::pop_jump_if_false, oparg);
    case POP_JUMP_FORWARD_IF_TRUE:
      return jump(Op::pop_jump_if_true, oparg);
    case POP_JUMP_FORWARD_IF_NONE:
      return jump(Op::pop_jump_if_none, oparg);
    case POP_JUMP_FORWARD_IF_NOT_NONE:
      return jump(Op::pop_jump_if_not_none, oparg);
    case POP_JUMP_BACKWARD_IF_FALSE:
      return jump(Op::pop_jump_if_false, -oparg);
    case POP_JUMP_BACKWARD_IF_TRUE:
      return jump(Op::pop_jump_if_true, -oparg);
    case POP_JUMP_BACKWARD_IF_NONE:
      return jump(Op::pop_jump_if_none, -oparg);
    case POP_JUMP_BACKWARD_IF_NOT_NONE:
      return jump(Op::pop_jump_if_not_none, -oparg);
    default: {
      const Op own = op_of(opcode);
      return own == Op::unknown ? common_meaning(opcode, oparg) : Meaning{.first = {own, oparg}};
    }
  }
}

}  // namespace dvm::capture
