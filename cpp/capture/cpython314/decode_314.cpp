#include "capture/since_cpython313/decode.h"
#include "opcode.h"

namespace dvm::capture {

extern const bool kIteratorStays = true;

Meaning meaning_of(int opcode, int oparg) {
  constexpr int kSubscript = 26;  // of BINARY_OP
  switch (opcode) {
    case LOAD_FAST_BORROW:
      return {.first = {Op::load_fast, oparg}};
    case LOAD_FAST_BORROW_LOAD_FAST_BORROW:
      return {.first = {Op::load_fast, oparg >> 4}, .then = {Op::load_fast, oparg & 15}};
    case LOAD_SMALL_INT:
      return {.first = {Op::load_small_int, oparg}};
    case LOAD_COMMON_CONSTANT:
      return {.first = {Op::load_common_constant, oparg}};
    case LOAD_SPECIAL:
      return {.first = {Op::load_special, oparg}};
    case BINARY_OP:
      return {.first = {oparg == kSubscript ? Op::subscript : Op::binary, oparg}};
    case CALL_FUNCTION_EX:
      return {.first = {Op::call_function_ex, kMaybeNamed}};
    case WITH_EXCEPT_START:
      return {.first = {Op::with_except_start, 1}};
    case FOR_ITER:
      return jump(Op::for_iter, oparg + 1);  // beyond END_FOR, to POP_ITER
    case POP_ITER:
      return {.first = {Op::pop_top}};
    case NOT_TAKEN:
      return {.first = {Op::nothing}};
    case BUILD_INTERPOLATION:
    case BUILD_TEMPLATE:
      return {.first = {Op::template_string}};
    default:
      return meaning_since_313(opcode, oparg);
  }
}

}  // namespace dvm::capture
