// The instructions that mean the same in 3.13 and in later versions.
#include "capture/since_cpython313/decode.h"

#include "opcode.h"

namespace dvm::capture {

extern const bool kCalleeIsBelow = true;

namespace {

Meaning plain(Op op, int arg = 0) { return {.first = {op, arg}}; }
Meaning two(Operation first, Operation then) { return {.first = first, .then = then}; }

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
    case LOAD_FAST_CHECK:
      return Op::load_fast;
    case MAKE_CELL:
      return Op::make_cell;
    case LOAD_FAST_AND_CLEAR:
      return Op::load_fast_and_clear;
    case BINARY_SLICE:
      return Op::slice;
    case STORE_SLICE:
      return Op::store_slice;
    case TO_BOOL:
      return Op::to_bool;
    case FORMAT_SIMPLE:
      return Op::format;
    case CONVERT_VALUE:
      return Op::convert;
    case CALL_KW:
      return Op::call_kw;
    case SET_FUNCTION_ATTRIBUTE:
      return Op::set_function_attribute;
    case END_FOR:
      return Op::pop_top;
    case LOAD_LOCALS:
      return Op::load_locals;
    case END_SEND:
      return Op::end_send;
    case CLEANUP_THROW:
      return Op::cleanup_throw;
    case LOAD_FROM_DICT_OR_DEREF:
    case LOAD_FROM_DICT_OR_GLOBALS:
      return Op::outside_a_function;
    default:
      return Op::unknown;
  }
}

}  // namespace

Meaning meaning_since_313(int opcode, int oparg) {
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
    case POP_JUMP_IF_FALSE:
      return jump(Op::pop_jump_if_false, oparg);
    case POP_JUMP_IF_TRUE:
      return jump(Op::pop_jump_if_true, oparg);
    case POP_JUMP_IF_NONE:
      return jump(Op::pop_jump_if_none, oparg);
    case POP_JUMP_IF_NOT_NONE:
      return jump(Op::pop_jump_if_not_none, oparg);
    default: {
      const Op own = op_of(opcode);
      return own == Op::unknown ? common_meaning(opcode, oparg) : Meaning{.first = {own, oparg}};
    }
  }
}

}  // namespace dvm::capture
