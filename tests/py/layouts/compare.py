"""Runs a program plain and compiled over the same arguments, and tells the first difference."""

from __future__ import annotations

import random
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import dvm
from layouts.arrays import Array
from layouts.chains import Chain, chain, sizes_of

TOLERANCE = {"float16": 4e-3, "float32": 1e-5, "float64": 1e-12}
#: Of so many halves as programs have, sums are exact however they are rounded.
EXACT_HALVES = 256


@dataclass
class Difference:
    text: str
    chain: Chain
    arguments: list[Array]
    #: of the call that captured the path
    first: list[Array]

    def __str__(self) -> str:
        shown = [
            f"x{i}: {a.dtype} {a.shape} strides {a.strides}\n{a!r}"[:400]
            for i, a in enumerate(self.arguments)
        ]
        first = [f"{a.dtype} {a.shape} {a.strides}" for a in self.first]
        return "\n".join([self.text, self.chain.source, *shown, f"captured with {first}"])


def outcome(function: Callable[..., Any], arguments: list[Array]) -> tuple[Any, str, list[str]]:
    """Return the result, the exception and the warnings of a call."""
    result, raised = None, ""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result = function(*arguments)
        except Exception as error:
            raised = f"{type(error).__name__}: {error}"
    return result, raised, sorted({f"{w.category.__name__}: {w.message}" for w in caught})


def shares(a: Array, b: Array) -> bool:
    try:
        return np.shares_memory(a, b, max_work=1000)
    except np.exceptions.TooHardError:
        return np.may_share_memory(a, b)


def facts(value: Any, arguments: list[Array]) -> dict[str, Any]:
    """Return what a caller can see of one result, but for its elements."""
    if not isinstance(value, np.ndarray):
        return {"type": type(value).__name__}
    told = value.size > 0
    return {
        "type": "ndarray",
        "dtype": str(value.dtype),
        "shape": value.shape,
        # Strides along which nobody can step are not NumPy's promise.
        "strides": [s for n, s in zip(value.shape, value.strides, strict=True) if n > 1 and told],
        "contiguous": (value.flags.c_contiguous, value.flags.f_contiguous),
        # What has no elements may be a view of an argument, and nobody can write it.
        "writeable": told and value.flags.writeable,
        "aligned": value.flags.aligned,
        "is": [value is argument for argument in arguments],
        "shares": [shares(value, argument) for argument in arguments],
        "owns": value.flags.owndata,
    }


def is_finite(arguments: list[Array]) -> bool:
    return all(a.dtype.kind != "f" or bool(np.isfinite(a).all()) for a in arguments)


def same_elements(plain: Any, compiled: Any, summands: int) -> bool:
    """summands: how many numbers were added up in another order, 0 if none."""
    one, other = np.asarray(plain), np.asarray(compiled)
    if one.dtype.kind != "f":
        return bool(np.array_equal(one, other))
    if summands:
        rate = TOLERANCE[str(one.dtype)]
        if one.dtype != np.float16:
            rate = max(rate, summands * float(np.finfo(one.dtype).eps))
        return bool(np.allclose(one, other, rate, rate, equal_nan=True))
    equal = (one == other) & (np.signbit(one) == np.signbit(other))
    return bool(np.all(equal | (np.isnan(one) & np.isnan(other))))


def difference(
    plain: Callable[..., Any], compiled: Callable[..., Any], arguments: list[Array], made: Chain
) -> str | None:
    """Return what differs in one call, or None."""
    largest = max(argument.size for argument in arguments)
    summands = max(largest, 1) if made.close else 0
    left_out = (made.added and largest > EXACT_HALVES) or (made.signs and not is_finite(arguments))
    before = [np.array(a) for a in arguments]
    expected, raised, warned = outcome(plain, arguments)
    got, also_raised, also_warned = outcome(compiled, arguments)
    if raised != also_raised:
        return f"exception: plain {raised!r}, compiled {also_raised!r}"
    if warned != also_warned:
        return f"warnings: plain {warned}, compiled {also_warned}"
    for i, (one, other) in enumerate(zip(expected or (), got or (), strict=True)):
        seen, also = facts(one, arguments), facts(other, arguments)
        if seen != also:
            names = [name for name in seen if seen[name] != also.get(name)]
            return "; ".join(
                f"result {i}, {name}: plain {seen[name]}, compiled {also.get(name)}"
                for name in names
            )
        if left_out:
            continue
        if not same_elements(one, other, summands):
            return f"result {i}, elements: plain {one!r}, compiled {other!r}"[:1500]
    for i, (old, now) in enumerate(zip(before, arguments, strict=True)):
        if not same_elements(old, now, 0):
            return f"argument {i} was changed"
    return None


def check(seed: Any, calls: int = 6) -> tuple[int, Difference | None]:
    """Run one program over `calls` other layouts; return how many calls, and what differs."""
    rng = random.Random(repr(seed))
    large = rng.random() < 0.05
    made, arguments = chain(rng, sizes_of(rng, large))
    if not made.lines:
        return 0, None
    plain, first, count = made.function(), arguments, 0
    compiled = dvm.compile(made.function(), numerics="strict" if made.halves else "default")
    for call in range(calls + 2):
        if call >= 2:
            arguments = made.arguments(rng, sizes_of(rng, large))
        count += 1
        found = difference(plain, compiled, arguments, made)
        again = call == 1 and compiled.stats.captures > 1 and not made.nothing
        if found is None and again:
            found = "the arguments of the capture were captured again"
        if found:
            return count, Difference(f"call {call}: {found}", made, arguments, first)
    return count, None
