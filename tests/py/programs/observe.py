"""What can be observed of a call, and how two calls differ.

`observe` runs a function and keeps its result, exception, warnings, and the arguments and globals
as the call left them. `differences` walks two such outcomes side by side and names what differs:
values, dtypes, exact types, memory order, flags, which objects are the same object and which arrays
share memory.
"""

from __future__ import annotations

import itertools
import math
import traceback
import types
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from programs.clone import ATOMS, address, members

HERE = str(Path(__file__).parent)
TOLERANCE = {np.dtype("f2"): 2e-3, np.dtype("f4"): 1e-5, np.dtype("f8"): 1e-12}
TOLERANCE |= {np.dtype("c8"): 1e-5, np.dtype("c16"): 1e-12}


@dataclass
class Outcome:
    """What one call did; `error` is (type, message, the program's lines in the traceback)."""

    value: Any
    error: tuple[type, str, list[int | None]] | None
    warnings: list[tuple[type, str, str, int]]
    arguments: Any
    variables: dict[str, Any] = field(default_factory=dict)


def observe(
    function: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    variables: Callable[[], dict[str, Any]] = dict,
) -> Outcome:
    """Call the function; `variables` is asked afterwards for the globals it may have changed."""
    value, error = None, None
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            value = function(*args, **kwargs)
        except Exception as raised:
            frames = traceback.extract_tb(raised.__traceback__)
            # The first is `observe`; those of dvm and NumPy are not the program's.
            lines = [frame.lineno for frame in frames[1:] if frame.filename.startswith(HERE)]
            error = (type(raised), str(raised), lines)
    issued = [(each.category, str(each.message), each.filename, each.lineno) for each in caught]
    return Outcome(value, error, issued, [*args, kwargs], variables())


def differences(
    expected: Outcome,
    actual: Outcome,
    *,
    exact: bool = False,
    tolerance: float = 0.0,
    scale: float = 0.0,
) -> list[str]:
    """Return what differs, in words; see `Comparison` for how close numbers must be."""
    found = []
    if expected.error != actual.error:
        found.append(f"exception: {expected.error} became {actual.error}")
    if expected.warnings != actual.warnings:
        found.append(f"warnings: {expected.warnings} became {actual.warnings}")
    comparison = Comparison(exact, tolerance, scale)
    comparison.walk("result", expected.value, actual.value)
    comparison.walk("arguments", expected.arguments, actual.arguments)
    comparison.walk("globals", expected.variables, actual.variables)
    comparison.memory()
    return found + comparison.found


