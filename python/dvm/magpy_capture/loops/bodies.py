"""What a turn of a loop does besides computing: read off the steps of its path."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from dvm import reasons
from dvm.magpy_capture.libraries import is_count_of_writes
from dvm.magpy_capture.loops.looks import (
    CHANGES,
    ELSEWHERE,
    KEEPS,
    NEW_LISTS,
    NOWHERE,
    Looks,
    Origins,
    function_of,
)
from dvm.magpy_capture.loops.recorded_loops import NEXT
from dvm.magpy_capture.path.spec import NotCapturable, refuse
from dvm.magpy_capture.values.kinds import NUMBERS, is_number, is_view_type, may_be_view

#: steps that find what is no variable of the loop
FETCHES = frozenset(
    "variable cell cell_of contents preset key cached".split()
    + "attribute getattr class_attribute class_order".split()
)
#: steps that make something new of what they are given
COMPUTES = frozenset(
    "run operator call call_random own tuple list slice set dict string format".split()
)
LOOKS = frozenset(
    "at argument constant shape item iterate forget loop invoke lend put require commit".split()
)
EFFECTS = frozenset("commit at copyto set_item effect list tuple constant return".split())
#: those with a result of their own
MAKES = FETCHES | COMPUTES - {"run"} | set("argument constant invoke item iterate shape".split())

#: what such a reason begins with
LOOP_EFFECT = reasons.LOOP_EFFECT.text.partition("{")[0]


@dataclass
class LoopBody:
    """What all turns known so far do.

    written: places of the variables into whose arrays they write.
    moves: of a carried variable, the places of those whose arrays it may be, or a view of one,
        in the next turn.
    changed: of a variable that is a list which they change, the places of what may come into it.
    mixed: of those, the ones into which something may come that is no number.
    pins: whether a turn goes its way for one value of a number alone.
    arrays: places of the variables in which they find arrays, or hand on what may hold some, and
        ELSEWHERE, where they find one that is in none of them (see looks.py).
    fetches: whether they look at objects that are no variables.
    """

    written: set[int] = field(default_factory=set)
    moves: dict[int, set[int]] = field(default_factory=dict)
    changed: dict[int, set[int]] = field(default_factory=dict)
    mixed: set[int] = field(default_factory=set)
    arrays: set[int] = field(default_factory=set)
    fetches: bool = False
    pins: bool = False

    def state(self) -> tuple[Any, ...]:
        """To compare with that of another time."""
        flows = [
            {place: frozenset(origins) for place, origins in each.items()}
            for each in (self.moves, self.changed)
        ]
        places = map(frozenset, (self.written, self.mixed, self.arrays))
        return *places, *flows, self.fetches

    def private(self, variables: int) -> set[int]:
        """The variables whose arrays the loop must have to itself.

        Raises:
            NotCapturable: where one of them may be an array that it cannot have.
        """
        found = self.moved(self.written)
        if any(place == ELSEWHERE or place >= variables for place in found):
            raise refuse(reasons.LOOP_EFFECT, "writes into what it iterates over or reaches")
        return found

    def moved(self, places: Iterable[int]) -> set[int]:
        """These, and the places from which values have come to them."""
        left = list(places)
        found = set(left)
        while left:
            new = self.moves.get(left.pop(), set()) - found
            found |= new
            left += new
        return found

    def take(
        self,
        steps: Sequence[tuple[Any, ...]],
        carried: Sequence[int],
        variables: int,
        within: Mapping[int, LoopBody],
    ) -> None:
        """Note what the turn with these steps does.

        within: the bodies of loops that it may run, by the ids of those.

        Raises:
            NotCapturable: where it does more than compute and write into arrays of its variables.
        """
        origins, made, looks = self._look_through(steps, variables, within)
        returned = made[steps[-1][1]][2]
        looks.leave(returned[1:])
        self._note_looks(looks)
        if made[returned[0]][2] == NEXT:
            for place, register in zip(carried, returned[1:], strict=True):
                self.moves.setdefault(place, set()).update(origins[register])

    def take_activation(
        self, steps: Sequence[tuple[Any, ...]], parameters: int, within: Mapping[int, LoopBody]
    ) -> None:
        """The same of an activation of a recursive function, which only computes.

        Raises:
            NotCapturable: where it does more.
        """
        try:
            self._look_through(steps, parameters, within)
        except NotCapturable as refusal:
            what = str(refusal.reason).removeprefix(LOOP_EFFECT)
            raise refuse(reasons.RECURSION_EFFECT, what) from None
        draws = any(step[0] == "call_random" for step in steps)
        if self.written or self.changed or draws:
            what = "random draws" if draws else "a write into what it was given"
            raise refuse(reasons.RECURSION_EFFECT, effect(what))

    def _look_through(
        self,
        steps: Sequence[tuple[Any, ...]],
        variables: int,
        within: Mapping[int, LoopBody],
    ) -> tuple[dict[int, Origins], dict[int, tuple[Any, ...]], Looks]:
        """Note what each step does; where objects in registers come from, and what made them."""
        origins: dict[int, Origins] = {}
        made: dict[int, tuple[Any, ...]] = {}
        lent: set[int] = set()  # lists
        numbers: set[int] = set()
        looks = Looks(origins, made, variables)
        filled = {
            step[4][place]
            for step in steps
            if step[0] == "loop"
            for place in within[id(step[2])].changed
        }
        committed = False
        for step in steps:
            name, *rest = step
            committed = committed or name == "commit"
            if committed and name not in EFFECTS:
                raise refuse(reasons.LOOP_EFFECT, effect(name))
            self._check(name)
            looks.see(step)
            if name == "guard_value" and made.get(rest[0], ("item",))[0] != "item":
                self.pins = True
            of_number = name == "guard_type" and issubclass(rest[1], NUMBERS)
            if of_number and not is_view_type(rest[1]):
                origins[rest[0]] = NOWHERE  # nobody can write into it
                numbers.add(rest[0])
            if name == "lend" and rest[0] in filled:
                lent.add(rest[0])
            elif name in ("copyto", "set_item", "put", "lend"):
                self._write(origins[rest[0]], variables)
            elif name == "effect" and is_count_of_writes(function_of(made[rest[1]])):
                self._write(origins[rest[2][0]], variables)
            elif name == "effect":
                self._call(rest, made, origins, variables)
                self._note_mixed(rest[2], made, numbers)
            elif name == "run":
                for _, register, kind, *_ in rest[3]:
                    origins[register] = NOWHERE
                    numbers.update([register] if kind != "array" else [])
            elif name == "loop":
                made[rest[0]] = step
                given = [*rest[3], *([rest[2]] if rest[2] >= 0 else [])]
                # Of a list that it was lent, it gives nothing that is not guarded to be that.
                origins[rest[0]] = _union(origins, [each for each in given if each not in lent])
                self._look_into(within[id(rest[1])], rest[3], rest[2], origins)
                self._fill(within[id(rest[1])], rest[3], rest[2], made, origins, variables)
            elif name == "invoke":
                made[rest[0]] = step
                origins[rest[0]] = _union(origins, rest[2]) | {ELSEWHERE}
                self.fetches = True
                self.arrays |= origins[rest[0]]
            elif name in MAKES:
                made[rest[0]] = step
                origins[rest[0]] = _origins_of(step, origins, looks)
                if name == "constant" and is_number(rest[1]) and not may_be_view(rest[1]):
                    numbers.add(rest[0])
                if name == "call" and function_of(made[rest[1]]) in KEEPS:  # of a copy
                    origins[rest[2][0]] |= origins[rest[2][-1]]
        return origins, made, looks

    def _note_looks(self, looks: Looks) -> None:
        self.arrays |= looks.found
        self.fetches = self.fetches or looks.fetches

    def _check(self, name: str) -> None:
        if name in FETCHES:
            self.fetches = True
        known = name in FETCHES or name in COMPUTES or name in LOOKS or name in EFFECTS
        if not known and not name.startswith("guard"):
            raise refuse(reasons.LOOP_EFFECT, effect(name))

    def _look_into(
        self, within: LoopBody, given: Sequence[int], iterated: int, origins: dict[int, Origins]
    ) -> None:
        """Note what a loop of the turn finds in what the turn was given."""
        self.fetches = self.fetches or within.fetches
        parts = [*given, iterated]
        for place in within.moved(within.arrays):
            register = parts[place] if place >= 0 else -1
            self.arrays |= origins[register] if register >= 0 else {ELSEWHERE}

    def _fill(
        self,
        within: LoopBody,
        given: Sequence[int],
        iterated: int,
        made: dict[int, tuple[Any, ...]],
        origins: dict[int, Origins],
        variables: int,
    ) -> None:
        """Note what a loop of the turn appends to lists that the turn was given."""
        parts = [*given, iterated]
        for place, appended in within.changed.items():
            sources = within.moved(appended)
            found = _union(
                origins, [parts[each] for each in sources if each >= 0 and parts[each] >= 0]
            )
            elsewhere = {ELSEWHERE} if any(each < 0 for each in sources) else set()
            if made[given[place]][0] == "argument":
                self._append(made[given[place]], found | elsewhere, variables)
                self.mixed.update([made[given[place]][2]] if place in within.mixed else [])
            else:  # a list of the turn's own
                origins[given[place]] |= found | elsewhere

    def _call(
        self,
        call: Sequence[Any],
        made: dict[int, tuple[Any, ...]],
        origins: dict[int, Origins],
        variables: int,
    ) -> None:
        """Note an effect that is a call: a list is changed."""
        _, callee, given, *_ = call
        method = function_of(made[callee])
        if method not in CHANGES:
            raise refuse(reasons.LOOP_EFFECT, effect("call"))
        parts = origins[given[-1]] if method in KEEPS else NOWHERE
        if is_new_list(made[given[0]], made):
            origins[given[0]] |= parts
        else:
            self._append(made[given[0]], parts, variables)

    def _note_mixed(
        self, given: Sequence[int], made: dict[int, tuple[Any, ...]], numbers: set[int]
    ) -> None:
        """What a list is given comes last: a list of it, where it is appended; a place is one."""
        name, _, *rest = made[given[0]]
        last = made.get(given[-1], ("",))
        parts = last[2] if last[0] == "list" else given[-1:]
        if name == "argument" and len(given) > 1 and not numbers.issuperset(parts):
            self.mixed.add(rest[0])

    def _append(self, to: tuple[Any, ...], parts: Origins, variables: int) -> None:
        if to[0] != "argument" or to[2] >= variables:
            raise refuse(reasons.LOOP_EFFECT, effect("call"))
        self.changed.setdefault(to[2], set()).update(parts)

    def _write(self, into: Origins, variables: int) -> None:
        for place in into:
            if place == ELSEWHERE or place >= variables:
                raise refuse(reasons.LOOP_EFFECT, "writes into what it iterates over or reaches")
        self.written |= into


def is_new_list(step: tuple[Any, ...], made: dict[int, tuple[Any, ...]]) -> bool:
    """Whether it makes a list that only the turn has."""
    if step[0] == "call":
        return function_of(made[step[2]]) in NEW_LISTS
    return step[0] in ("list", "invoke") or (step[0] == "operator" and step[2] in ("+", "*"))


def effect(step: str) -> str:
    return f"has an effect: {step.replace('_', ' ')}"


def _origins_of(step: tuple[Any, ...], origins: dict[int, Origins], looks: Looks) -> Origins:
    """The variables whose objects the step's result may be, hold or be a view of."""
    name, _, *rest = step
    if name == "argument":
        return frozenset({rest[0]})
    if name in FETCHES:
        return frozenset({ELSEWHERE})
    if name == "operator":
        if rest[0] == "getitem":
            return origins[rest[1]]
        return _union(origins, rest[1:]) if looks.is_list(step[1]) else NOWHERE
    if name in ("item", "iterate"):
        return origins[rest[0]]
    if name in ("call", "call_random"):  # a choice is one of what it is given
        return _union(origins, [rest[0], *rest[1]])
    if name in ("tuple", "list", "set", "dict", "slice"):
        return _union(origins, rest[0])
    return NOWHERE


def _union(origins: dict[int, Origins], registers: Iterable[int]) -> Origins:
    return NOWHERE.union(*(origins[register] for register in registers))
