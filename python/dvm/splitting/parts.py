"""A piece of a function as a function of its own."""

from __future__ import annotations

import inspect
import types
from typing import Any

from dvm import _dvm
from dvm.splitting.flow import UNIT, Flow, Handler
from dvm.splitting.python_bytecode import exception_table, instruction, line_table


class End:
    """Stands first in what a part hands on, so that no value of the program is taken for it."""


def own_lines(code: types.CodeType) -> set[int]:
    """Lines of a function's instructions, but for those that make its frame."""
    positions = list(code.co_positions())[Flow(code).first // UNIT :]
    return {line for line, *_ in positions if line is not None}


def part_of(function: types.FunctionType, flow: Flow, begin: int, end: int) -> types.FunctionType:
    """The piece of a function between two points of its flow, as a function.

    The first takes what the function takes; another all locals, which it takes over from whoever
    calls it, and drops those without a value. Locals that only some ways give a value, which nobody
    reads behind its end, are None at first, for what they are given lives on in the next part.
    """
    code, constants = flow.code, flow.code.co_consts
    first, last = flow.first, len(code.co_code)
    head = code.co_code[:first]
    if begin > first:
        if first == flow.framed:
            constants = (*constants, _dvm.begin_part)
            head += instruction("PUSH_NULL", 0) + instruction("LOAD_CONST", len(constants) - 1)
            head += instruction("PRECALL", 0) + instruction("CALL", 0) + instruction("POP_TOP", 0)
        for name in sorted(flow.unset(begin)):
            kind = "DELETE_DEREF" if name in code.co_cellvars else "DELETE_FAST"
            head += instruction(kind, flow.names.index(name))
    elif end < last:
        constants = (*constants, None)
        for name in sorted(flow.may_be_none_first(end)):
            kind = "STORE_DEREF" if name in code.co_cellvars else "STORE_FAST"
            head += instruction("LOAD_CONST", len(constants) - 1)
            head += instruction(kind, flow.names.index(name))
    body = code.co_code[begin:end]
    handlers = moved(flow.handlers, begin, end, len(head) - begin)
    tail = b""
    if end < last:
        tail, constants, more = _hands_on(flow, end, constants, len(head) + len(body))
        handlers += more
    positions = list(code.co_positions())
    units = positions[: first // UNIT] + [positions[begin // UNIT]] * ((len(head) - first) // UNIT)
    units += positions[begin // UNIT : end // UNIT]
    units += [positions[end // UNIT - 1]] * (len(tail) // UNIT)
    return remade(
        function,
        flow,
        begin == first,
        co_code=head + body + tail,
        co_consts=constants,
        co_stacksize=max(code.co_stacksize, len(flow.names) + 3),
        co_linetable=line_table(code.co_firstlineno, units),
        co_exceptiontable=exception_table(handlers),
    )


def moved(handlers: list[Handler], begin: int, end: int, by: int, below: int = 0) -> list[Handler]:
    """Those handlers that lie in a piece, where it was moved by some bytes.

    below: how many values were on the stack at its begin and are not any more.
    """
    return [
        Handler(h.begin + by, h.end + by, h.target + by, h.depth - below, h.lasti)
        for h in handlers
        if begin <= h.begin and h.end <= end and begin <= h.target < end
    ]


def remade(
    function: types.FunctionType, flow: Flow, takes_the_same: bool, **code: Any
) -> types.FunctionType:
    """The function with other code; it takes what it did, or all its locals in their order."""
    old = flow.code
    if not takes_the_same:
        names = tuple(flow.names)
        code |= {"co_varnames": names, "co_nlocals": len(names), "co_argcount": len(names)}
        code |= {"co_posonlyargcount": 0, "co_kwonlyargcount": 0}
        code["co_flags"] = old.co_flags & ~(inspect.CO_VARARGS | inspect.CO_VARKEYWORDS)
    made = types.FunctionType(
        old.replace(**code),
        function.__globals__,
        function.__name__,
        function.__defaults__ if takes_the_same else None,
        function.__closure__,
    )
    made.__kwdefaults__ = function.__kwdefaults__ if takes_the_same else None
    made.__qualname__, made.__module__ = function.__qualname__, function.__module__
    return made


def _hands_on(
    flow: Flow, point: int, constants: tuple[Any, ...], begin: int
) -> tuple[bytes, tuple[Any, ...], list[Handler]]:
    """Instructions, at `begin`, that return (End, *locals), and the constants and handlers for it.

    None stands for a local that has no value. Where it may have one, and a program that reads it
    too early sees that, a handler tells: only an exception does.
    """
    constants = (*constants, End, None)
    none, handlers = instruction("LOAD_CONST", len(constants) - 1), []
    unsure = flow.may_lack(point) - flow.may_be_none_first(point)
    made = instruction("LOAD_CONST", len(constants) - 2)
    for place, name in enumerate(flow.names):
        if name not in flow.perhaps_assigned[point]:
            made += none
            continue
        shared = name in flow.code.co_cellvars
        at = begin + len(made)
        made += instruction("LOAD_DEREF" if shared else "LOAD_FAST", place)
        if name in unsure:
            taken = (instruction(e, 0) for e in ("PUSH_EXC_INFO", "POP_TOP", "POP_EXCEPT"))
            otherwise = b"".join(taken) + none
            read = begin + len(made)
            made += instruction("JUMP_FORWARD", len(otherwise) // UNIT)
            handlers.append(Handler(at, read, begin + len(made), place + 1, False))
            made += otherwise
    made += instruction("BUILD_TUPLE", len(flow.names) + 1) + instruction("RETURN_VALUE", 0)
    return made, constants, handlers
