"""What a turn of a loop looks into: the objects in which it finds arrays, or may.

A loop writes into arrays of its own; the caller's have their new content when the whole call has
passed. Until then a turn that finds an array in another way than by a variable that is one (in a
list that the loop is given, say) might find one of those, or a view of it, as it was before.

What it finds it has to say, for its path is guarded by types, and what is no number, text or None
on another call is another turn. Numbers are no arrays, so a list of which only those are read may
hold whatever it likes. What C code is given whole it may look into as it likes.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from dvm.magpy_capture.libraries import is_array_class
from dvm.magpy_capture.objects.open_lists import holds
from dvm.magpy_capture.values.kinds import NUMBERS, is_view_type

#: the mark of what may be an array that is reached in another way than by a variable
ELSEWHERE = -1

Origins = frozenset[int]
NOWHERE: Origins = frozenset()

#: methods that change lists, of which the last argument is kept by some
KEEPS = (list.extend, list.__setitem__, list.insert)
CHANGES = (*KEEPS, list.pop, list.__delitem__, list.clear, list.reverse)
#: functions that make a new list
NEW_LISTS = (list, sorted)
#: functions of lists that look at no element, or at none that could be an array
PASS_ON = (*CHANGES, enumerate, holds, iter, len, list, operator.getitem, reversed, zip)
#: the same of operators
PASSING = frozenset({"getitem", "len", "is", "is not", "not", "+", "*"})
#: types of these, none of which asks code of the program whether it is one
CALLABLE = frozenset({type(each) for each in (*PASS_ON, *NEW_LISTS)})


class Looks:
    """What one turn looks into, told by its steps in order.

    origins: by register, the variables whose objects the one in it may be, hold or be a view of.
    made: the steps that made the registers.
    variables: how many variables the loop has; the item is the argument behind them.
    found: variables that are arrays, hold some that it finds, or objects that it does not know.
    fetches: whether it looks into what is in another container.
    """

    def __init__(
        self,
        origins: Mapping[int, Origins],
        made: Mapping[int, tuple[Any, ...]],
        variables: int,
    ) -> None:
        self._origins, self._made, self._variables = origins, made, variables
        self._lists: set[int] = set()  # and tuples
        self._arrays: set[int] = set()
        self.found: Origins = NOWHERE
        self.fetches = False

    def is_list(self, register: int) -> bool:
        return register in self._lists

    def see(self, step: tuple[Any, ...]) -> None:
        name, *rest = step
        if name in ("guard_signature", "guard_layout"):
            self._array(rest[0])
        elif name == "guard_type":
            self._object(rest[0], rest[1])
        elif name == "guard_same" and rest[2] and self._arrays.intersection(rest[:2]):
            self._array(rest[0])
            self._array(rest[1])
        elif name == "guard_value" and type(rest[1]) is tuple:
            self._into(rest[:1])
        elif name in ("tuple", "list", "iterate"):
            self._lists.add(rest[0])
        elif name == "operator":
            self._operator(*rest)
        elif name == "call":
            self._call(*rest)
        elif name == "call_random":
            self._into(rest[2])
        elif name in ("format", "cached"):
            self._into(rest[1:2])
        elif name in ("set", "string"):
            self._into(rest[1])
        elif name in ("copyto", "set_item", "put"):
            self._into(rest[1:])
        elif name == "effect":
            self._into(rest[2][1:])

    def leave(self, parts: Iterable[int]) -> None:
        """These are variables from now on: nobody knows what is found in a list that is handed on.

        A variable is one that the loop was given.
        """
        self._into(part for part in parts if not self._is_variable(part))

    def _object(self, register: int, kind: type) -> None:
        """It is of that type."""
        if issubclass(kind, NUMBERS) and not is_view_type(kind):
            return
        if self._origins.get(register) and not self._is_variable(register):
            self.fetches = True
        if issubclass(kind, (list, tuple)):
            self._lists.add(register)
        elif is_array_class(kind) or is_view_type(kind):
            self._array(register)
        else:
            self.found |= self._origins.get(register, NOWHERE) - {ELSEWHERE}

    def _is_variable(self, register: int) -> bool:
        name, _, *rest = self._made.get(register, ("", 0))
        return name == "argument" and bool(rest[0] < self._variables)

    def _array(self, register: int) -> None:
        self._arrays.add(register)
        self.found |= self._origins.get(register, NOWHERE)

    def _into(self, registers: Iterable[int]) -> None:
        """Something that may look into them is given these."""
        for register in self._lists.intersection(registers):
            self.found |= self._origins.get(register, NOWHERE)

    def _operator(self, result: int, name: str, *operands: int) -> None:
        if name not in PASSING:
            self._into(operands)
        elif self._makes_list(name, operands):
            self._lists.add(result)

    def _makes_list(self, name: str, operands: Sequence[int]) -> bool:
        if name == "getitem":
            return operands[0] in self._lists and self._is_slice(operands[1])
        return name in ("+", "*") and not self._lists.isdisjoint(operands)

    def _is_slice(self, register: int) -> bool:
        name, _, *rest = self._made.get(register, ("", 0))
        return name == "slice" or (name == "constant" and type(rest[0]) is slice)

    def _call(self, result: int, callee: int, given: Iterable[int], *_: Any) -> None:
        function = function_of(self._made[callee])
        if function not in PASS_ON:
            self._into(given)
        if function in NEW_LISTS or function is operator.getitem:
            self._lists.add(result)


def function_of(step: tuple[Any, ...]) -> Any:
    """The function that a step makes, where that is the same on every call."""
    return step[2] if step[0] == "constant" and type(step[2]) in CALLABLE else None
