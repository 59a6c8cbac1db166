"""What the interpreter does between two instructions of a program, during a replayed loop.

Handlers of signals, exceptions that another thread sets, and pending calls.
"""

import ctypes
import itertools
import random
import signal
import textwrap
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dvm


class Counter:
    def __init__(self) -> None:
        self.n = 0
        self.seen = 0
        self.items = [0]
        self.table = {"n": 0}
        self.array = np.zeros(2)


def attribute(s: Counter, n: int) -> float:
    s.n += 1
    total = 0.0
    for i in range(n):
        total += i
    return total


def element(s: Counter, n: int) -> float:
    s.items[0] += 1
    total = 0.0
    for i in range(n):
        total += i
    return total


def value_of_a_key(s: Counter, n: int) -> float:
    s.table["n"] += 1
    total = 0.0
    while n > 0:
        total += n
        n -= 1
    return total


def array(s: Counter, n: int) -> np.ndarray:
    s.array[0] += 1
    y = np.zeros(3)
    for i in range(n // 100):
        y = y * 0.5 + i
    return y


def behind_the_loop(s: Counter, n: int) -> float:
    before = s.n
    total = 0.0
    for i in range(n):
        total += i
    s.n = before + 1 if s.n == before else s.n + 1
    return total


ALL = (attribute, element, value_of_a_key, array, behind_the_loop)


def counts(s: Counter) -> list[float]:
    return [s.n, s.items[0], s.table["n"], s.array[0]]


@pytest.fixture
def alarms() -> Iterator[Callable[..., None]]:
    kept = signal.getsignal(signal.SIGALRM)

    def start(handler: Callable[..., Any], *times: float) -> None:
        signal.signal(signal.SIGALRM, handler)
        signal.setitimer(signal.ITIMER_REAL, *times)

    yield start
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, kept)


@pytest.mark.parametrize("function", ALL)
def test_what_a_handler_changes_is_not_lost(
    function: Callable[..., Any], alarms: Callable[..., None]
) -> None:
    s, handled, calls = Counter(), 0, 0
    compiled = dvm.compile(function)

    def handler(*_: object) -> None:
        nonlocal handled
        handled += 1
        s.n += 1
        s.items[0] += 1
        s.table["n"] += 1
        s.array[0] += 1

    with dvm.stance("force_capture"):
        for n in (50_000, 50_001, 60_000):
            compiled(s, n)
            calls += 1
        alarms(handler, 0.002, 0.002)
        until = time.monotonic() + 0.6
        while time.monotonic() < until:
            compiled(s, 50_000)
            calls += 1
        signal.setitimer(signal.ITIMER_REAL, 0)
    assert handled > 50
    own = [
        function in kinds
        for kinds in ((attribute, behind_the_loop), (element,), (value_of_a_key,), (array,))
    ]
    assert counts(s) == [handled + calls * each for each in own]
    assert compiled.stats.hits > calls // 4


def test_one_signal_begins_the_replay_again(alarms: Callable[..., None]) -> None:
    s, compiled = Counter(), dvm.compile(attribute)
    with dvm.stance("force_capture"):
        for n in (3, 4, 5):
            compiled(s, n)
        hits, n = compiled.stats.hits, 10_000_000

        def handler(*_: object) -> None:
            s.n += 100

        alarms(handler, 0.005)
        assert compiled(s, n) == attribute(Counter(), n)
    assert compiled.stats.hits == hits + 1
    assert s.n == 104


class StopError(Exception):
    pass


def endless(n: int) -> str:
    total = 0.0
    try:
        for _ in range(n):
            total += 1.0
    except StopError:
        return "caught"
    return "ended"


def nested_endless(n: int) -> str:
    total = 0.0
    try:
        for i in range(n):
            for j in range(1000):
                total += i * j
    except StopError:
        return "caught"
    return "ended"


def raised_by_another_thread(function: Callable[[int], str]) -> float:
    """Seconds from when another thread sets an exception to when a call has caught it."""
    compiled = dvm.compile(function)
    with dvm.stance("force_capture"):
        for n in (3, 4, 5):
            compiled(n)
        assert compiled.stats.hits > 0
        set_at, thread = 0.0, threading.get_ident()

        def interrupt() -> None:
            nonlocal set_at
            time.sleep(0.03)
            set_at = time.monotonic()
            ctypes.pythonapi.PyThreadState_SetAsyncExc(
                ctypes.c_ulong(thread), ctypes.py_object(StopError)
            )

        other = threading.Thread(target=interrupt)
        other.start()
        assert compiled(200_000_000 if function is endless else 200_000) == "caught"
        took = time.monotonic() - set_at
        other.join()
    return took


