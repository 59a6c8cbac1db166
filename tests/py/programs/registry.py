"""The programs: what is compiled, the calls made of it, and what is expected of the compiler."""

from __future__ import annotations

import importlib
import operator
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

MODULES = (
    *("statistics", "signals", "images", "physics", "finance"),
    *("optimisation", "layers", "automata", "control_flow", "objects", "state"),
)
CALLS = 30


class Keywords(dict[str, Any]):
    """The keyword arguments of a call: the last element of a case that has some."""


@dataclass(frozen=True)
class Program:
    """A function and what dvm must make of it.

    cases: 30 tuples of arguments, of many shapes.
    captures: how many paths all of them need: one for each outcome of the branches and loops, for
        each dtype and for each class of memory order (C, other strides in C order, any other).
    opaque: the NumPy functions that may be called from a path instead of being compiled.
    exact: results have equal bits: no sums in other orders, no transcendental functions.
    single: results of double precision may come from values of single precision.
    scale: the magnitude of what the results are differences of, where it exceeds theirs.
    variables: the module's globals which calls change, or "Class.attribute".
    rolled: how many captures there are where its loops are one body for any count; None: none is.
    """

    function: Callable[..., Any]
    cases: Callable[[np.random.Generator], Iterable[tuple[Any, ...]]]
    captures: int
    opaque: frozenset[str] = frozenset()
    exact: bool = False
    single: bool = False
    scale: float = 0.0
    variables: tuple[str, ...] = ()
    rolled: int | None = None

    @property
    def name(self) -> str:
        return f"{self.function.__module__.rpartition('.')[2]}.{self.function.__name__}"

    def read_variables(self) -> dict[str, Any]:
        """Return the globals that calls change, by name."""
        module = sys.modules[self.function.__module__]
        return {name: operator.attrgetter(name)(module) for name in self.variables}

    def write_variables(self, values: dict[str, Any]) -> None:
        """Bind the globals that calls change."""
        for name, value in values.items():
            holder: Any = sys.modules[self.function.__module__]
            *path, last = name.split(".")
            for each in path:
                holder = getattr(holder, each)
            setattr(holder, last, value)

    def calls(self) -> Iterator[tuple[tuple[Any, ...], dict[str, Any]]]:
        """Return the same calls every time, with fresh arguments."""
        for case in self.cases(np.random.default_rng(zlib.crc32(self.name.encode()))):
            if case and isinstance(case[-1], Keywords):
                yield case[:-1], dict(case[-1])
            else:
                yield case, {}


@cache
def programs() -> list[Program]:
    """Return all programs, in the order of the modules."""
    modules = [importlib.import_module(f"programs.{name}") for name in MODULES]
    return [program for module in modules for program in module.PROGRAMS]
