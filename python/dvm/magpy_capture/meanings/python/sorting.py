"""sorted() and list.sort() of values of which some are only known on each call.

Where all elements are numbers, or all are text, the host sorts them, and the path is for every
order. Elements with parts that are known (the items of a dict, pairs of a number and a name) are
moved by the lowering: each comparison of Python's own sort that a call could answer otherwise is an
outcome. The same goes for elements of which a key is compared, and for the extreme by a key.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cmp_to_key
from typing import Any

from dvm import reasons
from dvm.magpy_capture.meanings.python.functions import NONE
from dvm.magpy_capture.meanings.python.layer import PythonPart
from dvm.magpy_capture.path.program import describe
from dvm.magpy_capture.path.spec import refuse
from dvm.magpy_capture.registry import means, methods_of
from dvm.magpy_capture.values import (
    Abstract,
    CompareKey,
    Host,
    Instance,
    ListValue,
    Literal,
    Named,
    Sequence,
    SetValue,
    Size,
    Tensor,
    is_none,
    resolve,
)
from dvm.magpy_capture.values.kinds import is_fixed
from dvm.magpy_capture.values.tables import OPERATORS

FALSE = Literal(False)
ORDERS = OPERATORS["compare"]


class Sorting(PythonPart):
    """Puts abstract values in order."""

    needs = "caller containers heap host_operations indexing program python"

    @means(sorted)
    def sort_list(
        self,
        iterable: Abstract,
        /,
        *,
        key: Abstract = NONE,
        reverse: Abstract = FALSE,
        seen: Any,
    ) -> Abstract:
        iterable = resolve(iterable)
        if not is_none(key):
            return self._sorted_by(
                key, self.containers.elements(iterable), bool(self.indexing.plain(reverse)), seen
            )
        if isinstance(iterable, SetValue):
            parts: list[Abstract] = [Literal(part) for part in iterable.elements]
        elif isinstance(iterable, (Tensor, Host)):
            return self._sorted_by_host(iterable, reverse, seen)
        else:
            parts = [resolve(part) for part in self.containers.elements(iterable)]
        alike = all(map(self._is_number, parts)) or all(map(self._is_text, parts))
        if alike and not all(map(is_fixed, parts)):
            seen = sorted(
                map(self.python.observed_value, parts), reverse=bool(self.indexing.plain(reverse))
            )
            return self._sorted_by_host(ListValue(parts), reverse, seen)
        if any(_is_nan(part) for part in parts):
            raise refuse(reasons.SORTED_NAN_AMONG_ELEMENTS)
        by_python = cmp_to_key(lambda a, b: -1 if self.is_less(a, b) else 1)
        return ListValue(sorted(parts, key=by_python, reverse=bool(self.indexing.plain(reverse))))

    @methods_of(ListValue, names=["sort"])
    def sort_in_place(
        self, base: ListValue, name: str, positional: list[Abstract], named: Named, seen: Any
    ) -> Abstract:
        """The list is empty meanwhile, as Python's own is; where a key raises, it is as before."""
        if positional:
            raise refuse(reasons.METHOD_OF, name, describe(base))
        parts = list(base.elements)
        base.wrote("replace")
        base.elements.clear()
        try:
            ordered = self.containers.elements(self.sort_list(Sequence(parts), **named, seen=None))
            if base.elements:
                raise refuse(reasons.LIST_CHANGES_WHILE_SORTED)
            parts = ordered
        finally:
            base.elements[:] = parts
        return NONE

    def _sorted_by(
        self, key: Abstract, parts: list[Abstract], reverse: bool, seen: Any
    ) -> Abstract:
        """All keys first, as Python has it, and then the order of the keys."""
        keys = [resolve(self.caller.apply(key, [part])) for part in parts]
        ranked = self.ordered(keys, parts, reverse)
        if type(seen) is list:
            for part, real in zip(ranked, self.heap.snapshots.get(id(seen), seen), strict=True):
                self.caller.assume(part, real)
        return ListValue(ranked, object=seen)

    def ordered(self, keys: list[Abstract], parts: list[Any], reverse: bool) -> list[Any]:
        """The parts in the order of their keys."""

        def before(i: int, j: int) -> int:
            return -1 if self.is_less(keys[i], keys[j]) else 1

        places = sorted(range(len(parts)), key=cmp_to_key(before), reverse=reverse)
        return [parts[place] for place in places]

    def extreme_by(self, key: Abstract, better: str, parts: Iterator[Abstract]) -> Abstract | None:
        best: Abstract | None = None
        most: Abstract = NONE
        for part in parts:
            rank = resolve(part if is_none(key) else self.caller.apply(key, [part]))
            if best is None or self._ordered(better, rank, most):
                best, most = part, rank
        return None if best is None else resolve(best)

    def _sorted_by_host(self, numbers: Abstract, reverse: Abstract, seen: Any) -> Abstract:
        if not self.host_operations.is_pure(numbers):
            raise refuse(reasons.SORTED, describe(numbers))
        named = {"reverse": Literal(bool(self.indexing.plain(reverse)))}
        return self.host_operations.host_call(self.program.constant(sorted), [numbers], named, seen)

    def _is_number(self, value: Abstract) -> bool:
        if isinstance(value, Size) or (isinstance(value, Tensor) and value.is_scalar):
            return True
        return isinstance(value, (Host, Literal)) and type(value.object) in (int, float, bool)

    def _is_text(self, value: Abstract) -> bool:
        return isinstance(value, (Host, Literal)) and type(value.object) is str

    def is_less(self, a: Abstract, b: Abstract) -> bool:
        return self._ordered("<", a, b)

    def _ordered(self, name: str, a: Abstract, b: Abstract) -> bool:
        """`a < b` or `a > b` as Python has it: tuples by their first parts that differ."""
        a, b = self._opened(a), self._opened(b)
        if isinstance(a, Sequence) and isinstance(b, Sequence):
            for x, y in zip(a.elements, b.elements, strict=False):
                if not self._compare("==", self._opened(x), self._opened(y)):
                    return self._ordered(name, x, y)
            return bool(ORDERS[name](len(a.elements), len(b.elements)))
        return self._compare(name, a, b)

    def _compare(self, name: str, a: Abstract, b: Abstract) -> bool:
        if name == "==" and isinstance(a, Sequence) and isinstance(b, Sequence):
            return len(a.elements) == len(b.elements) and all(
                self._compare("==", self._opened(x), self._opened(y))
                for x, y in zip(a.elements, b.elements, strict=True)
            )
        if name == "==" and (a is b or (_is_same(a, b))):
            return True
        if isinstance(a, CompareKey) and isinstance(b, CompareKey):
            order = resolve(self.caller.apply(a.function, [a.value, b.value]))
            return self._compare(name, order, Literal(0))
        if isinstance(a, Instance) or isinstance(b, Instance):
            return self.python.decided(self.caller.operated("compare", name, a, b))
        for value in (a, b):
            if not is_fixed(value) and not self._is_number(value) and not self._is_text(value):
                raise refuse(reasons.SORTED_BY, describe(value))
        x, y = self.python.observed_value(a), self.python.observed_value(b)
        if name == "==" and x != x and y != y:
            raise refuse(reasons.SORTED_NAN_TUPLE_TOLD_IDENTITY)
        answer = bool(ORDERS[name](x, y))
        if not (is_fixed(a) and is_fixed(b)):
            self.program.guard("guard_truth", self.program.operator(name, [a, b]), answer)
        return answer

    def same_value(self, a: Abstract, b: Abstract) -> bool:
        return self._compare("==", self._opened(a), self._opened(b))

    def _opened(self, value: Abstract) -> Abstract:
        """A tuple as a Sequence of its parts."""
        value = resolve(value)
        if isinstance(value, Literal) and type(value.object) is tuple:
            return Sequence([Literal(part) for part in value.object])
        return value


def _is_same(a: Abstract, b: Abstract) -> bool:
    return isinstance(a, Literal) and isinstance(b, Literal) and a.object is b.object


def _is_nan(value: Abstract) -> bool:
    return (
        isinstance(value, Literal) and type(value.object) is float and value.object != value.object
    )


__all__ = ["Sorting"]
