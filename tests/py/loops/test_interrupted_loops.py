"""What a signal's handler raises while a loop is replayed meets the program's own handlers."""

import signal
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import dvm

ENDLESS = 10**12


class Stop(BaseException):
    pass


RAISED = (TimeoutError, KeyboardInterrupt, Stop)


class Suppressing:
    def __enter__(self) -> "Suppressing":
        return self

    def __exit__(self, *_: object) -> bool:
        return True


def count(n: int) -> float:
    total = 0.0
    for _ in range(n):
        total += 1.0
    return total


def bare(n: int, y: np.ndarray) -> Any:
    total = 0.0
    for i in range(n):
        total += i
        y[0] = total
    return total


def nested(n: int, y: np.ndarray) -> Any:
    total = 0.0
    for i in range(n):
        for j in range(1000):
            total += i * j
    return total


def of_arrays(n: int, y: np.ndarray) -> Any:
    s = np.zeros(3)
    for _ in range(n):
        s = s * 0.5 + 1
    return s


def waits(n: int, y: np.ndarray) -> Any:
    total = 0.0
    while total < n:
        total += 1.0
    return total


def caught(n: int, y: np.ndarray) -> Any:
    total = 0.0
    try:
        for _ in range(n):
            total += 1.0
            y[0] = total
    except RAISED as error:
        return "caught", type(error), y[0] in (total, total - 1.0)
    return total


def caught_of_arrays(n: int, y: np.ndarray) -> Any:
    s = np.zeros(3)
    try:
        for _ in range(n):
            s = s * 0.5 + 1
    except RAISED as error:
        return "caught", type(error)
    return s


def caught_outside(n: int, y: np.ndarray) -> Any:
    try:
        return count(n)
    except RAISED as error:
        return "caught", type(error)


def suppressed(n: int, y: np.ndarray) -> Any:
    with Suppressing():
        return count(n)
    return "left"


def cleans_up(n: int, y: np.ndarray) -> Any:
    try:
        for _ in range(n):
            y[0] += 1.0
    finally:
        y[1] = 7.0


def in_a_turn(n: int, y: np.ndarray) -> Any:
    total = 0.0
    for _ in range(n):
        try:
            total += 1.0
        except RAISED as error:
            return "caught", type(error)
    return total


@pytest.fixture
def after() -> Iterator[Callable[..., None]]:
    """Lets the handler of an alarm run a while after the call."""
    kept = signal.getsignal(signal.SIGALRM)

    def start(handler: Callable[..., Any]) -> None:
        signal.signal(signal.SIGALRM, handler)
        signal.setitimer(signal.ITIMER_REAL, 0.03)

    yield start
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, kept)


def outcome(function: Callable[..., Any], *arguments: Any) -> Any:
    try:
        return function(*arguments)
    except BaseException as error:
        return "raised", type(error)


@pytest.mark.parametrize("error", RAISED)
@pytest.mark.parametrize(
    "function",
    [
        bare,
        nested,
        of_arrays,
        waits,
        caught,
        caught_of_arrays,
        caught_outside,
        suppressed,
        cleans_up,
        in_a_turn,
    ],
)
def test_what_a_handler_raises_goes_the_way_it_goes_in_the_plain_program(
    function: Callable[..., Any], error: type[BaseException], after: Callable[..., None]
) -> None:
    compiled = dvm.compile(function)
    with dvm.stance("force_capture"):
        for n in range(3, 9):
            compiled(n, np.zeros(2))
        assert compiled.stats.hits > 0

        def interrupt(*_: object) -> None:
            raise error

        y, plain_y = np.zeros(2), np.zeros(2)
        after(interrupt)
        result = outcome(compiled, ENDLESS, y)
        after(interrupt)
        assert result == outcome(function, ENDLESS, plain_y)
        assert y[1] == plain_y[1]
        # Nothing of it stays behind.
        hits = compiled.stats.hits
        np.testing.assert_equal(compiled(8, np.zeros(2)), function(8, np.zeros(2)))
        assert compiled.stats.hits > hits


def test_a_handler_that_raises_nothing_lets_the_loop_go_on(after: Callable[..., None]) -> None:
    compiled = dvm.compile(bare)
    ran: list[bool] = []
    with dvm.stance("force_capture"):
        for n in range(3, 9):
            compiled(n, np.zeros(2))

        def again(*_: object) -> None:
            ran.append(True)
            if len(ran) == 3:
                raise TimeoutError
            signal.setitimer(signal.ITIMER_REAL, 0.02)

        hits = compiled.stats.hits
        after(again)
        with pytest.raises(TimeoutError):
            compiled(ENDLESS, np.zeros(2))
        assert len(ran) == 3
        assert compiled.stats.hits == hits


def test_the_traceback_names_the_loop_that_the_program_handles(
    after: Callable[..., None],
) -> None:
    def fails(n: int) -> float:
        total = 0.0
        try:
            for _ in range(n):
                total += 1.0
        finally:
            total = 0.0
        return total

    def interrupt(*_: object) -> None:
        raise TimeoutError

    compiled = dvm.compile(fails)
    with dvm.stance("force_capture"):
        for n in range(3, 9):
            compiled(n)
        after(interrupt)
        with pytest.raises(TimeoutError) as raised:
            compiled(ENDLESS)
    lines = [entry.lineno + 1 for entry in raised.traceback if entry.name == "fails"]
    assert lines == [fails.__code__.co_firstlineno + 3]


def test_what_a_handler_raises_while_a_call_is_captured_reaches_the_caller(
    monkeypatch: pytest.MonkeyPatch, after: Callable[..., None]
) -> None:
    from dvm import magpy_capture

    def late(*arguments: Any) -> Any:
        signal.raise_signal(signal.SIGALRM)
        return lowered(*arguments)

    def interrupt(*_: object) -> None:
        raise TimeoutError

    lowered = magpy_capture.lower
    monkeypatch.setattr(magpy_capture, "lower", late)
    signal.signal(signal.SIGALRM, interrupt)
    compiled = dvm.compile(count)
    with dvm.stance("force_capture"):
        with pytest.raises(TimeoutError):
            compiled(3)
        monkeypatch.setattr(magpy_capture, "lower", lowered)
        assert compiled(3) == 3.0
        assert compiled(4) == 4.0
    assert compiled.stats.fallbacks == 0
