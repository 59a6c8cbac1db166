"""Sets of the caller: what a path asks of them does not hang on the order they happen to be in."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

import dvm
from whole import how_many


def drawn(kind: str, chances: random.Random) -> Any:
    number = chances.randrange(200)
    if kind == "names":
        return f"name {number}"
    if kind == "classes":
        return type(f"C{number}", (), {})
    return 0.5 + number if kind == "floats" else number << 40 * (number % 2)


def built(kind: str, chances: random.Random) -> set[Any]:
    """One that has grown and shrunk, so that its table is larger than it needs."""
    made: set[Any] = set()
    for _ in range(chances.randrange(1, 40)):
        made.add(drawn(kind, chances))
        if made and chances.random() < 0.2:
            made.pop()
    return made or {drawn(kind, chances)}


@pytest.mark.parametrize("kind", ["names", "classes", "numbers", "floats"])
def test_a_set_that_stays_as_it_is_is_one_path(kind: str) -> None:
    for seed in range(how_many(20, 400)):
        chances = random.Random(seed)
        known = built(kind, chances)
        asked = chances.choice([chances.choice(sorted(known, key=str)), drawn(kind, chances)])
        other = list(known)
        chances.shuffle(other)

        def program(x: Any, given: set[Any], asked: Any = asked) -> Any:
            return x + 1 if asked in given and len(given) > 3 else x * 2

        compiled = dvm.compile(program)
        x = np.arange(3.0)
        with dvm.stance("force_capture"):
            for given in (known, known, known):
                np.testing.assert_array_equal(compiled(x, given), program(x, given))
            assert (compiled.stats.captures, compiled.stats.hits) == (1, 2), (seed, known)
            for given in (set(other), known | {drawn(kind, chances)}, known - {asked}, set()):
                np.testing.assert_array_equal(compiled(x, given), program(x, given))


def test_what_is_equal_and_not_the_same_is_told_apart() -> None:
    @dvm.compile
    def first(x: Any, given: set[Any]) -> Any:
        (number,) = given
        return x * number

    with dvm.stance("force_capture"):
        for given in ({1}, {True}, {1.0}, {1}, {True}, {1.0}):
            made, wanted = (
                first(np.ones(2, np.int8), given),
                np.ones(2, np.int8) * next(iter(given)),
            )
            assert made.dtype == wanted.dtype
    assert first.stats.captures == 3
