"""Functions under functools.lru_cache.

A path is for calls whose answer the cache has: then no code of the user runs, and what comes back
is the one object that was made the first time. Other calls leave the path before anything runs.
"""

from __future__ import annotations

import functools
import gc
from typing import Any

from dvm import reasons
from dvm.magpy_capture.deques import Deques
from dvm.magpy_capture.opaque import name_of
from dvm.magpy_capture.values import Abstract, Host, Literal, Sequence, Size

CACHED = functools._lru_cache_wrapper


class Caches(Deques):
    """Calls of cached functions."""

    #: of the path: each counts as a hit when the path has committed
    cache_hits: list[tuple[Any, list[int]]]

    def next_callback(self) -> Any:
        """The function whose body C code ran next, or None."""
        raise NotImplementedError

    def cached_call(
        self, function: Any, positional: list[Abstract], named: dict[str, Abstract], seen: Any
    ) -> Abstract:
        arguments = [self.resolve(argument) for argument in positional]
        table = table_of(function)
        if named or table is None or not all(map(self._is_told_by_value, arguments)):
            raise self.refuse(reasons.CALL_CACHES_VALUES, name_of(function))
        known = [self.observed_value(argument) for argument in arguments]
        alone = len(known) == 1 and type(known[0]) in (int, str)
        key = arguments[0] if alone else Sequence(arguments)
        test = self._operate("in", self.register_of(key), self.constant(table))
        missed = self.next_callback() is not None
        self.guard("guard_truth", test, not missed)
        if missed or (known[0] if alone else tuple(known)) not in table:
            raise self.refuse(reasons.FIRST_CALL_CACHES_RESULT, name_of(function))
        registers = [self.register_of(argument) for argument in arguments]
        made = self.step("cached", self.register_of(key), table)
        self.cache_hits.append((function, registers))
        return self.reach(lambda: made, seen)

    def _is_told_by_value(self, value: Abstract) -> bool:
        if isinstance(value, Size):
            return True
        return isinstance(value, (Literal, Host)) and type(value.object) in (int, float, bool, str)


def table_of(function: Any) -> dict[Any, Any] | None:
    """The dict in which it keeps what it knows; None where types count, or nothing is kept."""
    parameters = function.cache_parameters()
    if parameters["typed"] or parameters["maxsize"] == 0:
        return None
    held = [each for each in gc.get_referents(function) if type(each) is dict]
    tables = [each for each in held if each is not vars(function)]
    return tables[0] if len(tables) == 1 else None


__all__ = ["CACHED", "Caches"]
