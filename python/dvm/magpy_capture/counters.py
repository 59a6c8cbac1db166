"""collections.Counter, of the program."""

from __future__ import annotations

from typing import Any

from dvm.magpy_capture.caches import Caches
from dvm.magpy_capture.python_functions import NONE
from dvm.magpy_capture.sorting import Sorting
from dvm.magpy_capture.values import (
    Abstract,
    CounterValue,
    DefaultDict,
    DictValue,
    ListValue,
    Literal,
    Sequence,
)

NOTHING, ONE = Literal(0), Literal(1)


class Counters(Sorting, Caches):
    """Counting, with counts that may be computed."""

    def make_counter(self, iterable: Abstract = NONE, /, **items: Abstract) -> Abstract:
        made = CounterValue(NONE, {})
        self._count_all(made, iterable, items, "+")
        return made

    def missing_item(self, base: DefaultDict, key: Any) -> Abstract:
        if isinstance(base, CounterValue):
            return NOTHING
        return super().missing_item(base, key)

    def counter_method(
        self, base: CounterValue, name: str, given: list[Abstract], named: dict[str, Abstract]
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
            return self.add_up(ListValue(counts))
        pairs: list[Abstract] = [Sequence([Literal(k), count]) for k, count in base.items.items()]
        ranked = self.ordered(counts, pairs, True)
        number = self.resolve(given[0] if given else named.get("n", NONE))
        return ListValue(ranked if self.is_none(number) else ranked[: self.integer(number)])

    def _count_all(
        self, base: CounterValue, source: Abstract, named: dict[str, Abstract], sign: str
    ) -> None:
        source = self.resolve(source)
        if isinstance(source, DictValue):
            for key, count in source.items.items():
                self._add_count(base, key, count, sign)
        elif not self.is_none(source):
            for part in self.each(source):
                self._add_count(base, self.key(part), ONE, sign)
        for key, count in named.items():
            self._add_count(base, key, count, sign)

    def _add_count(self, base: CounterValue, key: Any, count: Abstract, sign: str) -> None:
        before, count = self.resolve(base.items.get(key, NOTHING)), self.resolve(count)
        numbers = [self.observed_value(before), self.observed_value(count)]
        seen = numbers[0] + numbers[1] if sign == "+" else numbers[0] - numbers[1]
        base.items[key] = self.binary(sign, before, count, seen)


__all__ = ["Counters"]
