"""What Python's own operators and functions are, as declarative tables."""

from __future__ import annotations

import builtins
import dataclasses
import datetime
import math
import operator
import random
import time
import types
from typing import Any

#: kind of a recorded event -> operator -> the function of Python that does the same
OPERATORS: dict[str, dict[str, Any]] = {
    "binary": {
        "+": operator.add,
        "-": operator.sub,
        "*": operator.mul,
        "/": operator.truediv,
        "//": operator.floordiv,
        "%": operator.mod,
        "**": operator.pow,
        "@": operator.matmul,
        "&": operator.and_,
        "|": operator.or_,
        "^": operator.xor,
        "<<": operator.lshift,
        ">>": operator.rshift,
    },
    "compare": {
        "<": operator.lt,
        "<=": operator.le,
        "==": operator.eq,
        "!=": operator.ne,
        ">": operator.gt,
        ">=": operator.ge,
    },
    "unary": {"-": operator.neg, "+": operator.pos, "~": operator.invert, "not": operator.not_},
    "subscript": {"": operator.getitem},
    "branch": {"truth": bool},
    "iter": {"": iter},
}

#: operator of the language -> the function that changes its first operand
INPLACE_OPERATORS: dict[str, Any] = {
    "+": operator.iadd,
    "-": operator.isub,
    "*": operator.imul,
    "/": operator.itruediv,
    "//": operator.ifloordiv,
    "%": operator.imod,
    "**": operator.ipow,
    "@": operator.imatmul,
    "&": operator.iand,
    "|": operator.ior,
    "^": operator.ixor,
    "<<": operator.ilshift,
    ">>": operator.irshift,
}

#: function of module operator -> kind of the event, and name, that is the same
EVENT_OF: dict[Any, tuple[str, str]] = {
    function: (kind, name)
    for kind in ("binary", "compare", "subscript")
    for name, function in OPERATORS[kind].items()
} | {operator.concat: ("binary", "+")}

#: methods of an iterator
ITERATOR = ("__init__", "__iter__", "__next__")

#: pure functions on Python objects; folded when all arguments are known, else called on the host
PURE: frozenset[Any] = frozenset(
    {
        round,
        pow,
        divmod,
        str,
        repr,
        ord,
        chr,
        complex,
        bytes,
        format,
        frozenset,
        hex,
        bin,
    }
    | {value for value in vars(math).values() if callable(value)}
    | {
        getattr(operator, name)
        for name in (
            "add sub mul truediv floordiv mod pow neg pos abs lt le eq ne gt ge not_ truth and_ "
            "or_ xor invert lshift rshift getitem index contains concat matmul"
        ).split()
    }
)

#: methods in Python of its generators of random numbers
RANDOM = [value for value in vars(random.Random).values() if isinstance(value, types.FunctionType)]

#: functions that read a clock and change nothing: called on every replay, where the program does
CLOCKS: frozenset[Any] = frozenset(
    {
        getattr(time, name + unit)
        for name in ("perf_counter", "time", "monotonic", "process_time", "thread_time")
        for unit in ("", "_ns")
    }
    | {getattr(datetime.datetime, name) for name in ("now", "utcnow", "today")}
    | {datetime.date.today}
)

#: What `@dataclass` does to a class.
PROCESS_DATACLASS: Any = dataclasses._process_class  # type: ignore[attr-defined]
#: What makes classes, which is not followed: meanings/python/local_classes.py knows it.
DEFINING = (builtins.__build_class__, PROCESS_DATACLASS)
