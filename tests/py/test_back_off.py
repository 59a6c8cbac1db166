"""What dvm runs for nothing is bounded: captures, replayed steps, functions it does not know.

`SPARE` and the share of hits are those of cpp/capture/backoff.h.
"""

from __future__ import annotations

import threading
import warnings
from typing import Any

import numpy as np
import pytest

import dvm

SPARE = 8


class Counted:
    """A function dvm cannot see into, which counts its calls."""

    def __init__(self) -> None:
        self.runs = 0

        def inverse(a: Any) -> Any:
            self.runs += 1
            return np.linalg.inv(a)

        self.call = inverse
        dvm.annotate(inverse, leaf=True, pure=True)


@pytest.fixture
def counted() -> Counted:
    return Counted()


def bound(stats: Any) -> int:
    return int(stats.calls + stats.captures + SPARE + stats.hits // 8)


def test_a_fallback_behind_an_opaque_call_does_not_repeat_it(counted: Counted) -> None:
    inverse = counted.call

    @dvm.compile
    def f(m):
        y = inverse(m)
        return sorted(locals()), y * 2

    for _ in range(100):
        f(np.eye(3))
    assert counted.runs <= bound(f.stats), (counted.runs, f.stats)


@pytest.mark.parametrize("every", [1, 2, 3, 7])
def test_drops_behind_an_opaque_call_are_bounded(counted: Counted, every: int) -> None:
    inverse = counted.call

    @dvm.compile
    def f(m, d):
        return inverse(m).sum() / d

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for i in range(200):
            f(np.eye(3), np.zeros(2) if i and i % every == 0 else np.ones(2))
    assert counted.runs <= bound(f.stats), (counted.runs, f.stats)


@pytest.mark.parametrize("modulus", [2, 5, 200])
def test_outcomes_behind_an_opaque_call_are_bounded(counted: Counted, modulus: int) -> None:
    inverse = counted.call

    @dvm.compile
    def f(m, n):
        y = inverse(m)
        for _ in range(int(y[0, 0] * n) % modulus):
            y = y + 1
        return y

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the limit of paths
        for i in range(200):
            f(np.eye(3), i)
    assert counted.runs <= bound(f.stats), (counted.runs, f.stats)


def test_a_capture_explains_itself_without_calling_again(counted: Counted) -> None:
    inverse = counted.call

    @dvm.compile
    def f(m, n):
        y = inverse(m)
        return y * 2 if y[0, 0] > n else y - 1

    f(np.eye(3), 0.0)
    assert counted.runs == 1
    f(np.eye(3), 2.0)  # the prefix, and the recording
    assert counted.runs == 3
    assert "took the other way" in f.why_recompiled()[0].reasons[0].text
    f(np.eye(3), 2.0)
    assert counted.runs == 4


def test_trip_counts_are_given_up() -> None:
    @dvm.compile
    def f(x, n):
        for _ in range(n):
            x = x * 0.5 + 1
        return x

    x = np.ones(4)
    for n in range(200, 400):
        np.testing.assert_allclose(f(x, n), f.__wrapped__(x, n))
    assert f.stats.captures < 20
    assert "calls that match no path run uncompiled" in f.fallback_reasons[-1]


def test_threads_that_capture_at_once_make_one_path() -> None:
    start = threading.Barrier(4)

    @dvm.compile
    def f(x):
        return np.sqrt(x * 2 + 1) * x

    def run() -> None:
        start.wait()
        for _ in range(20):
            f(np.ones(5))

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(dvm._dvm.paths(f)) == 1
