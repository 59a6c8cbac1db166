"""What other threads do while one replays."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dvm
from dvm import _dvm


def lets_others_run(call: Callable[[], Any], does: Callable[[], Any] = lambda: None) -> bool:
    """Whether another thread gets the lock during one of some calls, though nobody asks for it.

    does: what it does then.
    """
    ran = threading.Event()
    go = threading.Lock()
    go.acquire()

    def other() -> None:
        with go:
            does()
            ran.set()

    interval = sys.getswitchinterval()
    thread = threading.Thread(target=other)
    thread.start()
    try:
        sys.setswitchinterval(1000)
        go.release()
        for _ in range(20):
            call()
            if ran.is_set():
                return True
        return False
    finally:
        sys.setswitchinterval(interval)
        thread.join()


def compiled(function: Callable[..., Any], *args: Any) -> Any:
    made = dvm.compile(function)
    for _ in range(3):
        made(*args)
    assert made.stats.hits >= 1
    return made


def test_long_work_lets_others_run_and_short_work_does_not() -> None:
    def function(x: Any) -> Any:
        return (np.sin(x) * x + 1).sum()

    large, small = np.ones(4_000_000), np.ones(16)
    made = compiled(function, large)
    assert lets_others_run(lambda: made(large))
    assert not lets_others_run(lambda: made(small))


def test_loops_over_whole_arrays_let_others_run() -> None:
    x = np.random.default_rng(0).random((3000, 1000))
    made = compiled(lambda x: np.cumsum(x, axis=1), x)
    assert lets_others_run(lambda: made(x))


@pytest.fixture
def interruptible() -> Iterator[None]:
    """Python leaves SIGINT ignored where it was, as in a shell's jobs in the background."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
def test_an_interrupt_in_the_middle_of_a_replay_arrives_at_its_end() -> None:
    def function(x: Any) -> Any:
        return (np.sin(x) * np.cos(x) + np.exp(x)).sum()

    x = np.random.default_rng(0).random(12_000_000)
    made = compiled(function, x)
    wanted = made(x)

    def seconds(call: Callable[[], Any]) -> float:
        begin = time.perf_counter()
        call()
        return time.perf_counter() - begin

    def call_and_wait() -> None:
        made(x)
        time.sleep(5)

    def interrupted() -> None:
        nonlocal sent
        hits, begin = made.stats.hits, time.perf_counter()

        def interrupt() -> None:
            nonlocal sent
            time.sleep(0.25 * alone)  # machines differ by a factor of ten
            sent = time.perf_counter() - begin
            signal.pthread_kill(main, signal.SIGINT)

        thread = threading.Thread(target=interrupt)
        thread.start()
        try:
            with pytest.raises(KeyboardInterrupt):
                call_and_wait()
        finally:
            thread.join()
        assert made.stats.hits == hits + 1

    main, alone, sent, late = threading.main_thread().ident, 0.0, 0.0, []
    for _ in range(5):  # others may be using the machine
        alone = seconds(lambda: made(x))
        took = seconds(interrupted)
        if sent < 0.8 * alone:
            late.append(took - alone)
    assert late
    assert min(late) < 0.1
    assert made(x) == wanted


KEPT = np.ones(4_000_000)


def test_what_a_replay_works_on_cannot_be_resized() -> None:
    made = compiled(lambda: (np.sin(KEPT) * 2).sum())
    refused = []

    def resize() -> None:
        try:
            KEPT.resize(10)
        except ValueError as error:
            refused.append(str(error))

    assert lets_others_run(made, resize)
    assert len(refused) == 1
    KEPT.resize(10, refcheck=sys.version_info < (3, 14))  # now nobody works on it
    assert np.isclose(made(), 20 * np.sin(1))


def counts(counter: Any, x: Any) -> Any:
    y = np.sin(x).sum()
    counter.calls += 1
    return y


def adds_to_a_small_array(counter: Any, x: Any) -> Any:
    y = np.sin(x).sum()
    counter.total += y
    return y


