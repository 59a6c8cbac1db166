"""Texts and lengths of the caller's: known by value, until calls bring several for one place.

A path is of one value of a text, for a text mostly says which of several things to do. Where calls
differ in one, a path for each would be captured, up to the limit of paths. So a text whose place
brought another value before is lowered as what it may be, a text of any value: what the program
asks of it (its length, a comparison, an entry of a dict) is computed on each call, and a branch on
that is a guard on the outcome. If such a path cannot be had, texts are known by value again.

Likewise how long a list is that grows from call to call, if the program asks before it looks at
the elements; and which element of a list or tuple is asked for, in turns of a loop from the first.

Likewise numbers of objects that mostly keep theirs, such as a module's sizes.

A long text is of any value from the first: it is data, and a path that compared it would keep it.
So is one of which the call took many characters by their places.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from dvm import classes
from dvm.magpy_capture.path.layer import PathPart
from dvm.magpy_capture.path.program import is_long_text
from dvm.magpy_capture.values import Abstract, Host, Literal


@dataclass(frozen=True, eq=False)
class Computed:
    """How a value is computed: one object for each way, for a value may be used many times."""

    parts: tuple[Any, ...]


Route = tuple[Any, ...] | Computed
#: So many characters taken of a text say that it is data.
MANY_PLACES = 16


@dataclass
class ValueHistory:
    """What the calls of a function that were captured have brought.

    values: per place, what the first of them brought.
    varying: places that brought another.
    pinned: places at which only a known value can be lowered.
    computed: the ways in which values were computed, by what they consist of.
    """

    values: dict[Route, Any] = field(default_factory=dict)
    varying: set[Route] = field(default_factory=set)
    pinned: set[Route] = field(default_factory=set)
    computed: dict[tuple[Any, ...], Computed] = field(default_factory=dict)


class Varying(PathPart):
    """The texts, lengths, places and settled numbers of one call."""

    needs = "program"

    def __init__(self, recording: dict[str, Any], known: ValueHistory) -> None:
        self.known = known
        self.in_turn = "begin" in recording  # of a loop
        self._recording = recording
        self.met: dict[Route, Any] = {}
        self.opened: set[Route] = set()
        self._routes: dict[int, Route] = {}  # by register

    def adopt(self, register: int, seen: str | bytes) -> Abstract:
        """A text of the caller's that a register holds."""
        route = self._route(register)
        if id(seen) in _texts_read_by_place(self._recording):
            self.known.varying.add(route)
        if is_long_text(seen) or self._is_open(route, seen):
            self.program.guard_type(register, seen)
            return Host(register, seen)
        self.program.guard("guard_value", register, seen, key=(register,))
        return Literal(seen, identical=False)

    def number(self, register: int, seen: float) -> Abstract:
        """A number of an object whose numbers mostly stay as they are."""
        if self._is_open(self._route(register), seen):
            return Host(register, seen)
        self.program.guard("guard_value", register, seen, key=(register,))
        return Literal(seen, identical=False)

    def is_open_length(self, register: int, seen: int) -> bool:
        """Whether a container in a register may have any length, and not only that one."""
        return self._is_open(self._varies_in_turns(("len", self._route(register))), seen)

    def is_open_index(self, register: int, seen: int) -> bool:
        """Whether what a register holds may be any place of a list, and not only that one."""
        return self._is_open(self._varies_in_turns(("index", self._route(register))), seen)

    def _varies_in_turns(self, place: Route) -> Route:
        """That place; in a turn of a loop it is taken to vary from the first."""
        if self.in_turn:
            self.known.varying.add(place)
        return place

    def _is_open(self, place: Route, seen: Any) -> bool:
        if _differ(self.met.setdefault(place, seen), seen):  # several, as items of an iterator
            self.known.pinned.add(place)
        if _differ(self.known.values.setdefault(place, seen), seen):
            self.known.varying.add(place)
        if not self._varies(place) or place in self.known.pinned:
            return False
        self.opened.add(place)
        return True

    def _varies(self, place: Route) -> bool:
        """Whether it, or what it was found in, is another one in other calls, or turns."""
        waiting, met = [place], {place}
        while waiting:
            each = waiting.pop()
            if each in self.known.varying:
                return True
            parts = each.parts if isinstance(each, Computed) else each
            new = {part for part in parts if isinstance(part, (tuple, Computed))} - met
            met |= new
            waiting += new
        return False

    def pin(self) -> bool:
        """Take by value from now on what this lowering did not; False if there is nothing."""
        self.known.pinned |= self.opened
        return bool(self.opened)

    def _route(self, register: int) -> Route:
        """How a value is reached from the arguments, the same in all lowerings of the function."""
        if register not in self._routes:
            self._routes[register] = self._new_route(register)
        return self._routes[register]

    def _new_route(self, register: int) -> Route:
        step = self.program.maker_of(register)
        if step is None:
            return (register,)
        name, _, *operands = step
        if name == "argument":  # by its place among them, which is no register
            return (name, *operands)
        parts = (name, *(self._operand(each, register) for each in operands))
        return self.known.computed.setdefault(parts, Computed(parts))

    def _operand(self, operand: Any, register: int) -> Any:
        """An operand of a step: where the register is from, or several are, or a constant."""
        if type(operand) is int and operand < register:
            return self._route(operand)
        if type(operand) is list:
            return tuple(self._operand(each, register) for each in operand)
        return operand if type(operand) in (int, str) else classes.name_of(type(operand))


def _texts_read_by_place(recording: dict[str, Any]) -> set[int]:
    """The ids of texts of which the call has taken many characters, one by one."""
    recording = recording.get("whole", recording)
    if "read_by_place" not in recording:
        nodes = recording["nodes"]
        counts = Counter(
            id(nodes[operands[0]][4])
            for kind, _, operands, *_ in recording["events"]
            if kind == "subscript" and type(nodes[operands[0]][4]) in (str, bytes)
        )
        recording["read_by_place"] = {each for each, count in counts.items() if count > MANY_PLACES}
    found: set[int] = recording["read_by_place"]
    return found


def _differ(one: Any, other: Any) -> bool:
    """Whether they are not equal; to compare a string with bytes may warn."""
    return type(one) is not type(other) or one != other


__all__ = ["ValueHistory", "Varying"]
