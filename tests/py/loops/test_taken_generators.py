"""Generators whose items C code takes: one path for any number of items."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dvm
from loops.check import compare


def all_but(n: int) -> list[int]:
    return [k for k in range(2, n + 2) if all(k % d for d in range(2, int(k**0.5) + 1))]


def running(x: float, n: int) -> tuple[float, list[float]]:
    def totals(step, count):
        total = 0.0
        for i in range(count):
            total += step * i
            yield total

    return sum(totals(x, n)), list(totals(x, n))


def deviations(x: float, n: int) -> tuple[float, float]:
    found = [x * i for i in range(n + 1)]
    mean = sum(found) / len(found)
    return mean, sum((v - mean) ** 2 for v in found) / len(found)


def first_found(x: float, n: int) -> tuple[int, float]:
    for k in range(n):
        if any(k * j == 12 for j in range(k)):
            return k, x
    return -1, x


def variables_that_live_on(x: float, n: int) -> tuple[int, float, int]:
    k = n % 3
    found = any(k * x * j > 2 for j in range(n))
    return k, x + found, n


PROGRAMS: dict[str, Callable[..., Any]] = {
    "sum": lambda x, n: sum(x * i for i in range(n)),
    "sum of some": lambda x, n: sum(x * i for i in range(n) if i % 3),
    "sum of sums": lambda x, n: sum(sum(x * i * j for j in range(i)) for i in range(n)),
    "sums in a list": lambda x, n: [sum(x * j for j in range(i)) for i in range(n)],
    "sum of arrays": lambda x, n: sum(np.full(3, x) * i for i in range(n)),
    "products": lambda x, n: sum(p * q for p, q in zip(range(n), range(1, n + 1), strict=False)),
    "max": lambda x, n: max(abs(x - i) for i in range(n + 1)),
    "max of pairs": lambda x, n: max((abs(x - i), i) for i in range(n + 1)),
    "sorted": lambda x, n: sorted(-x * i for i in range(n)),
    "any": lambda x, n: any(x * i > 1.7 for i in range(n)),
    "all": lambda x, n: all(x * i < 1.7 for i in range(n)),
    "any of pairs": lambda x, n: any(x * i * j > 2.7 for i in range(n) for j in range(i)),
    "all_but": lambda x, n: all_but(n),
    "running": running,
    "deviations": deviations,
    "first_found": first_found,
    "variables_that_live_on": variables_that_live_on,
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_items_of_any_number_are_one_path(name: str) -> None:
    function = PROGRAMS[name]
    compiled = dvm.compile(function)
    for count in (3, 4, 1, 2, 7, 10, 0, 5, 13, 6, 8, 9, 0, 20, 1, 2):
        compare(function, compiled, (0.5, count))
    assert compiled.stats.captures <= 3, compiled.stats
    assert compiled.stats.fallbacks == 0, compiled.fallback_reasons


@pytest.mark.parametrize("name", ["any", "all", "tuple", "sum", "max", "sorted"])
def test_a_name_may_stand_for_another_function_later(name: str) -> None:
    scope: dict[str, Any] = {}
    exec(f"def taken(x, n): return {name}(x * i > 1 for i in range(n))", scope)
    compiled = dvm.compile(scope["taken"])
    for count in (4, 6, 5, 7):
        compare(scope["taken"], compiled, (0.5, count))
    scope[name] = lambda items: ("mine", *items)
    compare(scope["taken"], compiled, (0.5, 5))
    del scope[name]
    compare(scope["taken"], compiled, (0.5, 5))


class Strange:
    """Whose truth, sum and order the program says itself."""

    def __init__(self, value: float) -> None:
        self.value = value

    def __bool__(self) -> bool:
        return self.value > 1

    def __radd__(self, other: float) -> float:
        return other + self.value

    def __lt__(self, other: Strange) -> bool:
        return self.value > other.value


def ends_with_a_note(x: float, n: int, notes: list[str]) -> bool:
    def items():
        try:
            for i in range(n):
                yield x * i > 1
        finally:
            notes.append("done")

    return any(items())


def notes_each(x: float, n: int, notes: list[str]) -> tuple[float, bool]:
    def items():
        for i in range(n):
            notes.append(f"item {i}")
            yield x * i

    return sum(items()), any(v > 1 for v in items())


def kept(x: float, n: int, notes: list[str]) -> tuple[bool, list[float]]:
    items = (x * i for i in range(n))
    return any(v > 1 for v in items), list(items)


@pytest.mark.parametrize(
    "function",
    [
        ends_with_a_note,
        notes_each,
        kept,
        lambda x, n, notes: any(Strange(x * i) for i in range(n)),
        lambda x, n, notes: sum(Strange(x * i) for i in range(n)),
        lambda x, n, notes: min(Strange(x * i) for i in range(n + 1)).value,
        lambda x, n, notes: sum(1 / (i - 5) for i in range(n)),
        lambda x, n, notes: any(1 / (i - 5) > 0.5 for i in range(n)),
        lambda x, n, notes: sum(notes.append(str(i)) or i for i in range(n)),
        lambda x, n, notes: max(x * i for i in range(n)),
        lambda x, n, notes: sum((x * i for i in range(n)), 2.5),
        lambda x, n, notes: set(i % 3 for i in range(n)),  # noqa: C401
        lambda x, n, notes: tuple(x * i for i in range(n)),
    ],
)
def test_what_others_see_of_a_generator_stays(function: Callable[..., Any]) -> None:
    compiled = dvm.compile(function)
    for count in (3, 4, 1, 0, 2, 7, 10, 0, 5, 6, 1):
        compare(function, compiled, (0.5, count, []))


ASKED: list[str] = []


class Shy:
    """Notes who asks for its class."""

    @property
    def __class__(self) -> type:
        ASKED.append("class")
        return Shy


class Doubtful(float):
    """A float with a truth of its own, which it notes."""

    def __bool__(self) -> bool:
        ASKED.append("truth")
        return self < 2.0


@pytest.mark.parametrize(
    "function",
    [
        lambda n, shy: (sum(i for i in range(n)), [shy]),
        lambda n, shy: [shy for _ in range(n)],
        lambda n, shy: any(Doubtful(i) for i in range(n)),
    ],
)
def test_the_program_is_asked_no_more_than_plain(function: Callable[..., Any]) -> None:
    compiled, shy = dvm.compile(function), Shy()
    for count in (3, 4, 0, 5):
        noted = []
        for each in (function, compiled):
            ASKED.clear()
            each(count, shy)
            noted.append(ASKED.copy())
        assert noted[0] == noted[1]
