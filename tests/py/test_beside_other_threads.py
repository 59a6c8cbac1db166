"""What a call does to the rest of the process while it runs: nothing."""

import os
import signal
import subprocess
import sys
import threading
import warnings
from typing import Any

import numpy as np
import pytest

import dvm
from dvm import _dvm
from other_thread import turns_beside


def smooth(x: Any) -> Any:
    return (np.exp(x) * np.sin(x) + np.log(np.abs(x) + 1)) / (1 + x * x)


@pytest.mark.parametrize("function", [smooth, lambda x: np.cumsum(x), lambda x: np.argmax(x)])
def test_other_threads_run_during_a_plan(function: Any) -> None:
    compiled = dvm.compile(function)
    x = np.linspace(-3, 3, 4_000_000)
    compiled(x)

    def hit() -> None:
        before = compiled.stats.hits
        compiled(x)
        assert compiled.stats.hits == before + 1

    assert turns_beside(hit) > 20


def test_filters_that_another_thread_sets_during_an_opaque_call_stay() -> None:
    inside, done = threading.Event(), threading.Event()

    class Slow:
        def __array_function__(self, *_: Any) -> Any:
            raise NotImplementedError

    def wait(values: Any) -> Any:
        inside.set()
        assert done.wait(10)
        return values

    dvm.annotate(wait, pure=True)
    try:
        compiled = dvm.compile(lambda x: wait(x * 2) + 1)
        done.set()
        compiled(np.ones(3))
        compiled(np.ones(3))
        inside.clear()
        done.clear()
        with warnings.catch_warnings():
            thread = threading.Thread(target=compiled, args=(np.ones(3),))
            before = list(warnings.filters)
            thread.start()
            assert inside.wait(10)
            warnings.filterwarnings("ignore", "set by the other thread")
            done.set()
            thread.join()
            assert warnings.filters[1:] == before
            assert warnings.filters[0][0] == "ignore"
    finally:
        done.set()
        dvm.annotate(wait)


def test_the_collector_stays_as_it_is_during_a_capture() -> None:
    import gc

    seen = []

    def probe(phase: str, _: dict[str, int]) -> None:
        seen.append((phase, gc.isenabled()))

    gc.callbacks.append(probe)
    threshold = gc.get_threshold()
    gc.set_threshold(50)
    try:
        dvm.compile(smooth)(np.ones(5))
    finally:
        gc.set_threshold(*threshold)
        gc.callbacks.remove(probe)
    assert seen
    assert all(enabled for _, enabled in seen)


def run(source: str, **environment: str) -> str:
    return subprocess.run(
        [sys.executable, "-c", source],
        check=True,
        stdout=subprocess.PIPE,
        text=True,
        timeout=60,
        env={**os.environ, **environment},
    ).stdout


def test_workers_take_no_signals() -> None:
    """A signal that every thread of the program blocks stays pending."""
    found = run(
        "import os, signal, time, numpy as np, dvm\n"
        "from dvm import _dvm\n"
        "f = dvm.compile(lambda x: np.exp(x) * 2)\n"
        "x = np.ones(3_000_000)\n"
        "f(x); f(x)\n"
        "signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])\n"
        "os.kill(os.getpid(), signal.SIGUSR1)\n"
        "time.sleep(0.05)\n"
        "print(signal.SIGUSR1 in signal.sigpending())\n",
        DVM_NUM_THREADS="3",
        OPENBLAS_NUM_THREADS="1",
    )
    assert found == "True\n"
    assert signal.SIGUSR1 not in signal.sigpending()


def test_the_team_is_no_larger_than_the_affinity() -> None:
    found = run(
        "import os\n"
        "os.sched_setaffinity(0, [min(os.sched_getaffinity(0))])\n"
        "from dvm import _dvm\n"
        "print(_dvm.thread_count())\n",
        DVM_NUM_THREADS="",
    )
    assert found == "1\n"


def test_a_replay_that_throws_gives_its_recursion_level_back() -> None:
    compiled = dvm.compile(lambda x: x * 2 + 1)
    x = np.arange(4.0)
    compiled(x)

    def deeper(depth: int) -> int:
        try:
            return deeper(depth + 1)
        except RecursionError:
            return depth

    before = deeper(0)
    for _ in range(30):
        _dvm.fail_at(0)
        assert (compiled(x) == x * 2 + 1).all()
    assert compiled.stats.drops == 30
    assert deeper(0) == before
