"""Lists that the turns of a loop change, or make: what the loop is given, and what it leaves.

Such a list is an object of the replay alone, made before the loop of what is in it. So it must be
the program's own, and no other variable may show what was done to it, but those that are the list.
"""

from __future__ import annotations

from typing import Any

from dvm import reasons
from dvm.magpy_capture.loops.histories import PLAIN, Entry
from dvm.magpy_capture.loops.layer import LoopPart
from dvm.magpy_capture.loops.recorded_loops import RecordedLoop
from dvm.magpy_capture.objects.made_lists import is_of_numbers
from dvm.magpy_capture.objects.open_lists import is_open_list
from dvm.magpy_capture.path.program import describe
from dvm.magpy_capture.path.spec import refuse
from dvm.magpy_capture.values import Abstract, ListValue, RangeValue, Sequence, Tensor, resolve


class LoopLists(LoopPart):
    """The lists of the loops of one path."""

    needs = "heap list_changes loops program"

    def __init__(self, is_turn: bool) -> None:
        self.is_turn = is_turn
        # by the first event: what the loop was given, in which registers, and lists that it made
        self._entered: dict[int, tuple[Entry, list[int], list[int]]] = {}

    # ---- before the loop

    def enter(self, entry: Entry) -> dict[int, int]:
        """The registers of the lists that the loop changes, by the ids of their values."""
        self._check_aliases(entry)
        for place in entry.body.changed:
            self._check_list(entry, place)
        lists = {id(value): value for value in self.changed(entry)}
        return {name: self._to_fill(value) for name, value in lists.items()}

    def changed(self, entry: Entry) -> list[Any]:
        """The lists that the loop changes, each once for each of its names."""
        return [entry.values[place] for place in entry.body.changed]

    def _check_aliases(self, entry: Entry) -> None:
        """A list that turns change is reached by variables only, which are what they were."""
        body, lists = entry.body, self.changed(entry)
        for place in body.changed:
            if body.moves.get(place, set()) - {place}:
                name, _ = entry.variable(place)
                raise refuse(reasons.LOOP_VARIABLE, name, "one list, then another")
        if any(base is value for base in entry.bases for value in lists):
            raise refuse(reasons.LOOP_OVER, "a list that it changes")
        for value in entry.values:
            if isinstance(value, Sequence) and any(_holds(value, each) for each in lists):
                raise refuse(reasons.LOOP_STATE, f"a list that {describe(value)} holds")

    def _check_list(self, entry: Entry, place: int) -> None:
        """A list of the program's own that the loop changes: what goes into it stays as it is.

        The list, and the arrays in it, are objects of the replay from here on.
        """
        name, value = entry.variable(place)
        if not isinstance(value, ListValue) or value.cls is not list:
            raise refuse(reasons.LOOP_VARIABLE, name, describe(value))
        if value.register < 0:
            parts = value.elements
        elif not is_open_list(value):
            raise refuse(reasons.LOOP_VARIABLE, name, describe(value))
        else:
            parts = [part for entry in value.log for part in entry.given]
        for origin in entry.body.moved(entry.body.changed[place]):
            inside = 0 <= origin < len(entry.values)
            for part in [entry.values[origin]] if inside else entry.bases:
                if origin in entry.private:
                    raise refuse(reasons.LOOP_VIEW, name)
                if not stays(part):
                    held = f"parts of {describe(part)} that are no numbers"
                    given = describe(part) if isinstance(part, Tensor) else held
                    raise refuse(reasons.LOOP_VARIABLE, name, f"a list that is given {given}")
        if not all(stays(resolve(part)) for part in parts):
            raise refuse(reasons.LOOP_VARIABLE, name, "a list of what the program made")

    def _to_fill(self, value: ListValue) -> int:
        """The register of a list for a loop to change, an object of the replay alone."""
        if value.register < 0:
            return self.program.step("list", list(map(self._kept, value.elements)))
        for entry in value.log:
            for part in entry.given:
                self._kept(part)
        if self._is_given(value):
            self.program.steps.append(("lend", value.register))
            self.list_changes.apply(value, value.register, "effect")
            return value.register
        return self.list_changes.copied(value)

    def _kept(self, part: Abstract) -> int:
        """The register of what goes into a list: a tuple is made once."""
        part = resolve(part)
        register = self.program.register_of(part)
        if isinstance(part, Sequence):
            part.register = register
        return register

    def _is_given(self, value: ListValue) -> bool:
        """Whether it is a variable of the loop of which the path is a turn."""
        maker = self.program.maker_of(value.register) if self.is_turn else None
        return maker is not None and maker[0] == "argument"

    # ---- behind it

    def leave(self, entry: Entry, registers: list[int], filled: dict[int, int]) -> None:
        """Nobody but the replay knows what is in the lists that it has changed."""
        self._entered[entry.turns.enter] = (entry, registers, [])
        mixed = {id(entry.values[place]) for place in entry.body.mixed}
        changed = map(entry.variable, entry.body.changed)
        for name, value in {id(value): (name, value) for name, value in changed}.values():
            of_numbers = is_of_numbers(value) and id(value) not in mixed
            self._open(entry.turns, name, value, filled[id(value)])
            value.of_numbers = of_numbers

    def _open(self, turns: RecordedLoop, name: str, value: ListValue, register: int) -> None:
        """Only the replay knows what is in it: it may be handed on, and changed."""

        def load() -> list[Any]:
            refusal = refuse(reasons.LOOP_VARIABLE, name, "a list that is read behind it")
            self.loops.give_up(turns, refusal)
            raise refusal

        if self._is_given(value):  # what was asked of it before is another answer now
            maker: Any = self.program.maker_of(register)
            register = self.program.step("argument", maker[2])
        value.open(register, load)
        if value.object is not None:
            self.heap.remember(value.object, value, register)

    def made_by_turn(
        self, turns: RecordedLoop, name: str, register: int, seen: list[Any]
    ) -> ListValue:
        """A list that a turn has made: no other variable is it, and in it are no others' arrays."""
        entry, registers, made = self._entered[turns.enter]
        refusal = refuse(reasons.LOOP_VARIABLE, name, "an object of type list")
        if name not in turns.loop.variables:
            raise refusal
        for origin in entry.body.moved([turns.loop.variables.index(name)]):
            value = entry.values[origin] if 0 <= origin < len(entry.values) else None
            if isinstance(value, ListValue):
                parts = [] if value.is_open else value.elements
                others = any(not isinstance(resolve(part), PLAIN) for part in parts)
                if others or value.object is seen or value.object is None:
                    raise refusal
                self.program.guard("guard_same", register, registers[origin], False)
            elif not isinstance(value, PLAIN):
                raise refusal
        for other in made:
            self.program.guard("guard_same", register, other, False)
        made.append(register)
        self.program.guard_type(register, seen)
        value = ListValue(object=seen)
        self._open(turns, name, value, register)
        return value


def stays(value: Abstract) -> bool:
    """Whether its object is the one that the program has, now and at the end."""
    if isinstance(value, Tensor) and not value.is_scalar:
        storage = value.storage
        return value.base is None and storage.external and not storage.written
    if isinstance(value, Sequence):
        return value.cls is tuple and all(stays(resolve(p)) for p in value.elements)
    return isinstance(value, (*PLAIN, Tensor, RangeValue))


def _holds(value: Sequence, part: Abstract) -> bool:
    """Whether that very object, of the program's own, is in the tuple, or in one in it."""
    if value.register >= 0:
        return False
    held = [resolve(each) for each in value.elements]
    return any(each is part or (isinstance(each, Sequence) and _holds(each, part)) for each in held)


__all__ = ["LoopLists"]
