"""Simulations say how far they are, and end when the user has had enough."""

from __future__ import annotations

import io
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

import dvm
from dvm import _dvm, progress

TARGET = "ascend910b3"
#: seconds of this thread until the exception is there: some .15 s where the signal comes after .1 s
PATIENCE = 0.8


def tanh_of_product(a: Any, b: Any) -> Any:
    return np.tanh(a @ b)


def factors(size: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(3)
    a, b = (rng.standard_normal((size, size)).astype(np.float32) for _ in range(2))
    return a, b


@contextmanager
def interrupted_after(seconds: float) -> Iterator[None]:
    """Have SIGALRM raise KeyboardInterrupt once, so many seconds from now."""

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def seconds_of_interruption(call: Callable[[], object]) -> float:
    """Return what a call takes of this thread that is interrupted after a tenth of a second."""

    def again() -> None:
        while True:
            call()

    begin = time.thread_time()
    with interrupted_after(0.1), pytest.raises(KeyboardInterrupt):
        again()
    return time.thread_time() - begin


def test_a_profile_is_interrupted_while_it_simulates() -> None:
    a, b = factors(1536)
    profiled = dvm.profile(tanh_of_product, target=TARGET)
    assert seconds_of_interruption(lambda: profiled(a, b)) < PATIENCE


def test_a_call_is_interrupted_while_it_simulates() -> None:
    a, b = factors(512)
    f = dvm.compile(tanh_of_product, target=TARGET)
    with dvm.stance("force_capture"):
        f(a, b)
        f(a, b)
    a, b = factors(1536)
    assert seconds_of_interruption(lambda: f(a, b)) < PATIENCE
    small = factors(32)  # nothing is left behind
    np.testing.assert_allclose(f(*small), tanh_of_product(*small), rtol=1e-4, atol=1e-5)


def test_timing_is_interrupted() -> None:
    profile = dvm.profile(tanh_of_product, target=TARGET)(*factors(256))
    programs = [program for kernel in profile.kernels for program in kernel.programs] * 200
    again = lambda: _dvm.time_programs(programs, TARGET, {}, verified=True)  # noqa: E731
    assert seconds_of_interruption(again) < PATIENCE


def test_progress_is_told() -> None:
    told: list[tuple[str, int, int]] = []
    with _dvm.Pace(lambda *what: told.append(what)):
        dvm.profile(tanh_of_product, target=TARGET)(*factors(1024))
    tiles = [(done, total) for work, done, total in told if work == "tiles"]
    assert tiles
    assert all(0 <= done <= total for done, total in tiles)
    assert any(done > 0 for done, _ in tiles)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_terminal_has_one_line_that_goes_away(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "SOON", 0.0)
    screen = Terminal()
    with progress.Progress("f", screen):
        dvm.profile(tanh_of_product, target=TARGET)(*factors(1024))
        assert "\rdvm: simulating f, " in screen.getvalue()
        assert "\n" not in screen.getvalue()
    assert screen.getvalue().endswith("\r")


def test_a_file_has_lines_ever_more_seldom(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "LATER", 0.1)
    log = io.StringIO()
    with progress.Progress("f", log):
        dvm.profile(tanh_of_product, target=TARGET)(*factors(1024))
    lines = log.getvalue().splitlines()
    assert 1 <= len(lines) <= 6
    assert all(line.startswith("dvm: ") and "\r" not in line for line in lines)


def test_a_moment_says_nothing() -> None:
    log = io.StringIO()
    with progress.Progress("f", log):
        dvm.profile(tanh_of_product, target=TARGET)(*factors(64))
    assert not log.getvalue()


def test_what_listens_may_end_the_work() -> None:
    class EnoughError(Exception):
        pass

    def enough(*_: object) -> None:
        raise EnoughError

    with _dvm.Pace(enough), pytest.raises(EnoughError):
        dvm.profile(tanh_of_product, target=TARGET)(*factors(2048))
