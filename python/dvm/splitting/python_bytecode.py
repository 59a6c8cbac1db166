"""Instructions and tables of a code object, as CPython writes them from 3.11 on."""

from __future__ import annotations

import dis
import itertools
import opcode as opcode_table
import sys
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

UNIT = 2  # bytes of an instruction, of a prefix of it, or of one of its caches
Position = tuple[int | None, int | None, int | None, int | None]

# What versions write in ways of their own.
NULL_IS_BELOW_CALLEE = sys.version_info < (3, 13)
BEFORE_CALL = [name for name in ("PRECALL",) if name in dis.opmap]
#: Reads a local that may have no value. Since 3.12 LOAD_FAST relies on it that there is one.
LOAD_UNSURE = "LOAD_FAST_CHECK" if "LOAD_FAST_CHECK" in dis.opmap else "LOAD_FAST"


class Handler(NamedTuple):
    """Where an exception leads, by label.

    depth: values that stay on the stack; lasti: whether the instruction's place goes on top.
    """

    target: int
    depth: int
    lasti: bool


class Row(NamedTuple):
    """An instruction, wherever it comes to lie; others are meant by their labels, any numbers.

    position: its lines and columns, as `co_positions` has them.
    target: where it jumps, forward or backward as it turns out.
    then: what has to follow, where that is not whatever does.
    """

    name: str
    arg: int = 0
    target: int | None = None
    label: int | None = None
    handler: Handler | None = None
    position: Position | None = None
    then: int | None = None


def call(callee: Row, arguments: Iterable[Row]) -> list[Row]:
    """A call by position."""
    given, null = list(arguments), Row("PUSH_NULL")
    called = [null, callee] if NULL_IS_BELOW_CALLEE else [callee, null]
    return [*called, *given, *(Row(name, len(given)) for name in (*BEFORE_CALL, "CALL"))]


def placed(rows: Iterable[Row], position: Position, handler: Handler | None = None) -> list[Row]:
    """The rows at a position and under a handler, where they have none."""
    return [e._replace(position=e.position or position, handler=e.handler or handler) for e in rows]


def assembled(rows: list[Row], first_line: int) -> tuple[dict[str, Any], dict[int, int]]:
    """Code and tables for `types.CodeType.replace`, and how many bytes are before each label."""
    laid = list(_with_jumps(rows))
    places = {each.label: place for place, each in enumerate(laid) if each.label is not None}
    for place, each in enumerate(laid):
        if each.target is not None:
            name = _directed(each.name, is_forward=places[each.target] > place)
            laid[place] = each._replace(name=name)
    made = [b""] * len(laid)
    while True:  # until no distance needs a longer argument
        starts = list(itertools.accumulate((len(code) // UNIT for code in made), initial=0))
        before = made
        made = []
        for place, each in enumerate(laid):
            argument = each.arg
            if each.target is not None:
                argument = abs(starts[places[each.target]] - starts[place + 1])
            made.append(_instruction(each.name, argument, len(before[place])))
        if made == before:
            break
    table = []
    for handler, group in itertools.groupby(range(len(laid)), lambda place: laid[place].handler):
        if handler is not None:
            covered = list(group)
            begin, end = starts[covered[0]], starts[covered[-1] + 1]
            table.append((begin, end - begin, starts[places[handler.target]], *handler[1:]))
    lines = [each.position for each, code in zip(laid, made, strict=True) for _ in code[::UNIT]]
    code = {
        "co_code": b"".join(made),
        "co_linetable": _line_table(first_line, lines),
        "co_exceptiontable": _exception_table(table),
    }
    return code, {label: starts[place] * UNIT for label, place in places.items()}


def _with_jumps(rows: list[Row]) -> Iterator[Row]:
    """The rows with a jump where another one follows than has to."""
    for each, following in itertools.zip_longest(rows, rows[1:]):
        yield each
        if each.then is not None and (following is None or following.label != each.then):
            yield Row("JUMP_FORWARD", 0, each.then, None, each.handler, each.position)


def _directed(jump: str, is_forward: bool) -> str:
    """The name of an instruction that jumps in this direction."""
    if is_forward:
        return jump.replace("_NO_INTERRUPT", "").replace("BACKWARD", "FORWARD")
    backward = jump.replace("FORWARD", "BACKWARD")
    assert "BACKWARD" in backward, jump
    return backward


def _instruction(name: str, argument: int, least: int) -> bytes:
    """An instruction with room for its caches, of so many bytes or more."""
    table: Any = opcode_table._inline_cache_entries  # type: ignore[attr-defined]
    number = dis.opmap[name]
    caches = bytes(UNIT * (table.get(name, 0) if isinstance(table, dict) else table[number]))
    count = max((argument.bit_length() + 7) // 8, (least - len(caches)) // UNIT, 1)
    digits = argument.to_bytes(count, "big")
    prefixes = b"".join(bytes((dis.EXTENDED_ARG, digit)) for digit in digits[:-1])
    return prefixes + bytes((number, digits[-1])) + caches


def _varint(value: int) -> bytes:
    made = []
    while value >= 64:
        made.append(value & 63 | 64)
        value >>= 6
    return bytes((*made, value))


def _line_table(first_line: int, units: Iterable[Position | None]) -> bytes:
    """Locations of instructions (CPython's Objects/locations.md), one a unit."""
    made, line = bytearray(), first_line
    for position in units:
        at, end_line, column, end_column = position or (None,) * 4
        if at is None:
            made.append(0x80 | 15 << 3)
            continue
        delta, line = at - line, at
        signed = _varint(delta << 1 if delta >= 0 else -delta << 1 | 1)
        if end_line is None or column is None or end_column is None:
            made += bytes((0x80 | 13 << 3,)) + signed
        else:
            made += bytes((0x80 | 14 << 3,)) + signed + _varint(end_line - at)
            made += _varint(column + 1) + _varint(end_column + 1)
    return bytes(made)


def _exception_table(table: list[tuple[int, int, int, int, bool]]) -> bytes:
    """Begin, length, target, depth and lasti (CPython's Objects/exception_handling_notes.txt)."""
    made = b""
    for *places, depth, lasti in table:
        for place, value in enumerate((*places, depth << 1 | lasti)):
            digits = [value & 63]
            while value := value >> 6:
                digits.append(value & 63)
            digits = [*(digit | 64 for digit in digits[:0:-1]), digits[0]]
            if place == 0:
                digits[0] |= 128
            made += bytes(digits)
    return made
