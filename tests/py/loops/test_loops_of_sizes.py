"""Loops with as many turns as an array has elements: one body from the first call on."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dvm
from dvm import _dvm

STEADY = 250  # calls: kSteady in cpp/capture/replay/loop.h


def scan(a: Any, b: Any) -> Any:
    h, made = np.zeros(a.shape[1]), []
    for t in range(len(a)):
        h = a[t] * h + b[t]
        made.append(h.sum())
    return h, made


def rows(a: Any, b: Any) -> Any:
    s = np.zeros(a.shape[1])
    for row in a:
        s = s * 0.5 + row
    return s * b[:1].sum()


def both(a: Any, b: Any) -> Any:
    s = np.zeros(a.shape[1])
    for number, (one, other) in enumerate(zip(a, b, strict=False)):
        s = np.maximum(s, one) + other * number
    return s


def backwards(a: Any, b: Any) -> Any:
    made = np.zeros_like(a)
    for t in range(a.shape[0] - 1, -1, -1):
        made[t] = a[t] - b[t]
    return made


def nested(a: Any, b: Any) -> Any:
    s = 0.0
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            s += a[i, j] * b[i, j]
    return s


def pairs(count: int) -> tuple[Any, Any]:
    chances = np.random.default_rng(count)
    return chances.random((count, 3)), chances.random((count, 3))


def check(compiled: Any, count: int) -> None:
    for made, wanted in zip(
        compiled(*pairs(count)), compiled.__wrapped__(*pairs(count)), strict=True
    ):
        np.testing.assert_allclose(made, wanted, rtol=1e-12)


PROGRAMS = [scan, rows, both, backwards]


@pytest.mark.parametrize("program", PROGRAMS)
@given(st.lists(st.integers(2, 40), min_size=1, max_size=4), st.integers(3, 12))
def test_one_capture_is_for_all_counts(program: Any, counts: list[int], first: int) -> None:
    compiled = dvm.compile(program)
    with dvm.stance("force_capture"):
        for count in (first, *counts):
            check(compiled, count)
    stats = compiled.stats
    assert (stats.captures, stats.fallbacks) == (1, 0), compiled.why_recompiled()


def test_a_loop_within_one_is_part_of_its_turns() -> None:
    compiled = dvm.compile(nested)
    with dvm.stance("force_capture"):
        for count in (4, 2, 7):
            assert compiled(*pairs(count)) == pytest.approx(nested(*pairs(count)))
    assert (compiled.stats.captures, compiled.stats.fallbacks) == (1, 0)


def test_no_turns_and_one_are_paths_that_show_no_loop() -> None:
    compiled = dvm.compile(rows)
    with dvm.stance("force_capture"):
        for count in (1, 1, 9, 5, 1, 2):
            check(compiled, count)
    assert compiled.stats.captures == 2


def test_sizes_that_never_change_unroll_it() -> None:
    """Its turns fuse then; another count rolls it again, for good."""
    compiled = dvm.compile(scan)
    with dvm.stance("force_capture"):
        for _ in range(1 + STEADY):  # the first one is captured
            check(compiled, 4)
        assert compiled.stats.captures == 1
        check(compiled, 4)
        assert compiled.stats.captures == 2
        assert [" = loop " in path["steps"] for path in _dvm.paths(compiled)] == [True, False]
        for count in (4, 4, 5, 6, 4, 9):
            check(compiled, count)
    assert compiled.stats.captures == 3


def test_sizes_that_change_once_do_not() -> None:
    compiled = dvm.compile(scan)
    with dvm.stance("force_capture"):
        for count in (4, 5, *[4] * (2 * STEADY)):
            check(compiled, count)
    assert compiled.stats.captures == 1


def test_a_size_that_is_known_is_no_reason() -> None:
    """Of an array that the program made itself: its turns fuse."""

    @dvm.compile
    def made_here(x: Any) -> Any:
        table = np.arange(12.0).reshape(4, 3)
        for row in table:
            x = x * 0.5 + row
        return x

    with dvm.stance("force_capture"):
        for _ in range(2):
            np.testing.assert_allclose(made_here(np.ones(3)), made_here.__wrapped__(np.ones(3)))
    assert not made_here.loops or all(each.rolled is None for each in made_here.loops.values())


def summed(x: Any) -> Any:
    return sum(each for each in x)


def test_what_a_sum_warns_of_is_told_where_it_is() -> None:
    """Of what a loop has put into a list, which Python's own function adds up."""
    compiled, most = dvm.compile(summed), np.iinfo(np.int64).max
    with dvm.stance("force_capture"):
        for values in ([1, 2, 3], [1, 2, 3, 4], [most, 2, 1, 1], [most, 1, 5]):
            told = []
            for function in (compiled, summed):
                with warnings.catch_warnings(record=True) as warned:
                    warnings.simplefilter("always")
                    made = function(np.array(values))
                told.append((made, [(str(w.message), w.filename, w.lineno) for w in warned]))
            assert told[0] == told[1]
    assert compiled.stats.hits >= 1
