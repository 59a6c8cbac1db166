"""Which special methods an operation of the language looks up.

A followed operation is guarded by all that decided it: a class that gains a method later takes
another way.
"""

from __future__ import annotations

#: operator -> the word in the names of its methods
ARITHMETIC = {
    "+": "add",
    "-": "sub",
    "*": "mul",
    "/": "truediv",
    "//": "floordiv",
    "%": "mod",
    "**": "pow",
    "@": "matmul",
    "&": "and",
    "|": "or",
    "^": "xor",
    "<<": "lshift",
    ">>": "rshift",
}
_COMPARISONS = {
    "<": ("__lt__", "__gt__"),
    "<=": ("__le__", "__ge__"),
    "==": ("__eq__", "__eq__"),
    "!=": ("__ne__", "__ne__", "__eq__"),
    ">": ("__gt__", "__lt__"),
    ">=": ("__ge__", "__le__"),
}
UNARY = {"-": "__neg__", "+": "__pos__", "~": "__invert__"}
_OTHERS = {
    "subscript": ("__getitem__", "__missing__", "__class_getitem__"),
    "store_subscript": ("__setitem__",),
    "delete_subscript": ("__delitem__",),
    "contains": ("__contains__", "__iter__", "__getitem__"),
    "iter": ("__iter__", "__getitem__"),
    "next": ("__next__",),
    "branch": ("__bool__", "__len__"),
    "with_enter": ("__enter__", "__exit__"),
    "call": ("__call__",),
}


def looked_up(kind: str, name: str) -> tuple[str, ...]:
    """Names that the interpreter may look up in the classes of the operands."""
    if kind in ("binary", "inplace"):
        word = ARITHMETIC[name]
        methods = (f"__{word}__", f"__r{word}__")
        return (f"__i{word}__", *methods) if kind == "inplace" else methods
    if kind == "compare":
        return _COMPARISONS[name]
    if kind == "unary":
        return (UNARY[name],) if name in UNARY else _OTHERS["branch"]
    return _OTHERS[kind]
