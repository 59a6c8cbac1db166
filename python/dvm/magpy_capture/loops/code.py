"""What the instructions of a loop tell: which variables it takes, changes and leaves behind."""

from __future__ import annotations

import dis
import functools
import types
from dataclasses import dataclass, replace

#: behind these the next instruction does not follow
ENDS = frozenset({"RETURN_VALUE", "RAISE_VARARGS", "RERAISE", "JUMP_FORWARD", "JUMP_BACKWARD"})
LOADS = frozenset({"LOAD_FAST", "LOAD_DEREF", "LOAD_CLOSURE"})
STORES = frozenset({"STORE_FAST", "DELETE_FAST", "STORE_DEREF", "DELETE_DEREF"})
FILLED = "$0"  # among the variables of a comprehension: the list that it fills (see gathering.py)
UNIT = 2  # bytes of a code unit, in which the recorder counts instructions


@dataclass(frozen=True)
class Held:
    """An attribute of an object that is a variable, as a variable of its own (held.py)."""

    variable: str
    attribute: str

    @property
    def name(self) -> str:
        return f"{self.variable}.{self.attribute}"


@dataclass(frozen=True)
class LoopCode:
    """A loop of a code object.

    variables: that a turn may read before it sets them, or that outlive the loop: what a turn is
        given, in order.
    carried: those of them that a turn sets.
    stored: all that a turn sets.
    exhausted: where a `for` goes on when nothing is left to iterate over; -1 of a `while`.
    held: attributes among the variables; they outlive the loop.
    """

    code: types.CodeType
    begin: int
    variables: tuple[str, ...]
    carried: tuple[str, ...]
    stored: frozenset[str]
    exhausted: int
    held: tuple[str, ...] = ()

    def holding(self, held: tuple[Held, ...]) -> LoopCode:
        """The loop with these attributes among its variables."""
        names = tuple(each.name for each in held)
        return replace(
            self,
            variables=self.variables + names,
            carried=self.carried + names,
            stored=self.stored | set(names),
            held=names,
        )

    def outliving(self, unit: int) -> tuple[str, ...]:
        """Those that the loop sets and what comes from that instruction on may read."""
        return (*sorted(self.stored & live_variables(self.code)[unit]), *self.held)


def called(variable: str) -> str:
    """What a reason calls it: the list of a comprehension has no name."""
    return "(of a comprehension)" if variable == FILLED else variable


@functools.lru_cache(maxsize=256)
def loop_code(code: types.CodeType, begin: int, end: int) -> LoopCode:
    """The loop in these code units, the last one exclusive."""
    named, stored, exhausted = set(), set(), -1
    for instruction in dis.get_instructions(code):
        unit = instruction.offset // UNIT
        if not begin <= unit < end:
            continue
        fills = instruction.opname == "LIST_APPEND" and code.co_name == "<listcomp>"
        if fills or instruction.opname == "YIELD_VALUE":
            named.add(FILLED)
        if instruction.opname in LOADS | STORES:
            named.add(instruction.argval)
            if instruction.opname in STORES:
                stored.add(instruction.argval)
        if instruction.opname == "FOR_ITER" and exhausted < 0 and _begins(code, begin, unit):
            exhausted = instruction.argval // UNIT
    variables = tuple(sorted(named & (live_variables(code)[begin] | {FILLED})))
    carried = tuple(name for name in variables if name in stored)
    return LoopCode(code, begin, variables, carried, frozenset(stored), exhausted)


def _begins(code: types.CodeType, begin: int, unit: int) -> bool:
    """Whether the instruction is the loop's first, behind prefixes for large operands."""
    prefixes = code.co_code[UNIT * begin : UNIT * unit : UNIT]
    return all(prefix == dis.EXTENDED_ARG for prefix in prefixes)


@functools.lru_cache(maxsize=256)
def live_variables(code: types.CodeType) -> dict[int, frozenset[str]]:
    """By code unit, the local variables that may be read before they are set again.

    One that a function within closes over may always be.
    """
    instructions = list(dis.get_instructions(code))
    handlers = dis._parse_exception_table(code)  # type: ignore[attr-defined]
    following: dict[int, list[int]] = {}
    for place, instruction in enumerate(instructions):
        targets = following.setdefault(instruction.offset, [])
        if instruction.opcode in dis.hasjrel or instruction.opcode in dis.hasjabs:
            targets.append(instruction.argval)
        if instruction.opname not in ENDS and place + 1 < len(instructions):
            targets.append(instructions[place + 1].offset)
        targets += [h.target for h in handlers if h.start <= instruction.offset < h.end]
    cells = frozenset(code.co_cellvars + code.co_freevars)
    live: dict[int, frozenset[str]] = {each.offset: cells for each in instructions}
    changed = True
    while changed:
        changed = False
        for instruction in reversed(instructions):
            offset = instruction.offset
            after = cells.union(*(live[target] for target in following[offset]))
            if instruction.opname in ("STORE_FAST", "DELETE_FAST"):
                after = after - {instruction.argval}
            # What an exception leaves to a handler was not set yet.
            for handler in handlers:
                if handler.start <= offset < handler.end:
                    after |= live[handler.target]
            if instruction.opname in ("LOAD_FAST", "DELETE_FAST"):
                after |= {instruction.argval}
            if after != live[offset]:
                live[offset] = after
                changed = True
    return {offset // UNIT: names for offset, names in live.items()}
