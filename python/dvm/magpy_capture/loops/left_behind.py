"""What a loop or a recursive function has left behind: values told by guards on what they are.

Arrays among these may be some that it was given.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from dvm import classes, reasons
from dvm.magpy_capture.libraries import fits_graph, is_array, library_of
from dvm.magpy_capture.loops.layer import LoopPart
from dvm.magpy_capture.path.spec import refuse
from dvm.magpy_capture.values import Sequence
from dvm.magpy_capture.values.kinds import is_number

if TYPE_CHECKING:
    from dvm.magpy_capture.library import Array
    from dvm.magpy_capture.loops.histories import Given
    from dvm.magpy_capture.values import Abstract, Tensor


class LeftBehind(LoopPart):
    """Values of the path for what was left in registers."""

    needs = "arrays heap memory program"

    def __init__(self, told_apart: set[int]) -> None:
        self.told_apart = told_apart  # first events of those of which it matters which arrays came

    def told(
        self,
        enter: int,
        name: str,
        register: int,
        seen: Any,
        given: list[Given],
        made_list: Callable[[int, list[Any]], Abstract],
    ) -> Abstract:
        """The value of an object that was left there.

        enter: the first event of what has left it. name: what it is called, for reasons.
        given: the arrays that it was given. made_list: the value of a list that it has made.
        """
        if is_array(seen):
            return self._array(enter, name, register, seen, given)
        if id(seen) in self.heap.reached:
            return self.heap.reach(lambda: register, seen)
        if type(seen) is tuple:
            self.program.guard_type(register, seen)
            self.program.guard("guard_length", register, len(seen), key=(register,))
            parts = [
                self.told(enter, name, self.program.item(register, i), part, given, made_list)
                for i, part in enumerate(seen)
            ]
            return Sequence(parts)
        if type(seen) is list:
            return made_list(register, seen)
        if not is_number(seen):
            raise refuse(
                reasons.LOOP_VARIABLE, name, f"an object of type {classes.name_of(type(seen))}"
            )
        return self.heap.computed(register, seen)

    def _candidates(self, seen: Array, given: list[Given]) -> list[Tensor]:
        """The arrays of which the loop may leave any behind, if none of them has to be told apart.

        Each object that it may be must be the one that the program would see.
        """
        found = []
        for each in given:
            known = each.value.object
            if known is None or not fits_graph(known):
                return []
            if known is not seen and library_of(known).may_share(known, seen):
                return []
            if known.dtype != seen.dtype or known.ndim != seen.ndim:
                continue
            if each.value.storage.version != each.version:  # written since
                return []
            if not (each.is_the_callers or (each.private and self._is_its_object(each))):
                return []
            found.append(each)
        for each in found if len(found) > 1 else ():
            if not each.is_the_callers:
                each.value.storage.host = each.register
        return [each.value for each in found]

    def _is_its_object(self, each: Given) -> bool:
        """Whether an array of the program's own, lent to the loop, has no other object."""
        storage = each.value.storage
        return (
            each.value.base is None
            and not storage.external
            and storage.is_new
            and storage.host in (-1, each.register)
        )

    def _array(
        self, enter: int, name: str, register: int, seen: Array, given: list[Given]
    ) -> Abstract:
        """An array: one that the loop was given, or another one, which may be the caller's.

        Where it may be one of several (`a, b = b, a`), it matters which only if one is written.
        """
        told_apart = enter in self.told_apart or not fits_graph(seen)
        alike = [] if told_apart else self._candidates(seen, given)
        if len(alike) > 1:
            self.program.guard("guard_signature", register, seen, key=(register,))
            made = self.arrays.tensor_of_array(register, seen, external=True)
            self.memory.may_be_one(made, alike, enter)
            return made
        for each in given:
            if each.value.object is seen:
                self.program.guard("guard_same", register, each.register, True)
                return each.value
        for each in given:
            if each.is_the_callers:
                continue
            known = each.value.object
            if known is not None and library_of(known).may_share(known, seen):
                raise refuse(reasons.LOOP_VIEW, name)
            pair = (register, each.register)
            self.program.guard("guard_same", *pair, False)
            self.program.guard("guard_overlap", *pair, False, key=pair)
        return self.heap.reach(lambda: register, seen)


__all__ = ["LeftBehind"]
