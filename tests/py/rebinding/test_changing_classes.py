"""Classes that change between calls: bases, attributes, and what is asked for each attribute.

No result may be stale, and equal calls end in replays, or in a fallback that says why.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dvm

X = np.ones(2)


class First:
    k = 1.0

    def go(self, x: Any) -> Any:
        return x + 1


class Second:
    k = 2.0

    def go(self, x: Any) -> Any:
        return x + 2


def always(self: Any, name: str) -> Any:
    return object.__getattribute__(self, name) if name == "go" else 7.0


def as_ever(self: Any, name: str) -> Any:
    return object.__getattribute__(self, name)


def otherwise(self: Any, name: str) -> Any:
    return object.__getattribute__(self, name) if name == "z" else 4.0


def reads(o: Any, x: Any) -> Any:
    return o.go(x) * o.k


def asks(o: Any, x: Any) -> Any:
    return o.go(x), getattr(o, "w", 0.5), hasattr(o, "z")


def changes(rng: random.Random, model: Any, base: Any, mix: Any) -> list[Callable[[], None]]:
    """Each as a function: some raise, where there is nothing to delete."""
    cls = rng.choice([model, base, mix])
    number = rng.choice([5.0, 6.0, np.float64(2), 3])
    bases = rng.choice([(base,), (mix,), (Second,), (Second, base), (base, Second)])

    def rebase(of: type, to: tuple[type, ...]) -> None:
        of.__bases__ = to

    return [
        lambda: setattr(cls, "__getattribute__", always),
        lambda: setattr(cls, "__getattribute__", as_ever),
        lambda: delattr(cls, "__getattribute__"),
        lambda: delattr(cls, "__getattribute__"),
        lambda: setattr(cls, "__getattr__", otherwise),
        lambda: delattr(cls, "__getattr__"),
        lambda: rebase(model, bases),
        lambda: rebase(base, rng.choice([(mix,), (Second,), (Second, mix)])),
        lambda: setattr(cls, "k", number),
        lambda: delattr(cls, "k"),
        lambda: setattr(cls, "w", property(lambda _: 8.0)),
        lambda: delattr(cls, "w"),
    ]


def outcome(function: Any, *args: Any) -> str:
    try:
        return repr(function(*args))
    except Exception as error:
        return repr(error)


@pytest.mark.parametrize("seed", range(60))
@pytest.mark.parametrize("function", [reads, asks])
def test_no_result_is_stale(function: Any, seed: int) -> None:
    rng = random.Random(seed)
    mix = type("Mix", (First,), {})
    base = type("Base", (mix,), {})
    model = type("Model", (base,), {})
    one, made = model(), dvm.compile(function)
    if rng.random() < 0.5:
        one.w = 3.0
    for _ in range(12):
        try:
            rng.choice(changes(rng, model, base, mix))()
        except (AttributeError, TypeError):  # nothing to delete, no order of bases
            continue
        for _ in range(5):
            before = made.stats
            plain = outcome(function, one, X)
            assert outcome(made, one, X) == plain
        if "Error" not in plain:  # a call that raises is recorded for nothing
            assert made.stats.captures == before.captures
            assert made.stats.misses == before.misses
