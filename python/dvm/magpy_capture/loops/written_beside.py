"""Loops beside writes into arrays: whether their turns might find these as they were before.

What a path writes into the caller's arrays they have at its end, and a loop that writes does so in
arrays of its own. A turn finds them in the variables that are those arrays. Another way to one of
them, or to a view of it, leads past all that was written: an element of a list, an attribute of an
object. Which of these a turn looks into its steps tell (looks.py).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dvm import reasons
from dvm.magpy_capture.loops.bodies import FETCHES
from dvm.magpy_capture.loops.histories import PLAIN
from dvm.magpy_capture.loops.layer import LoopPart
from dvm.magpy_capture.loops.looks import ELSEWHERE
from dvm.magpy_capture.objects.made_lists import is_of_numbers
from dvm.magpy_capture.objects.open_lists import is_open_list
from dvm.magpy_capture.path.program import describe
from dvm.magpy_capture.path.spec import refuse
from dvm.magpy_capture.values import Abstract, ListValue, Literal, RangeValue, Sequence, Tensor

if TYPE_CHECKING:
    from dvm.magpy_capture.loops.histories import Entry


class WrittenBeside(LoopPart):
    """What turns may find of arrays that the path has written, or its loops write."""

    needs = "heap memory program"

    def __init__(self, is_turn: bool) -> None:
        self.is_turn = is_turn

    def check(self, entry: Entry) -> None:
        """Nothing that the loop reads is what it, or the program before it, has written apart."""
        body, values = entry.body, entry.values
        if ELSEWHERE in body.arrays and self._is_of_the_caller(entry):
            raise refuse(reasons.LOOP_ARRAYS, "an object or a variable of a module")
        if body.fetches and any(
            getattr(value, "changed", False)
            and not is_open_list(value)
            and id(value) not in entry.apart
            for value in self.heap.reached.values()
        ):
            raise refuse(reasons.LOOP_STATE, "an object that the loop may look at")
        if not entry.private and not self.memory.has_written():
            return
        looked_into = body.moved(body.arrays)
        for place, value in enumerate([*values, *entry.bases]):
            place = min(place, len(values))  # of an item
            if not self._is_apart(entry, value, place in looked_into, place in body.mixed):
                raise refuse(reasons.LOOP_ARRAYS, describe(value))

    def given(self, value: Abstract) -> int:
        """The register of a list or a tuple that the program was given, as it was then; or -1."""
        if isinstance(value, ListValue):
            register = -1 if value.is_open else value.untouched_register
        else:
            register = value.register if isinstance(value, Sequence) else -1
        maker = self.program.maker_of(register)
        while maker is not None and (base := _taken_from(maker)) >= 0:
            maker = self.program.maker_of(base)
        is_given = maker is not None and (maker[0] in FETCHES or maker[0] == "argument")
        return register if is_given else -1

    def _is_apart(
        self, entry: Entry, value: Abstract, is_looked_into: bool, is_mixed: bool
    ) -> bool:
        """Whether turns find no array in it that is written.

        is_looked_into: whether they may find arrays in it. is_mixed: whether some may come there.
        """
        if id(value) in entry.apart:  # what it finds in it otherwise is found elsewhere
            return True
        if isinstance(value, Literal):
            return type(value.object) not in (list, dict, set)
        if isinstance(value, (*PLAIN, Tensor, RangeValue)):
            return True
        if is_of_numbers(value):
            return not (is_looked_into and is_mixed)
        if self.given(value) >= 0:
            return not (is_looked_into and self._is_of_the_caller(entry))
        is_made = isinstance(value, ListValue) and value.untouched_register >= 0
        return not is_looked_into and (is_made or is_open_list(value))

    def _is_of_the_caller(self, entry: Entry) -> bool:
        """Whether arrays that the program was given are written, by the loop or before it.

        One that it has made itself is in nothing of the caller's. In a turn that is for the
        outermost loop to say, of whose own all arrays are that turns write into.
        """
        if self.is_turn:
            return False
        written = (entry.values[place] for place in entry.private)
        return self.memory.has_written() or not all(map(_is_new, written))


def _is_new(value: Abstract) -> bool:
    """Whether it is an array that the program has made, and no view of another one."""
    return isinstance(value, Tensor) and value.maybe is None and value.storage.is_new


def _taken_from(step: tuple[Any, ...]) -> int:
    """The register of what the object is a part of that the step makes; -1 of another step."""
    name, _, *rest = step
    if name == "operator":
        return rest[1] if rest[0] == "getitem" else -1
    return rest[0] if name in ("item", "iterate") else -1


__all__ = ["WrittenBeside"]
