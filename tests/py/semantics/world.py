"""Runs one small program twice, plain and compiled, and compares all that could be observed.

A case is a function of a World: it builds objects, marks functions with `w.compiled`, and calls
them through `w(...)`, changing what it likes in between. Each of these calls leaves one record:
result, exception with its traceback's lines, warnings, printed text, arguments and watched objects
afterwards, and how all of their memory overlaps. The plain and the compiled run must leave equal
records. `description` makes a record; `difference` names the first place where two differ.
"""

from __future__ import annotations

import contextlib
import io
import sys
import traceback
import types
import warnings
from collections import OrderedDict, deque
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import dvm

Case = Callable[["World"], None]
CASES: dict[str, Case] = {}

# Where the harness and dvm live: their frames are no part of a program's traceback.
OWN_FILES = ("semantics/world.py", f"{Path(dvm.__file__).parent}/")
PLAIN = (int, float, complex, str, bytes, bool, type(None), type(Ellipsis), type(NotImplemented))


def case(function: Case) -> Case:
    """Register a case under its theme (the module) and its own name."""
    name = f"{function.__module__.rpartition('.')[2]}:{function.__name__}"
    assert name not in CASES, name
    CASES[name] = function
    return function


class World:
    """One run of a case, plain or compiled, and what was observed in it."""

    def __init__(self, compile: Callable[[Any], Any]) -> None:
        self.compile = compile
        self.records: list[Any] = []
        self.watched: list[Any] = []
        self.results: list[Any] = []

    def compiled(self, function: Any) -> Any:
        return self.compile(function)

    def watch(self, thing: Any) -> Any:
        """Describe `thing` after each call, from now on."""
        self.watched.append(thing)
        return thing

    def note(self, *things: Any) -> None:
        """Record what these are now."""
        self.records.append(("note", description(*things)))

    def captured(self, function: Any, count: int) -> None:
        """Check how often a compiled function was captured; a plain one never is."""
        stats = getattr(function, "stats", None)
        assert stats is None or stats.captures == count, stats

    def replayed(self, function: Any, captures: int = 1) -> None:
        """Check that a compiled function was captured so often and else replayed."""
        stats = getattr(function, "stats", None)
        if stats is not None:
            why = (stats, list(function.fallback_reasons))
            assert (stats.captures, stats.fallbacks, stats.drops) == (captures, 0, 0), why
            assert stats.hits, why

    def __call__(self, function: Any, /, *args: Any, **keywords: Any) -> Any:
        """Call, record all that can be seen, and return the result (None when it raised)."""
        result: Any = None
        raised: Any = None
        printed = io.StringIO()
        with warnings.catch_warnings(record=True) as caught, contextlib.redirect_stdout(printed):
            warnings.simplefilter("always")
            try:
                result = function(*args, **keywords)
            except BaseException as error:
                raised = (description(error), lines_of(error))
                # The frames in a traceback keep arguments alive; a program that drops the error
                # lets go of them.
                error.__traceback__ = None
        self.results.append(result)
        self.records.append(
            {
                "result": description(result, args, keywords, *self.watched),
                "raised": raised,
                "warned": [
                    (w.category.__name__, str(w.message), line_in(w.filename, w.lineno))
                    for w in caught
                ],
                "printed": printed.getvalue(),
                "numpy": (sorted(np.geterr().items()), np.get_printoptions()["precision"]),
                "traced": sys.gettrace() is not None,
            }
        )
        return result

    def finish(self) -> list[Any]:
        """Return all records; the results are looked at again, for they may have changed since."""
        self.records.append(("at the end", description(*self.results, *self.watched)))
        return self.records


def line_in(filename: str, line: int) -> Any:
    return None if any(own in filename for own in OWN_FILES) else (filename, line)


def lines_of(error: BaseException) -> list[Any]:
    """Return function and line of each frame of the traceback which is the program's."""
    frames = traceback.extract_tb(error.__traceback__)
    return [(f.name, f.lineno) for f in frames if line_in(f.filename, 0) is not None]


