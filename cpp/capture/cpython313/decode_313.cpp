#include "capture/since_cpython313/decode.h"
#include "opcode.h"

namespace dvm::capture {

extern const bool kIteratorStays = false;

Meaning meaning_of(int opcode, int oparg) {
  switch (opcode) {
    case RETURN_CONST:
      return {.first = {Op::load_const, oparg}, .then = {Op::return_value}, .falls_through = false};
    case FOR_ITER:
      return jump(Op::for_iter, oparg + 2);  // beyond END_FOR and POP_TOP
    case CALL_FUNCTION_EX:
      return {.first = {Op::call_function_ex, oparg & 1}};
    default:
      return meaning_since_313(opcode, oparg);
  }
}

}  // namespace dvm::capture
