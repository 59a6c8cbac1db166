"""A clock is a point that work does not move across."""

from __future__ import annotations

import datetime
import logging
import sys
import time
from collections.abc import Callable
from logging.handlers import MemoryHandler
from typing import Any

import numpy as np
import pytest

import dvm
from dvm import _dvm, magpy_capture

CLOCKS = [
    *(time.perf_counter, time.time, time.monotonic, time.process_time, time.thread_time),
    *(time.perf_counter_ns, time.time_ns, time.monotonic_ns, time.process_time_ns),
    *(datetime.datetime.now, datetime.datetime.today),
    *(datetime.date.today, time.thread_time_ns),
]
if sys.version_info < (3, 12):  # from then on it warns
    CLOCKS.append(datetime.datetime.utcnow)
X = np.arange(12.0).reshape(3, 4)


def order_of(function: Callable[..., Any], clock: Any, *args: Any) -> str:
    """The steps of its path that read the clock (c), compute (r) or call NumPy (n), in order."""
    compiled = dvm.compile(function)
    steps = magpy_capture.lower(compiled, _dvm.record(function, *args)).steps
    held = {step[1]: step[2] for step in steps if step[0] == "constant"}
    kinds = {"run": "r", "call": "n"}
    return "".join(
        "c" if step[0] == "call" and held.get(step[2]) == clock else kinds.get(step[0], "")
        for step in steps
    )


@pytest.mark.parametrize("clock", CLOCKS, ids=lambda clock: clock.__qualname__)
def test_work_stays_on_its_side_of_a_clock(clock: Any) -> None:
    def between(x: Any) -> Any:
        start = clock()
        y = np.exp(x) * 2
        return y, start, clock()

    def around(x: Any) -> Any:
        y = np.exp(x)
        start = clock()
        y = y * 2
        end = clock()
        return y + 1, start, end

    def unused(x: Any) -> Any:
        start = clock()
        np.exp(x) * 2
        end = clock()
        return np.sort(x), start, end

    def shared(x: Any) -> Any:
        y = np.exp(x) * 2
        z = np.sin(y)
        start = clock()
        return y + z, np.sort(y), start

    assert order_of(between, clock, X) == "crc"
    assert order_of(around, clock, X) == "rcrcr"
    assert order_of(unused, clock, X) == "crcn"
    assert order_of(shared, clock, X) in ("rcnr", "rcrn")


def test_the_time_that_work_took_is_told() -> None:
    @dvm.compile
    def timed(x: Any) -> tuple[Any, float]:
        start = time.perf_counter()
        y = np.exp(x) * 2 + np.sin(x)
        return y, time.perf_counter() - start

    x = np.ones(1 << 20)
    shares = []
    for _ in range(6):
        start = time.perf_counter()
        _, told = timed(x)
        shares.append(told / (time.perf_counter() - start))
    assert timed.stats.hits == 5
    assert max(shares[1:]) > 0.3
    assert max(shares) <= 1


def test_a_log_record_has_the_time_at_which_it_was_logged() -> None:
    handler = MemoryHandler(1 << 10)
    log = logging.Logger("timed")
    log.addHandler(handler)

    @dvm.compile
    def timed(x: Any) -> Any:
        log.info("begin")
        y = np.exp(x) * 2 + np.sin(x)
        log.info("end")
        return y

    x = np.ones(1 << 20)
    for _ in range(4):
        start = time.perf_counter()
        timed(x)
        whole = time.perf_counter() - start
    assert timed.stats.hits == 3
    begin, end = (record.created for record in handler.buffer[-2:])
    assert end - begin > 0.3 * whole


def test_a_clock_behind_a_write_is_read_by_the_original() -> None:
    @dvm.compile
    def timed(x: Any) -> float:
        start = time.perf_counter()
        x += 1
        return time.perf_counter() - start

    x = np.zeros(3)
    for _ in range(3):
        assert timed(x) > 0
    np.testing.assert_array_equal(x, 3)
    assert timed.stats.hits == 0
    assert "time.perf_counter behind a write or a print" in timed.fallback_reasons[0]


def test_now_as_text_is_a_clock() -> None:
    def now() -> Any:
        return np.datetime64("now")

    assert order_of(now, np.datetime64) == "c"


def test_equal_results_before_a_clock_are_two_arrays() -> None:
    @dvm.compile
    def twice(x: Any) -> Any:
        y, z, w = np.exp(x), np.exp(x), np.exp(x.T)
        time.perf_counter()
        return y, z, w, y + 1

    for _ in range(3):
        y, z, w, more = twice(X)
        y += 1
        np.testing.assert_array_equal(y, more)
        np.testing.assert_allclose(z, np.exp(X))
        np.testing.assert_allclose(w, np.exp(X).T)
        assert w.flags.f_contiguous
    assert twice.stats.hits == 2
