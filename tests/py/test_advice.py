"""Advice: one list of reasons, each of which a program meets, and none of which goes without."""

from __future__ import annotations

import contextlib
import copy
import functools
import io
import re
import types
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import dvm
from dvm import advice

Array = np.ndarray[Any, Any]
X = np.arange(6, dtype=np.float64).reshape(2, 3)
MEMORY = np.ones((2, 3))


class Tagged(np.ndarray):
    def __array_finalize__(self, other: Any) -> None:
        self.tag = str(type(other))


class Items:
    """Iterable by the protocol of sequences alone."""

    def __getitem__(self, index: int) -> int:
        if index > 2:
            raise IndexError
        return index


class Odd:
    __slots__ = ("value",)

    def __init__(self) -> None:
        self.value = 2

    def __index__(self) -> int:
        return 1


def shares(x: Array, y: Array) -> Array:
    x += 1
    return y * 2


def annotated(x: Array) -> Array:
    return x


dvm.annotate(annotated, never=True)


def raises(x: Array) -> Array:
    try:
        return x + next(iter(()))
    except StopIteration:
        return x


def inner(x: Array) -> Any:
    return lambda y: x + y


def ranks(parts: Any) -> Any:
    ranked = sorted(parts, key=np.sum)
    parts[0] += 1
    return ranked


class Table(dict[Any, Any]):
    def __init__(self) -> None:
        super().__init__(a=1)


@functools.cache
def cached() -> int:
    return 1


def passing_on(parts: Any) -> Iterator[Any]:
    yield from parts


def defines(x: Array) -> Array:
    class Local:
        pass

    return x + 1


def sets(x: Array) -> Array:
    np.odd = x  # type: ignore[attr-defined]
    return x + 1


def sets_and_fetches(x: Array) -> Array:
    x += 1
    return x.copy


def generates(x: Array) -> Iterator[Array]:
    yield x


def lives(x: Array) -> Any:
    import sys

    return sys.getrefcount(x)


#: beginning of a reason -> a program that meets it: function and arguments
PROGRAMS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "arrays of the caller that share memory": (shares, (MEMORY, MEMORY[:1])),
    "(a generator (that|": (lambda x: list(passing_on(x)), (X,)),
    "((an exception of": (lambda x: (list(map(eval, ["1"])), x + 1), (X,)),
    "the first call of": (lambda x: cached() + x, (X,)),
    "an? (set that": (lambda x: ranks([x, x + 1]), (X,)),
    "a call of \\S*, which is not annotated": (lambda x: annotated(x), (X,)),
    "a call of": (lambda x: eval("3") * x, (X,)),
    "\\S+, (whose result": (lambda x: np.putmask(x, x > 0, x[::-1]), (X,)),
    "\\S+: (got": (lambda x: copy.deepcopy(x, {}), (X,)),
    "after an effect": (sets_and_fetches, (X,)),
    "array attribute": (lambda x: x.ctypes, (X,)),
    "the array method": (lambda x: x.__iadd__(1), (X,)),
    "(sorted (of|by|with)|": (lambda names: list(names), ({"b", "a"},)),
    "(an assignment to a part of|": (lambda x, y: x + y, (X, X.view(Tagged))),
    "the (random function|": (lambda rng: rng.spawn(1), (np.random.default_rng(0),)),
    "(hasattr|": (lambda x: id(x), (X,)),
    "(a flat iterator|": (lambda x: list(np.ndenumerate([1, x])), (2,)),
    "(the truth|": (lambda odd: f"{odd}", (Odd(),)),
    "(warnings caught|": (lambda x: (warnings.simplefilter("ignore"), x + 1), (X,)),
    "(an exception|": (raises, (X,)),
    "(making an object of|": (lambda x: (Table(), x + 1), (X,)),
    "(setting|deleting) attribute": (sets, (X,)),
    "(the )?(class )?attribute": (lambda x, odd: odd.real + x, (X, types.SimpleNamespace(real=1))),
    "(iteration over|": (lambda x, items: [x + i for i in items], (X, Items())),
    "(indexing with|": (lambda x, odd: x[odd], (X, Odd())),
    ".* where (a constant|": (lambda x: [x].count(x), (X,)),
    "a (class definition|": (defines, (X,)),
    "an? (closure|": (inner, (X,)),
    "an array that holds": (lambda x: np.array([x, None], object), (X,)),
    "a dict with a key": (lambda d: d, ({Odd(): X},)),
    "(ufunc|dtype|": (lambda x: x.view(Tagged), (X,)),
    "a look at how long": (lives, (X,)),
    "it is a generator": (generates, (X,)),
}
#: what another version of Python would say, and what takes more than one call
ELSEWHERE = {"capture needs CPython", "reached the limit of"}


def own(reason: str) -> str:
    """The entry that advises on a reason."""
    return next(start for start in advice.FALLBACKS if re.match(start, reason))


def reasons_of(function: Callable[..., Any], arguments: tuple[Any, ...]) -> list[str]:
    """The reasons without their places."""
    compiled = dvm.compile(function)
    with contextlib.suppress(Exception), contextlib.redirect_stdout(io.StringIO()):
        compiled(*arguments)
    return [re.sub(r"^.*?:\d+: ", "", reason) for reason in compiled.fallback_reasons]


@pytest.mark.parametrize("start", PROGRAMS)
def test_a_program_meets_the_reason(start: str) -> None:
    reasons = reasons_of(*PROGRAMS[start])
    assert reasons
    assert own(reasons[0]).startswith(start), reasons
    assert advice.hint_for(reasons[0]) == advice.FALLBACKS[own(reasons[0])]


def test_the_limit_of_paths_has_its_advice() -> None:
    f = dvm.compile(lambda x, name: x + len(name))
    for n in range(64):
        f(X, f"n{n}")
    with pytest.warns(RuntimeWarning, match="limit of 64 paths"):
        f(X, "another")
    assert own(f.fallback_reasons[-1]) == "reached the limit of"
    assert len(f.why_recompiled()) == 63


def test_every_entry_has_its_program() -> None:
    for entry in advice.FALLBACKS:
        assert entry in ELSEWHERE or any(entry.startswith(start) for start in PROGRAMS), entry


def test_no_reason_of_the_semantic_cases_goes_without() -> None:
    """The cases are hundreds of small programs, so what occurs often occurs there."""
    import semantics.test_semantics  # noqa: F401  registers the cases
    from semantics.world import CASES, World

    found: dict[str, str] = {}

    def compile(function: Any) -> Any:
        made = dvm.compile(function) if isinstance(function, types.FunctionType) else function
        if made is not function:
            compiled.append(made)
        return made

    for name, case in CASES.items():
        compiled: list[Any] = []
        with contextlib.suppress(Exception), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            case(World(compile))
        for each in compiled:
            for reason in each.fallback_reasons:
                found[re.sub(r"^.*?:\d+: ", "", reason)] = name
    assert len(found) > 100
    silent = {r: n for r, n in found.items() if advice.hint_for(r) is advice.STRAIGHT}
    assert len(silent) <= len(found) // 20, silent  # a new one may be rare
