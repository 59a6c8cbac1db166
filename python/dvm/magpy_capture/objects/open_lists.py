"""Lists that a rolled loop fills: only the replay knows how many elements they have.

What the program asks of one behind the loop, or in a turn of it, is computed on each call, by
Python itself. What would need all elements one by one makes the loop stay unrolled.
"""

from __future__ import annotations

import operator
from typing import Any

from dvm.magpy_capture.libraries import PLAIN_SCALARS, is_array, is_of_lists
from dvm.magpy_capture.objects.layer import ObjectPart
from dvm.magpy_capture.values import (
    Abstract,
    Host,
    ListValue,
    Literal,
    Named,
    Size,
    SliceValue,
    resolve,
)
from dvm.magpy_capture.values.kinds import is_number, name_of

#: functions that make lists of lists
LISTS: frozenset[Any] = frozenset({list, sorted})
#: types whose `==` runs no code of the program
COMPARED = frozenset({int, float, complex, bool, str, bytes, type(None)} | PLAIN_SCALARS)
KNOWN: frozenset[Any] = LISTS | {all, any, max, min, sum, bool, len}


class OpenLists(ObjectPart):
    """What is asked of lists that loops have filled."""

    needs = "graph heap list_changes made_lists program"

    def call(
        self, function: Any, positional: list[Abstract], named: Named, seen: Any
    ) -> Abstract | None:
        """A function of such a list; None: it needs the elements."""
        arguments = [resolve(value) for value in [*positional, *named.values()]]
        known = all(is_open_list(value) or isinstance(value, Literal) for value in arguments)
        if not known or not (function in KNOWN or is_of_lists(function)):
            return None
        if function in LISTS:
            source = arguments[0]
            if not isinstance(source, ListValue) or (source.made_by and function is not list):
                return None
            return self._open(source, self._called(function, arguments, named), seen)
        if function in (bool, len) and isinstance(arguments[0], ListValue):
            length, zero = self.list_changes.length(arguments[0]), self.program.constant(0)
            made = length if function is len else self.program.operate("!=", length, zero)
            return self.heap.computed(made, seen)
        if not _is_of_numbers(seen) and (not is_array(seen) or function in (max, min)):
            return None  # it may be an element
        self.graph.check_modes()
        self.graph.opaque_calls.append((name_of(function), self.program.at))
        return self.heap.computed(self._called(function, arguments, named), seen)

    def element(self, base: ListValue, key: Abstract, seen: Any) -> Abstract | None:
        """`base[key]`; None: it needs the elements."""
        if isinstance(key, SliceValue):
            bounds = [resolve(part) for part in (key.start, key.stop, key.step)]
            if not all(isinstance(part, Literal) for part in bounds):
                return None
            key = Literal(slice(*(part.object for part in bounds)))
        if isinstance(key, Literal) and isinstance(key.object, slice):
            return self._open(base, self._called(operator.getitem, [base, key], {}), seen, key)
        place = self.list_changes.place(key)
        if place is None:
            return None
        if (known := self.list_changes.known(base, place)) is not None:
            return known
        if seen is None or _is_of_numbers(seen):
            return self.heap.computed(self.list_changes.item(base, place), seen)
        if is_array(seen):
            return self.heap.reach(lambda: self.list_changes.item(base, place), seen)
        return None

    def contains(self, base: ListValue, item: Abstract, name: str, seen: bool) -> Abstract | None:
        """`item in base`, or `not in`, of what is a number or a text; None of something else."""
        is_plain = isinstance(item, (Literal, Host)) and type(item.object) in COMPARED
        if not is_plain and not isinstance(item, Size):
            return None
        given = [self.list_changes.register(base), self.program.register_of(item)]
        found = self.program.step("call", self.program.constant(holds), given, ())
        return self.heap.computed(
            found if name == "in" else self.program.operate("not", found), seen
        )

    def join_texts(self, separator: Abstract, parts: ListValue, seen: str | bytes) -> Abstract:
        """One text of all that are in it."""
        register = self.program.register_of(separator)
        bound = self.program.step("getattr", register, "join")
        made = self.program.step("call", bound, [self.list_changes.register(parts)], ())
        return self.heap.computed(made, seen)

    def _called(self, function: Any, arguments: list[Abstract], named: Named) -> int:
        registers = [
            self.list_changes.register(value)
            if isinstance(value, ListValue)
            else self.program.register_of(value)
            for value in arguments
        ]
        callee = self.program.constant(function)
        return self.program.step("call", callee, registers, tuple(named), True)

    def _open(
        self, source: ListValue, register: int, seen: Any, part: Literal | None = None
    ) -> ListValue:
        """A list made of such a list, or of a part of it, is another one."""
        if source.made_by is not None:
            return self.made_lists.copied(source, register, seen, part)
        assert source.load is not None
        made = ListValue(object=seen)
        made.open(register, source.load)
        self.heap.remember(seen, made, register)
        return made


def holds(items: list[Any], item: Any) -> bool:
    """Whether one of them is it or equals it.

    Raises:
        TypeError: where that may run code of the program.
    """
    if not COMPARED.issuperset(map(type, items)):
        raise TypeError
    return item in items


def is_open_list(value: Abstract) -> bool:
    """Whether it is a list of which only the replay knows what is in it."""
    value = resolve(value)
    return isinstance(value, ListValue) and value.is_open


def _is_of_numbers(seen: Any) -> bool:
    """Whether it is one, or a tuple of them."""
    if type(seen) is tuple:
        return all(map(_is_of_numbers, seen))
    return seen is not None and is_number(seen)


__all__ = ["OpenLists", "is_open_list"]
