"""Functions under functools.lru_cache.

A path is for calls whose answer the cache has: then no code of the user runs, and what comes back
is the one object that was made the first time. Other calls leave the path before anything runs. The
very first call that is captured may have made the answer: from there on it is there. Later ones
would become a path that there is, so that they are left to the original, whatever the key is.
"""

from __future__ import annotations

import functools
import gc
from typing import Any

from dvm import reasons
from dvm.magpy_capture.libraries import EQUALS
from dvm.magpy_capture.meanings.python.layer import PythonPart
from dvm.magpy_capture.path.spec import refuse
from dvm.magpy_capture.registry import calls_of
from dvm.magpy_capture.values import (
    Abstract,
    Host,
    Instance,
    Literal,
    Named,
    Sequence,
    Size,
    Tensor,
    resolve,
)
from dvm.magpy_capture.values.kinds import class_attribute, has_identity, name_of

CACHED = functools._lru_cache_wrapper
#: Types whose objects are told by their values, if they are no NaN.
VALUES = (int, float, complex, bool, str, bytes, type(None))


class Caches(PythonPart):
    """Calls of cached functions."""

    needs = "caller heap instances ledger program python"

    def __init__(self, has_paths: bool) -> None:
        self.has_paths = has_paths  # whether the function has been captured before

    @calls_of(CACHED)
    def cached_call(
        self, function: Any, positional: list[Abstract], named: Named, seen: Any
    ) -> Abstract:
        given = [resolve(value) for value in positional]
        named = {name: resolve(value) for name, value in named.items()}
        arguments = [*given, *named.values()]
        table = table_of(function)
        if table is None or not all(map(self._is_told, arguments)):
            raise refuse(reasons.CALL_CACHES_VALUES, name_of(function))
        known = [self._told(argument) for argument in arguments]
        registers = [self._told_register(argument) for argument in arguments]
        typed = function.cache_parameters()["typed"]
        if len(known) == 1 and not named and not typed and type(known[0]) in (int, str):
            key, at = known[0], registers[0]
        else:
            parts = list(zip(known, registers, strict=True))
            parts = self._key_of(parts, list(named), typed)
            key, at = (
                tuple(part for part, _ in parts),
                self.program.step("tuple", [r for _, r in parts]),
            )
        missed = self.caller.next_callback() is not None
        if missed and (self.has_paths or key not in table or not self.caller.pass_by_body()):
            self._guard_kept(at, table, False)
            raise refuse(reasons.FIRST_CALL_CACHES_RESULT, name_of(function))
        self._guard_kept(at, table, True)
        if key not in table:
            raise refuse(reasons.CACHE_FORGETS_RESULT, name_of(function))
        made = self.program.step("cached", at, table)
        self.ledger.call(function, registers, tuple(named))  # which counts as a hit
        return self.heap.reach(lambda: made, seen)

    def _guard_kept(self, key: int, table: dict[Any, Any], kept: bool) -> None:
        self.program.guard(
            "guard_truth", self.program.operate("in", key, self.program.constant(table)), kept
        )

    def _key_of(
        self, parts: list[tuple[Any, int]], names: list[str], typed: bool
    ) -> list[tuple[Any, int]]:
        """The elements of the key, as functools makes it in C, each with its register."""
        types = (
            [(type(part), self.program.constant(type(part))) for part, _ in parts] if typed else []
        )
        plain, keywords = parts[: len(parts) - len(names)], parts[len(parts) - len(names) :]
        if names:
            plain.append((KEYWORDS, self.program.constant(KEYWORDS)))
            for name, part in zip(names, keywords, strict=True):
                plain += [(name, self.program.constant(name)), part]
        return plain + types

    def _is_told(self, value: Abstract) -> bool:
        """Whether equal objects of its kind are one key, and its hash is nothing of the user's."""
        if isinstance(value, Sequence):
            parts = map(resolve, value.elements)
            return value.cls is tuple and value.owner is None and all(map(self._is_told, parts))
        if isinstance(value, Instance):  # by its identity
            if value.register < 0 or not has_identity(value.cls):
                return False
            for name in ("__hash__", "__eq__"):
                self.instances.guard_class(value.cls, name, class_attribute(value.cls, name))
            return True
        if isinstance(value, Tensor):
            return value.is_scalar and bool(value.object == value.object)
        if not isinstance(value, (Literal, Host)):
            return isinstance(value, Size)
        if isinstance(value.object, (type, *EQUALS)):
            return type(value.object).__hash__ in (
                type.__hash__,
                *(kind.__hash__ for kind in EQUALS),
            )
        return type(value.object) in VALUES and bool(value.object == value.object)

    def _told(self, value: Abstract) -> Any:
        """The object itself in the recorded call."""
        if isinstance(value, Sequence):
            return tuple(self._told(resolve(part)) for part in value.elements)
        return self.python.observed_value(value) if isinstance(value, Size) else value.object

    def _told_register(self, value: Abstract) -> int:
        if isinstance(value, Sequence) and value.register < 0:
            parts = [self._told_register(resolve(part)) for part in value.elements]
            return self.program.step("tuple", parts)
        return value.register if isinstance(value, Instance) else self.program.register_of(value)


def table_of(function: Any) -> dict[Any, Any] | None:
    """The dict in which it keeps what it knows; None where nothing is kept."""
    if function.cache_parameters()["maxsize"] == 0:
        return None
    held = [each for each in gc.get_referents(function) if type(each) is dict]
    tables = [each for each in held if each is not vars(function)]
    return tables[0] if len(tables) == 1 else None


def _mark() -> Any:
    """What stands in a key before the arguments that were given by name."""

    @functools.lru_cache
    def probe(**_: int) -> None:
        return None

    probe(a=1)
    return next(key[0] for key in table_of(probe) or {})


KEYWORDS = _mark()

__all__ = ["CACHED", "Caches"]
