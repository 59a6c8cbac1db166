"""Runs the calls of a program plain and compiled, and tells the first difference.

After each call everything a caller could see is written down: the result or the exception (type,
message, lines of the program in its traceback), the warnings, all arguments and all module state;
arrays with their type, dtype, shape, strides, flags and elements, which of them are one object and
which share memory at which distance. At the end all of it is looked at again, because a result that
a later call overwrites was right when it was returned.
"""

from __future__ import annotations

import itertools
import linecache
import os
import re
import signal
import traceback
import types
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import dvm

from .program import Program

FILE = "<generated program>"
STATE = ("BOX", "WEIGHT", "SCALE", "STATE", "LOG")
SECONDS = 20


@dataclass(frozen=True)
class Difference:
    """The first thing that differs.

    kind: value, type, dtype, shape, order (of strides), contiguous, writeable, sharing, identity,
        mutation (of arguments or module state), exception, warning, internal (a bug of dvm's that
            dvm reports; DVM_IGNORE=internal lets it pass), later (something changed after
        it was returned), or timeout.
    call: index of the call; text: what both sides showed.
    """

    kind: str
    call: int
    text: str


@dataclass
class Observed:
    """What one call showed. items: path -> what is there; arrays: path -> the live array."""

    outcome: str = ""
    warned: list[str] = field(default_factory=list)
    items: dict[str, Any] = field(default_factory=dict)
    arrays: dict[str, np.ndarray[Any, Any]] = field(default_factory=dict)
    roots: dict[str, Any] = field(default_factory=dict)


@dataclass
class Run:
    calls: list[Observed]
    compiled: Any = None


class TooSlowError(Exception):
    """A program ran out of its time."""


@contextmanager
def limit(seconds: float) -> Iterator[None]:
    def expire(*_: object) -> None:
        raise TooSlowError

    before = signal.signal(signal.SIGALRM, expire)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def module_of(program: Program) -> dict[str, Any]:
    """Return the namespace of a fresh module of the program's source."""
    linecache.cache[FILE] = (
        len(program.source), None, program.source.splitlines(keepends=True), FILE
    )  # fmt: skip
    module: dict[str, Any] = {"__name__": "generated", "last_result": None}
    exec(compile(program.source, FILE, "exec"), module)
    return module


def run(program: Program, compiled: bool) -> Run:
    """Make every call of the program in a module of its own."""
    module = module_of(program)
    function: Callable[..., Any] = module["f"]
    if compiled:
        function = dvm.compile(function)
    made = Run([], function if compiled else None)
    for call in program.calls:
        made.calls.append(next_call(call, function, module, len(made.calls)))
    return made


def next_call(
    call: str, function: Callable[..., Any], module: dict[str, Any], number: int
) -> Observed:
    """Build the arguments, make the call, and keep what it is to be compared with later.

    Half of the results live on as a view of one of their arrays alone, so that storage comes free
    between the calls as it does in a real program.
    """
    exec(call, module)
    module["last_arguments"] = module["arguments"]
    seen = one_call(function, module)
    if number % 2:
        kept = next(iter(seen.arrays.values()), None)
        seen.roots = {"result": None if kept is None else kept[...]}
    seen.arrays = {}
    return seen


def one_call(function: Callable[..., Any], module: dict[str, Any]) -> Observed:
    seen = Observed()
    result: Any = None
    modes = module.pop("errstate", {"all": "warn", "under": "ignore"})
    with warnings.catch_warnings(record=True) as warned, np.errstate(**modes):
        warnings.simplefilter("always")
        try:
            result = function(*module["arguments"])
            seen.outcome = "returned"
        except TooSlowError:
            raise
        except Exception as error:
            frames = traceback.extract_tb(error.__traceback__)
            lines = [frame.lineno for frame in frames if frame.filename == FILE]
            seen.outcome = f"{type(error).__name__}: {error} (lines {lines})"
            seen.outcome = re.sub(r"0x[0-9a-f]+", "0x", seen.outcome)
    module["last_result"] = result
    seen.warned = [f"{w.category.__name__}: {w.message}" for w in warned]
    seen.roots = {"result": result, "arguments": module["arguments"]}
    seen.roots |= {name: module[name] for name in STATE}
    seen.items, seen.arrays = look(seen.roots)
    return seen


def look(roots: dict[str, Any]) -> tuple[dict[str, Any], dict[str, np.ndarray[Any, Any]]]:
    """Return everything reachable from the roots, by path, as of now."""
    items: dict[str, Any] = {}
    arrays: dict[str, np.ndarray[Any, Any]] = {}
    first: dict[int, str] = {}
    todo = list(roots.items())[::-1]
    while todo:
        path, value = todo.pop()
        counted = isinstance(value, (np.ndarray, np.generic, list, dict, types.SimpleNamespace))
        if counted and id(value) in first:
            items[f"{path} identity"] = f"is {first[id(value)]}"
            continue
        first[id(value)] = path
        items[f"{path} type"] = type(value).__name__
        if isinstance(value, (list, tuple)):
            items[f"{path} shape"] = len(value)
            todo += [(f"{path}[{i}]", v) for i, v in enumerate(value)][::-1]
        elif isinstance(value, dict):
            items[f"{path} shape"] = [repr(key) for key in value]
            todo += [(f"{path}[{k!r}]", v) for k, v in value.items()][::-1]
        elif type(value).__name__ == "Box":
            todo += [(f"{path}.{k}", v) for k, v in vars(value).items()][::-1]
        elif isinstance(value, np.ndarray):
            arrays[path] = value
            describe(items, path, value)
        elif isinstance(value, np.generic):
            items[f"{path} dtype"] = value.dtype.str
            items[f"{path} value"] = np.array(value)
        elif isinstance(value, float):
            items[f"{path} value"] = np.array(value)
        else:
            items[f"{path} value"] = re.sub(r"0x[0-9a-f]+", "0x", repr(value))
    for (p, a), (q, b) in itertools.combinations(arrays.items(), 2):
        items[f"{p}, {q} sharing"] = distance(a, b)
    return items, arrays


