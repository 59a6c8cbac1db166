"""The instructions of CPython 3.11 which the reference tracer handles by table.

After the `dis` manual; the others are methods of settrace_frame.FrameShadow, named like them.
"""

from __future__ import annotations

from dvm import reasons

BINARY = ("+", "&", "//", "<<", "@", "*", "%", "|", "**", ">>", "-", "/", "^")
COMPARE = ("<", "<=", "==", "!=", ">", ">=")
UNARY = {
    "UNARY_POSITIVE": "+",
    "UNARY_NEGATIVE": "-",
    "UNARY_NOT": "not",
    "UNARY_INVERT": "~",
}
REFUSED = {
    reasons.ASYNCHRONOUS: (
        "RETURN_GENERATOR GET_AWAITABLE GET_AITER GET_ANEXT BEFORE_ASYNC_WITH "
        "END_ASYNC_FOR ASYNC_GEN_WRAP"
    ),
    reasons.EXCEPTION_GROUP: "CHECK_EG_MATCH PREP_RERAISE_STAR",
    reasons.OUTSIDE_A_FUNCTION: (
        "LOAD_NAME STORE_NAME DELETE_NAME LOAD_CLASSDEREF SETUP_ANNOTATIONS IMPORT_STAR PRINT_EXPR"
    ),
    reasons.DELETED_GLOBAL: "DELETE_GLOBAL",
}
REASONS = {name: reason for reason, names in REFUSED.items() for name in names.split()}
UPDATES = {
    "LIST_APPEND": 1,
    "LIST_EXTEND": 1,
    "SET_ADD": 1,
    "SET_UPDATE": 1,
    "MAP_ADD": 2,
    "DICT_UPDATE": 1,
    "DICT_MERGE": 1,
}
NOTHING = {
    "RESUME",
    "NOP",
    "PRECALL",
    "JUMP_FORWARD",
    "JUMP_BACKWARD",
    "JUMP_BACKWARD_NO_INTERRUPT",
}
BUILDS = {
    "BUILD_TUPLE": "tuple",
    "BUILD_LIST": "list",
    "BUILD_SET": "set",
    "BUILD_STRING": "string",
    "BUILD_SLICE": "slice",
    "BUILD_MAP": "dict",
}
