"""A piece of a function as a function of its own."""

from __future__ import annotations

import inspect
import types
from typing import Any

from dvm import _dvm
from dvm.splitting.flow import Flow
from dvm.splitting.python_bytecode import LOAD_UNSURE, Handler, Row, assembled, call, placed


class End:
    """Stands first in what a part hands on, so that no value of the program is taken for it."""


def own_lines(code: types.CodeType) -> set[int]:
    """Lines of a function's instructions, but for those that make its frame."""
    flow = Flow(code)
    lines = (each.position[0] for each in flow.steps[flow.first :])
    return {line for line in lines if line is not None}


def part_of(function: types.FunctionType, flow: Flow, begin: int, end: int) -> types.FunctionType:
    """The piece of a function between two points of its flow, as a function.

    The first takes what the function takes; another all locals, which it takes over from whoever
    calls it, and drops those without a value. Locals that only some ways give a value, which nobody
    reads behind its end, are None at first, for what they are given lives on in the next part.
    """
    code, constants = flow.code, flow.code.co_consts
    first, last = flow.first, flow.last
    head: list[Row] = []
    tail: list[Row] = []
    if begin > first:
        if first == flow.framed:
            constants = (*constants, _dvm.begin_part)
            head += [*call(Row("LOAD_CONST", len(constants) - 1), ()), Row("POP_TOP")]
        head += [_on(flow, "DELETE_FAST", name) for name in sorted(flow.unset(begin))]
    elif end < last:
        constants = (*constants, None)
        for name in sorted(flow.may_be_none_first(end)):
            head += [Row("LOAD_CONST", len(constants) - 1), _on(flow, "STORE_FAST", name)]
    if end < last:
        tail, constants = _hands_on(flow, end, constants)
    rows = [
        *flow.head(first),
        *placed(head, flow.steps[begin].position),
        *flow.rows(begin, end),
        *placed(tail, flow.steps[end - 1].position),
    ]
    room = max(code.co_stacksize, len(flow.names) + 3)
    return remade(function, flow, begin == first, rows, constants, room)[0]


def remade(
    function: types.FunctionType,
    flow: Flow,
    takes_the_same: bool,
    rows: list[Row],
    constants: tuple[Any, ...],
    room: int,
) -> tuple[types.FunctionType, dict[int, int]]:
    """The function with other instructions, and how many bytes are before the labels of those.

    It takes what it did, or all its locals in their order. room: for values on the stack.
    """
    old = flow.code
    code, labels = assembled(rows, old.co_firstlineno)
    code |= {"co_consts": constants, "co_stacksize": room}
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
    return made, labels


def _on(flow: Flow, fast: str, name: str) -> Row:
    """An instruction on a local, or its like on the cell of one that functions within share."""
    shared = name in flow.code.co_cellvars
    return Row(fast.split("FAST")[0] + "DEREF" if shared else fast, flow.names.index(name))


def _hands_on(
    flow: Flow, point: int, constants: tuple[Any, ...]
) -> tuple[list[Row], tuple[Any, ...]]:
    """Instructions, labelled as the point, that return (End, *locals), and the constants for it.

    None stands for a local that has no value. Where it may have one, and a program that reads it
    too early sees that, a handler tells: only an exception does.
    """
    none = Row("LOAD_CONST", len(constants) + 1)
    unsure = flow.may_lack(point) - flow.may_be_none_first(point)
    made = [Row("LOAD_CONST", len(constants), label=point)]
    for place, name in enumerate(flow.names):
        here, lacks = ~(2 * place), ~(2 * place + 1)  # labels that are no places
        load = _on(flow, LOAD_UNSURE, name) if name in flow.perhaps_assigned[point] else none
        if name not in unsure:
            made.append(load._replace(label=here))
            continue
        made += [
            load._replace(label=here, handler=Handler(lacks, place + 1, False)),
            Row("JUMP_FORWARD", target=~(2 * place + 2)),
            Row("PUSH_EXC_INFO", label=lacks),
            *(Row("POP_TOP"), Row("POP_EXCEPT"), none),
        ]
    count = len(flow.names)
    made.append(Row("BUILD_TUPLE", count + 1, label=~(2 * count)))
    return [*made, Row("RETURN_VALUE")], (*constants, End, None)
