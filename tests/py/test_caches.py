"""Functions under functools.lru_cache that compiled ones call: what is captured and replayed."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dvm

X = np.arange(3.0)
SIZES = [None, 1, 2, 3, 128]


def several(x: Any, table: Callable[..., Any], keys: tuple[Any, ...]) -> Any:
    for key in keys:
        x = x + table(key)
    return x


class Pair:
    """One program compiled, and the same plain, each with a cache of its own."""

    def __init__(self, typed: bool = False, maxsize: int | None = 128) -> None:
        self.warm = 0  # calls whose results were there
        self.log: list[list[Any]] = [[], []]
        tables = []
        for log in self.log:

            @functools.lru_cache(maxsize=maxsize, typed=typed)
            def table(key: Any, log: list[Any] = log) -> Any:
                log.append(key)
                return np.full(3, float(key))

            tables.append(table)
        self.tables = tables
        self.made = dvm.compile(lambda x, keys: several(x, tables[0], keys))

    def __call__(self, *keys: Any) -> None:
        misses = self.tables[1].cache_info().misses
        found, plain = self.made(X, keys), several(X, self.tables[1], keys)
        assert np.array_equal(found, plain)
        assert self.log[0] == self.log[1]
        assert self.tables[0].cache_info() == self.tables[1].cache_info()
        self.warm += self.tables[1].cache_info().misses == misses

    @property
    def hits(self) -> int:
        return int(self.made.stats.hits)

    @property
    def captures(self) -> int:
        return int(self.made.stats.captures)


@pytest.mark.parametrize("count", range(1, 6))
@pytest.mark.parametrize("maxsize", SIZES)
def test_equal_calls_replay_or_say_why_not(count: int, maxsize: int | None) -> None:
    pair = Pair(maxsize=maxsize)
    for _ in range(40):
        pair(*range(count))
    if maxsize is None or count <= maxsize:
        assert (pair.captures, pair.hits) == (1, 39)
    else:  # whatever is asked for has been forgotten
        assert pair.made.stats.misses <= 2
        assert "whose cache lacks the result" in pair.made.fallback_reasons[0]


@pytest.mark.parametrize("count", range(1, 6))
def test_keys_that_change_are_captured_once(count: int) -> None:
    pair = Pair()
    for first in range(30):
        pair(*range(first, first + count))  # one is new
    assert pair.captures == 1
    hits = pair.hits
    for first in range(30):
        pair(*range(first, first + count))
    assert pair.hits == hits + 30
    assert pair.captures <= 2


@pytest.mark.parametrize("maxsize", SIZES)
@pytest.mark.parametrize("typed", [False, True])
def test_any_keys_in_any_order(maxsize: int | None, typed: bool) -> None:
    rng = np.random.default_rng(3)
    pair = Pair(typed, maxsize)
    for number in range(300):
        keys = tuple(int(key) for key in rng.integers(0, 4, size=2))
        pair(*((float(keys[0]), keys[1]) if typed and number % 3 == 0 else keys))
        if number % 50 == 49:
            for table in pair.tables:
                table.cache_clear()
    assert pair.captures <= 4
    assert pair.hits >= pair.warm - pair.captures


def test_a_cleared_cache_is_filled_by_the_original() -> None:
    pair = Pair()
    for number in range(12):
        pair(1, 2)
        if number % 3 == 2:
            for table in pair.tables:
                table.cache_clear()
    assert pair.captures == 1
    assert pair.hits == 8


def test_a_first_call_that_does_more_than_keep_is_replayed_from_then_on() -> None:
    done: list[int] = []

    @functools.cache
    def table(key: int) -> float:
        done.append(key)
        return key * 2.0

    made = dvm.compile(lambda x, key: x + table(key))
    for key in (1, 1, 1, 2, 2, 3, 3):
        assert np.array_equal(made(X, key), X + 2.0 * key)
    assert done == [1, 2, 3]
    assert made.stats.captures == 1
    assert made.stats.hits >= 3


def test_a_cache_over_a_builtin_is_captured_for_each_key_and_then_replays() -> None:
    table = functools.cache(math.sqrt)  # no body of Python's tells that it has run
    made = dvm.compile(lambda x, key: x + table(key))
    for _ in range(3):
        for key in (2.0, 3.0, 4.0, 5.0, 6.0):
            assert np.array_equal(made(X, key), X + math.sqrt(key))
    assert made.stats.hits == 10
    assert table.cache_info() == (10, 5, None, 5)
    assert not made.fallback_reasons
