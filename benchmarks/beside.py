"""What a replay does to the threads beside it: `python benchmarks/beside.py`.

The longest that a thread which sleeps 0.5 ms at a time was held beside long work, compiled and
plain in turns; two threads with two functions beside each alone (run with DVM_NUM_THREADS=1: one
core each), and the same of plain NumPy, which tells how free the cores are; how long after its
call an interrupt arrives. Medians of interleaved rounds.
"""

from __future__ import annotations

import _thread
import statistics
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import dvm

ROUNDS = 7


def first(x: Any) -> Any:
    return (np.sin(x) * np.cos(x) + np.exp(x)).sum()


def second(x: Any) -> Any:
    return (np.cos(x) * np.exp(x) - np.sin(x)).sum()


def seconds(call: Callable[[], Any]) -> float:
    begin = time.perf_counter()
    call()
    return time.perf_counter() - begin


def longest_hold(call: Callable[[], Any]) -> float:
    """Return by how much the longest sleep of another thread during the call was too long."""
    worst, stop, ready = 0.0, threading.Event(), threading.Event()

    def sleeper() -> None:
        nonlocal worst
        ready.set()
        while not stop.is_set():
            worst = max(worst, seconds(lambda: time.sleep(0.0005)) - 0.0005)

    thread = threading.Thread(target=sleeper)
    thread.start()
    ready.wait()
    call()
    stop.set()
    thread.join()
    return worst


def together(*calls: Callable[[], Any]) -> float:
    threads = [threading.Thread(target=call) for call in calls]

    def run() -> None:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    return seconds(run)


def interrupt_delay(call: Callable[[], Any]) -> float:
    """Return how long after the call's end an interrupt that came within it arrived."""
    ended = 0.0
    timer = threading.Timer(0.01, _thread.interrupt_main)
    try:
        timer.start()
        call()
        ended = time.perf_counter()
        time.sleep(1)
    except KeyboardInterrupt:
        return max(0.0, time.perf_counter() - ended) if ended else 0.0
    return 1.0


def main() -> None:
    x = np.random.default_rng(0).random(30_000_000)
    made = [dvm.compile(first), dvm.compile(second)]
    for function in made:
        for _ in range(3):
            function(x)
    f, g = made
    rounds = [
        (
            longest_hold(lambda: f(x)),
            longest_hold(lambda: first(x)),
            seconds(lambda: f(x)),
            seconds(lambda: g(x)),
            together(lambda: f(x), lambda: g(x)),
            together(lambda: first(x), lambda: second(x))
            / max(seconds(lambda: first(x)), seconds(lambda: second(x))),
            interrupt_delay(lambda: f(x)),
        )
        for _ in range(ROUNDS)
    ]
    held, plain, one, two, both, share, delay = (
        statistics.median(column) * 1e3 for column in zip(*rounds, strict=True)
    )
    ratio = both / max(one, two)
    print(f"a replay of {one:.0f} ms")
    print(f"held        {held:.2f} ms, beside NumPy {plain:.2f} ms (at most 3 ms more)")
    print(f"together    {ratio:.2f} of the longer alone (at most 1.2), NumPy {share / 1e3:.2f}")
    print(f"interrupted {delay:.2f} ms behind the call (at most 100), then {f(x) == f(x)}")


if __name__ == "__main__":
    main()