@pytest.mark.parametrize("function", [endless, nested_endless])
def test_what_another_thread_raises_here_comes_at_once(function: Callable[[int], str]) -> None:
    assert raised_by_another_thread(function) < 0.15


def test_audit_hooks_do_not_meet_what_another_thread_raises(
    run_python: Callable[[str], str],
) -> None:
    """Such a hook stays for as long as its process; PyTorch's compiler brings one, in Python."""
    source = f"""
        import sys
        sys.path.insert(0, {str(Path(__file__).parent)!r})
        import test_interruptions as tests
        met = []
        def hook(event, arguments):
            try:
                for _ in range(3):
                    pass
            except tests.StopError:
                met.append(event)
        sys.addaudithook(hook)
        for _ in range(3):
            for function in (tests.endless, tests.nested_endless):
                tests.raised_by_another_thread(function)
        print(met)
    """
    assert run_python(textwrap.dedent(source)) == "[]\n"


def test_pending_calls_are_made_while_a_loop_runs() -> None:
    """And the other thread that asks for one gets the interpreter's lock before the loop ends."""
    compiled, made = dvm.compile(endless), []

    @ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)
    def pending(_: Any) -> int:
        made.append(time.monotonic())
        return 0

    with dvm.stance("force_capture"):
        for n in (3, 4, 5):
            compiled(n)

        def ask() -> None:
            time.sleep(0.01)
            ctypes.pythonapi.Py_AddPendingCall(pending, None)

        for _ in range(3):
            other = threading.Thread(target=ask)
            other.start()
            compiled(60_000_000)
            end = time.monotonic()
            other.join()
            assert len(made) == 1
            assert made.pop() < end


@pytest.mark.usefixtures("alarms")
def test_signals_at_random_leave_what_some_order_of_calls_and_handlers_leaves() -> None:
    """Each function and the handler note, in what they change, how often the other has run."""
    order: list[str] = []

    class Log:
        def __init__(self) -> None:
            self.calls = self.handled = self.last = 0
            self.notes = [0, 0]

    log = Log()

    def noted(log: Log, n: int) -> float:
        log.calls += 1
        log.last = log.handled
        total = 0.0
        for i in range(n):
            total += i
        log.notes[0] = log.calls
        log.notes[1] = log.last
        return total

    def handler(*_: object) -> None:
        order.append("handler")
        log.handled += 1
        log.last = -1
        log.notes[1] = -1

    compiled = dvm.compile(noted)
    rng = random.Random(0)
    with dvm.stance("force_capture"):
        for n in (3, 4, 5):
            compiled(log, n)
        signal.signal(signal.SIGALRM, handler)
        for call in itertools.count(4):
            if call > 150:
                break
            signal.setitimer(signal.ITIMER_REAL, rng.uniform(0.0001, 0.002))
            compiled(log, 100_000)
            # Plain instructions at a time read one state: `last` and its note agree, unless the
            # handler came behind both or between them.
            assert log.calls == call
            assert log.notes[0] == call
            assert log.notes[1] in (log.last, -1)
            signal.setitimer(signal.ITIMER_REAL, 0)
    assert log.handled == len(order) > 10


@pytest.mark.usefixtures("alarms")
def test_a_handler_that_raises_while_c_code_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    """The lowering calls a C function once more: what a handler raises is not the function's."""
    from dvm.magpy_capture.walk import callbacks

    handled = 0

    def handler(*_: object) -> None:
        nonlocal handled
        handled += 1
        if handled > 1:
            raise StopError

    monkeypatch.setattr(callbacks, "is_answering", lambda _callee: True)
    signal.signal(signal.SIGALRM, handler)
    compiled = dvm.compile(lambda numbers: sorted(numbers, key=signal.raise_signal))
    with dvm.stance("force_capture"), pytest.raises(StopError):
        compiled([int(signal.SIGALRM)])
    assert handled == 2