def description(*things: Any) -> Any:
    """Return a deep description: values, types, layout, identities and shared memory."""
    describer = Describer()
    described = [describer.of(thing) for thing in things]
    return described, describer.memory()


class Describer:
    """Numbers objects in the order in which it meets them, so that identity shows."""

    def __init__(self) -> None:
        self.numbers: dict[int, int] = {}
        self.alive: list[Any] = []
        self.arrays: list[np.ndarray[Any, Any]] = []

    def of(self, thing: Any) -> Any:
        if type(thing) in PLAIN:
            return (type(thing).__name__, canonical(thing))
        if issubclass(type(thing), type | types.ModuleType | types.BuiltinFunctionType | np.ufunc):
            return ("name", thing.__name__)
        if type(thing).__module__.startswith("dvm") or issubclass(type(thing), types.FunctionType):
            # A compiled function stands for the plain one.
            return ("function", thing.__qualname__)
        if id(thing) in self.numbers:
            return ("seen", self.numbers[id(thing)])
        self.numbers[id(thing)] = number = len(self.numbers)
        self.alive.append(thing)
        return (f"{type(thing).__qualname__} #{number}", *self.content(thing))

    def content(self, thing: Any) -> tuple[Any, ...]:
        if issubclass(type(thing), np.ndarray):
            return self.array(thing)
        if issubclass(type(thing), np.generic):
            return str(thing.dtype.descr), canonical(thing.tolist())
        if issubclass(type(thing), dict):
            ordered = issubclass(type(thing), OrderedDict)  # which keeps an order of its own
            items = OrderedDict.items(thing) if ordered else dict.items(thing)
            pairs = [(self.of(key), self.of(value)) for key, value in items]
            return (pairs, self.attributes(thing))
        if issubclass(type(thing), list | tuple | deque):
            return ([self.of(item) for item in thing], self.attributes(thing))
        if issubclass(type(thing), set | frozenset):
            return (sorted((Describer().of(item) for item in thing), key=repr),)
        if issubclass(type(thing), BaseException):
            context = [Describer().of(thing.__cause__), Describer().of(thing.__context__)]
            return (self.of(thing.args), self.attributes(thing), context)
        if issubclass(type(thing), np.dtype | range | slice | np.random.RandomState):
            return (repr(thing),) if not issubclass(type(thing), np.random.RandomState) else ()
        if issubclass(type(thing), types.MethodType):
            return (thing.__func__.__qualname__, self.of(thing.__self__))
        return (self.attributes(thing),)

    def attributes(self, thing: Any) -> list[Any]:
        """Return what is stored in an object, without running any of its code."""
        stored: dict[str, Any] = {}
        with contextlib.suppress(AttributeError):
            stored.update(object.__getattribute__(thing, "__dict__"))
        for base in type(thing).__mro__:
            slots = base.__dict__.get("__slots__", ())
            for slot in (slots,) if isinstance(slots, str) else slots:
                with contextlib.suppress(AttributeError):
                    stored[slot] = object.__getattribute__(thing, slot)
        return [(name, self.of(value)) for name, value in stored.items()]

    def array(self, array: np.ndarray[Any, Any]) -> tuple[Any, ...]:
        plain = array.view(np.ndarray) if type(array) is not np.ndarray else array
        if plain.dtype == object:
            values: Any = [self.of(item) for item in plain.ravel().tolist()]
        elif plain.dtype.kind in "mM":
            values = plain.view("i8").tolist()
        else:
            values = canonical(plain.tolist())
        # NumPy promises nothing of strides along which nobody can step.
        strides = tuple(
            stride
            for size, stride in zip(array.shape, array.strides, strict=True)
            if size > 1 and array.size
        )
        flags = array.flags
        self.arrays.append(plain)
        base = array.base
        if type(base) is np.ndarray and id(base) not in self.numbers and base.size == array.size:
            base = None  # all of an array that nothing else refers to
        return (
            str(array.dtype.descr),
            array.dtype.char,
            array.shape,
            values,
            {
                "strides": strides,
                "flags": (flags.writeable, flags.aligned),
                "base": None if base is None else type(base).__name__,
                "base is": self.numbers.get(id(base)),
            },
            self.attributes(array),
        )

    def memory(self) -> list[Any]:
        """Return which arrays share memory, and how far apart their first elements are."""
        shared = []
        for i, one in enumerate(self.arrays):
            for j, other in enumerate(self.arrays[:i]):
                if np.shares_memory(one, other):
                    apart = (
                        one.__array_interface__["data"][0] - other.__array_interface__["data"][0]
                    )
                    shared.append((j, i, apart))
        return shared


