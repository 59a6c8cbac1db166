"""Hand-written paths for the tests of the replay engine: no tracer and no lowering in between."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import numpy as np

import dvm
from dvm import _dvm, compiling

Steps = list[tuple[Any, ...]]


def spec(steps: Steps, reason: str = "") -> SimpleNamespace:
    """What the native core reads of a PathSpec."""
    return SimpleNamespace(
        target="cpu",
        numerics="default",
        passes=None,
        precision="highest",
        steps=steps,
        reason=reason,
        reason_at=("", 0),
    )


@contextmanager
def lowered(lower: Callable[[tuple[Any, ...]], Steps]) -> Iterator[None]:
    """Within, captures get the steps that `lower` makes of the arguments of the call."""
    _dvm.set_lower(lambda _compiled, _recording, arguments, _nanos: spec(lower(arguments)))
    try:
        yield
    finally:
        _dvm.set_lower(compiling._lower)


def installed(function: Callable[..., Any], steps: Steps, *first: Any) -> Any:
    """`function` compiled to one path: those steps. Its first call, with `first`, runs it."""
    compiled = dvm.compile(function)
    with lowered(lambda _: steps):
        compiled(*first)
    return compiled


class Runs:
    """A path over one or more arguments, and what became of calls of it."""

    def __init__(self, steps: Steps, *first: Any) -> None:
        count = len(first)
        function = [
            lambda: "original",
            lambda _a: "original",
            lambda _a, _b: "original",
            lambda _a, _b, _c: "original",
        ][count]
        # Calls that take no path shall not add any.
        self.compiled = installed(function, steps, *first)
        self.steps = steps

    def __call__(self, *args: Any) -> Any:
        with lowered(lambda _: [("fallback", "missed", ("", 0))]):
            return self.compiled(*args)

    @property
    def stats(self) -> Any:
        return self.compiled.stats


def graph(
    build: Callable[[Any, list[int]], list[int]], *dtypes: str, rank: int = 1
) -> tuple[Any, list[int]]:
    """Make a graph over inputs of the given dtypes and one shared shape of `rank` symbols."""
    made = _dvm.Graph()
    shape = [made.symbol(f"s{i}") for i in range(rank)]
    outputs = build(made, [made.input(dtype, shape) for dtype in dtypes])
    made.outputs = outputs
    return made, outputs


def double() -> tuple[Any, list[int]]:
    """Make the graph f64[s0] -> 2 x."""
    return graph(lambda g, v: [g.elementwise("add", [v[0], v[0]])], "f64")


def total(dtype: str = "f64") -> tuple[Any, list[int]]:
    """Make the graph [s0] -> its sum, of rank 0."""
    return graph(lambda g, v: [g.reshape(g.reduce("sum", v[0], [0]), [])], dtype)


X = np.arange(1.0, 5.0)


#: a namespace that steps read and write
SCOPE: dict[str, Any] = {"name": 3}


def cell_of(value: Any) -> Any:
    def function() -> Any:
        return value

    assert function.__closure__
    return function.__closure__[0]


def empty_cell() -> Any:
    def function() -> Any:
        return value

    value: Any
    if False:
        value = 0
    assert function.__closure__
    return function.__closure__[0]


class Thing:
    shared = 1

    def __init__(self, own: Any) -> None:
        self.own = own


class Slotted:
    __slots__ = ("own",)


def slotted(value: Any) -> Slotted:
    made = Slotted()
    made.own = value  # type: ignore[attr-defined]
    return made


def crowded(value: Any) -> Thing:
    """More attributes than CPython keeps without a dict."""
    thing = Thing(value)
    for i in range(40):
        setattr(thing, f"other{i}", i)
    return thing


def compute(*steps: tuple[Any, ...], result: int) -> Steps:
    return [("argument", 0, 0), ("argument", 1, 1), *steps, ("return", result)]


def run_step(made: tuple[Any, list[int]], *outputs: Any, flags: int = 0) -> tuple[Any, ...]:
    return ("run", made[0], [0], [], list(outputs), flags, 0, "numpy")
