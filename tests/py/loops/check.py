"""Calls a function plain and compiled on equal arguments, and compares all that can be seen."""

from __future__ import annotations

import copy
import types
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

#: Sums of many elements have another order than NumPy's (docs/numpy-programs.md).
TOLERANCE = 1e-9


def outcome(function: Callable[..., Any], args: list[Any]) -> tuple[Any, ...]:
    """What the call gave or raised, what it warned of, and the arguments behind it."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            result, raised = function(*args), None
        except Exception as error:
            result, raised = None, (type(error), str(error))
    return result, raised, [(each.category, str(each.message)) for each in told], args


def differences(plain: Any, compiled: Any, where: str = "the result") -> list[str]:
    """How two values differ; an empty list where they are the same to a program."""
    if type(plain) is not type(compiled):
        return [f"{where}: {type(plain).__name__} {type(compiled).__name__}"]
    if isinstance(plain, (list, tuple)):
        if len(plain) != len(compiled):
            return [f"{where}: lengths {len(plain)}, {len(compiled)}"]
        return [
            text
            for i, (one, other) in enumerate(zip(plain, compiled, strict=True))
            for text in differences(one, other, f"{where}[{i}]")
        ]
    if isinstance(plain, np.random.Generator):
        states = [str(each.bit_generator.state) for each in (plain, compiled)]
        return [] if states[0] == states[1] else [f"{where}: states {states}"]
    if hasattr(plain, "__dict__") and not callable(plain):
        one, other = (list(map(list, vars(each).items())) for each in (plain, compiled))
        return differences(one, other, where)
    if isinstance(plain, np.ndarray):
        return _of_arrays(plain, compiled, where)
    if isinstance(plain, (float, np.floating)):
        close = np.isclose(plain, compiled, rtol=TOLERANCE, atol=TOLERANCE, equal_nan=True)
        return [] if close else [f"{where}: {plain} {compiled}"]
    return [] if plain == compiled else [f"{where}: {plain} {compiled}"]


def _of_arrays(plain: Any, compiled: Any, where: str) -> list[str]:
    for name in ("dtype", "shape", "strides"):
        one, other = getattr(plain, name), getattr(compiled, name)
        if one != other and not (name == "strides" and plain.size < 2):
            return [f"{where}: {name} {one}, {other}"]
    if plain.flags.writeable != compiled.flags.writeable:
        return [f"{where}: one is read-only"]
    if plain.dtype.kind in "fc":
        same = np.allclose(plain, compiled, rtol=TOLERANCE, atol=TOLERANCE, equal_nan=True)
    else:
        same = np.array_equal(plain, compiled)
    return [] if same else [f"{where}: elements\n{plain}\n{compiled}"]


def arrays_in(value: Any) -> list[np.ndarray[Any, Any]]:
    """It, or those that are in it."""
    if isinstance(value, np.ndarray):
        return [value]
    if type(value) is types.SimpleNamespace:
        value = list(vars(value).values())
    return [a for part in value for a in arrays_in(part)] if type(value) in (list, tuple) else []


def shared(result: Any, args: list[Any]) -> list[tuple[int, int, str]]:
    """Which arrays of the result and the arguments are one, or share memory."""
    arrays = [*arrays_in(result), *arrays_in(args)]
    return [
        (i, j, "one" if a is b else "memory")
        for i, a in enumerate(arrays)
        for j, b in enumerate(arrays[:i])
        if a is b or np.shares_memory(a, b)
    ]


def compare(
    function: Callable[..., Any],
    compiled: Callable[..., Any],
    args: tuple[Any, ...],
    source: str = "",
) -> None:
    """Fail where the compiled function does otherwise."""
    compare_on(function, compiled, lambda: copy.deepcopy(list(args)), f"{args}", source)


def compare_on(
    function: Callable[..., Any],
    compiled: Callable[..., Any],
    made: Callable[[], Sequence[Any]],
    *shown: str,
) -> None:
    """The same, of arguments that are views of each other: `made` makes equal ones each time."""
    one, other = outcome(function, list(made())), outcome(compiled, list(made()))
    found = differences(one[0], other[0])
    if one[1] != other[1]:
        found.append(f"raised: {one[1]}, {other[1]}")
    if one[2] != other[2]:
        found.append(f"warned: {one[2]}, {other[2]}")
    found += differences(one[3], other[3], "the arguments")
    if not found and shared(one[0], one[3]) != shared(other[0], other[3]):
        found.append(f"shares: {shared(one[0], one[3])}, {shared(other[0], other[3])}")
    assert not found, "\n".join([*found, *shown])