class Comparison:
    """Walks two object graphs together.

    exact: floats have equal bits (but for NaN payloads) instead of being within the tolerance of
        their dtype, relative to the greatest magnitude in their array.
    tolerance: the least tolerance, for numbers that come from others of a narrower dtype.
    scale: the least such magnitude, for results that are differences of greater numbers.
    """

    def __init__(self, exact: bool, tolerance: float, scale: float) -> None:
        self.exact, self.tolerance, self.scale = exact, tolerance, scale
        self.found: list[str] = []
        self._pairs: dict[int, tuple[str, Any, Any]] = {}
        self._actual: dict[int, str] = {}

    def walk(self, where: str, a: Any, b: Any) -> None:
        """Compare what is expected, `a`, with what came, `b`."""
        if type(a) is not type(b):
            self._report(where, f"type {type(a).__name__} became {type(b).__name__}")
        elif isinstance(a, np.generic | float | complex):
            self._scalar(where, a, b)
        elif isinstance(a, ATOMS) and not isinstance(a, types.FunctionType):
            if a is not b and a != b:
                self._report(where, f"{a!r} became {b!r}")
        elif a is not b and self._first_time(where, a, b):
            self._inside(where, a, b)

    def _report(self, where: str, what: str) -> None:
        self.found.append(f"{where}: {what}")

    def _first_time(self, where: str, a: Any, b: Any) -> bool:
        known, taken = self._pairs.get(id(a)), self._actual.get(id(b))
        if known is None and taken is None:
            self._pairs[id(a)] = (where, a, b)
            self._actual[id(b)] = where
            return True
        if known is None:
            self._report(where, f"became the same object as {taken}")
        elif known[2] is not b:
            self._report(where, f"is no longer the same object as {known[0]}")
        return False

    def _inside(self, where: str, a: Any, b: Any) -> None:
        if isinstance(a, np.ndarray):
            self._array(where, a, b)
        elif isinstance(a, np.random.Generator):
            self.walk(f"{where}.state", a.bit_generator.state, b.bit_generator.state)
        elif isinstance(a, list | tuple):
            if len(a) != len(b):
                self._report(where, f"length {len(a)} became {len(b)}")
            for index, (x, y) in enumerate(zip(a, b, strict=False)):
                self.walk(f"{where}[{index}]", x, y)
        elif isinstance(a, dict):
            self.walk(f"{where}.keys", list(a), list(b))
            for key in a.keys() & b.keys():
                self.walk(f"{where}[{key!r}]", a[key], b[key])
        elif isinstance(a, set):
            self.walk(where, sorted(a, key=repr), sorted(b, key=repr))
        elif isinstance(a, types.FunctionType):
            self.walk(f"{where}.__code__", a.__code__ is b.__code__, True)
            cells = [[each.cell_contents for each in f.__closure__ or ()] for f in (a, b)]
            self.walk(f"{where}.__closure__", *cells)
        else:
            self.walk(f"{where}.__dict__", members(a), members(b))

    def _scalar(self, where: str, a: Any, b: Any) -> None:
        self._numbers(where, np.asarray(a), np.asarray(b))

    def _array(self, where: str, a: np.ndarray, b: np.ndarray) -> None:
        if a.dtype != b.dtype or a.shape != b.shape:
            self._report(where, f"{a.dtype}{a.shape} became {b.dtype}{b.shape}")
            return
        for name in ("C_CONTIGUOUS", "F_CONTIGUOUS", "OWNDATA", "WRITEABLE"):
            if a.flags[name] != b.flags[name]:
                self._report(where, f"{name} {a.flags[name]} became {b.flags[name]}")
        if (a.base is None) != (b.base is None):
            self._report(where, f"base {type(a.base)} became {type(b.base)}")
        if memory_order(a) != memory_order(b):
            self._report(where, f"memory order of {a.shape}: {a.strides} became {b.strides}")
        self._numbers(where, a, b)

    def _numbers(self, where: str, a: np.ndarray, b: np.ndarray) -> None:
        if a.dtype.kind not in "fc":
            same = a == b
        else:
            nan = np.isnan(a)
            same = (nan == np.isnan(b)) & (nan | self._close(a, b))
        if not np.all(same):
            at = tuple(int(index[0]) for index in np.nonzero(~np.atleast_1d(same)))
            first, second = (repr(np.atleast_1d(each)[at]) for each in (a, b))
            share = f"{np.size(same) - np.count_nonzero(same)} of {np.size(same)} values"
            self._report(where, f"{share}, first at {at}: {first} became {second}")

    def _close(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        with np.errstate(all="ignore"):
            if self.exact:
                return (a == b) & (np.signbit(a) == np.signbit(b))
            finite = np.abs(a[np.isfinite(a)])
            size = max(self.scale, finite.max(initial=0.0))
            bound = size * max(self.tolerance, TOLERANCE[a.dtype])
            return (a == b) | (np.abs(a - b) <= bound)

    def memory(self) -> None:
        """Compare which of all arrays seen share memory, and how far apart they start."""
        arrays = [each for each in self._pairs.values() if isinstance(each[1], np.ndarray)]
        for (one, a, b), (two, c, d) in itertools.combinations(arrays, 2):
            expected, actual = relation(a, c), relation(b, d)
            if expected != actual:
                self._report(f"{one} and {two}", f"in memory: {expected} became {actual}")


def memory_order(array: np.ndarray) -> list[tuple[int, int]]:
    """Return the axes longer than 1 with the sign of their strides, outermost in memory first."""
    if array.size == 0:
        return []
    axes = [axis for axis in range(array.ndim) if array.shape[axis] > 1]
    axes.sort(key=lambda axis: -abs(array.strides[axis]))
    return [(axis, int(math.copysign(1, array.strides[axis]))) for axis in axes]


def relation(a: np.ndarray, b: np.ndarray) -> str:
    """Return how two arrays lie in memory: "apart", or how many bytes the second starts after."""
    if not np.shares_memory(a, b):
        return "apart"
    return f"shared, {address(b) - address(a)} bytes on"
