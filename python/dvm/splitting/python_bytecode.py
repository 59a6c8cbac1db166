"""Instructions and tables of a code object, as CPython 3.11 writes them."""

from __future__ import annotations

import dis
import opcode as opcode_table
from typing import Any

from dvm.splitting.flow import UNIT, Handler


def instruction(name: str, argument: int, least: int = 1) -> bytes:
    """An instruction with room for its caches; its argument has `least` bytes or more."""
    count = max((argument.bit_length() + 7) // 8, least)
    digits = argument.to_bytes(count, "big")
    made = b"".join(bytes((dis.opmap["EXTENDED_ARG"], digit)) for digit in digits[:-1])
    opcode = dis.opmap[name]
    caches = bytes(UNIT * opcode_table._inline_cache_entries[opcode])  # type: ignore[attr-defined]
    return made + bytes((opcode, digits[-1])) + caches


def jump(name: str, at: int, target: int, width: int = 1) -> bytes:
    """A jump from one offset to another, of so many instructions at least.

    Its distance is counted from its end.
    """
    for least in range(width, 5):
        distance = abs(target - at - UNIT * least) // UNIT
        if distance < 256**least:
            return instruction(name, distance, least)
    raise ValueError("a function of more than four billion instructions")


def _varint(value: int) -> bytes:
    made = []
    while value >= 64:
        made.append(value & 63 | 64)
        value >>= 6
    return bytes((*made, value))


def line_table(first_line: int, units: list[Any]) -> bytes:
    """Locations of instructions as CPython 3.11 has them (Objects/locations.md), one a unit."""
    made, line = b"", first_line
    for at, end_line, column, end_column in units:
        if at is None:
            made += bytes((0x80 | 15 << 3,))
            continue
        known = end_line is not None and column is not None and end_column is not None
        made += bytes((0x80 | (14 if known else 13) << 3,))
        delta = at - line
        made += _varint(delta << 1 if delta >= 0 else -delta << 1 | 1)
        if known:
            made += _varint(end_line - at) + _varint(column + 1) + _varint(end_column + 1)
        line = at
    return made


def exception_table(handlers: list[Handler]) -> bytes:
    """Handlers as CPython 3.11 has them (Objects/exception_handling_notes.txt)."""
    made = b""
    for begin, end, target, depth, lasti in handlers:
        values = (begin // UNIT, (end - begin) // UNIT, target // UNIT, depth << 1 | lasti)
        for place, value in enumerate(values):
            digits = [value & 63]
            while value := value >> 6:
                digits.append(value & 63)
            digits = [*(digit | 64 for digit in digits[:0:-1]), digits[0]]
            if place == 0:
                digits[0] |= 128
            made += bytes(digits)
    return made
