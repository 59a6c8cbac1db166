#include "capture/cpython/code_table.h"
#include "opcode.h"

namespace dvm::capture {

extern const bool kCalleeIsBelow = true;

namespace {

Meaning plain(Op op, int arg = 0) { return {.first = {op, arg}}; }
Meaning two(Operation first, Operation then) { return {.first = first, .then = then}; }
Meaning jump(Op op, int relative) { return {.first = {op}, .jumps = true, .relative = relative}; }
Meaning end(Op op, int arg = 0) { return {.first = {op, arg}, .falls_through = false}; }

// The numbers of CALL_INTRINSIC_1, which the interpreter does not publish.
enum Intrinsic : int {
  kPrint = 1,
  kImportStar = 2,
  kStopIterationError = 3,
  kAsyncGenWrap = 4,
  kUnaryPositive = 5,
  kListToTuple = 6
};

Op intrinsic(int number) {
  switch (number) {
    case kPrint:
    case kImportStar:
      return Op::outside_a_function;
    case kStopIterationError:
      return Op::check_no_stop_iteration;
    case kAsyncGenWrap:
      return Op::asynchronous;
    case kUnaryPositive:
      return Op::unary_positive;
    case kListToTuple:
      return Op::list_to_tuple;
    default:
      return Op::type_parameters;
  }
}

Op op_of(int opcode) {
  switch (opcode) {
    case LOAD_ASSERTION_ERROR:
      return Op::load_assertion_error;
    case LOAD_FAST_CHECK:
      return Op::load_fast;
    case MAKE_CELL:
      return Op::make_cell;
    case LOAD_FAST_AND_CLEAR:
      return Op::load_fast_and_clear;
    case BINARY_SUBSCR:
      return Op::subscript;
    case BINARY_SLICE:
      return Op::slice;
    case STORE_SLICE:
      return Op::store_slice;
    case TO_BOOL:
      return Op::to_bool;
    case BUILD_CONST_KEY_MAP:
      return Op::build_const_key_map;
    case FORMAT_SIMPLE:
      return Op::format;
    case CONVERT_VALUE:
      return Op::convert;
    case CALL_KW:
      return Op::call_kw;
    case CALL_FUNCTION_EX:
      return Op::call_function_ex;
    case MAKE_FUNCTION:
      return Op::make_function;
    case SET_FUNCTION_ATTRIBUTE:
      return Op::set_function_attribute;
    case END_FOR:
      return Op::pop_top;
    case END_SEND:
      return Op::end_send;
    case CLEANUP_THROW:
      return Op::cleanup_throw;
    case BEFORE_WITH:
      return Op::before_with;
    case BEFORE_ASYNC_WITH:
      return Op::asynchronous;
    case LOAD_LOCALS:
    case LOAD_FROM_DICT_OR_DEREF:
    case LOAD_FROM_DICT_OR_GLOBALS:
      return Op::outside_a_function;
    default:
      return common_op(opcode);
  }
}

}  // namespace

Meaning meaning_of(int opcode, int oparg) {
  constexpr int kTruth = 16, kPrepareReraise = 1;
  switch (opcode) {
    case LOAD_GLOBAL:
      return plain(oparg & 1 ? Op::load_global_under_null : Op::load_global, oparg >> 1);
    case LOAD_ATTR:
      return plain(oparg & 1 ? Op::load_method : Op::load_attr, oparg >> 1);
    case LOAD_SUPER_ATTR:
      return plain(Op::load_super_attr, oparg);
    case LOAD_FAST_LOAD_FAST:
      return two({Op::load_fast, oparg >> 4}, {Op::load_fast, oparg & 15});
    case STORE_FAST_LOAD_FAST:
      return two({Op::store_fast, oparg >> 4}, {Op::load_fast, oparg & 15});
    case STORE_FAST_STORE_FAST:
      return two({Op::store_fast, oparg >> 4}, {Op::store_fast, oparg & 15});
    case COMPARE_OP:
      return plain(oparg & kTruth ? Op::compare_truth : Op::compare, oparg >> 5);
    case FORMAT_WITH_SPEC:
      return plain(Op::format, 4);
    case CALL_INTRINSIC_1:
      return plain(intrinsic(oparg));
    case CALL_INTRINSIC_2:
      return plain(oparg == kPrepareReraise ? Op::exception_group : Op::type_parameters);
    case RETURN_VALUE:
      return end(Op::return_value);
    case RETURN_CONST:
      return {.first = {Op::load_const, oparg}, .then = {Op::return_value}, .falls_through = false};
    case RAISE_VARARGS:
      return end(Op::raise_varargs, oparg);
    case RERAISE:
      return end(Op::reraise, oparg);
    case JUMP_FORWARD:
      return {{Op::jump_forward}, {}, true, oparg, false};
    case JUMP_BACKWARD:
      return {{Op::jump_backward}, {}, true, -oparg, false};
    case JUMP_BACKWARD_NO_INTERRUPT:
      return {{Op::nothing}, {}, true, -oparg, false};
    case FOR_ITER:
      return jump(Op::for_iter, oparg + 2);  // beyond END_FOR and POP_TOP
    case SEND:
      return jump(Op::send, oparg);
    case POP_JUMP_IF_FALSE:
      return jump(Op::pop_jump_if_false, oparg);
    case POP_JUMP_IF_TRUE:
      return jump(Op::pop_jump_if_true, oparg);
    case POP_JUMP_IF_NONE:
      return jump(Op::pop_jump_if_none, oparg);
    case POP_JUMP_IF_NOT_NONE:
      return jump(Op::pop_jump_if_not_none, oparg);
    default:
      return plain(op_of(opcode), oparg);
  }
}

}  // namespace dvm::capture
