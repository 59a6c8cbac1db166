"""collections.Counter, of the program."""

from __future__ import annotations

import collections
from typing import Any

from dvm.magpy_capture.meanings.python.deques import NOTHING
from dvm.magpy_capture.meanings.python.functions import NONE
from dvm.magpy_capture.meanings.python.layer import PythonPart
from dvm.magpy_capture.registry import means, methods_of
from dvm.magpy_capture.values import (
    Abstract,
    CounterValue,
    DictValue,
    ListValue,
    Literal,
    Named,
    Sequence,
    is_none,
    resolve,
)

ONE = Literal(1)

COUNTER_METHODS = frozenset({"update", "subtract", "most_common", "total", "copy"})


class Counters(PythonPart):
    """Counting, with counts that may be computed."""

    needs = "containers identity indexing operators python sorting"

    @means(collections.Counter)
    def make_counter(self, iterable: Abstract = NONE, /, **items: Abstract) -> Abstract:
        made = CounterValue(NONE, {})
        self._count_all(made, iterable, items, "+")
        return made

    @methods_of(CounterValue, names=COUNTER_METHODS)
    def counter_method(
        self, base: CounterValue, name: str, given: list[Abstract], named: Named, seen: Any
    ) -> Abstract:
        if name == "copy":
            return CounterValue(NONE, dict(base.items))
        if name in ("update", "subtract"):
            self._count_all(
                base, given[0] if given else NONE, named, "+" if name == "update" else "-"
            )
            return NONE
        counts = list(base.items.values())
        if name == "total":
            return self.python.add_up(ListValue(counts), seen=None)
        pairs: list[Abstract] = [Sequence([Literal(k), count]) for k, count in base.items.items()]
        ranked = self.sorting.ordered(counts, pairs, True)
        number = resolve(given[0] if given else named.get("n", NONE))
        return ListValue(ranked if is_none(number) else ranked[: self.indexing.integer(number)])

    def _count_all(
        self, base: CounterValue, source: Abstract, named: dict[str, Abstract], sign: str
    ) -> None:
        source = resolve(source)
        if isinstance(source, DictValue):
            for key, count in source.items.items():
                self._add_count(base, key, count, sign)
        elif not is_none(source):
            for part in self.containers.each(source):
                self._add_count(base, self.identity.key(part), ONE, sign)
        for key, count in named.items():
            self._add_count(base, key, count, sign)

    def _add_count(self, base: CounterValue, key: Any, count: Abstract, sign: str) -> None:
        before, count = resolve(base.items.get(key, NOTHING)), resolve(count)
        numbers = [self.python.observed_value(before), self.python.observed_value(count)]
        seen = numbers[0] + numbers[1] if sign == "+" else numbers[0] - numbers[1]
        base.items[key] = self.operators.binary(sign, before, count, seen)


__all__ = ["Counters"]
