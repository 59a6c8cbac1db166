"""Lists of numbers whose length is a number of the path: `[0] * n`, `list(range(n))`.

They are open lists, made on each call, so that a path is for any length. Where the program asks
for what needs the elements one by one, these are what they are known to be, and the path is for
their number.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from dvm.magpy_capture.objects.layer import ObjectPart
from dvm.magpy_capture.values import (
    Abstract,
    Host,
    ListValue,
    Literal,
    RangeValue,
    Size,
    Written,
    resolve,
)
from dvm.magpy_capture.values.kinds import is_number, may_be_view

Load = Callable[[], list[Any]]


class MadeLists(ObjectPart):
    """Open lists that operators and `list` make."""

    needs = "heap indexing list_changes program"

    def repeated(self, parts: ListValue, count: Abstract, seen: Any) -> ListValue:
        """`parts * count`, of any number where that is one of the path."""
        count = resolve(count)
        if not _is_open_number(count) or parts.is_open or not is_of_numbers(parts):
            return ListValue(parts.elements * self.indexing.integer(count), object=seen)
        times = self.program.register_of(count)
        once = self.program.register_of(parts)
        made = self.program.step("operator", "*", once, times)
        known = list(parts.elements)
        return self._made(made, lambda: known * self.indexing.integer(count), seen)

    def joined(self, a: ListValue, b: ListValue, seen: Any) -> ListValue:
        """`a + b`, which is open where one of them is."""
        if not (a.is_open or b.is_open) or not all(e.is_open or is_of_numbers(e) for e in (a, b)):
            return ListValue([*a.elements, *b.elements], object=seen)
        first, second = self._loader(a), self._loader(b)
        given = [self._register(each) for each in (a, b)]
        made = self.program.step("operator", "+", *given)
        of_numbers = is_of_numbers(a) and is_of_numbers(b)
        return self._made(made, lambda: [*first(), *second()], seen, of_numbers)

    def of_range(self, value: Abstract, seen: Any) -> ListValue | None:
        """`list(range(...))`."""
        if not isinstance(value, RangeValue):
            return None
        bounds = [resolve(part) for part in (value.start, value.stop, value.step)]
        if not any(map(_is_open_number, bounds)):
            return None
        callee = self.program.constant(list)
        made = self.program.step("call", callee, [self.program.register_of(value)], ())
        return self._made(made, lambda: self.indexing.of_range(value), seen)

    def copied(
        self, source: ListValue, register: int, seen: Any, part: Literal | None
    ) -> ListValue:
        """A copy in that register, of all or a part."""
        load = self._loader(source)
        given = load if part is None else lambda: load()[part.object]
        return self._made(register, given, seen, is_of_numbers(source))

    def _made(self, register: int, load: Load, seen: Any, of_numbers: bool = True) -> ListValue:
        made = ListValue(object=seen)
        made.open(register, lambda: self._loaded(load, made.log))
        made.made_by = load
        made.of_numbers = of_numbers
        self.heap.remember(seen, made, register)
        return made

    def _loader(self, value: ListValue) -> Load:
        """What gives the elements that it has by now."""
        if not value.is_open:
            known = list(value.elements)
            return lambda: known
        load, log = value.load, [Written(e.what, e.key, list(e.given)) for e in value.log]
        assert load is not None
        if value.made_by is None:  # a loop has filled it
            return load
        made_by = value.made_by
        return lambda: self._loaded(made_by, log)

    def _register(self, value: ListValue) -> int:
        if value.is_open:
            return self.list_changes.register(value)
        return self.program.register_of(value)

    def _loaded(self, load: Load, log: list[Written]) -> list[Any]:
        """The elements behind what was done to it so far, where each place is one number."""
        elements = list(load())
        for entry in log:
            if entry.what == "extend":
                elements += entry.given
                continue
            method: Any = entry.key
            if method in (list.__setitem__, list.__delitem__, list.insert):
                place = operator.index(self.indexing.integer(entry.given[0]))
                method(elements, place, *entry.given[1:])
            else:
                method(elements, *map(self.indexing.integer, entry.given))
        return elements


def _is_open_number(value: Abstract) -> bool:
    """Whether it is an integer that is another one on other calls."""
    if isinstance(value, Size):
        return value.dim.constant is None
    return isinstance(value, Host) and type(value.object) is int


def is_of_numbers(value: Abstract) -> bool:
    """Whether it is a list of the program's own with only numbers, texts, truths and None in it.

    These stay what they are, and none of them is an array that could be written.
    """
    if not isinstance(value, ListValue) or value.cls is not list:
        return False
    if value.is_open:
        parts = [part for entry in value.log for part in entry.given]
        return value.of_numbers and all(map(_is_number, parts))
    if value.register >= 0 or not value.is_read:  # nobody shall read it for this
        return False
    return all(map(_is_number, value.elements))


def _is_number(value: Abstract) -> bool:
    value = resolve(value)
    if isinstance(value, Size):
        return True
    known = isinstance(value, (Literal, Host)) and is_number(value.object)
    return known and not may_be_view(value.object)


__all__ = ["MadeLists", "is_of_numbers"]
