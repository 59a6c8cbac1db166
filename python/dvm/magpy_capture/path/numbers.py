"""Numbers that a file computes of sizes and numbers that it is given, as Python did."""

from __future__ import annotations

import math
import operator
from typing import TYPE_CHECKING, Any

from dvm import _dvm

if TYPE_CHECKING:
    from dvm.magpy_capture.path.graphs import Graphs

MOST = 2**62  # that sizes stay below
#: what is the same of sizes as of ints
OF_SIZES = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "//": operator.floordiv,
    "%": operator.mod,
}
#: what is the same of doubles, to the last bit
OF_DOUBLES = {"+": "add", "-": "sub", "*": "mul", "/": "div"}


def size_of(graph: Graphs, register: int) -> _dvm.Dim | None:
    """The size that an int in a register is."""
    if (size := graph.program.int_sizes.get(register)) is not None:
        return size
    if register not in graph.settled.known_sizes:
        graph.settled.known_sizes[register] = _size_of(graph, register)
    return graph.settled.known_sizes[register]


def _size_of(graph: Graphs, register: int) -> _dvm.Dim | None:
    known = graph.settled.value_of(register)
    if graph.settled.is_settled(register):
        return graph.size(known) if type(known) is int and abs(known) < MOST else None
    if type(known) is int:
        return graph.symbol_of_int("k", register, known, -MOST) if abs(known) < MOST else None
    step = graph.program.maker_of(register)
    if step is None or step[0] != "operator" or len(step) != 5 or step[2] not in OF_SIZES:
        return None
    left, right = (size_of(graph, each) for each in step[3:])
    if left is None or right is None:
        return None
    if step[2] in ("//", "%") and not (right.constant or 0) > 0:
        return None
    computed: _dvm.Dim = OF_SIZES[step[2]](left, right)
    return computed


def double_of(graph: Graphs, register: int) -> int | None:
    """The graph's value, a double of rank 0, that a number in a register is."""
    if register not in graph.settled.known_doubles:
        graph.settled.known_doubles[register] = _double_of(graph, register)
    return graph.settled.known_doubles[register]


def _double_of(graph: Graphs, register: int) -> int | None:
    known = graph.settled.value_of(register)
    if graph.settled.is_settled(register):
        return graph.constant_value("float64", float(known)) if is_real(known) else None
    if type(known) is float:
        return graph.given_scalar("float64", register)
    if (size := size_of(graph, register)) is not None:
        return graph.cast_value(graph.dim_value("int64", size), "float64")
    step = graph.program.maker_of(register)
    if step is None:
        return None
    if step[0] == "call":
        return _root(graph, step)
    if step[0] != "operator":
        return None
    text, *operands = step[2:]
    if text == "float":
        return double_of(graph, operands[0])
    if text not in OF_DOUBLES or len(operands) != 2:
        return None
    sizes = [size for each in operands if (size := size_of(graph, each)) is not None]
    if len(sizes) == 2 and not (text == "/" and all(size.is_natural for size in sizes)):
        return None  # ints beyond those that a double has
    left, right = (double_of(graph, each) for each in operands)
    if left is None or right is None:
        return None
    return graph.elementwise_value(OF_DOUBLES[text], [left, right])


def _root(graph: Graphs, step: tuple[Any, ...]) -> int | None:
    """Of a size, which has one."""
    _, _, function, given, names = step[:5]
    if graph.settled.value_of(function) is not math.sqrt or len(given) != 1 or names:
        return None
    size = size_of(graph, given[0])
    if size is None or not size.is_natural:
        return None
    value = graph.cast_value(graph.dim_value("int64", size), "float64")
    return graph.elementwise_value("sqrt", [value])


def is_real(value: Any) -> bool:
    """Whether a double has it."""
    return type(value) is float or (type(value) is int and abs(value) < 2**53)
