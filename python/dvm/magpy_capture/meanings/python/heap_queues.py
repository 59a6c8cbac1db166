"""Modules heapq and bisect, and functools.cmp_to_key.

The C functions themselves move objects that stand for abstract values: each comparison that they
make is an outcome, or runs the body that was recorded.
"""

from __future__ import annotations

import bisect
import functools
import heapq
from collections.abc import Callable
from typing import Any

from dvm import reasons
from dvm.magpy_capture.meanings.python.functions import NONE
from dvm.magpy_capture.meanings.python.layer import PythonPart
from dvm.magpy_capture.path.program import describe
from dvm.magpy_capture.path.spec import BodyRaised, refuse
from dvm.magpy_capture.registry import means
from dvm.magpy_capture.values import Abstract, CompareKey, ListValue, Literal, is_none, resolve


class Ranked:
    """Stands for a value in a list that C code orders."""

    def __init__(self, is_less: Callable[[Abstract, Abstract], bool], value: Abstract) -> None:
        self.is_less = is_less
        self.value = value

    def __lt__(self, other: Ranked) -> bool:
        return self.is_less(self.value, other.value)


class HeapQueues(PythonPart):
    """Lists that C code keeps in order."""

    needs = "containers indexing sorting"

    @means(functools.cmp_to_key)
    def make_compare_key(self, mycmp: Abstract) -> Abstract:
        return CompareKey(mycmp)

    @means(heapq.heappush)
    def push_on_heap(self, heap: Abstract, item: Abstract, /) -> Abstract:
        return self._order(heapq.heappush, heap, item)

    @means(heapq.heappop)
    def pop_from_heap(self, heap: Abstract, /) -> Abstract:
        return self._order(heapq.heappop, heap)

    @means(heapq.heapreplace)
    def replace_on_heap(self, heap: Abstract, item: Abstract, /) -> Abstract:
        return self._order(heapq.heapreplace, heap, item)

    @means(heapq.heappushpop)
    def push_and_pop(self, heap: Abstract, item: Abstract, /) -> Abstract:
        return self._order(heapq.heappushpop, heap, item)

    @means(heapq.heapify)
    def make_heap(self, heap: Abstract, /) -> Abstract:
        return self._order(heapq.heapify, heap)

    def _order(self, function: Any, base: Abstract, *items: Abstract) -> Abstract:
        base = resolve(base)
        if not isinstance(base, ListValue):
            raise refuse(reasons.HEAP, describe(base))
        ranked = [self._ranked(part) for part in base.elements]
        try:
            made = function(ranked, *map(self._ranked, items))
        except IndexError:
            raise refuse(reasons.EMPTY_HEAP) from None
        except BodyRaised:
            raise refuse(reasons.HEAP_EXCEPTION_LEAVES_DISORDER) from None
        self._rewrite(base, [each.value for each in ranked])
        return NONE if made is None else resolve(made.value)

    def _rewrite(self, base: ListValue, parts: list[Abstract]) -> None:
        """Those that moved are written, and the end is longer or shorter by one."""
        before = [resolve(part) for part in base.elements]
        for place, (old, new) in enumerate(zip(before, parts, strict=False)):
            if old is not new:
                base.wrote("set", place, new)
        if len(parts) < len(before):
            base.wrote("delete", slice(len(parts), None))
        for part in parts[len(before) :]:
            base.wrote("extend", None, part)
        base.elements[:] = parts

    def _ranked(self, value: Abstract) -> Ranked:
        return Ranked(self.sorting.is_less, resolve(value))

    # ---- bisect

    @means(bisect.bisect_left)
    def place_left(
        self, a: Abstract, x: Abstract, lo: Abstract = Literal(0), hi: Abstract = NONE
    ) -> Abstract:
        return Literal(self._place(bisect.bisect_left, a, x, lo, hi))

    @means(bisect.bisect_right)
    def place_right(
        self, a: Abstract, x: Abstract, lo: Abstract = Literal(0), hi: Abstract = NONE
    ) -> Abstract:
        return Literal(self._place(bisect.bisect_right, a, x, lo, hi))

    @means(bisect.insort_left)
    def insert_left(self, a: Abstract, x: Abstract) -> Abstract:
        return self._insert(bisect.bisect_left, a, x)

    @means(bisect.insort_right)
    def insert_right(self, a: Abstract, x: Abstract) -> Abstract:
        return self._insert(bisect.bisect_right, a, x)

    def _place(self, function: Any, a: Abstract, x: Abstract, lo: Abstract, hi: Abstract) -> int:
        ranked = [self._ranked(part) for part in self.containers.elements(a)]
        end = len(ranked) if is_none(hi) else self.indexing.integer(hi)
        return int(function(ranked, self._ranked(x), self.indexing.integer(lo), end))

    def _insert(self, function: Any, a: Abstract, x: Abstract) -> Abstract:
        base = resolve(a)
        if not isinstance(base, ListValue):
            raise refuse(reasons.INSERTION_INTO, describe(base))
        place = self._place(function, base, x, Literal(0), NONE)
        base.elements.insert(place, x)
        base.wrote("call", list.insert, place, x)
        return NONE


__all__ = ["HeapQueues"]