def canonical(value: Any) -> Any:
    """Return values with floats as text which tells -0.0 from 0.0 and takes any NaN for one."""
    if isinstance(value, list | tuple):
        return [canonical(item) for item in value]
    if isinstance(value, float | complex | np.longdouble):
        return Float(value)
    return value


class Float:
    """A float or complex number, compared bit by bit except for what is stored in a NaN."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __repr__(self) -> str:
        return repr(self.value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Float) and repr(other) == repr(self)

    __hash__ = None  # type: ignore[assignment]

    def near(self, other: Float, tolerance: float) -> bool:
        return self == other or bool(abs(self.value - other.value) <= tolerance * abs(self.value))


def difference(plain: Any, compiled: Any, tolerance: float = 0.0, at: str = "") -> str | None:
    """Return the first place at which two records differ, with both sides, or None."""
    if isinstance(plain, Float) and isinstance(compiled, Float):
        same = plain.near(compiled, tolerance) if tolerance else plain == compiled
        return None if same else f"{at}: plain {plain!r}, compiled {compiled!r}"
    if type(plain) is not type(compiled):
        return f"{at}: plain {plain!r}, compiled {compiled!r}"
    if isinstance(plain, dict):
        if list(plain) != list(compiled):
            return f"{at}: plain {plain!r}, compiled {compiled!r}"
        items = [(f"{at}.{key}", plain[key], compiled[key]) for key in plain]
    elif isinstance(plain, list | tuple) and len(plain) == len(compiled):
        items = [
            (f"{at}[{i}]", one, other)
            for i, (one, other) in enumerate(zip(plain, compiled, strict=True))
        ]
    else:
        return None if plain == compiled else f"{at}: plain {plain!r}, compiled {compiled!r}"
    for where, one, other in items:
        found = difference(one, other, tolerance, where)
        if found:
            return found
    return None


def records_of(run: Case, compile: Callable[[Any], Any]) -> list[Any]:
    """Run a case in a fresh world, with NumPy's settings as they are after import."""
    world = World(compile)
    random_state = np.random.get_state()
    with np.errstate(divide="warn", over="warn", under="ignore", invalid="warn"):
        np.random.seed(0)
        try:
            run(world)
            return world.finish()
        finally:
            np.random.set_state(random_state)


def compare(run: Case, compile: Callable[[Any], Any]) -> str | None:
    """Return how the compiled run differs from the plain one, or None."""
    plain = records_of(run, lambda function: function)
    try:
        compiled = records_of(run, compile)
    except Exception as error:
        return f"outside of a call: {type(error).__name__}: {error}"
    return difference(plain, compiled, getattr(run, "tolerance", 0.0), "call")


def close(run: Case) -> Case:
    """Mark a case whose floats need not be bit for bit: sums in another order, exp and the like."""
    run.tolerance = 1e-5  # type: ignore[attr-defined]
    return run


def ints(*shape: int, dtype: Any = np.int64) -> np.ndarray[Any, Any]:
    """Return small integers, negative ones too, in any dtype."""
    return (np.arange(np.prod(shape, dtype=int)) % 11 - 3).reshape(shape).astype(dtype)


def floats(*shape: int, dtype: Any = np.float64) -> np.ndarray[Any, Any]:
    """Return multiples of a quarter, whose sums and products are exact."""
    return np.asarray(ints(*shape) / 4, dtype)
