"""What the instructions of a loop tell: which variables it takes, changes and leaves behind."""

from __future__ import annotations

import dis
import functools
import types
from dataclasses import dataclass, replace

from dvm.magpy_capture.recording.operations import Operation, operations

LOADS = frozenset({"load_fast", "load_deref", "load_closure"})
STORES = frozenset({"store_fast", "delete_fast", "store_deref", "delete_deref"})
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
    within = [each for each in operations(code) if begin <= each.unit < end]
    below = next((each.depth for each in within if each.start == begin), 0)  # what a turn finds
    for each in within:
        # To a list that a turn finds on the stack: of the comprehension that the loop is.
        fills = each.name == "list_append" and each.depth - 1 - each.arg < below
        if fills or each.name == "yield_value":
            named.add(FILLED)
        if each.name in LOADS | STORES:
            named.add(each.value)
            if each.name in STORES:
                stored.add(each.value)
        if each.name == "for_iter" and exhausted < 0 and each.start == begin:
            exhausted = each.target
    variables = tuple(sorted(named & (live_variables(code)[begin] | {FILLED})))
    carried = tuple(name for name in variables if name in stored)
    return LoopCode(code, begin, variables, carried, frozenset(stored), exhausted)


@functools.lru_cache(maxsize=256)
def live_variables(code: types.CodeType) -> dict[int, frozenset[str]]:
    """By code unit, the local variables that may be read before they are set again.

    One that a function within closes over may always be.
    """
    all_of = operations(code)
    first = {each.start: place for place, each in reversed([*enumerate(all_of)])}
    handlers = [
        (handler.start // UNIT, handler.end // UNIT, first[handler.target // UNIT])
        for handler in dis._parse_exception_table(code)  # type: ignore[attr-defined]
    ]
    following: list[list[int]] = []
    caught: list[list[int]] = []
    for place, each in enumerate(all_of):
        targets = [first[each.target]] if each.target in first else []
        if each.goes_on and place + 1 < len(all_of):
            targets.append(place + 1)
        caught.append([to for begin, end, to in handlers if begin <= each.unit < end])
        following.append(targets + caught[-1])
    restored = _restored(all_of)
    cells = frozenset(code.co_cellvars + code.co_freevars)
    live = [cells] * len(all_of)
    changed = True
    while changed:
        changed = False
        for place in range(len(all_of) - 1, -1, -1):
            each = all_of[place]
            after = cells.union(*(live[target] for target in following[place]))
            if each.name in ("store_fast", "delete_fast", "load_fast_and_clear"):
                after = after - {each.value}
            # What an exception leaves to a handler was not set yet.
            for target in caught[place]:
                after |= live[target]
            read = each.name in ("load_fast", "delete_fast")
            if place in restored:
                read = any(each.value in live[target] for target in following[restored[place]])
            if read:
                after |= {each.value}
            if after != live[place]:
                live[place] = after
                changed = True
    return {
        unit: live[place]
        for place, each in reversed([*enumerate(all_of)])
        for unit in (each.unit, each.start)
    }


def _restored(all_of: tuple[Operation, ...]) -> dict[int, int]:
    """Where a comprehension puts variables of the function's aside, and where it puts them back."""
    places: dict[int, int] = {}
    for place, each in enumerate(all_of):
        if each.name != "load_fast_and_clear":
            continue
        behind = next(other.target for other in all_of[place:] if other.name == "for_iter")
        places[place] = next(
            at
            for at, other in enumerate(all_of)
            if other.start >= behind and other.name == "store_fast" and other.value == each.value
        )
    return places