def adds_to_a_large_array(counter: Any, x: Any) -> Any:
    x += np.sin(x)
    return counter


def keeps_the_last(counter: Any, x: Any) -> Any:
    counter.last = np.sin(x)


@pytest.mark.parametrize(
    ("function", "lets"),
    [
        (counts, False),
        (adds_to_a_small_array, False),
        (adds_to_a_large_array, True),
        (keeps_the_last, True),
    ],
)
def test_nobody_comes_between_a_small_update_and_what_it_read(function: Any, lets: bool) -> None:
    counter, x = Counter(), np.ones(4_000_000)
    made = compiled(function, counter, x)
    assert lets_others_run(lambda: made(counter, x)) == lets
    assert made.stats.fallbacks == 0


class Counter:
    def __init__(self) -> None:
        self.calls = 0
        self.total = np.zeros(3)


def test_paths_are_added_while_others_run() -> None:
    """Captures, replays, calibrations and trims of one function from several threads."""

    def function(x: Any, k: int) -> Any:
        return (np.sin(x) * k).sum() if x[0] > 0 else (x + k).max()

    made = dvm.compile(function)
    wrong: list[Any] = []

    def work(seed: int) -> None:
        random = np.random.default_rng(seed)
        for _ in range(30):
            x = random.normal(size=int(random.integers(1, 3)) * 100_000)
            k = int(random.integers(0, 6))
            got, wanted = made(x, k), function(x, k)
            if not np.allclose(got, wanted):
                wrong.append((got, wanted))
            if seed == 0:
                _dvm.reset_costs()
                dvm.memory.clear_cache()

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_compile_call_calibrate_fork_and_trim_at_once() -> None:
    script = Path(__file__).parent / "at_once.py"
    done = subprocess.run(
        [sys.executable, script, "4"], capture_output=True, text=True, timeout=100, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def run(source: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", source], capture_output=True, text=True, timeout=60, check=False
    )


@pytest.mark.captures
def test_threads_that_replay_do_not_keep_the_process_from_ending() -> None:
    ended = run("""
import threading, time
import numpy as np, dvm
function = dvm.compile(lambda x: (np.sin(x) * np.cos(x)).sum())
x = np.ones(3_000_000)
for _ in range(3):
    function(x)
def work():
    while True:
        function(x)
for _ in range(2):
    threading.Thread(target=work, daemon=True).start()
time.sleep(0.1)
""")
    assert (ended.returncode, ended.stderr) == (0, "")


def test_other_interpreters_are_refused() -> None:
    name = "_xxsubinterpreters" if sys.version_info < (3, 13) else "_interpreters"
    ended = run(f"""
import sys
import {name} as interpreters
other = interpreters.create()
try:
    print(interpreters.run_string(other, "import sys; sys.path[:] = {sys.path!r}; import dvm"))
except Exception as error:  # before 3.13
    print(error)
""")
    # CPython itself knows that of interpreters with locks of their own, which are all since 3.13.
    refused = ("main interpreter only", "does not support loading in subinterpreters")
    assert any(words in ended.stdout for words in refused), ended


def test_a_function_is_captured_by_one_thread_at_a_time() -> None:
    def sums(y: np.ndarray, n: int, given: list[float]) -> float:
        s = 0.0
        for i in range(n):
            for j in range(i):
                y[i, j] += s
                s += given[j]
                if s > 500:
                    s = s - 400.5
                    break
        return s

    compiled = dvm.compile(sums)
    failed: list[BaseException] = []

    def work(own: int) -> None:
        try:
            with dvm.stance("force_capture"):
                for n in range(2, 25):
                    y, z = np.zeros((2, 40, 40))
                    given = [1.5, 2.0] * 20
                    count = (n * 7 + own) % 37
                    assert compiled(y, count, given) == sums(z, count, given)
                    np.testing.assert_equal(y, z)
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=work, args=(own,)) for own in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed
    assert compiled.fallback_reasons == []
    assert compiled.stats.captures <= 4
