// The instructions that mean the same in all versions of CPython, though their numbers differ.
#include "capture/cpython/code_table.h"
#include "opcode.h"

namespace dvm::capture {

namespace {

Op common_op(int opcode) {
  switch (opcode) {
    case NOP:
    case RETURN_GENERATOR:
    case COPY_FREE_VARS:
      return Op::nothing;
    case RESUME:
      return Op::resume;
#if PY_VERSION_HEX < 0x030E0000
    case LOAD_ASSERTION_ERROR:
      return Op::load_common_constant;
    case BINARY_SUBSCR:
      return Op::subscript;
    case BUILD_CONST_KEY_MAP:
      return Op::build_const_key_map;
    case BEFORE_WITH:
      return Op::before_with;
    case BEFORE_ASYNC_WITH:
      return Op::asynchronous;
#endif
    case MAKE_FUNCTION:
      return Op::make_function;
    case POP_TOP:
      return Op::pop_top;
    case PUSH_NULL:
      return Op::push_null;
    case COPY:
      return Op::copy;
    case SWAP:
      return Op::swap;
    case LOAD_CONST:
      return Op::load_const;
    case LOAD_FAST:
      return Op::load_fast;
    case STORE_FAST:
      return Op::store_fast;
    case DELETE_FAST:
      return Op::delete_fast;
    case LOAD_DEREF:
      return Op::load_deref;
    case STORE_DEREF:
      return Op::store_deref;
    case DELETE_DEREF:
      return Op::delete_deref;
    case LOAD_BUILD_CLASS:
      return Op::load_build_class;
    case STORE_GLOBAL:
      return Op::store_global;
    case DELETE_GLOBAL:
      return Op::delete_global;
    case STORE_ATTR:
      return Op::store_attr;
    case DELETE_ATTR:
      return Op::delete_attr;
    case STORE_SUBSCR:
      return Op::store_subscript;
    case DELETE_SUBSCR:
      return Op::delete_subscript;
    case UNARY_NEGATIVE:
      return Op::unary_negative;
    case UNARY_INVERT:
      return Op::unary_invert;
    case UNARY_NOT:
      return Op::unary_not;
    case BINARY_OP:
      return Op::binary;
    case IS_OP:
      return Op::is;
    case CONTAINS_OP:
      return Op::contains;
    case BUILD_TUPLE:
      return Op::build_tuple;
    case BUILD_LIST:
      return Op::build_list;
    case BUILD_SET:
      return Op::build_set;
    case BUILD_MAP:
      return Op::build_map;
    case BUILD_STRING:
      return Op::build_string;
    case BUILD_SLICE:
      return Op::build_slice;
    case LIST_APPEND:
      return Op::list_append;
    case LIST_EXTEND:
      return Op::list_extend;
    case SET_ADD:
      return Op::set_add;
    case SET_UPDATE:
      return Op::set_update;
    case MAP_ADD:
      return Op::map_add;
    case DICT_UPDATE:
      return Op::dict_update;
    case DICT_MERGE:
      return Op::dict_merge;
    case UNPACK_SEQUENCE:
      return Op::unpack_sequence;
    case UNPACK_EX:
      return Op::unpack_ex;
    case CALL:
      return Op::call;
    case YIELD_VALUE:
      return Op::yield_value;
    case IMPORT_NAME:
      return Op::import_name;
    case IMPORT_FROM:
      return Op::import_from;
    case GET_ITER:
    case GET_YIELD_FROM_ITER:
      return Op::get_iter;
    case MATCH_SEQUENCE:
      return Op::match_sequence;
    case MATCH_MAPPING:
      return Op::match_mapping;
    case MATCH_KEYS:
      return Op::match_keys;
    case MATCH_CLASS:
      return Op::match_class;
    case GET_LEN:
      return Op::get_len;
    case WITH_EXCEPT_START:
      return Op::with_except_start;
    case PUSH_EXC_INFO:
      return Op::push_exc_info;
    case POP_EXCEPT:
      return Op::pop_except;
    case CHECK_EXC_MATCH:
      return Op::check_exc_match;
    case GET_AWAITABLE:
    case GET_AITER:
    case GET_ANEXT:
    case END_ASYNC_FOR:
      return Op::asynchronous;
    case CHECK_EG_MATCH:
      return Op::exception_group;
    case DELETE_NAME:
      return Op::outside_a_function;
    case LOAD_NAME:
      return Op::load_name;
    case STORE_NAME:
      return Op::store_name;
    case SETUP_ANNOTATIONS:
      return Op::setup_annotations;
    default:
      return Op::unknown;
  }
}

}  // namespace

Meaning jump(Op op, int relative) { return {.first = {op}, .jumps = true, .relative = relative}; }

Meaning common_meaning(int opcode, int oparg) {
  switch (opcode) {
    case RETURN_VALUE:
      return {.first = {Op::return_value}, .falls_through = false};
    case RAISE_VARARGS:
      return {.first = {Op::raise_varargs, oparg}, .falls_through = false};
    case RERAISE:
      return {.first = {Op::reraise, oparg}, .falls_through = false};
    case JUMP_FORWARD:
      return {{Op::jump_forward}, {}, true, oparg, false};
    case JUMP_BACKWARD:
      return {{Op::jump_backward}, {}, true, -oparg, false};
    case JUMP_BACKWARD_NO_INTERRUPT:
      return {{Op::nothing}, {}, true, -oparg, false};
    case SEND:
      return jump(Op::send, oparg);
    default:
      return {.first = {common_op(opcode), oparg}};
  }
}

}  // namespace dvm::capture
