"""Programs with loops do compiled what they do plain, whatever the sizes and trip counts."""

from __future__ import annotations

import _thread
import gc
import signal
import threading
import weakref
from collections.abc import Callable

import numpy as np
import pytest

import dvm
from loops.check import compare
from loops.corners import CORNERS
from loops.generated import Writer, arguments, function_of
from loops.histories import HistoryWriter
from loops.programs import PROGRAMS
from whole import how_many

#: how many written programs run
PROGRAMS_WRITTEN = how_many(40, 1000)
COUNTS = (3, 4, 0, 1, 2, 7, 20, 5, 0, 13, 1, 30)


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_loop_of_any_count_does_what_it_does_plain(name: str) -> None:
    program = PROGRAMS[name]
    compiled = dvm.compile(program.function)
    random = np.random.default_rng(7)
    for number, count in enumerate(COUNTS):
        args = program.make(random, (5, 1, 17, 8, 2, 40)[number % 6], count)
        compare(program.function, compiled, args)
    if program.captures is not None:
        reasons = [f"{loop.reason} at {loop.at}" for loop in vars(compiled)["loops"].values()]
        stats = compiled.stats
        assert stats.captures <= program.captures + 1, (stats, reasons)  # and the first, unrolled
        assert stats.fallbacks == 0, (stats, compiled.fallback_reasons)


@pytest.mark.parametrize("name", CORNERS)
def test_a_corner_of_loops_is_as_in_python(name: str) -> None:
    function, make = CORNERS[name]
    compiled = dvm.compile(function)
    for seed, count in enumerate((3, 3, 0, 1, 2, 3, 5, 8, 0, 1)):
        compare(function, compiled, make(np.random.default_rng(seed), count))


#: of written programs that were not compiled rightly once
FAILED = (805,)


@pytest.mark.parametrize("part", range(4))
def test_written_programs_do_compiled_what_they_do_plain(part: int) -> None:
    for seed in range(part, PROGRAMS_WRITTEN, 4):
        compare_written(seed)


@pytest.mark.parametrize("part", range(4))
def test_written_programs_with_histories_do_compiled_what_they_do_plain(part: int) -> None:
    for seed in range(part, PROGRAMS_WRITTEN, 4):
        compare_written(seed, HistoryWriter)


@pytest.mark.parametrize("seed", FAILED)
def test_written_programs_that_failed_do_not(seed: int) -> None:
    compare_written(seed)


def compare_written(seed: int, writer: type[Writer] = Writer) -> None:
    source = writer(seed).source()
    function = function_of(source, seed)
    compiled = dvm.compile(function)
    for number in range(6):
        with np.errstate(all="ignore"):
            compare(function, compiled, arguments(seed, number), source)


def halved(x, n):
    for _ in range(n):
        x = x * 0.5
    return x


def test_a_report_names_a_loop_that_is_rolled() -> None:
    compiled = dvm.compile(halved)
    for count in (2, 3):
        report = dvm.explain(compiled)(np.ones(4), count)
    (loop,) = report.loops
    assert loop["rolled"]
    assert loop["counts"] == [2, 3]
    assert loop["location"].endswith(f"test_loops.py:{halved.__code__.co_firstlineno + 1}")
    assert "one body for any count, of which turns go 1 way" in str(report)


def test_a_report_names_the_line_for_which_a_loop_is_not_rolled() -> None:
    def filled(table, n):
        for i in range(n):
            table[i] = i * 2
        return table

    compiled = dvm.compile(filled)
    for count in (2, 3):
        report = dvm.explain(compiled)({}, count)
    (loop,) = report.loops
    assert not loop["rolled"]
    assert loop["reason"]
    assert f"each count is another path, for it is {loop['reason']}" in str(report)


def test_a_long_loop_is_rolled_at_once() -> None:
    compiled = dvm.compile(halved)
    compiled(np.ones(4), 400)
    compiled(np.ones(4), 7)
    assert (compiled.stats.captures, compiled.stats.hits) == (1, 1)


def test_a_rolled_loop_is_let_go_with_its_function() -> None:
    namespace: dict[str, object] = {}
    exec("def f(x, n):\n    for _ in range(n):\n        x = x * 0.5\n    return x\n", namespace)
    compiled = namespace["compiled"] = dvm.compile(namespace["f"])
    for count in (2, 3, 0):
        compiled(np.ones(4), count)
    alive = weakref.ref(compiled)
    del compiled
    namespace.clear()
    gc.collect()
    assert alive() is None


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no timer")
def test_a_rolled_loop_can_be_interrupted() -> None:
    compiled = dvm.compile(halved)
    for count in (2, 3):
        compiled(np.ones(4), count)

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        with pytest.raises(KeyboardInterrupt):
            compiled(np.ones(4), 10**9)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert compiled(np.ones(4), 1)[0] == 0.5


def drained(x: np.ndarray, count: int) -> np.ndarray:
    for _ in range(count):
        x[0] = x[0] * 0.5 + 1
    return x


@pytest.mark.parametrize("function", [halved, drained])
def test_other_threads_run_meanwhile_and_may_interrupt(function: Callable[..., object]) -> None:
    compiled = dvm.compile(function)
    for count in (2, 3, 4):
        compiled(np.ones(4), count)
    timer = threading.Timer(0.1, _thread.interrupt_main)
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        compiled(np.ones(4), 10**9)
    timer.join()


def test_a_report_names_the_line_for_which_turns_are_replayed() -> None:
    def spun(x, n):
        z = 0j
        for i in range(n):
            z = z * 0.5j + i
        return z

    compiled = dvm.compile(spun)
    with dvm.stance("force_capture"):
        for count in (20, 30, 40):
            report = dvm.explain(compiled)(np.ones(4), count)
    (loop,) = report.loops
    assert loop["turns"]["replayed"] > 60
    assert loop["turns"]["on_the_machine"] == 0
    assert "turns were replayed one by one, for the machine of numbers has nothing for" in str(
        report
    )
    assert "z = z * 0.5j + i" in str(report)