def describe(items: dict[str, Any], path: str, array: np.ndarray[Any, Any]) -> None:
    items[f"{path} dtype"] = array.dtype.str
    items[f"{path} shape"] = array.shape
    items[f"{path} value"] = array.copy()
    flags = array.flags
    items[f"{path} writeable"] = flags.writeable
    items[f"{path} contiguous"] = (flags.c_contiguous, flags.f_contiguous)
    # Strides of axes longer than one, as NumPy itself ignores the others, if there are elements.
    strides = [s for s, n in zip(array.strides, array.shape, strict=True) if n > 1]
    signs = [s < 0 for s in strides]
    order = sorted(range(len(strides)), key=lambda i: -abs(strides[i]))
    items[f"{path} order"] = (signs, order) if array.size else None


def distance(a: np.ndarray[Any, Any], b: np.ndarray[Any, Any]) -> int | str:
    """Return how far apart two arrays begin in memory they share, or "apart"."""
    if not np.shares_memory(a, b):
        return "apart"
    return a.__array_interface__["data"][0] - b.__array_interface__["data"][0]  # type: ignore[no-any-return]


KINDS = (
    "identity",
    "type",
    "dtype",
    "shape",
    "value",
    "sharing",
    "writeable",
    "contiguous",
    "order",
)


class Comparison:
    """Compares observations with the tolerance a program's rounded values ask for."""

    def __init__(self, program: Program) -> None:
        self.program = program

    def values(self, plain: Any, made: Any) -> bool:
        if not isinstance(plain, np.ndarray) or not isinstance(made, np.ndarray):
            return bool(np.array_equal(plain, made)) and type(plain) is type(made)
        if plain.dtype != made.dtype or plain.shape != made.shape:
            return False
        if plain.dtype.kind not in "fc":
            return plain.tobytes() == made.tobytes()
        if not np.array_equal(np.isnan(plain), np.isnan(made)):
            return False
        if self.program.rounded:
            eps = max(self.program.eps, float(np.finfo(plain.dtype).eps))
            size = max(self.program.rounded, 1.0)
            wide = np.complex128 if plain.dtype.kind == "c" else np.float64
            one, other = plain.astype(wide), made.astype(wide)
            return np.allclose(one, other, rtol=256 * eps, atol=64 * eps * size, equal_nan=True)
        if not np.array_equal(plain, made, equal_nan=True):
            return False
        if self.program.signed_zeros and plain.dtype.kind == "f":
            known = ~np.isnan(plain)
            return np.array_equal(np.signbit(plain)[known], np.signbit(made)[known])
        return True

    def items(self, plain: dict[str, Any], made: dict[str, Any]) -> tuple[str, str] | None:
        for kind in KINDS:
            names = [n for n in (plain | made) if n.rsplit(" ", 1)[1] == kind]
            for name in names:
                one, other = plain.get(name, "absent"), made.get(name, "absent")
                same = self.values(one, other) if kind == "value" else one == other
                if not same:
                    what = kind
                    if kind == "value" and not name.startswith("result"):
                        what = "mutation"
                    return what, f"{name}: plain {one!r}, compiled {other!r}"
        return None


def difference(program: Program, stats: Callable[[Any], None] | None = None) -> Difference | None:
    """Return the first difference between the program plain and compiled; None if there is none.

    stats: called with the compiled function after its last call.
    """
    try:
        with limit(SECONDS):
            plain = run(program, compiled=False)
    except TooSlowError:
        return None  # the program itself is too slow to tell anything
    try:
        with limit(SECONDS):
            made = run(program, compiled=True)
    except TooSlowError:
        return Difference("timeout", len(program.calls) - 1, f"more than {SECONDS} s")
    if stats:
        stats(made.compiled)
    return first_difference(program, plain.calls, made.calls)


def first_difference(
    program: Program, plain: list[Observed], made: list[Observed]
) -> Difference | None:
    """Return the first difference between the calls as they were, then as they are now."""
    compare = Comparison(program)
    ignored = os.environ.get("DVM_IGNORE", "")
    for i, (one, other) in enumerate(zip(plain, made, strict=True)):
        if one.outcome != other.outcome:
            return Difference("exception", i, f"plain {one.outcome}\ncompiled {other.outcome}")
        internal = [w for w in other.warned if "DVM-X" in w]
        if internal and ignored != "internal":
            return Difference("internal", i, internal[0])
        if one.warned != [w for w in other.warned if w not in internal]:
            return Difference("warning", i, f"plain {one.warned}\ncompiled {other.warned}")
        found = compare.items(one.items, other.items)
        if found:
            return Difference(found[0], i, found[1])
    for i, (one, other) in enumerate(zip(plain, made, strict=True)):
        found = compare.items(look(one.roots)[0], look(other.roots)[0])
        if found:
            return Difference("later", i, found[1])
    return None
