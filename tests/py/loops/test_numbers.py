"""Loops of numbers, whose turns are not replayed, do what they do plain."""

from __future__ import annotations

import copy
import signal
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dvm
from dvm import _dvm
from loops.check import compare
from loops.generated import function_of
from loops.numbers import Writer, arguments
from whole import how_many

#: how many written programs run
PROGRAMS_WRITTEN = how_many(20, 500)
COUNTS = (3, 4, 0, 1, 60, 2, 200, 7)
RANDOM = np.random.default_rng(5)
X = RANDOM.normal(size=200)


def turns_of_numbers(compiled: Any) -> int:
    loops = vars(compiled).get("loops", {}).values()  # none where each call ended before one
    rolled = [known.rolled.loop for known in loops if known.rolled]
    return sum(_dvm.loop_state(loop)["turns_of_numbers"] for loop in rolled)


def come_to_run_as_numbers(compiled: Any, turns: int, *args: Any) -> bool:
    """Whether more than so many turns with arrays do; where they were few, more calls are made.

    After two slow turns, as there are on a busy machine, a loop's arrays are replayed for a while.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(50):
            if turns_of_numbers(compiled) > turns:
                break
            compiled(*copy.deepcopy(args))
    return turns_of_numbers(compiled) > turns


def fill(x, n):
    out = np.zeros(n)
    for i in range(n):
        out[i] = x[i] * 2
    return out, n


def total(x, n):
    s = 0.0
    for i in range(n):
        s += x[i]
    return s


def recurrence(x, n):
    y = np.zeros(n + 1)
    for i in range(1, n):
        y[i] = 0.5 * y[i - 1] + x[i]
    return y


def backwards(x, n):
    y = x[::-1].copy()
    for i in range(n - 1, -1, -2):
        y[-i - 1] = x[i - 1]
    return y, i if n else None


def polynomial(x, n):
    s = 0.0
    for a in x[:n]:
        s = s * 0.5 + a
    return s


def bisection(x, n):
    low, high = 0.0, 2.0
    for _ in range(n):
        middle = (low + high) / 2
        if middle * middle > 2:
            high = middle
        else:
            low = middle
    return low, high


def collatz(x, n):
    steps, k = 0, n + 1
    while k != 1:
        k = k // 2 if k % 2 == 0 else 3 * k + 1
        steps += 1
    return steps, k


def swapped(x, n):
    a, b, last = 0, 1, None
    for last in range(n):
        a, b = b, (a + b) % 1000
    return a, b, last


def before_last(x, n):
    s, t = 1.0, 0.0
    for i in range(n):
        t = s
        s = s * 0.5 + x[i]
    return s, t


def first_above(x, n):
    for i in range(n):
        if x[i] > 2.0:
            break
    else:
        i = -1
    return i


def table(x, n):
    best = np.zeros((n + 1, 8), dtype=int)
    for i in range(n):
        for j in range(best.shape[1] - 1):
            if x[i] > x[j]:
                best[i + 1, j + 1] = best[i, j] + 1
            else:
                best[i + 1, j + 1] = max(best[i, j + 1], best[i + 1, j])
    return best


def singles(x, n):
    y = x.astype(np.float32)
    flags = x > 0
    s = np.float32(0)
    for i in range(n):
        s = s + y[i]
        y[i] = s * y[i]
    return y, s, flags


PROGRAMS = {f.__name__: f for f in (
    fill, total, recurrence, backwards, polynomial, bisection, collatz, swapped, before_last,
    first_above, table, singles,
)}  # fmt: skip


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_loop_of_numbers_does_what_it_does_plain(name: str) -> None:
    function = PROGRAMS[name]
    compiled = dvm.compile(function)
    for count in COUNTS:
        compare(function, compiled, (X, count))
    assert turns_of_numbers(compiled) > 0
    assert compiled.stats.fallbacks == 0


def test_an_index_out_of_range_leaves_what_was_written_before() -> None:
    def shifted(x, n):
        for i in range(n):
            x[i + 1] = x[i] * 0.5
        return x

    compiled = dvm.compile(shifted)
    for count in (3, 4, 100, 200, 199, 300):
        compare(shifted, compiled, (X, count))
    assert turns_of_numbers(compiled) > 90


@pytest.mark.parametrize("start", [3, 2**61, -(2**62), np.int64(2**61)])
def test_integers_grow_as_python_and_numpy_have_them(start: Any) -> None:
    def grown(start, n):
        k = start
        for _ in range(n):
            k = k * 3 + 1
        return k

    compiled = dvm.compile(grown)
    for count in (3, 4, 90, 30, 200):
        compare(grown, compiled, (start, count))
    if start == 3:
        assert turns_of_numbers(compiled) > 30


@pytest.mark.parametrize("value", [0.0, -0.0, np.nan, np.inf, 1e300, 5e-324])
def test_warnings_and_exceptions_come_in_their_turn(value: float) -> None:
    def numpy_divides(x, value, n):
        s = np.float64(1.0)
        for i in range(n):
            s = x[i] / (s + 1) if i != 40 else s / value
            x[i] = s * value
        return s

    def python_divides(x, value, n):
        s = 1.0
        for i in range(n):
            s = (i + 1.0) / (s * value if i > 40 else s)
            x[i] = s
        return s

    for function in (numpy_divides, python_divides):
        compiled = dvm.compile(function)
        for count in (3, 4, 20, 60, 41, 42):
            with np.errstate(over="warn", invalid="warn"):
                compare(function, compiled, (X, value, count))
            with np.errstate(over="raise", divide="raise"):
                compare(function, compiled, (X, value, count))
        assert turns_of_numbers(compiled) > 0


def test_what_is_carried_changes_its_type() -> None:
    def mixed(x, n):
        s: Any = 0
        for i in range(n):
            if i % 10 == 3:
                s = int(s)
            elif i % 10 == 7:
                s = s + x[i]
            elif i > 60:
                s = i > 61 or s
            else:
                s = s + 1.5
        return s

    compiled = dvm.compile(mixed)
    for count in (3, 8, 4, 60, 64, 30):
        compare(mixed, compiled, (X, count))


def test_views_of_one_array_and_strides_are_told_apart() -> None:
    def moved(x, y, n):
        for i in range(n):
            x[i] = y[i] + x[i - 1]
        return x

    compiled = dvm.compile(moved)
    base = np.arange(400.0)
    for count in (3, 4, 60, 100):
        for make in (
            lambda a: (a[:100], a[100:200]),
            lambda a: (a[:200:2], a[1:200:2]),
            lambda a: (a[:100], a[1:101]),
            lambda a: (a[99::-1], a[200:100:-1]),
        ):
            one, other = base.copy(), base.copy()
            moved(*make(one), count)
            compiled(*make(other), count)
            np.testing.assert_array_equal(one, other)


def run_under_timer(function: Callable[[], object], handler: Callable[..., None]) -> None:
    before = signal.signal(signal.SIGALRM, handler)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.1)
        function()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


class Rate:
    value = 1.0


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no timer")
def test_what_a_signal_changes_is_seen() -> None:
    def until(rate, n):
        k = 0
        for _ in range(n):
            k += 1
            if rate.value != 1.0:
                break
        return k

    compiled = dvm.compile(until)
    rate = Rate()
    for count in (3, 4, 30):
        assert compiled(rate, count) == count
    assert turns_of_numbers(compiled) > 0

    def change(*_: object) -> None:
        rate.value = 2.0

    run_under_timer(lambda: compiled(rate, 10**10), change)
    assert rate.value == 2.0


@pytest.mark.parametrize("part", range(2))
def test_written_loops_of_numbers_do_compiled_what_they_do_plain(part: int) -> None:
    used = 0
    for seed in range(part, PROGRAMS_WRITTEN, 2):
        source = Writer(seed).source()
        function = function_of(source, seed)
        compiled = dvm.compile(function)
        for number in range(8):
            with warnings.catch_warnings():
                compare(function, compiled, arguments(seed, number), source)
        used += turns_of_numbers(compiled) > 0
    assert used > 0


def weighted(items, n):
    s = 0.0
    for item in items:
        s = s * 0.5 + item
    return s


def last_that_is(items, n):
    found, nan = -1, items[0] if len(items) else None
    k = 0
    for item in items:
        found, k = k if item is nan else found, k + 1
    return found


def halved_behind(items, n):
    k = 0
    for item in items:
        k = k + 1
        if k < len(items):
            items[k] = items[k] * 2 + item
    return items


LISTS: dict[str, Callable[[int], list[Any]]] = {
    "floats": lambda n: X[:n].tolist(),
    "integers": lambda n: list(range(n)),
    "mixed": lambda n: [k if k % 3 else k * 0.5 for k in range(n)],
    "bools": lambda n: [k % 2 == 0 for k in range(n)],
    "large": lambda n: [2**62 + k if k % 5 else 2**70 for k in range(n)],
    "numpy": lambda n: list(X[:n]),
    "one": lambda n: [np.nan] * n,
}
ARRAYS: list[Any] = ["f8", "f4", "f2", "i8", "i4", "u1", "?", ">f8", "longlong"]


@pytest.mark.parametrize("function", [weighted, last_that_is], ids=lambda each: each.__name__)
@pytest.mark.parametrize("kind", LISTS)
def test_items_of_a_list_are_found_without_its_iterator(function: Any, kind: str) -> None:
    compiled = dvm.compile(function)
    for count in COUNTS:
        compare(function, compiled, (LISTS[kind](count), count))


@pytest.mark.parametrize("function", [weighted, halved_behind], ids=lambda each: each.__name__)
@pytest.mark.parametrize("dtype", ARRAYS)
@pytest.mark.parametrize("step", [1, 2, -1])
def test_items_of_an_array_are_its_elements(function: Any, dtype: str, step: int) -> None:
    compiled = dvm.compile(function)
    for count in COUNTS:
        items = (np.arange(2 * count) % 3).astype(dtype)[::step][:count]
        with np.errstate(all="ignore"):
            compare(function, compiled, (items, count))


def test_a_loop_that_branches_on_what_it_computes_is_rolled_at_once() -> None:
    def halved_until(x, least):
        while x.max() > least:
            x = x / 2
        return x

    compiled = dvm.compile(halved_until)
    for least in (0.3, 0.001, 0.01, 0.2, 1e-6):
        compare(halved_until, compiled, (np.ones(5), least))
    assert (compiled.stats.captures, compiled.stats.hits) == (1, 4)


def bits_of_items(data: Any) -> Any:
    odd, total = 0, 0
    for item in data:
        number = int(item)
        if number & 1:
            odd += 1
        total = (total * 31 + number) % 1000003
    return odd, total


def bits_of_places(data: Any) -> Any:
    last, changes = 0, 0
    for i in range(len(data)):
        number = int(data[i]) >> 1
        if (number ^ last) & 3:
            changes += 1
        last = number
    return changes, last


@pytest.mark.parametrize("dtype", ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8"])
@pytest.mark.parametrize("function", [bits_of_items, bits_of_places])
def test_integers_of_each_width_are_pythons(function: Any, dtype: str) -> None:
    """Extremes of the dtype among them; above 63 bits the machine leaves turns to the replay."""
    rng, compiled, limits = np.random.default_rng(3), dvm.compile(function), np.iinfo(dtype)
    for count in (40, 60, 41, 200):
        data = rng.integers(limits.min, limits.max, count, dtype, endpoint=True)
        data[[3, 30]] = limits.min, limits.max
        with dvm.stance("force_capture"):
            assert compiled(data) == function(data)
    (loop,) = vars(compiled)["loops"].values()
    assert loop.ways == 2
    turns = loop.turns
    assert turns["on_the_machine"] > (turns["replayed"] if dtype != "u8" else 0)


def test_an_index_that_is_made_of_itself_turn_by_turn() -> None:
    """Told as a tree, how the last one was computed has three to the number of turns parts."""

    def walked(numbers: list[int], n: int) -> int:
        at, total = n, 0
        for _ in range(n):
            at = (at * at + at) % len(numbers)
            total += numbers[at]
        return total

    compiled = dvm.compile(walked)
    for n in (24, 24):
        assert compiled(list(range(9)), n) == walked(list(range(9)), n)
    assert compiled.stats.captures == 1
